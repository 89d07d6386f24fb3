//! A disk under probe: it takes I/O and reports completions, in its own time.

use std::ops::ControlFlow;

pub use shingle_core::units::{Block, Nanos, Op};
pub use shingle_drive::Io;
use thiserror::Error;

/// What a disk reports about itself, before any I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The name that the user gave.
    pub name: String,
    /// Identifies the disk: the serial of a device, the name of a file or a model.
    pub serial: String,
    /// Size in whole blocks.
    pub blocks: u64,
    /// The zones that it exposes, if any.
    pub zones: Option<Zones>,
}

/// Zones that a disk shows to its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zones {
    /// The drive refuses writes that are not at a write pointer (host-managed); else host-aware.
    pub required: bool,
    /// Blocks in a zone.
    pub zone_blocks: u64,
    /// Number of zones.
    pub count: u64,
}

/// The completion of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Number of the I/O in the order of submission, from 0 in each run.
    pub number: u64,
    /// When it was submitted, in the disk's time.
    pub begun: Nanos,
    /// When it was completed.
    pub done: Nanos,
}

impl Done {
    /// The time from submission to completion.
    #[must_use]
    pub fn latency(&self) -> Nanos {
        self.done.since(self.begun)
    }
}

/// The reason why I/O failed.
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
        /// Number of blocks.
        count: u64,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The user interrupted the probe.
    #[error("interrupted; what has been measured is kept")]
    Interrupted,
}

/// A disk under probe.
///
/// The caller guarantees that each I/O has a length and lies within the disk. The written data does
/// not matter to any caller. Time is the disk's own monotonic clock, virtual for models.
pub trait Target {
    /// What the disk reports about itself.
    fn facts(&self) -> &Facts;

    /// Takes I/O from `next` and executes it, at most `depth` at once, until `next` has no more or
    /// `on_done` breaks. `on_done` gets each completion, in the order of completion. I/O in flight
    /// at a break is waited for, and `on_done` gets it too; its answer is then ignored.
    ///
    /// # Errors
    /// If an I/O fails, or the user interrupts the probe.
    fn run(
        &mut self,
        depth: usize,
        next: &mut dyn FnMut() -> Option<Io>,
        on_done: &mut dyn FnMut(Done) -> ControlFlow<()>,
    ) -> Result<(), TargetError>;

    /// Does nothing for `span` of the disk's time.
    ///
    /// # Errors
    /// If the user interrupts the probe.
    fn idle(&mut self, span: Nanos) -> Result<(), TargetError>;

    /// The current time, in the disk's time.
    fn now(&self) -> Nanos;
}
