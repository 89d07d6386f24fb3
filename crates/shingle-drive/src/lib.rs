//! Drive models in virtual time.
//!
//! A [`Drive`] serves an I/O and reports when it was done and where the time went. Drives are made
//! by name
//! ([`make`]). The parameters of each are in its sheet under `data/`, every figure with its
//! source; the user can change them. [`measure::anchors`] runs published measurements on the models
//! and says how far off they are.
//!
//! ```
//! use shingle_core::units::{Block, Nanos, Op};
//! use shingle_drive::{Io, Settings, make};
//!
//! let mut drive = make("st8000as0002", &Settings::default()).expect("a built-in drive");
//! let read = Io { op: Op::Read, block: Block(1_000_000), count: 1 };
//! let served = drive.serve(Nanos::ZERO, &read, &mut []);
//! // Milliseconds: the arm moves, the platter turns. The spans add up.
//! assert!(served.done > Nanos::from_millis(1));
//! let spans = [served.command, served.seek, served.rotation, served.transfer, served.clean];
//! assert_eq!(spans.iter().map(|span| span.0).sum::<u64>(), served.done.0);
//! ```
//!
//! | file | what |
//! |---|---|
//! | `drive.rs`, `io.rs`, `zone.rs`, `counters.rs`, `wear.rs` | the interface: traits, and the types that they use |
//! | `steps.rs` | the steps that a drive takes inside, to carry them out on a real disk |
//! | `registry/` | names, sheets in files, `make` |
//! | `disks.rs` | real disks by their maker's number, and the model nearest to each |
//! | `sheet/`, `data/` | parameter sheets; what a user may set |
//! | `models/` | the drives |
//! | `parts/` | what they are made of |
//! | `profile/` | what probing a disk found out, as a file, and the model made of it |
//! | `measure/` | what hosts plan with, measured; the papers' experiments on bare drives; published measurements against the models |

// Casts are lossless: a log has at most 2^27 slots, a disk 2^32 blocks, and counts are of objects
// in memory. Reals that become counts are within the ranges of sheets and profiles.

mod counters;
pub mod disks;
mod drive;
mod io;
pub mod measure;
mod models;
mod parts;
pub mod profile;
mod registry;
mod sheet;
pub mod steps;
mod wear;
mod zone;

pub use counters::Counters;
pub use drive::{BufferState, Description, Drive, Zoned};
pub use io::{Io, Served, Stamp};
pub use models::in_zones::{costs_in_zones, in_zones};
pub use parts::rng::Rng;
pub use parts::turnover::Turnover;
pub use registry::{DriveEntry, Known, PROFILE, SHEET, drives, entry, make, make_ssd, ssds};
pub use sheet::{Buffer, DriveError, Overrides, Parameter, Settings, Timing, Value};
pub use wear::{RegionWear, Wear};
pub use zone::{Condition, Exposed, Refused, Rule, ZoneInfo};
