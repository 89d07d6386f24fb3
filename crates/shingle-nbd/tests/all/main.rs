//! External tests of the crate, as one program that is built and linked once.

mod addresses;
mod commands;
mod common;
mod crowd;
mod golden;
mod offers;
mod peers;
mod properties;
mod refused;
mod tls;
