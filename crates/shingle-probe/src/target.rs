//! What is probed: a disk that takes I/O and tells when it was done, in its own time.

use std::ops::ControlFlow;

pub use shingle_core::units::{Block, Nanos, Op};
pub use shingle_drive::Io;
use thiserror::Error;

/// What a disk tells of itself, before any I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// How the user named it.
    pub name: String,
    /// What tells it from others: the serial of a device, the name of a file or a model.
    pub serial: String,
    /// Size in whole blocks.
    pub blocks: u64,
    /// The zones that it exposes, if it does.
    pub zones: Option<Zones>,
}

/// Zones that a host is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zones {
    /// The drive refuses writes that are not at a write pointer (host-managed); else host-aware.
    pub required: bool,
    /// Blocks in a zone.
    pub zone_blocks: u64,
    /// How many zones there are.
    pub count: u64,
}

/// An I/O that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its number in the order of submission, from 0 in each run.
    pub number: u64,
    /// When it was submitted, in the disk's time.
    pub begun: Nanos,
    /// When it was done.
    pub done: Nanos,
}

impl Done {
    /// How long it took.
    #[must_use]
    pub fn latency(&self) -> Nanos {
        self.done.since(self.begun)
    }
}

/// Why I/O failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TargetError {
    /// An I/O failed.
    #[error("{name}: {what} of {count} blocks at block {block} failed: {error}")]
    Io {
        /// The disk.
        name: String,
        /// `read`, `write` or `flush`.
        what: &'static str,
        /// First block.
        block: u64,
        /// How many.
        count: u64,
        /// Why.
        error: std::io::Error,
    },
    /// The user wants it to stop.
    #[error("interrupted; what has been measured is kept")]
    Interrupted,
}

/// A disk under probe.
///
/// I/O has a length and lies within the disk; the caller guarantees it. What is written is of no
/// matter to any caller. Time is the disk's own: a clock that only goes on, virtual for models.
pub trait Target {
    /// What it tells of itself.
    fn facts(&self) -> &Facts;

    /// Asks `next` for I/O and carries it out, at most `depth` at once, until `next` has no more or
    /// `seen` breaks. `seen` gets each I/O when it is done, in the order of completion. I/O that was
    /// under way when it broke is waited for, and `seen` gets it too (what it then answers is of no
    /// matter).
    ///
    /// # Errors
    /// If an I/O fails, or the user wants it to stop.
    fn run(
        &mut self,
        depth: usize,
        next: &mut dyn FnMut() -> Option<Io>,
        seen: &mut dyn FnMut(Done) -> ControlFlow<()>,
    ) -> Result<(), TargetError>;

    /// Does nothing for `span` of the disk's time.
    ///
    /// # Errors
    /// If the user wants it to stop.
    fn idle(&mut self, span: Nanos) -> Result<(), TargetError>;

    /// Now, in the disk's time.
    fn now(&self) -> Nanos;
}
