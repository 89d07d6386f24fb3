//! The bytes of a Parquet file: a file with random access, or all of it in memory, because its
//! table of contents is at the end.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::{Buf, Bytes};

use crate::error::{Kind, Place, TraceError};
use crate::input::{Input, error_text};

/// The most bytes that are held in memory, for input from a pipe or compressed input.
const MEMORY_BYTES_MAX: usize = 1 << 30;

const STEP_BYTES: usize = 64 << 10;

pub(super) enum Stored {
    File { file: File, bytes: u64 },
    Memory(Bytes),
}

impl Stored {
    pub(super) fn of(mut input: Input) -> Result<Stored, TraceError> {
        let failed = |error: &io::Error| {
            let message = format!("cannot be read: {}", error_text(error));
            TraceError::new(Kind::Io, input.name(), Place::Whole, message)
        };
        if let Some(file) = input.reopen() {
            let file = file.map_err(|error| failed(&error))?;
            let bytes = file.metadata().map_err(|error| failed(&error))?.len();
            return Ok(Stored::File { file, bytes });
        }
        let mut all = Vec::new();
        loop {
            let available = input.peek(STEP_BYTES)?.len();
            if available == 0 {
                return Ok(Stored::Memory(all.into()));
            }
            if all.len() + available > MEMORY_BYTES_MAX {
                let message = "Parquet from a pipe, or packed, is read into memory, and this is \
                               more than 1 GiB; give the plain file by its name";
                return Err(TraceError::new(Kind::Io, input.name(), Place::Whole, message));
            }
            all.extend_from_slice(input.next_record(available)?);
        }
    }
}

impl Length for Stored {
    fn len(&self) -> u64 {
        match self {
            Stored::File { bytes, .. } => *bytes,
            Stored::Memory(all) => all.len() as u64,
        }
    }
}

/// Returns the error for bytes past the end of the file. It is returned before memory is allocated.
fn past_end() -> ParquetError {
    ParquetError::EOF("it names bytes that are past its end".to_owned())
}

impl ChunkReader for Stored {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Box<dyn Read>> {
        if start > self.len() {
            return Err(past_end());
        }
        Ok(match self {
            Stored::File { file, .. } => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(start))?;
                Box::new(BufReader::new(file))
            }
            Stored::Memory(all) => Box::new(all.slice(start as usize..).reader()),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64).filter(|&end| end <= self.len());
        let end = end.ok_or_else(past_end)?;
        Ok(match self {
            Stored::File { file, .. } => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(start))?;
                let mut bytes = vec![0; length];
                file.read_exact(&mut bytes)?;
                bytes.into()
            }
            Stored::Memory(all) => all.slice(start as usize..end as usize),
        })
    }
}
