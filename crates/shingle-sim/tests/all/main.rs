//! Tests of the crate from outside, as one program: it is built and linked once.

mod broken_policy;
mod common;
mod dm_zoned;
mod foresight;
mod host_rmw;
mod known_answers;
mod one_io;
mod profile;
mod prototype_of_pore;
mod sampled;
mod ssd_hits;
mod stack_distance;
mod translated;
mod verdict;
mod what_crashed_the_prototypes;
mod written_in_zones;
