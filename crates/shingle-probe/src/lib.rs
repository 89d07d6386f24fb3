//! Finds out a black-box disk's hidden geometry (SAC §5; Aghayev and Desnoyers, "Skylight", FAST
//! 2015): what it is, how much its persistent buffer holds and by what that is limited, where bands
//! begin and end, what cleaning one costs, and whether it cleans in idle time.
//!
//! The probe works on a [`target::Target`], a disk that takes I/O and says when it was done: a drive
//! model in virtual time, a file or device, or an export of NBD.
//!
//! | file | what |
//! |---|---|
//! | `target.rs` | the trait of a disk that is probed |
//! | `model.rs` | a drive model, in virtual time, with the noise of a clock |
//! | `device.rs`, `nbd.rs` | a file or device; a disk served by NBD |
//! | `clock.rs`, `fill.rs`, `sysfs.rs` | the clock of these, what is written to them, what the system says about them |
//! | `guard.rs` | what may not be destroyed |
//! | `probe.rs`, `options.rs`, `plan.rs` | the probe, step by step; its options; how long it will take |
//! | `session.rs` | measurements, kept in a file |
//! | `scratch.rs`, `permute.rs` | the region that is written, and how the buffer is emptied; orders that look random |
//! | `reads.rs`, `distance.rs`, `cliff.rs`, `bands.rs`, `cost.rs`, `idle.rs` | the measurements |
//! | `change.rs`, `split.rs` | their statistics: a change point, two kinds of latency |
//! | `findings.rs`, `profile.rs` | what was found out, in words and numbers; the same as a drive profile |
//! | `blind.rs` | drives drawn by a seed, and what was found out beside the truth |

// Casts lose nothing: counts that lie in memory; microseconds.

pub mod bands;
pub mod blind;
pub mod change;
pub mod cliff;
mod clock;
pub mod cost;
pub mod device;
pub mod distance;
pub mod error;
mod fill;
pub mod findings;
pub mod guard;
pub mod idle;
pub mod model;
pub mod nbd;
pub mod options;
mod permute;
pub mod plan;
pub mod probe;
pub mod profile;
pub mod reads;
mod scratch;
pub mod session;
pub mod split;
mod sysfs;
pub mod target;
