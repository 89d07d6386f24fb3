//! Why what is published does not come out.

pub(super) const CMR: &str = "the conventional disk does too well: its write cache sorts and joins blocks that the \
                   made workloads write to four zones at a time, so that one takes 0.4 ms; the paper's \
                   took 5.6 ms for 8 KB at random (Figure 3), and it does not say what its write cache did";
pub(super) const CMR_MODEL: &str = "of this disk its kind is known, 500 GB at 7,200 a minute: seeks and write cache \
                         of the model are from memory";
pub(super) const READS: &str = "reads count here, and the disk's time for one depends on what lies between two: \
                     under LRU and PORE the head leaves to write a block for each that comes in (4 to 7 ms \
                     a read), LRU-band writes hundreds at a time and a disk without a cache has a \
                     write cache that waits (1 ms); the paper does not divide its times so";
pub(super) const TIES: &str =
    "a tie broken by little: the margin is less than what a free parameter moves";
pub(super) const REAL: &str = "the size of the cache is not given. The model writes 0.1 MB/s at random over 1 TB, as the \
                    paper's disk did in its Figure 3, and hours follow from that; the paper's 50 million \
                    writes came ten times as fast";
