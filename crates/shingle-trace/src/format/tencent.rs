//! Tencent's cloud block storage of 2018: 5,584 volumes for ten days (SNIA IOTTA 27917).
//!
//! ```text
//! 1538323200,4247200,128,1,1058
//! time (s since 1970),offset (sectors of 512 bytes),size (sectors),0 read|1 write,volume
//! ```
//!
//! From the README of the traces; there is no header. Times are whole seconds: all requests of one
//! second arrive at once, in the order of the file. Times go back by up to a second. A file holds
//! thousands of volumes.

use shingle_core::units::NS_PER_S;

use super::decode::by_line;
use super::units::Columns;
use super::{Decoded, Format, Match, Options, Sample, Weight, fields, number, text};
use crate::error::{Problem, TraceError};
use crate::input::Input;
use crate::source::Raw;
use crate::volume::Volumes;

pub(super) const FORMAT: Format = Format {
    name: "tencent",
    about: "Tencent CBS 2018 CSV: seconds,offset,size in sectors,0 read|1 write,volume",
    sniff,
    weigh: Some(weigh),
    open,
};

/// Number of digits of the seconds since 1970, from 2001 to 2286, which distinguishes times from
/// other columns of numbers.
const TIME_DIGITS: usize = 10;

fn sniff(head: &[u8]) -> Option<Match> {
    let good = text::mostly(text::lines(head), |line| {
        fields::commas(line).is_some_and(|[time, offset, size, op, volume]| {
            time.len() == TIME_DIGITS
                && text::op_of_digit(text::unquoted(op)).is_some()
                && [time, offset, size, volume].iter().all(|f| number::whole(f).is_some())
        })
    });
    Match::lines(Match::LIKELY, good)
}

/// Checks the units: the same columns with bytes would be read as a disk 512 times as large.
fn weigh(sample: &Sample) -> Weight {
    let mut seen = Columns::default();
    for line in sample.pieces().flatten() {
        let Some([time, offset, size, _, _]) = fields::commas(line) else { continue };
        seen.add(text::unquoted(time), text::unquoted(offset), text::unquoted(size));
    }
    if seen.are_offsets_in_bytes() && seen.are_sizes_in_bytes() {
        return Weight::Odd {
            why: "the columns are those of Tencent's traces, whose offsets and sizes are sectors, and \
                  these are multiples of 512 as if they were bytes",
            map: "csv:time=1/s,offset=2/bytes,size=3/bytes,op=4,read=0,write=1,device=5",
        };
    }
    Weight::Fits
}

fn open(input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_map(FORMAT.name, &input)?;
    by_line(input, options, Volumes::new(options.volume), request)
}

#[inline]
fn request(volumes: &mut Volumes, line: &[u8]) -> Result<Option<Raw>, Problem> {
    let Some([time, offset, size, op, volume]) = fields::commas(line) else {
        return Err(text::too_few(line, "seconds,offset,size,0|1,volume"));
    };
    let Some(volume) = volumes.select(text::unquoted(volume))? else { return Ok(None) };
    let op = text::op_of_digit(text::unquoted(op))
        .ok_or_else(|| text::unknown_op(op, "here it is 0, a read, or 1, a write"))?;
    Ok(Some(Raw {
        ns: text::time(time, NS_PER_S, "time (column 1)")?,
        offset: text::sectors(offset, "offset (column 2)")?,
        bytes: text::sectors(size, "size (column 3)")?,
        op,
        volume,
    }))
}
