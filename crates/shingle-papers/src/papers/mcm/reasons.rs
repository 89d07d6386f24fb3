//! Why what is published does not come out.

pub(super) const SLOW: &str = "";
pub(super) const BACK: &str = "";
pub(super) const COPYING: &str = "";
pub(super) const EMPTY: &str = "";
pub(super) const NO_ERASES: &str = "";
pub(super) const OTHER_SIZE: &str = "";
pub(super) const WORN: &str = "";
pub(super) const REVERSED: &str = "";
pub(super) const OTHER_DISK: &str = "";
pub(super) const UPDATES: &str = "other papers have other figures of the same volume, which the workload meets: with SAC's and \
                       PORE's ranges 99.9 % would leave a few different blocks for each touched zone, and \
                       of src2_0 Amphisbaena publishes 83.3 % (see `shingle trace targets`)";
pub(super) const SEQUENCE: &str = "the workload was shaped with zones of 5,000 blocks, in which the share is met (see `shingle \
                        trace targets`); what is counted here are the bands of the disk, whose borders lie \
                        elsewhere";
