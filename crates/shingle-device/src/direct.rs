//! Blocking I/O without the page cache, if the file system supports that.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};

use rustix::io::{preadv, pwritev};
use shingle_engine::buffer::Buffer;
use shingle_engine::format::PAGE_BYTES;

use crate::error::ended_early;

/// The most pages that the system takes in one call.
const PAGES_MAX: usize = 1024;

/// The most pages that are copied at a time to or from aligned memory.
pub(crate) const PAGES_AT_ONCE: usize = 256;

/// An open file or device for I/O in pages.
#[derive(Debug)]
pub struct Direct(pub(crate) File);

impl Direct {
    /// Duplicates the open file.
    pub(crate) fn again(&self) -> io::Result<Direct> {
        Ok(Direct(self.0.try_clone()?))
    }

    /// Reads pages, from `page` on.
    pub fn read(&self, mut page: u64, buffers: &mut [Buffer]) -> io::Result<()> {
        for part in buffers.chunks_mut(PAGES_MAX) {
            let bytes = part.len() * PAGE_BYTES;
            let mut slices: Vec<_> =
                part.iter_mut().map(|buffer| IoSliceMut::new(&mut buffer.0)).collect();
            let read = preadv(&self.0, &mut slices, page * PAGE_BYTES as u64)?;
            whole(read, bytes)?;
            page += PAGES_MAX as u64;
        }
        Ok(())
    }

    /// Writes pages, from `page` on.
    pub fn write(&self, mut page: u64, buffers: &[Buffer]) -> io::Result<()> {
        for part in buffers.chunks(PAGES_MAX) {
            let slices: Vec<_> = part.iter().map(|buffer| IoSlice::new(&buffer.0)).collect();
            let written = pwritev(&self.0, &slices, page * PAGE_BYTES as u64)?;
            whole(written, part.len() * PAGE_BYTES)?;
            page += PAGES_MAX as u64;
        }
        Ok(())
    }

    /// Makes everything durable that was written.
    pub fn flush(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

fn whole(done: usize, wanted: usize) -> io::Result<()> {
    if done == wanted { Ok(()) } else { Err(ended_early(done, wanted)) }
}
