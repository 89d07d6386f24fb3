//! Speeds.
fn main() {}
