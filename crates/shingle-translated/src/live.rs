//! A translated disk in use.

use shingle_core::units::Block;
use shingle_engine::Buffer;
use shingle_zoned::ZonedDisk;

use crate::error::{LiveError, LiveErrorKind, OpenError};
use crate::status::Status;

/// A zoned disk that takes writes anywhere. Calls block, and may come from many threads.
///
/// Writes, trims, flushes and idle time are works, one after another. Reads go beside them: one waits for a single I/O of a
/// work at most, and may meet a write of the same blocks half-way.
///
/// What was written is durable after the next [`LiveDisk::flush`]. What was trimmed may read as anything.
///
/// After an error of the disk that leaves open what is on it, it takes no more writes until it is opened again; reads go on
/// ([`Status::failed`]).
pub struct LiveDisk {
    disk: Box<dyn ZonedDisk>,
}

impl LiveDisk {
    /// Opens a formatted disk, and recovers it if need be. If the disk can be read and not written, it is open and
    /// [`Status::failed`] says so.
    ///
    /// # Errors
    /// If it has no map, if the map is damaged, or if it cannot be read.
    pub fn open(disk: Box<dyn ZonedDisk>) -> Result<LiveDisk, OpenError> {
        Err(OpenError::NotFormatted { disk: disk.name().to_owned() })
    }

    /// Blocks that the host may address.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        0
    }

    /// Of the map. It is another one after each format.
    #[must_use]
    pub fn uuid(&self) -> [u8; 16] {
        [0; 16]
    }

    /// The disk, as it was named.
    #[must_use]
    pub fn name(&self) -> &str {
        self.disk.name()
    }

    /// Reads blocks from `block` on, one to each buffer. Those never written are zeros.
    ///
    /// # Errors
    /// If some are lost or beyond the end, or the disk does not give them. The buffers may hold anything then.
    pub fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), LiveError> {
        Err(not_yet(block, buffers.len() as u64))
    }

    /// Writes blocks from `block` on.
    ///
    /// # Errors
    /// If they are beyond the end, there is no room for the map, or the disk fails. Some of the blocks may have been
    /// written.
    pub fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), LiveError> {
        Err(not_yet(block, buffers.len() as u64))
    }

    /// Gives blocks up: they may read as anything. Long trims let other works in between.
    ///
    /// # Errors
    /// If they are beyond the end, or the disk fails.
    pub fn trim(&self, block: Block, count: u64) -> Result<(), LiveError> {
        Err(not_yet(block, count))
    }

    /// Makes durable what was written and trimmed before.
    ///
    /// # Errors
    /// If that is not so, and so it is for good until the disk is opened again.
    pub fn flush(&self) -> Result<(), LiveError> {
        Err(not_yet(Block(0), 0))
    }

    /// One work of idle time, or the repair of a zone. Whether there is more to do.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn idle(&self) -> Result<bool, LiveError> {
        Err(not_yet(Block(0), 0))
    }

    /// How it is now. It waits for the work under way.
    #[must_use]
    pub fn status(&self) -> Status {
        Status::default()
    }

    /// Flushes, and leaves a checkpoint, so that the next opening reads no log.
    ///
    /// # Errors
    /// If what was written is not durable.
    pub fn close(self) -> Result<(), LiveError> {
        self.flush()
    }
}

fn not_yet(block: Block, count: u64) -> LiveError {
    LiveError::new(block.0..block.0 + count, LiveErrorKind::Failed, "not yet")
}
