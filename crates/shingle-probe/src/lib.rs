//! Finds the hidden geometry of a black-box disk (SAC §5; Aghayev and Desnoyers, "Skylight", FAST
//! 2015): its kind, the capacity of its persistent buffer and what limits it, where bands begin and
//! end, what cleaning a band costs, and whether the disk cleans in idle time.
//!
//! The probe works on a [`target::Target`], a disk that takes I/O and reports completion times: a
//! drive model in virtual time, a file or device, or an NBD export.
//!
//! A model of a conventional disk, probed in virtual time:
//!
//! ```
//! use shingle_drive::profile::Kind;
//! use shingle_drive::{Settings, make};
//! use shingle_probe::model::{Model, Noise};
//! use shingle_probe::options::Options;
//! use shingle_probe::probe::probe;
//! use shingle_probe::session::Session;
//! use shingle_probe::target::Target;
//!
//! let drive = make("cmr5900", &Settings::default())?;
//! let mut disk = Model::new("cmr5900", drive, Noise::default(), 1);
//! let facts = disk.facts().clone();
//! let options = Options::default();
//! let mut session = Session::in_memory();
//! let found = probe(Some(&mut disk), facts, &mut session, &options, &mut |_| ())?;
//! assert_eq!(found.kind, Kind::Conventional);
//! assert!(found.profile(options.zone_blocks).buffer.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what |
//! |---|---|
//! | `target.rs` | the trait of a disk under probe |
//! | `model.rs` | a drive model in virtual time, with the noise of a clock |
//! | `device.rs`, `nbd.rs` | a file or device; a disk served over NBD |
//! | `clock.rs`, `fill.rs`, `sysfs.rs` | for real disks: the clock, the data to write, what sysfs says about them |
//! | `guard.rs` | refuses disks that hold data or are in use |
//! | `probe.rs`, `options.rs`, `plan.rs` | the probe, step by step; its options; its expected time |
//! | `session.rs` | measurements, recorded in a file |
//! | `scratch.rs`, `permute.rs` | the region that is written, and how the buffer is emptied; pseudo-random permutations |
//! | `reads.rs`, `distance.rs`, `cliff.rs`, `bands.rs`, `cost.rs`, `idle.rs` | the measurements |
//! | `change.rs`, `split.rs` | their statistics: a change point, two kinds of latency |
//! | `findings.rs`, `profile.rs` | the findings, in words and numbers; the same as a drive profile |
//! | `blind.rs` | blind trials: drives drawn by a seed, and findings compared with the truth |

// No cast loses a value: counts fit in memory, times are microseconds.

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
