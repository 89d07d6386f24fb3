//! Tests of the crate from outside, as one program: it is built and linked once.

mod common;
mod crash;
mod device;
mod file;
mod kill;
mod model;
mod rules;
