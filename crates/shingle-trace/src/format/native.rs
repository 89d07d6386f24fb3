//! Reads the project's binary format (`docs/format-native.md`) from front to end, compressed or
//! not.

use shingle_core::units::{Nanos, Request};

use super::{Decoded, Format, Match, Options};
use crate::error::{Kind, Place, Problem, TraceError};
use crate::input::Input;
use crate::native::block::{self, Decoder};
use crate::native::header::{self, Layout, Recorded, cut_short};
use crate::native::{BLOCK_REQUESTS, MAGIC};
use crate::source::{Source, prepare_batch};
use crate::summary::PerOp;

pub(super) const FORMAT: Format = Format {
    name: "native",
    about: "shingle's own: compact, with checksums, an index and a summary",
    sniff: |head| Match::magic(head.starts_with(&MAGIC)),
    weigh: None,
    open,
};

fn open(mut input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_map(FORMAT.name, &input)?;
    options.without_volume(FORMAT.name, &input)?;
    // The index is checked but not kept: sequential reads do not need it.
    let mut base_ns = None;
    let (recorded, layout) = header::read(&mut input, |first_ns, _| {
        base_ns.get_or_insert(first_ns);
    })?;
    Ok(Decoded::Source(Box::new(Native {
        input,
        recorded,
        layout,
        base_ns: base_ns.unwrap_or(0),
        decoder: Decoder::default(),
        blocks: 0,
        last: Nanos::ZERO,
        counted: PerOp::default(),
        block_rest: Vec::new(),
        passed: 0,
    })))
}

struct Native {
    input: Input,
    recorded: Recorded,
    layout: Layout,
    /// Arrival of the first request.
    base_ns: u64,
    decoder: Decoder,
    blocks: u64,
    last: Nanos,
    counted: PerOp,
    /// Requests of a block that is larger than a batch, and how many of them were returned.
    block_rest: Vec<Request>,
    passed: usize,
}

impl Native {
    /// Appends the next block to `out`; returns false at the end.
    fn decode_block(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        let byte = self.input.byte();
        if self.blocks == self.layout.blocks {
            crate::record::skip(&mut self.input, self.layout.events_bytes)?;
            return self.check_end(self.input.byte()).map(|()| false);
        }
        let from = out.len();
        match self.decode(out) {
            Ok(last) => self.last = last,
            Err(Fault::Read(error)) => return Err(error),
            Err(Fault::Cut(there)) => {
                let problem =
                    cut_short(&format!("in block {} of {}", self.blocks, self.layout.blocks));
                return Err(problem.at(self.input.name(), Place::Byte(byte + there as u64)));
            }
            Err(Fault::Bad(problem)) => {
                return Err(problem.at(self.input.name(), Place::Byte(byte)));
            }
        }
        self.blocks += 1;
        for request in &out[from..] {
            self.counted.add(request.op, 1);
        }
        Ok(true)
    }

    fn decode(&mut self, out: &mut Vec<Request>) -> Result<Nanos, Fault> {
        let head = self.input.peek(block::HEAD_BYTES)?;
        if head.len() < block::HEAD_BYTES {
            return Err(Fault::Cut(head.len()));
        }
        let bytes = block::bytes_of(head)?;
        let whole = self.input.next_record(bytes)?;
        if whole.len() < bytes {
            return Err(Fault::Cut(whole.len()));
        }
        Ok(self.decoder.decode(whole, self.base_ns, self.last, out)?)
    }

    /// Checks that everything in the header has come, and nothing more.
    fn check_end(&mut self, byte: u64) -> Result<(), TraceError> {
        let more = !self.input.peek(1)?.is_empty();
        let same = self.counted == self.recorded.requests
            && byte == self.layout.file_bytes
            && self.last.0.checked_add(self.base_ns) == Some(self.recorded.last_ns);
        if same && !more {
            return Ok(());
        }
        let message = if more {
            "there is more behind the last block: the file is damaged; copy it again"
        } else {
            "the blocks hold other requests than the header says: the file is damaged; copy it again"
        };
        Err(TraceError::new(Kind::Corrupt, self.input.name(), Place::Byte(byte), message))
    }
}

enum Fault {
    Read(TraceError),
    /// The input ends after this many bytes.
    Cut(usize),
    Bad(Problem),
}

impl From<TraceError> for Fault {
    fn from(error: TraceError) -> Fault {
        Fault::Read(error)
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Fault {
        Fault::Bad(problem)
    }
}

impl Source for Native {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        prepare_batch(out);
        // Whole blocks are decoded directly into `out`.
        while self.block_rest.is_empty() && out.capacity() - out.len() >= BLOCK_REQUESTS {
            if !self.decode_block(out)? {
                return Ok(!out.is_empty());
            }
        }
        while out.len() < out.capacity() {
            if self.passed == self.block_rest.len() {
                let mut block_rest = core::mem::take(&mut self.block_rest);
                block_rest.clear();
                self.passed = 0;
                // The batch holds blocks already, and the next block would not fit the rest of it.
                if !out.is_empty() && out.capacity() >= BLOCK_REQUESTS {
                    break;
                }
                let more = self.decode_block(&mut block_rest)?;
                self.block_rest = block_rest;
                if !more {
                    break;
                }
            }
            let count = (self.block_rest.len() - self.passed).min(out.capacity() - out.len());
            out.extend_from_slice(&self.block_rest[self.passed..self.passed + count]);
            self.passed += count;
        }
        Ok(!out.is_empty())
    }

    fn length_hint(&self) -> Option<u64> {
        Some(self.recorded.requests.total())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }
}

#[cfg(test)]
mod tests {
    use shingle_core::units::Op;

    /// The counts of operations are compared by code, so the codes must not change.
    #[test]
    fn operations_have_the_codes_of_the_document() {
        let codes = [Op::Read, Op::Write, Op::Trim, Op::Flush].map(|op| op as u8);
        assert_eq!(codes, [0, 1, 2, 3]);
    }
}
