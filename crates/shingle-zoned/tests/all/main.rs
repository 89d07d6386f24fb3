//! External tests of the crate, as one program that is built and linked once.

mod common;
mod crash;
mod device;
mod file;
mod kill;
mod model;
mod plain_device;
mod rules;
