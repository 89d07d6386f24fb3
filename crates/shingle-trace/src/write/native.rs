//! The project's own binary format, which carries all there is (`docs/format-native.md`).
//!
//! Summary and index stand in front of the requests, so packed blocks (6 to 12 bytes a request)
//! wait in memory until the last has come. In return the file goes to a pipe as well, and packs.

use shingle_core::units::Request;

use super::{Out, Sink, Writer};
use crate::error::TraceError;
use crate::native::block::Encoder;
use crate::native::header::{self, Recorded};
use crate::native::{BLOCK_REQUESTS, TOOL};
use crate::summary::Tally;

pub(super) const WRITER: Writer = Writer {
    name: "native",
    about: "shingle's own: compact, with checksums, an index and a summary",
    extensions: &["shingle"],
    create,
};

fn create(out: Out) -> Result<Box<dyn Sink>, TraceError> {
    Ok(Box::new(Native { out, file: File::default() }))
}

/// The file of `requests` as bytes, with the name of the trace that they come from.
#[must_use]
pub fn native_bytes(source: &str, requests: &[Request]) -> Vec<u8> {
    let mut file = File { source: source.to_owned(), ..File::default() };
    file.put(requests);
    let (mut bytes, blocks) = file.finish();
    bytes.extend(blocks);
    bytes
}

struct Native {
    out: Out,
    file: File,
}

/// What a file will hold.
#[derive(Default)]
struct File {
    encoder: Encoder,
    /// Requests of the block that is not full.
    waiting: Vec<Request>,
    blocks: Vec<u8>,
    /// First arrival and place of each block.
    index: Vec<(u64, u64)>,
    tally: Tally,
    source: String,
}

impl File {
    fn put(&mut self, requests: &[Request]) {
        for request in requests {
            self.tally.add(request);
            self.waiting.push(*request);
            if self.waiting.len() == BLOCK_REQUESTS {
                self.end_block();
            }
        }
    }

    fn end_block(&mut self) {
        if let Some(first) = self.waiting.first() {
            self.index.push((first.at.0, self.blocks.len() as u64));
            self.encoder.encode(&self.waiting, &mut self.blocks);
            self.waiting.clear();
        }
    }

    /// The header, and what follows it.
    fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        self.end_block();
        let recorded = Recorded::of(&self.tally, self.source, TOOL.to_owned());
        let header = header::encode(&recorded, &self.index, self.blocks.len() as u64, 0);
        (header, self.blocks)
    }
}

impl Sink for Native {
    fn put(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        self.file.put(requests);
        Ok(())
    }

    fn name_source(&mut self, source: &str) {
        source.clone_into(&mut self.file.source);
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<String>, TraceError> {
        let (header, blocks) = self.file.finish();
        self.out.put(&header)?;
        self.out.put(&blocks)?;
        self.out.finish()?;
        Ok(Vec::new())
    }
}
