//! FIU: the traces of Florida International University (IODedup and kin, SNIA IOTTA).
//!
//! ```text
//! 89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523
//! time (ns) pid process address (sectors of 512 bytes) size (sectors) R|W major minor MD5
//! ```
//!
//! From the README of the traces. Files are named `….blkparse`, but are no output of blkparse. The
//! MD5 of the content is ignored and may be missing; there is one for 4096 bytes, in the `homes`
//! traces for 512. A time with a point is in seconds, as in some copies. The name of a process may
//! hold blanks. A volume is `MAJOR:MINOR`.

use shingle_core::units::{NS_PER_S, Op};

use super::decode::by_line;
use super::{Decoded, Format, Match, Options, fields, number, text};
use crate::error::{Problem, TraceError, shown};
use crate::input::Input;
use crate::source::Raw;
use crate::volume::Pairs;

pub(super) const FORMAT: Format = Format {
    name: "fiu",
    about: "FIU text (IODedup): ns pid process sector sectors R|W major minor MD5",
    sniff,
    weigh: None,
    open,
};

fn sniff(head: &[u8]) -> Option<Match> {
    let good = text::mostly(text::lines(head), |line| {
        columns(line).is_some_and(|c| number::scaled(c.time, 1).is_some())
    });
    Match::lines(Match::SURE, good)
}

fn open(input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_map(FORMAT.name, &input)?;
    by_line(input, options, Pairs::new(options.volume, b':'), request)
}

struct Columns<'a> {
    time: &'a [u8],
    sector: u64,
    sectors: u64,
    op: Op,
    major: &'a [u8],
    minor: &'a [u8],
}

/// Finds the operation and the numbers around it; the text before them is the process.
#[inline]
fn columns(line: &[u8]) -> Option<Columns<'_>> {
    let ([time, pid, _, mut sector, mut sectors, mut op, mut major, mut minor], mut rest) =
        fields::words_and_rest(line)?;
    number::whole(pid)?;
    loop {
        let op_here = match op {
            b"R" => Some(Op::Read),
            b"W" => Some(Op::Write),
            _ => None,
        };
        if let (Some(op), Some(sector), Some(sectors), Some(_), Some(_)) = (
            op_here,
            number::whole(sector),
            number::whole(sectors),
            number::whole(major),
            number::whole(minor),
        ) {
            return Some(Columns { time, sector, sectors, op, major, minor });
        }
        (sector, sectors, op, major) = (sectors, op, major, minor);
        minor = fields::next_word(&mut rest)?;
    }
}

#[inline]
fn request(volumes: &mut Pairs, line: &[u8]) -> Result<Option<Raw>, Problem> {
    let Some(columns) = columns(line) else {
        return Err(Problem::syntax(format!(
            "a line is 'ns pid process sector sectors R|W major minor MD5', and this one is {}",
            shown(line)
        )));
    };
    let Columns { time, sector, sectors, op, major, minor } = columns;
    let Some(volume) = volumes.select(major, minor)? else { return Ok(None) };
    let ns = match number::whole(time) {
        Some(ns) => ns,
        None => text::time(time, NS_PER_S, "time (column 1)")?,
    };
    let offset = text::of_sectors(sector)?;
    let bytes = text::of_sectors(sectors)?;
    Ok(Some(Raw { ns, offset, bytes, op, volume }))
}
