//! The cache of the store as a state machine, without a clock and without I/O, and the metadata that it keeps on the SSD.
//!
//! An [`Engine`] takes commands, completions and the time, and returns I/O and replies. [`journal`], [`table`] and
//! [`recover`](mod@recover) write and read the metadata, in the [`format`](mod@format) of the SSD.
//! The owner of an engine executes its I/O: the store on files and devices with a clock, the simulator on drive models in
//! virtual time.
//!
//! An owner whose I/O never fails and takes no time:
//!
//! ```
//! use std::collections::HashMap;
//!
//! use shingle_core::registry::Registry;
//! use shingle_core::units::Nanos;
//! use shingle_engine::format::layout::{Copy, Layout};
//! use shingle_engine::format::superblock::Superblock;
//! use shingle_engine::format::{PAGE_BYTES, Page};
//! use shingle_engine::recover::{Pages, recover};
//! use shingle_engine::{Command, CommandOp, Config, Device, Engine, Kind, Settings};
//!
//! /// Pages of the SSD; those that were never written are zeros.
//! struct Ssd(HashMap<u64, Page>);
//!
//! impl Pages for Ssd {
//!     type Error = std::convert::Infallible;
//!     fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), Self::Error> {
//!         for (page, at) in out.iter_mut().zip(first..) {
//!             *page = self.0.get(&at).copied().unwrap_or([0; PAGE_BYTES]);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! // An SSD with a new cache: both copies of its superblock.
//! let layout = Layout::for_ssd(32 << 20).expect("large enough");
//! let disk_blocks = layout.slots * 4;
//! let superblock = Superblock::new(*b"an example cache", layout, 32 << 20, disk_blocks * 4096);
//! let pages = Copy::BOTH.map(|copy| (copy.superblock_page(), superblock.encode()));
//! let mut ssd = Ssd(pages.into());
//!
//! // An engine with the contents of the SSD.
//! let found = recover(&mut ssd)?;
//! let cache = Settings::new("lru").cache(&Registry::default(), layout.slots as u32, disk_blocks)?;
//! let mut engine: Engine = Engine::open(found, cache, disk_blocks, Config::for_slots(layout.slots))?;
//!
//! // A write of one block that is durable when it is answered.
//! let (fua, data) = (true, vec![7; 4096]);
//! engine.submit(Command { fua, data, ..Command::new(1, CommandOp::Write, 8192, 4096) });
//! let mut now = Nanos::ZERO;
//! let reply = loop {
//!     now += Nanos::from_millis(1);
//!     engine.tick(now);
//!     let effects = engine.take_effects();
//!     if let Some(reply) = effects.replies.into_iter().next() {
//!         break reply;
//!     }
//!     assert!(now < Nanos::from_millis(1000), "it is answered soon");
//!     for mut io in effects.ios {
//!         for (buffer, page) in io.buffers.iter_mut().zip(io.page..) {
//!             match (io.device, io.kind) {
//!                 (Device::Ssd, Kind::Write) => drop(ssd.0.insert(page, buffer.0)),
//!                 (device, kind) => unreachable!("nothing is to be read yet: {device:?} {kind:?}"),
//!             }
//!         }
//!         engine.io_done(io.id, Ok(io.buffers.len() * PAGE_BYTES), io.buffers);
//!     }
//! };
//! assert_eq!((reply.id, reply.result), (1, Ok(vec![])));
//!
//! // After a power cut the SSD still has the block.
//! let found = recover(&mut ssd)?;
//! assert_eq!(found.live().map(|(block, _)| block.0).collect::<Vec<_>>(), [2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Casts lose nothing: frames, slots and places in a block are small.

pub mod buffer;
mod bugs;
pub mod data;
mod engine;
pub mod format;
pub mod journal;
pub mod recover;
pub mod settings;
pub mod table;

pub use buffer::Buffer;
pub use bugs::Bug;
pub use data::Data;
pub use engine::{
    BAND_BLOCKS_MAX, BandCounts, Command, CommandOp, Config, Connection, Counts, Device, DirtyAges,
    Effects, Engine, Errno, ErrorCounts, Failed, IO_PAGES_MAX, Io, IoId, JournalStatus, Kind,
    NewSsd, OpenError, Reply, SsdState, Status,
};
pub use settings::Settings;
