//! Helpers: I/O of targets, and the content of sparse files.

use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use shingle_probe::target::{Block, Done, Io, Op, Target, TargetError};

/// The granularity of holes.
const PAGE: usize = 4096;

/// Reads the content of a file except pages of zeroes: offsets and bytes. (Whether preallocated,
/// unwritten space is a hole can change at any moment.)
pub(crate) fn content(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let file = File::open(path).expect("opened");
    let mut parts = Vec::new();
    let mut from = 0;
    loop {
        let place = match seek(&file, SeekFrom::Data(from)) {
            Err(Errno::NXIO) => return parts,
            place => place.expect("a place"),
        };
        from = seek(&file, SeekFrom::Hole(place)).expect("the end of the file is a hole");
        let mut bytes = vec![0; usize::try_from(from - place).expect("small")];
        file.read_exact_at(&mut bytes, place).expect("read");
        let pages = (place..).step_by(PAGE).zip(bytes.chunks(PAGE));
        let written = pages.filter(|(_, page)| page.iter().any(|&byte| byte != 0));
        parts.extend(written.map(|(place, page)| (place, page.to_vec())));
    }
}

pub(crate) fn io(op: Op, block: u64, count: u64) -> Io {
    Io { op, block: Block(block), count }
}

/// Executes all `ios`, and returns the completions.
pub(crate) fn run(
    target: &mut dyn Target,
    depth: usize,
    ios: &[Io],
) -> Result<Vec<Done>, TargetError> {
    let mut left = ios.iter().copied();
    let mut seen = Vec::new();
    target.run(depth, &mut || left.next(), &mut |done| {
        seen.push(done);
        ControlFlow::Continue(())
    })?;
    Ok(seen)
}
