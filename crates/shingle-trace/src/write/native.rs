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
    Ok(Box::new(Native {
        out,
        encoder: Encoder::default(),
        waiting: Vec::with_capacity(BLOCK_REQUESTS),
        blocks: Vec::new(),
        index: Vec::new(),
        tally: Tally::default(),
        source: String::new(),
    }))
}

struct Native {
    out: Out,
    encoder: Encoder,
    /// Requests of the block that is not full.
    waiting: Vec<Request>,
    blocks: Vec<u8>,
    /// First arrival and place of each block.
    index: Vec<(u64, u64)>,
    tally: Tally,
    source: String,
}

impl Native {
    fn end_block(&mut self) {
        if let Some(first) = self.waiting.first() {
            self.index.push((first.at.0, self.blocks.len() as u64));
            self.encoder.encode(&self.waiting, &mut self.blocks);
            self.waiting.clear();
        }
    }
}

impl Sink for Native {
    fn put(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        for request in requests {
            self.tally.add(request);
            self.waiting.push(*request);
            if self.waiting.len() == BLOCK_REQUESTS {
                self.end_block();
            }
        }
        Ok(())
    }

    fn name_source(&mut self, source: &str) {
        source.clone_into(&mut self.source);
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<String>, TraceError> {
        self.end_block();
        let recorded = Recorded::of(&self.tally, self.source, TOOL.to_owned());
        let header = header::encode(&recorded, &self.index, self.blocks.len() as u64, 0);
        self.out.put(&header)?;
        self.out.put(&self.blocks)?;
        self.out.finish()?;
        Ok(Vec::new())
    }
}
