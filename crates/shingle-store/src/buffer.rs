//! Memory for one block at a time, aligned as direct I/O wants it.

use crate::format::{PAGE_BYTES, Page};

/// One block of memory.
#[repr(C, align(4096))]
pub struct Aligned(pub Page);

/// A block of memory on its way.
pub type Buffer = Box<Aligned>;

/// A block of zeros.
#[must_use]
pub fn zeroed() -> Buffer {
    Box::new(Aligned([0; PAGE_BYTES]))
}

/// Buffers that nobody uses, so that I/O need not ask the allocator each time.
#[derive(Default)]
pub(crate) struct Pool {
    idle: Vec<Buffer>,
}

/// 16 MiB at most.
const IDLE_MAX: usize = 4096;

impl Pool {
    /// A buffer with anything in it.
    pub(crate) fn take(&mut self) -> Buffer {
        self.idle.pop().unwrap_or_else(zeroed)
    }

    pub(crate) fn give(&mut self, buffer: Buffer) {
        if self.idle.len() < IDLE_MAX {
            self.idle.push(buffer);
        }
    }
}
