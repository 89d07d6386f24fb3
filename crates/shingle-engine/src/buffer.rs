//! The memory of one block in a real store, aligned for direct I/O.

use std::ops::Range;

use crate::data::Data;
use crate::format::{PAGE_BYTES, Page};

/// One block of memory.
#[repr(C, align(4096))]
#[derive(Clone)]
pub struct Aligned(pub Page);

impl Default for Aligned {
    fn default() -> Aligned {
        Aligned([0; PAGE_BYTES])
    }
}

/// A block of memory that is passed between the engine and its I/O.
pub type Buffer = Box<Aligned>;

/// A block of zeros.
#[must_use]
pub fn zeroed() -> Buffer {
    Box::default()
}

impl Data for Buffer {
    type Payload = Vec<u8>;

    fn zeroed() -> Buffer {
        zeroed()
    }

    fn room(bytes: u64) -> Vec<u8> {
        vec![0; bytes as usize]
    }

    fn fits(payload: &Vec<u8>, bytes: u64) -> bool {
        payload.len() as u64 == bytes
    }

    fn write(&mut self, part: Range<usize>, payload: &Vec<u8>, at: usize) {
        let bytes = &payload[at..at + part.len()];
        self.0[part].copy_from_slice(bytes);
    }

    fn clear(&mut self, part: Range<usize>) {
        self.0[part].fill(0);
    }

    fn read(&self, part: Range<usize>, payload: &mut Vec<u8>, at: usize) {
        payload[at..at + part.len()].copy_from_slice(&self.0[part]);
    }

    fn crc(&self) -> u32 {
        crc32c::crc32c(&self.0)
    }

    fn set_page(&mut self, page: &Page) {
        self.0 = *page;
    }
}
