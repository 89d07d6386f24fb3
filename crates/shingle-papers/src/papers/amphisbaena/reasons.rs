//! Why what is published does not come out.

pub(super) const SHAPED: &str = "see `shingle trace targets`";

pub(super) const PERIODS: &str = "whose these are the paper does not say, and how long blocks stay hot no paper publishes (free \
     parameter dwell): of the made workloads only ts_0 and web_0 are updated mostly within a buffer";

/// What most of it comes down to.
pub(super) const CHUNKS: &str = "a chunk of 64 KB holds one or two blocks of the made workloads when it is cleaned, so the LFB holds \
     little, and a zone is written back for some ten blocks where a log has gathered hundreds. With \
     smaller chunks that grows (small); where zones stay hot, few blocks come to the LFB: response times are \
     below Fluid_loop's on half of the traces, and of src2_2, whose writes fill chunks, RMWs, write \
     amplification and padding are the least and victims the largest (hot)";

pub(super) const QUEUE: &str = "rewriting a zone takes seconds, each for a few blocks (see Figure 17), so requests queue up; a long \
     queue has a write for most victims, whose collection ends then after a chunk: the queue feeds \
     itself (decisions: never aborts)";

pub(super) const HITS: &str = "Fluid's log takes single blocks in all of the buffer, Amphisbaena's LFB one or two in a chunk of 16; \
     where zones stay hot its hits are within half a point of the best (hot)";

pub(super) const PADDING: &str = "synthetic data count in every write-back and so go with their number; each gap counted once, \
     Amphisbaena fills the fewest";

pub(super) const SWEEP: &str = "measured over a tenth of each trace, in which some queues grow without end at each size of chunk: \
     their times and counts say little";

pub(super) const REALLOCATED: &str = "the HFB grows to its bound in the first periods and gives nothing back, as hardly a chunk goes \
     without an update for 10,000 writes";

pub(super) const LAMBDA: &str = "the queue decides response times here (see Figure 12), and small differences in what is evicted \
     decide the queue";

pub(super) const DECISIONS: &str = "no reading of what the text leaves open makes up for chunks that hold one or two blocks (small)";

pub(super) const STAYS: &str = "how hot the hot zones are, no paper publishes: 1,000 is no figure of the traces, and one for all \
     volumes. RMWs in idle time delay nobody and count";

pub(super) const SPANS: &str = "the made workloads go from zone to zone, each hot for a while, and come to nearly all in a tenth of a \
     week; how real ones do no paper publishes (active, dwell)";
