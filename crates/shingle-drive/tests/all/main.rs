//! Tests of the crate from outside, as one program: it is built and linked once.

mod anchors;
mod by_hand;
mod drives;
mod experiments;
mod flash;
mod flash_inside;
mod host_aware;
mod host_aware_model;
mod host_managed;
mod host_managed_model;
mod in_zones;
mod layers;
mod measured;
mod own_sheets;
mod profile;
