//! The project's own binary format, which represents traces without loss (`docs/format-native.md`).
//!
//! Summary and index come before the requests, so packed blocks (6 to 12 bytes a request) wait
//! until the last request has come: in memory, and if there are many, in a temporary file. In
//! return the file can be written to a pipe and compressed.

use std::io::{self, Seek, SeekFrom, Write};

use shingle_core::units::Request;
use tempfile::SpooledTempFile;

use super::{Out, Sink, Writer};
use crate::error::TraceError;
use crate::native::block::Encoder;
use crate::native::header::{self, Recorded};
use crate::native::{BLOCK_REQUESTS, TOOL};
use crate::summary::Tally;

pub(super) const WRITER: Writer = Writer { name: "native", extensions: &["shingle"], create };

/// Bytes of packed blocks that wait in memory: of 6 to 10 million requests.
const HELD_BYTES: usize = 64 << 20;

fn create(out: Out) -> Result<Box<dyn Sink>, TraceError> {
    // The temporary file is in the folder of the final file, where there is space for it; the
    // folder for temporary files may be in memory.
    let blocks = match out.folder() {
        Some(folder) => tempfile::spooled_tempfile_in(HELD_BYTES, folder),
        None => tempfile::spooled_tempfile(HELD_BYTES),
    };
    Ok(Box::new(Native { out, file: File::new(blocks) }))
}

/// Returns a file of `requests` as bytes; `source` is the name of the trace they come from.
#[must_use]
pub fn native_bytes(source: &str, requests: &[Request]) -> Vec<u8> {
    let mut file = File::new(Vec::new());
    source.clone_into(&mut file.source);
    let made = file.put(requests).and_then(|()| file.finish());
    let (mut bytes, blocks) = made.expect("memory takes what is written");
    bytes.extend(blocks);
    bytes
}

struct Native {
    out: Out,
    file: File<SpooledTempFile>,
}

struct File<B> {
    encoder: Encoder,
    /// Requests of the current block, which is not full.
    waiting: Vec<Request>,
    /// The block packed last.
    packed: Vec<u8>,
    blocks: B,
    blocks_bytes: u64,
    /// First arrival and offset of each block.
    index: Vec<(u64, u64)>,
    tally: Tally,
    source: String,
}

impl<B: Write> File<B> {
    fn new(blocks: B) -> File<B> {
        File {
            encoder: Encoder::default(),
            waiting: Vec::new(),
            packed: Vec::new(),
            blocks,
            blocks_bytes: 0,
            index: Vec::new(),
            tally: Tally::default(),
            source: String::new(),
        }
    }

    fn put(&mut self, requests: &[Request]) -> io::Result<()> {
        for request in requests {
            self.tally.add(request);
            self.waiting.push(*request);
            if self.waiting.len() == BLOCK_REQUESTS {
                self.end_block()?;
            }
        }
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        if let Some(first) = self.waiting.first() {
            self.index.push((first.at.0, self.blocks_bytes));
            self.packed.clear();
            self.encoder.encode(&self.waiting, &mut self.packed);
            self.waiting.clear();
            self.blocks.write_all(&self.packed)?;
            self.blocks_bytes += self.packed.len() as u64;
        }
        Ok(())
    }

    /// Returns the header and the packed blocks.
    fn finish(mut self) -> io::Result<(Vec<u8>, B)> {
        self.end_block()?;
        let recorded = Recorded::of(&self.tally, self.source, TOOL.to_owned());
        let header = header::encode(&recorded, &self.index, self.blocks_bytes, 0);
        Ok((header, self.blocks))
    }
}

impl Sink for Native {
    fn put(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        self.file.put(requests).map_err(|error| self.out.failed(&error))
    }

    fn name_source(&mut self, source: &str) {
        source.clone_into(&mut self.file.source);
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, TraceError> {
        let Native { mut out, file } = *self;
        let written = file.finish().and_then(|(header, mut blocks)| {
            out.write_all(&header)?;
            blocks.seek(SeekFrom::Start(0))?;
            io::copy(&mut blocks, &mut out)
        });
        written.map_err(|error| out.failed(&error))?;
        out.finish()?;
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use shingle_core::units::{Nanos, Op};

    use super::*;

    #[test]
    fn blocks_that_wait_in_a_file_become_the_same_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace.shingle");
        let request = |n: u64| Request {
            at: Nanos(n),
            offset: n * n % 9973 * 512,
            bytes: 512,
            op: Op::Write,
        };
        let requests: Vec<Request> = (0..10_000).map(request).collect();
        let out = Out::create(path.to_str().expect("text")).expect("made");
        // Only the first of three blocks fits into memory.
        let held = native_bytes("", &requests[..BLOCK_REQUESTS]).len();
        let blocks = tempfile::spooled_tempfile_in(held, out.folder().expect("a folder"));
        let mut sink: Box<dyn Sink> = Box::new(Native { out, file: File::new(blocks) });
        sink.name_source("squares");
        requests.chunks(999).for_each(|part| sink.put(part).expect("written"));
        sink.finish().expect("whole");
        assert_eq!(std::fs::read(&path).expect("there"), native_bytes("squares", &requests));
        let left = std::fs::read_dir(folder.path()).expect("there").count();
        assert_eq!(left, 1, "nothing else is left");
    }
}
