//! Drive models in virtual time.
//!
//! A [`drive::Drive`] takes an I/O and says when it was done and where the time went. Drives are
//! made by name from [`registry`]; what each is made of stands in its parameter sheet under `data/`,
//! every figure with its source, and can be overridden by the user. [`anchors`] runs published
//! measurements on the models and tells how far off they are.
//!
//! ```
//! use shingle_core::units::{Block, Nanos, Op};
//! use shingle_drive::drive::Io;
//! use shingle_drive::registry::{Settings, make};
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
//! | `drive.rs` | the seam: what a drive is asked, and what it answers |
//! | `registry.rs` | names, `make` |
//! | `settings.rs` | what a user may ask of a drive, and what its maker gets |
//! | `sheet.rs`, `data/` | parameter sheets and overrides |
//! | `mech.rs`, `seek.rs` | arm, platter and read-ahead of every disk with mechanics |
//! | `map.rs`, `ring.rs` | what the slots of a log hold; the log of a buffer |
//! | `runs.rs` | where bands and tracks lie |
//! | `cost.rs` | the papers' costs, beside the mechanics |
//! | `profile.rs` | what probing a disk found out, as a file |
//! | `medium.rs` | what carries an emulated disk: costs, or a conventional disk |
//! | `zoned.rs`, `zones.rs`, `queue.rs` | what hosts see of zones; write pointers and which zones are open |
//! | `contents.rs` | stamps of checking runs: what lies where |
//! | `ssd.rs`, `conventional.rs`, `emulator.rs`, `drive_managed/`, `host_aware/`, `host_managed/` | the drives |
//! | `schedule.rs` | when each of the units of an SSD works |
//! | `flash/` | NAND flash, and an SSD made of it |
//! | `turnover.rs` | cleanings that came too soon |
//! | `flash_inside/`, `wear.rs` | flash built into a drive-managed disk; how worn it is |
//! | `load.rs`, `experiments/` | random I/O on bare drives; the papers' experiments with it |
//! | `measure/` | what hosts plan with, measured and put into the sheets |
//! | `anchors.rs` | published measurements against the models |

pub mod anchors;
mod contents;
mod conventional;
mod cost;
pub mod drive;
mod drive_managed;
mod emulator;
mod error;
pub mod experiments;
mod flash;
mod flash_inside;
mod host_aware;
mod host_managed;
mod load;
mod map;
pub mod measure;
mod mech;
mod medium;
pub mod profile;
mod queue;
pub mod registry;
mod ring;
pub mod rng;
mod runs;
mod schedule;
mod seek;
mod settings;
mod sheet;
mod ssd;
pub mod steps;
pub mod turnover;
mod wear;
mod zoned;
mod zones;
