//! MSR Cambridge: the CSV of the volumes traced at Microsoft Research (SNIA IOTTA 388).
//!
//! ```text
//! 128166372003061629,hm,1,Read,8110592,4096,1331
//! time (FILETIME),host,disk,Read|Write,offset,size,response (FILETIME)
//! ```
//!
//! There is no header; offsets and sizes are in bytes; a FILETIME tick is 100 ns since 1601. Disk
//! numbers repeat across hosts, so a volume is `HOST.DISK`. Some copies have a header line.

use super::decode::by_line;
use super::{Decoded, Evidence, Format, Match, Options, fields, number, text};
use crate::error::{Problem, TraceError};
use crate::input::{Input, PEEK_BYTES_MAX};
use crate::source::Raw;
use crate::volume::Pairs;

pub(super) const FORMAT: Format = Format {
    name: "msr",
    about: "MSR Cambridge CSV: FILETIME,host,disk,Read|Write,offset,size,response",
    sniff,
    weigh: None,
    open,
};

/// Number of digits of a FILETIME in this century, which distinguishes times from other columns.
const TICK_DIGITS: usize = 18;
const TICK_NS: u64 = 100;

fn sniff(head: &[u8]) -> Option<Match> {
    let with_header = text::lines(head).next().is_some_and(is_header);
    let lines = text::lines(head).filter(|line| !is_header(line));
    let good = text::mostly(lines, |line| {
        fields::commas(line).is_some_and(|[time, _, _, op, offset, size]| {
            time.len() == TICK_DIGITS
                && [time, offset, size].iter().all(|field| number::whole(field).is_some())
                && text::op_of(op).is_some()
        })
    });
    let mut matched = Match::lines(Match::SURE, good)?;
    if let (true, Evidence::Lines { fit, of }) = (with_header, matched.evidence) {
        matched.evidence = Evidence::Header { fit, of };
    }
    Some(matched)
}

fn open(mut input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_map(FORMAT.name, &input)?;
    let head = input.peek(PEEK_BYTES_MAX)?;
    if text::lines(head).next().is_some_and(is_header) {
        text::consume_first_line(&mut input)?;
    }
    by_line(input, options, Pairs::new(options.volume, b'.'), request)
}

fn is_header(line: &[u8]) -> bool {
    let line = line.to_ascii_lowercase();
    line.starts_with(b"timestamp,host")
}

#[inline]
fn request(volumes: &mut Pairs, line: &[u8]) -> Result<Option<Raw>, Problem> {
    let Some([time, host, disk, op, offset, size]) = fields::commas(line) else {
        return Err(Problem::syntax(
            "there are fewer than 6 columns; a line is time,host,disk,Read|Write,offset,size,\
             response; for others use --format csv:time=1/us,op=2,…",
        ));
    };
    let (host, disk) = (text::unquoted(host), text::unquoted(disk));
    let Some(volume) = volumes.select(host, disk)? else { return Ok(None) };
    let ticks = text::whole(time, "time (column 1)")?;
    let op = text::op_of(op).ok_or_else(|| text::unknown_op(op, "here it is Read or Write"))?;
    let offset = text::whole(offset, "offset (column 5)")?;
    let bytes = text::whole(size, "size (column 6)")?;
    let ns = ticks.checked_mul(TICK_NS).ok_or_else(|| {
        Problem::range("the time is no FILETIME (100 ns); use --format csv:time=1/us,…")
    })?;
    Ok(Some(Raw { ns, offset, bytes, op, volume }))
}
