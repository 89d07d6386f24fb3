//! Why what is published does not come out.

pub(super) const SHAPED: &str = "see `shingle trace targets`";

pub(super) const PERIODS: &str = "configuration not published: whose these are the paper does not say; here that of the trace that \
     has most or least";

pub(super) const CHUNKS: &str = "the LFB is full when its chunks are in use, however few blocks are in each: with smaller ones \
     victims grow and RMWs fall (small)";

pub(super) const AMPLIFIES: &str = "contradicts itself: each block is written to the buffer, so write amplification is 1 at least, and \
     98.5 % less than others' on average needs 67 of them; with RMWs 37 % less an RMW would have to write a \
     fortieth of what an RMW of the others does (1.5 % ÷ 63 %), and both rewrite a zone";

pub(super) const QUEUE: &str = "a part of it: in a long queue some write is for nearly every victim, whose collection ends then after a \
     chunk; never aborts, beside it, shows how much that is";

pub(super) const PADDING: &str = "synthetic data count in every write-back and so go with their number; each gap counted once is the \
     row beside";

pub(super) const SWEEP: &str = "measured over a tenth of each trace, in which some queues grow without end at each size of chunk: \
     their times and counts say little";

pub(super) const REALLOCATED: &str = "the HFB begins with the least it may have, so no chunk is given back that it had not got before: \
     more to it than to the LFB only says that some stay";

pub(super) const SPANS: &str = "configuration not published: whose Figure 3 (b) is the paper does not say; here that of the trace with \
     the narrowest range";

pub(super) const IN_FRAMES: &str = "not by collections alone: over a tenth of prxy_0, ts_0 and web_0 neither collects anything, and requests \
     take 1.2 to 1.9 times as long (decisions). A block goes to its place in a chunk, wherever that is, and into \
     Fluid_loop's log behind the one before";

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
