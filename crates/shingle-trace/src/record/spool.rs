//! Temporary storage of a recording. The parts are written to unnamed files, and moved to the named
//! file once all is known. Space that was moved is freed at once, so the parts never take it twice.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};

use crate::write::Out;

/// Bytes moved at a time.
const PIECE_BYTES: usize = 1 << 20;
/// Space reserved for the end: for data in memory when the file system becomes full, for the
/// header, and for pieces being moved.
const RESERVE_BYTES: u64 = 4 << 20;

/// Creates an unnamed file in the folder of the final file, where there is space for it.
fn unnamed_file(out: &Out) -> io::Result<File> {
    out.folder().map_or_else(tempfile::tempfile, tempfile::tempfile_in)
}

/// An unnamed file, written from front to end and read once.
pub(super) struct Spool {
    file: File,
    pub(super) bytes: u64,
}

impl Spool {
    pub(super) fn beside(out: &Out) -> io::Result<Spool> {
        Ok(Spool { file: unnamed_file(out)?, bytes: 0 })
    }

    /// Appends bytes: all of them, or none.
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn move_to(self, out: &mut Out) -> io::Result<()> {
        let mut piece = vec![0; PIECE_BYTES];
        let mut at = 0;
        while at < self.bytes {
            let bytes = (self.bytes - at).min(PIECE_BYTES as u64);
            let piece = &mut piece[..bytes as usize];
            self.file.read_exact_at(piece, at)?;
            out.write_all(piece)?;
            make_hole(&self.file, at, bytes);
            at += bytes;
        }
        Ok(())
    }
}

/// Frees the space of these bytes. Without support for holes the data takes its space twice.
#[cfg(target_os = "linux")]
fn make_hole(file: &File, at: u64, bytes: u64) {
    let _ = fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, bytes);
}

#[cfg(not(target_os = "linux"))]
fn make_hole(_: &File, _: u64, _: u64) {}

/// Reserves space in the folder of `out` until the file is dropped.
pub(super) fn reserve(out: &Out) -> io::Result<File> {
    let file = unnamed_file(out)?;
    match fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES) {
        // Some file systems cannot reserve space.
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(file),
        Err(error) => Err(error.into()),
    }
}
