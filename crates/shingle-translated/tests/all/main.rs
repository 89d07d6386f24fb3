//! External tests of the crate, as one program that is built and linked once.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // tests read settings, files and clocks

mod bugs;
mod common;
mod crash;
mod drills;
mod every_call;
mod failures;
mod format;
mod impossible;
mod large;
mod readers;
mod repair;
mod rewriting;
