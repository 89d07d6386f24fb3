//! Decoding speed.
fn main() {}
