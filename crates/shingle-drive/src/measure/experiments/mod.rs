//! Experiments of the papers on bare drives, without a cache: typed results, in virtual time.
//!
//! Each is a function of its arguments and its seed, and prints nothing. Bandwidths are in bytes a
//! second, times in virtual seconds.

#[cfg(test)]
mod mcm;
pub mod pore;
pub mod sac;

pub use crate::measure::load::{Bandwidth, Series};
