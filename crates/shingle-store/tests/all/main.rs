//! Tests of the crate from outside, as one program: it is built and linked once.

mod control;
mod decisions;
mod files;
mod fixtures;
mod predicted;
mod restart;
mod serve;
mod store;
mod volume;
