//! The command `shingle` with the built-in policies.

use std::process::ExitCode;

fn main() -> ExitCode {
    shingle::main_with(&shingle_core::registry::Registry::default())
}
