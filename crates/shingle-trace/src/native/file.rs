//! Random access to the blocks of a native trace, for traces that stay in their file.

use std::fs::File;
use std::os::unix::fs::FileExt;

use shingle_core::units::{Nanos, Request};

use super::block::{self as blocks, Decoder};
use super::header::{self, Recorded};
use super::u64_at;
use crate::error::{Kind, Place, Problem, TraceError};
use crate::input::{Input, error_text};

/// A native trace that is not compressed, with its index in memory. Several threads may read it at
/// once.
#[derive(Debug)]
pub struct Indexed {
    name: String,
    file: File,
    recorded: Recorded,
    /// First arrival and first byte of each block.
    index: Vec<(u64, u64)>,
    /// Offset of the end of the last block.
    blocks_end: u64,
}

/// Buffers for reading, reused for the next block.
#[derive(Default)]
pub struct Reading {
    decoder: Decoder,
    block: Vec<u8>,
}

impl Indexed {
    /// Reads header and index.
    ///
    /// # Errors
    /// If the file cannot be read, or is no native trace or a damaged one.
    pub fn open(path: &str) -> Result<Indexed, TraceError> {
        let mut input = Input::open(path)?;
        let mut index = Vec::new();
        let (recorded, layout) =
            header::read(&mut input, |first_ns, place| index.push((first_ns, place)))?;
        let fail = |problem: Problem| problem.at(path, Place::Whole);
        let file = input.reopen().ok_or_else(|| {
            let message = "blocks of what is packed or comes from a pipe cannot be sought";
            fail(Problem::new(Kind::Io, message))
        })?;
        let file = file.map_err(|error| fail(io_problem(&error)))?;
        let bytes = file.metadata().map_err(|error| fail(io_problem(&error)))?.len();
        if bytes != layout.file_bytes {
            let place = Place::Byte(bytes.min(layout.file_bytes));
            let message = format!(
                "the file has {bytes} bytes and its header says {}: it is cut short or was added \
                 to; copy it again",
                layout.file_bytes
            );
            return Err(TraceError::new(Kind::Truncated, path, place, message));
        }
        Ok(Indexed {
            name: path.to_owned(),
            file,
            recorded,
            index,
            blocks_end: layout.file_bytes - layout.events_bytes,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the summary that the file records of itself.
    #[must_use]
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.index.len()
    }

    /// Appends the requests of a block to `out`; their times count from the first request of the
    /// file.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn read(
        &self,
        number: usize,
        reading: &mut Reading,
        out: &mut Vec<Request>,
    ) -> Result<(), TraceError> {
        let Reading { decoder, block } = reading;
        let (first_ns, from) = self.index[number];
        let to = self.index.get(number + 1).map_or(self.blocks_end, |&(_, place)| place);
        let base_ns = self.index[0].0;
        let mut read = || {
            let bytes = usize::try_from(to - from).ok().filter(|&bytes| bytes <= blocks::BYTES_MAX);
            let bytes = bytes.ok_or_else(|| header::damaged("has an index with wrong places"))?;
            block.resize(bytes, 0);
            self.file.read_exact_at(block, from).map_err(|error| io_problem(&error))?;
            if blocks::bytes_of(block)? != bytes || u64_at(block, 16) != first_ns {
                return Err(header::damaged("has an index that is not of its blocks"));
            }
            let after = Nanos(first_ns - base_ns);
            decoder.decode(block, base_ns, after, out)
        };
        read().map(drop).map_err(|problem: Problem| problem.at(&self.name, Place::Byte(from)))
    }
}

fn io_problem(error: &std::io::Error) -> Problem {
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        return Problem::new(Kind::Truncated, "the file is cut short; copy it again");
    }
    Problem::new(Kind::Io, format!("cannot be read: {}", error_text(error)))
}
