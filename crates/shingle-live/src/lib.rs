//! Models in real time, and on real devices.
//!
//! - [`Replay`] sends the requests of a trace to a store on real files or devices, and measures it.
//! - [`Emulation`] makes an ordinary disk behave like a shingled drive: the model decides, and its steps are real I/O.
//! - [`ServedModel`] exports a drive model over NBD, as slow as the drive.
//! - [`ServedVolume`] exports a volume, such as a translated disk, over NBD.
//!
//! A served model completes requests when its drive would:
//!
//! ```
//! use std::sync::mpsc::channel;
//!
//! use shingle_drive::{Settings, make};
//! use shingle_live::{Contents, DriveClock, ServedModel};
//! use shingle_nbd::export::{Command, Completion, Export};
//!
//! let drive = make("sac-emulator", &Settings::default())?;
//! // The drive's time runs a thousand times as fast as real time.
//! let clock = DriveClock::new(1_000_000);
//! let model = ServedModel::start(drive, Contents::with_data(1 << 20)?, 1 << 20, clock)?;
//! let (answered, answer) = channel();
//! let write = Command::Write { offset: 8192, data: vec![7; 4096], fua: true };
//! model.submit(write, Completion::new(move |result| drop(answered.send(result))));
//! answer.recv()?.map_err(|_| "refused")?;
//! assert_eq!(model.counters().written_blocks, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// No cast loses a value: lengths of requests, positions in memory.

mod emulate;
mod model;
mod replay;
mod volume;

pub use emulate::{EmulateError, Emulation};
pub use model::{Contents, DriveClock, ServedModel};
pub use replay::{Replay, ReplayError, Replayed, StampError};
pub use volume::{ServedVolume, Tell};
