//! What the content of a block is in memory: bytes in a store, a version number where only order and time
//! count.

use std::ops::Range;

use crate::format::Page;

/// The content of one block, as an engine handles it. Its records on the SSD are the same whatever it is.
pub trait Data: Sized {
    /// What all blocks of a command bring, or what a read gets.
    type Payload: Default + Clone;

    /// Whether anybody reads pages of metadata. Otherwise none is encoded, and [`Data::set_page`] gets zeros.
    const HAS_PAGES: bool = true;

    /// A block of zeros.
    fn zeroed() -> Self;

    /// Room for what a read of so many bytes gets.
    fn room(bytes: u64) -> Self::Payload;

    /// Whether a write of so many bytes can bring this.
    fn fits(payload: &Self::Payload, bytes: u64) -> bool;

    /// These bytes of the block become those of `payload` from its byte `at` on.
    fn write(&mut self, part: Range<usize>, payload: &Self::Payload, at: usize);

    /// These bytes of the block become zeros.
    fn clear(&mut self, part: Range<usize>);

    /// These bytes of the block go into `payload`, from its byte `at` on.
    fn read(&self, part: Range<usize>, payload: &mut Self::Payload, at: usize);

    /// CRC-32C of the block.
    fn crc(&self) -> u32;

    /// The block becomes a page of metadata.
    fn set_page(&mut self, page: &Page);
}

/// Blocks of memory that nobody uses, so that I/O need not ask the allocator each time.
pub(crate) struct Pool<D> {
    idle: Vec<D>,
}

/// 16 MiB at most.
const IDLE_MAX: usize = 4096;

/// A copy has none: it is memory, and nothing is in it.
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
    /// One with anything in it.
    pub(crate) fn take(&mut self) -> D {
        self.idle.pop().unwrap_or_else(D::zeroed)
    }

    pub(crate) fn give(&mut self, data: D) {
        if self.idle.len() < IDLE_MAX {
            self.idle.push(data);
        }
    }
}
