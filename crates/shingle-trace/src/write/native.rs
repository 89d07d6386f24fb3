//! The project's own binary format, which carries all there is (`docs/format-native.md`).
//!
//! Summary and index stand in front of the requests, so packed blocks (6 to 12 bytes a request)
//! wait in memory until the last has come. In return the file goes to a pipe as well, and packs.

use shingle_core::units::{Op, Request};

use super::{Out, Sink, Writer};
use crate::error::TraceError;
use crate::native::BLOCK_REQUESTS;
use crate::native::block::Encoder;
use crate::native::header::{self, Recorded};
use crate::summary::Touched;

pub(super) const WRITER: Writer = Writer {
    name: "native",
    about: "shingle's own: compact, with checksums, an index and a summary",
    extensions: &["shingle"],
    create,
};

const TOOL: &str = concat!("shingle ", env!("CARGO_PKG_VERSION"));

fn create(out: Out) -> Result<Box<dyn Sink>, TraceError> {
    Ok(Box::new(Native {
        out,
        encoder: Encoder::default(),
        waiting: Vec::with_capacity(BLOCK_REQUESTS),
        blocks: Vec::new(),
        index: Vec::new(),
        recorded: Recorded { tool: TOOL.to_owned(), ..Recorded::default() },
        touched: Touched::default(),
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
    recorded: Recorded,
    touched: Touched,
}

impl Native {
    fn count(&mut self, request: &Request) {
        let recorded = &mut self.recorded;
        recorded.requests.add(request.op, 1);
        recorded.bytes.add(request.op, request.bytes);
        recorded.end_bytes = recorded.end_bytes.max(request.offset + request.bytes);
        recorded.last_ns = request.at.0;
        match request.op {
            Op::Read => recorded.read_blocks += request.blocks(),
            Op::Write => recorded.write_blocks += request.blocks(),
            Op::Trim | Op::Flush => return,
        }
        self.touched.access(request.first().0, request.blocks(), request.op == Op::Write);
    }

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
            self.count(request);
            self.waiting.push(*request);
            if self.waiting.len() == BLOCK_REQUESTS {
                self.end_block();
            }
        }
        Ok(())
    }

    fn name_source(&mut self, source: &str) {
        source.clone_into(&mut self.recorded.source);
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<String>, TraceError> {
        self.end_block();
        let (recorded, touched) = (&mut self.recorded, &self.touched);
        recorded.distinct_blocks = touched.blocks();
        recorded.distinct_written_blocks = touched.written_blocks();
        recorded.accessed_zones = touched.zones();
        recorded.written_zones = touched.written_zones();
        let header = header::encode(recorded, &self.index, self.blocks.len() as u64);
        self.out.put(&header)?;
        self.out.put(&self.blocks)?;
        self.out.finish()?;
        Ok(Vec::new())
    }
}
