//! `.req`: the text that published SMR-cache prototypes replay, one 4 KiB request a line.
//!
//! ```text
//! 1 0 2654453          op (0 read, 1 write), an ignored number, 4 KiB block
//! ```
//!
//! There are no timestamps: all requests arrive at 0, so only closed-loop pacing makes sense.

use shingle_core::units::BLOCK_BYTES;

use super::decode::{Decode, Pieces};
use super::{Decoded, Format, Match, Options, number, text};
use crate::error::{Problem, TraceError};
use crate::input::Input;
use crate::source::Raw;

pub(super) const FORMAT: Format = Format {
    name: "req",
    about: "one 4 KiB request a line: 0 (read) or 1 (write), an ignored number, block; no time",
    sniff,
    weigh: None,
    open,
};

fn sniff(head: &[u8]) -> Option<Match> {
    let good = text::mostly(text::lines(head), |line| {
        fields(line).is_some_and(|[op, ignored, block]| {
            text::op_of_digit(op).is_some()
                && number::whole(ignored).is_some()
                && number::whole(block).is_some()
        })
    });
    Match::lines(Match::LIKELY, good)
}

fn open(input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_map(FORMAT.name, &input)?;
    options.without_volume(FORMAT.name, &input)?;
    Decoded::records(Pieces::lines(input, Req, options.reorder))
}

struct Req;

impl Decode for Req {
    fn decode(&mut self, line: &[u8]) -> Result<Option<Raw>, Problem> {
        let Some([op, _, block]) = fields(line) else {
            return Err(Problem::syntax(
                "there are not 3 columns; a line is 0 or 1, a number, a block; for others use \
                 --format csv:op=1,offset=2/blocks,…",
            ));
        };
        let op = text::op_of_digit(op)
            .ok_or_else(|| text::unknown_op(op, "here it is 0, a read, or 1, a write"))?;
        let block = text::whole(block, "block (column 3)")?;
        let offset = block.checked_mul(BLOCK_BYTES).ok_or_else(|| {
            Problem::range(format!("block {block} is past 64 PiB, the largest disk"))
        })?;
        Ok(Some(Raw { ns: 0, offset, bytes: BLOCK_BYTES, op, volume: 0 }))
    }

    fn warning(&self) -> Option<String> {
        Some("the req format has no times: every request arrives at 0".to_owned())
    }
}

fn fields(line: &[u8]) -> Option<[&[u8]; 3]> {
    let mut words =
        line.split(|&byte| byte == b' ' || byte == b'\t').filter(|word| !word.is_empty());
    let fields = [words.next()?, words.next()?, words.next()?];
    words.next().is_none().then_some(fields)
}
