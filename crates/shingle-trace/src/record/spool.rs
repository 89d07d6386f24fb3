//! What is recorded waits in files without a name until all of it is known, and then moves to the one that has a name. It
//! takes its room there only once: what has moved is given back.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};

use crate::write::Out;

/// Moved at a time.
const PIECE_BYTES: usize = 1 << 20;
/// Room that is kept for the end: for what is in memory when the file system becomes full, for the header, and for
/// pieces that move.
const RESERVE_BYTES: u64 = 4 << 20;

/// Beside the file that gets all of it in the end, where there is room for that.
fn without_name(out: &Out) -> io::Result<File> {
    out.folder().map_or_else(tempfile::tempfile, tempfile::tempfile_in)
}

/// A file without a name, written from front to end and read once.
pub(super) struct Spool {
    file: File,
    pub(super) bytes: u64,
}

impl Spool {
    pub(super) fn beside(out: &Out) -> io::Result<Spool> {
        Ok(Spool { file: without_name(out)?, bytes: 0 })
    }

    /// Adds bytes: all, or none that count.
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
            // (Where files cannot have holes, it takes its room twice.)
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(&self.file, hole, at, bytes);
            at += bytes;
        }
        Ok(())
    }
}

/// Room beside `out` that nobody else gets before this is dropped.
pub(super) fn reserve(out: &Out) -> io::Result<File> {
    let file = without_name(out)?;
    match fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES) {
        // Some file systems promise nothing.
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(file),
        Err(error) => Err(error.into()),
    }
}
