//! Reasons why results disagree with the published ones.

pub(super) const SHAPED: &str = "see `shingle trace targets`";

pub(super) const PERIODS: &str = "configuration not published: whose these are the paper does not say; here that of the trace that \
     has most or least";

pub(super) const CHUNKS: &str = "the LFB is full when its chunks are in use, however few blocks are in each: with smaller ones \
     victims grow and RMWs fall (small)";

pub(super) const AMPLIFIES: &str = "contradicts itself: each block is written to the buffer, so write amplification is 1 at least, and \
     98.5 % less than others' on average needs 67 of them; with RMWs 37 % less an RMW would have to write a \
     fortieth of what an RMW of the others does (1.5 % ÷ 63 %), and both rewrite a zone";

pub(super) const PADDING: &str = "synthetic data count in every write-back and so go with their number; each gap counted once is the \
     row beside";

pub(super) const SPANS: &str = "configuration not published: whose Figure 3 (b) is the paper does not say; here that of the trace with \
     the narrowest range";

pub(super) const WHOLE_FRAMES: &str = "a chunk takes its room whole, however few blocks are in it: with an LFB that is full of blocks hits are the \
     most, or within a tenth of a point of the most (decisions)";

pub(super) const FEW_AGAIN: &str = "of src2_2 three writes in four are of new blocks (Table 3: 23.7 % are updates), so few are ever found \
     to be hot; on the others it holds";

pub(super) const NOTHING_COLLECTED: &str = "over a tenth of prxy_0, ts_0 and web_0 the buffer is never full, so nothing is collected and both are \
     the same; on the others it holds";

pub(super) const HARDLY_COLLECTED: &str = "over a tenth of prxy_0, ts_0 and web_0 nothing is collected, and where something is, more is saved on some \
     and less on others: no rule can be seen";

pub(super) const NONE_RETURNS: &str = "over a tenth of each trace the HFB only grows, and chunks return in periods in which it does not";

pub(super) const LARGER_BUFFER: &str =
    "with this larger buffer µCache collects nothing of five of the traces either";

pub(super) const SCATTERED: &str = "it has 1.6 to 26 times as many RMWs as Fluid_loop (Figure 15, with the reason). And where nothing is collected, over a tenth of \
     ts_0 and web_0, requests take 1.16 and 1.35 times as long: a shadow that is written again enters the HFB whatever the write is \
     labelled (§5.2.2), so long writes are scattered over it block by block. Where only writes labelled hot bring shadows in \
     they take as long as under Fluid_loop there, and half as long as now on hm_0 (decisions)";

pub(super) const PADDED_ONCE: &str = "it holds on four. Of hm_0 and src2_0 all are within 3 %, as each zone is written back sooner or later; zones of src2_2 and \
     prn_0 are written back with less in them than under Fluid and Fluid_loop (Figure 17)";

pub(super) const NEVER_FULL: &str = "over a tenth of ts_0 and web_0 nothing is collected, whatever the size of chunks; on the other five it holds";

pub(super) const NEVER_FULL_VICTIMS: &str = "over a tenth of ts_0 and web_0 nothing is collected, and of prxy_0 not with 64 KB; on the other four it holds";

pub(super) const NORMALISED: &str = "contradicts itself: Figure 22 is normalised to each trace's own amount with 64 KB, so that it cannot show which trace has \
     most; and hm_0, with its wide range as the reason, writes to 56 zones, the fewest of the eight (Table 3)";

pub(super) const LARGEST: &str = "contradicts itself: the next sentence but one has utilization highest at 256 KB. Here a write of src2_2 (51 KB) does not \
     fill one chunk of 64 KB, and larger ones are emptier";

pub(super) const BY_SHARE: &str = "configuration not published: whether Figure 24 counts chunks or is in proportion to the buffer. Of src2_2's, \
     the largest, 725 chunks of 27,770 are reallocated, 2.6 %, of those of hm_0, prn_0, prxy_0, src2_0 and usr_0 8 to 34 %, and of \
     web_0's and ts_0's none over a tenth";

pub(super) const FILLED_IN_TURN: &str = "configuration not published: how many neighbouring zones src2_2 fills in turn (here 16). With 64 of them (shingle run \
     'synth:msr-src2_2?neighbours=64' -d exos-x18z -t amphisbaena -p none --set drive.pb=444334b --set amphisbaena.chunk=64KiB --pacing trace \
     --partial ignore --requests 115688) requests of the first tenth take 82 ms with 64 KB, 79 with 128, 80 with 256, and 83 with 1024: the minimum \
     is there, but at 128 KB";

pub(super) const SMALLER_VICTIMS: &str = "contradicts itself: by Figure 23 the victims of src2_2 are largest at 128 KB and smaller from there, and with smaller victims \
     as many blocks take more write-backs, not fewer. Here a write of 51 KB does not fill one chunk of 64 KB and larger chunks are emptier: \
     12 RMWs of a tenth and 74, of the whole trace 10,432 and 40,908; with an LFB that is full of blocks 7,301 and 19,307; with 64 \
     neighbouring zones filled in turn 9,329 and 37,462 (shingle run synth:msr-src2_2 -d exos-x18z -t amphisbaena -p none --set drive.pb=444334b \
     --set amphisbaena.chunk=1MiB --pacing trace --partial ignore)";
