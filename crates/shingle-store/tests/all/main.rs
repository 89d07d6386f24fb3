//! External tests of the crate, as one program that is built and linked once.

mod control;
mod decisions;
mod files;
mod fixtures;
mod predicted;
mod restart;
mod serve;
mod store;
mod volume;
