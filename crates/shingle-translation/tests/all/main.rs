//! Tests of the crate from outside, as one program: it is built and linked once.

mod bench;
mod common;
mod dm_zoned;
mod fluid;
mod log;
mod open;
mod skylight_sa;
mod translations;
