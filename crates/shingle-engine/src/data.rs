//! The content of a block in memory: bytes in a real store, a version number in a simulation, where
//! only order and time count.

use std::ops::Range;

use crate::format::Page;

/// The content of one block, as the engine handles it. Records on the SSD are the same for every
/// type of content.
pub trait Data: Sized {
    /// The data that a whole command carries: what a write brings, or what a read returns.
    type Payload: Default + Clone;

    /// Whether pages of metadata are ever read back. If not, none is encoded, and
    /// [`Data::set_page`] gets zeros.
    const HAS_PAGES: bool = true;

    /// A block of zeros.
    fn zeroed() -> Self;

    /// Allocates the result of a read of `bytes` bytes.
    fn room(bytes: u64) -> Self::Payload;

    /// Whether `payload` is valid for a write of `bytes` bytes.
    fn fits(payload: &Self::Payload, bytes: u64) -> bool;

    /// Copies `payload`, from its byte `at` on, to `part` of the block.
    fn write(&mut self, part: Range<usize>, payload: &Self::Payload, at: usize);

    /// Zeroes `part` of the block.
    fn clear(&mut self, part: Range<usize>);

    /// Copies `part` of the block to `payload`, from its byte `at` on.
    fn read(&self, part: Range<usize>, payload: &mut Self::Payload, at: usize);

    /// CRC-32C of the block.
    fn crc(&self) -> u32;

    /// Replaces the block by a page of metadata.
    fn set_page(&mut self, page: &Page);
}

/// Unused blocks of memory, kept so that I/O need not call the allocator each time.
pub(crate) struct Pool<D> {
    idle: Vec<D>,
}

/// At most 16 MiB.
const IDLE_MAX: usize = 4096;

/// A copy starts empty: a pool only caches memory.
impl<D> Clone for Pool<D> {
    fn clone(&self) -> Pool<D> {
        Pool::default()
    }
}

impl<D> Default for Pool<D> {
    fn default() -> Pool<D> {
        Pool { idle: Vec::new() }
    }
}

impl<D: Data> Pool<D> {
    /// Returns a block with arbitrary content.
    pub(crate) fn take(&mut self) -> D {
        self.idle.pop().unwrap_or_else(D::zeroed)
    }

    pub(crate) fn give(&mut self, data: D) {
        if self.idle.len() < IDLE_MAX {
            self.idle.push(data);
        }
    }
}
