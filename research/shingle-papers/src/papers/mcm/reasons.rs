//! Why what is published does not come out.

pub(super) const SLOW: &str = "requests of the made workloads come too far apart: how they bunch in the week no paper says, and \
                               where nine tenths of the time are pauses (--free idle=0.9) some take ten seconds and more";

pub(super) const THROUGH: &str = "two thirds of what enters flash of this size leave it again for the persistent cache, one write \
                                  each, which fills the cache as often as the host would; with 16 GB most of what Skylight \
                                  loses is saved (unscaled), and with cleaning in idle time response times are (idle)";

pub(super) const FC_DIRECT: &str = "FC as reconstructed rewrites the bands with most pages itself, while MCM's pages wait for the \
                                    cleaning of the persistent cache; where the disk cleans in idle time MCM is the faster \
                                    (idle)";

pub(super) const PEAK: &str = "mds_0 is the smallest of the workloads, so its persistent cache is full for the least of the time";

pub(super) const COUNTED: &str = "how much passes the flash and how much returns to it decide (see figure counted): as the text has \
                                  it, each write of a run counts, so a run makes its own band hot with the fourth. The published \
                                  33.32 and 41.34 % are near what is left if sequential data is hot by a false positive only: \
                                  (1 - 14.7 %) × 39.86 %, the mean of Table I, is 34.0, and × 48.76 %, its most, 41.6";

pub(super) const EMPTY: &str = "contradicts itself: four of the five traces fit into 16 GB, so next to nothing leaves the flash, and \
                                RMWs saved and erases saved cannot both be those of an empty flash";

pub(super) const FULL: &str = "FC's victims are the blocks filled first, which the traces never write and which leave by whole bands; \
                               MCM copies them to the RBR and leaves them to the persistent cache";

pub(super) const IDLE_TIMES: &str = "nearly all cleaning is done in the pauses of the made workloads, so what is compared is the time of \
                                     a write: of flash, or of Skylight's log";

pub(super) const IDLE_RMWS: &str =
    "a disk that cleans whenever it is idle rewrites bands for the few blocks that came since";

pub(super) const OTHER_SIZE: &str =
    "Skylight is outperformed at each size; FC at none, for the reason given at Figure 8";

pub(super) const OTHER_DISK: &str = "with the write cache on eight writes share a map entry and the persistent cache hardly fills, so \
                                     there is little to save; with cleaning in idle time it holds";

pub(super) const REVERSED: &str =
    "a block with few invalid pages has many valid ones, all of which are copied";

pub(super) const UPDATES: &str = "other papers have other figures of the same volume, which the workload meets: with SAC's and \
                       PORE's ranges 99.9 % would leave a few different blocks for each touched zone, and \
                       of src2_0 Amphisbaena publishes 83.3 % (see `shingle trace targets`)";
pub(super) const SEQUENCE: &str = "the workload was shaped with zones of 5,000 blocks, in which the share is met (see `shingle \
                        trace targets`); what is counted here are the bands of the disk, whose borders lie \
                        elsewhere";
