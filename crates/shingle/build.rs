//! Names what is in this build: `cfg(store)` is the feature `store` on Linux, and nothing elsewhere.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(store)");
    let linux = var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if linux && var("CARGO_FEATURE_STORE").is_ok() {
        println!("cargo::rustc-cfg=store");
    }
}
