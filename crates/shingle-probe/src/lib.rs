//! Finds out a black-box disk's hidden geometry (SAC §5; Aghayev and Desnoyers, "Skylight", FAST
//! 2015): what it is, how much its persistent buffer holds and by what that is limited, where bands
//! begin and end, what cleaning one costs, and whether it cleans in idle time.
//!
//! The probe is a program over [`target::Target`], a disk that takes I/O and tells when it was done.
//! The same program runs on a drive model in virtual time, on a file or device, and on a disk that
//! somebody serves by NBD.
//!
//! | file | what |
//! |---|---|
//! | `target.rs` | the seam: a disk under probe |
//! | `model.rs` | a drive model, in virtual time, with the noise of a clock |
//! | `device.rs`, `nbd.rs` | a file or device; a disk served by NBD |
//! | `clock.rs`, `fill.rs`, `sysfs.rs` | their clock, what is written to them, what the system knows of them |
//! | `guard.rs` | what may not be destroyed |
//! | `probe.rs`, `options.rs`, `plan.rs` | the probe, step by step; what may be asked; what it will take |
//! | `session.rs` | measurements that outlive the process |
//! | `scratch.rs`, `permute.rs` | where is written, how the buffer gets empty; orders that look random |
//! | `reads.rs`, `distance.rs`, `cliff.rs`, `bands.rs`, `cost.rs`, `idle.rs` | the measurements |
//! | `change.rs`, `split.rs` | their statistics: a change point, two kinds of latency |
//! | `findings.rs`, `profile.rs` | what was found out and follows from it; the same as a drive profile |
//! | `blind.rs` | drives drawn by a seed, and what was found of them beside what they are |

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts that lie in memory; microseconds

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
