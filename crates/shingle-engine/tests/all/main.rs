//! External tests of the crate, as one program that is built and linked once.

#![allow(clippy::disallowed_methods)] // tests read settings and files

mod back_pressure;
mod bands;
mod bugs;
mod crash;
mod due;
mod exchanged;
mod exhaustive;
mod flips;
mod golden;
mod journal;
mod layers;
mod limits;
mod memory;
mod retries;
mod simulated;
mod trims;
