//! Tests of the crate from outside, as one program: it is built and linked once.

mod common;
mod device;
mod guard;
mod nbd;
mod probe;
