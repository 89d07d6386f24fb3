//! SYSTOR '17: storage traffic of virtual desktops (SNIA IOTTA 4964).
//!
//! ```text
//! Timestamp,Response,IOType,LUN,Offset,Size
//! 1456095145.133076000,0.000806000,R,0,899056122368,131072
//! time (s since 1970),response (s),R|W,LUN,offset (bytes),size (bytes)
//! ```
//!
//! From the README of the traces: the response, and with it the operation, is empty if no answer
//! was seen on the wire. Such a request is unknown, so it is skipped and counted. Lines are in the
//! order of completion. Times have nine digits of a second, of which six are significant.

use shingle_core::units::{NS_PER_S, Op};

use super::decode::{Decode, Pieces};
use super::{Decoded, Evidence, Format, Match, Options, fields, number, text};
use crate::error::{Problem, TraceError};
use crate::input::{Input, PEEK_BYTES_MAX};
use crate::source::Raw;
use crate::volume::Volumes;

pub(super) const FORMAT: Format = Format {
    name: "systor",
    about: "SYSTOR '17 CSV: Timestamp,Response,IOType,LUN,Offset,Size; a LUN is a volume",
    sniff,
    weigh: None,
    open,
};

fn is_header(line: &[u8]) -> bool {
    line.eq_ignore_ascii_case(b"Timestamp,Response,IOType,LUN,Offset,Size")
}

fn sniff(head: &[u8]) -> Option<Match> {
    let mut lines = text::lines(head);
    if !lines.next().is_some_and(is_header) {
        return None;
    }
    let good = |line: &[u8]| {
        fields::commas(line).is_some_and(|[time, _, _, _, offset, size]| {
            [time, offset, size]
                .iter()
                .all(|field| number::scaled(text::unquoted(field), 1).is_some())
        })
    };
    // The header alone is enough: an error below it is reported with its line.
    let (fit, of) = lines.fold((0, 0), |(fit, of), line| (fit + usize::from(good(line)), of + 1));
    Some(Match { sureness: Match::SURE, evidence: Evidence::Header { fit, of } })
}

fn open(mut input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_map(FORMAT.name, &input)?;
    // Parts of a day that were concatenated without their headers are read, too.
    if text::lines(input.peek(PEEK_BYTES_MAX)?).next().is_some_and(is_header) {
        text::consume_first_line(&mut input)?;
    }
    let decoder = Systor { volumes: Volumes::new(options.volume), unknown: 0 };
    Decoded::records(Pieces::lines(input, decoder, options.reorder))
}

struct Systor {
    volumes: Volumes,
    /// Number of requests without an operation.
    unknown: u64,
}

impl Decode for Systor {
    #[inline]
    fn decode(&mut self, line: &[u8]) -> Result<Option<Raw>, Problem> {
        let Some([time, _, op, lun, offset, size]) = fields::commas(line) else {
            return Err(text::too_few(line, "Timestamp,Response,IOType,LUN,Offset,Size"));
        };
        let Some(volume) = self.volumes.select(text::unquoted(lun))? else { return Ok(None) };
        let op = match op {
            b"R" => Op::Read,
            b"W" => Op::Write,
            _ if text::unquoted(op).is_empty() => {
                self.unknown += 1;
                return Ok(None);
            }
            _ => text::op_of(op).ok_or_else(|| text::unknown_op(op, "here it is R or W"))?,
        };
        Ok(Some(Raw {
            ns: text::time(time, NS_PER_S, "time (column 1)")?,
            offset: text::whole(offset, "offset (column 5)")?,
            bytes: text::whole(size, "size (column 6)")?,
            op,
            volume,
        }))
    }

    fn volumes(&self) -> Option<&Volumes> {
        Some(&self.volumes)
    }

    fn warning(&self) -> Option<String> {
        (self.unknown > 0).then(|| {
            format!("passed over, as they do not say whether they read or write: {}", self.unknown)
        })
    }
}
