//! The `shingle` command, with one more policy.

use std::process::ExitCode;

use my_policy::QuietZones;
use shingle_core::registry::Registry;

fn main() -> ExitCode {
    let mut registry = Registry::default();
    registry.add::<QuietZones>();
    shingle::main_with(&registry)
}
