//! SPC: the text of the Storage Performance Council, as in the UMass traces (Financial, WebSearch).
//!
//! ```text
//! 0,303567,3584,w,0.000000
//! ASU,address (sectors of 512 bytes),size (bytes),r|w,time (s)
//! ```
//!
//! From the "SPC Trace File Format Specification", revision 1.0.1. The letter of the operation is
//! in either case, and further columns may follow. An ASU is a volume of its own with addresses
//! from 0. The UMass traces hold up to 24 of them; tools that drop the column let them overlap.

use shingle_core::units::NS_PER_S;

use super::decode::by_line;
use super::units::Columns;
use super::{Decoded, Format, Match, Options, Sample, Weight, fields, number, text};
use crate::error::{Problem, TraceError};
use crate::input::Input;
use crate::source::Raw;
use crate::volume::Volumes;

pub(super) const FORMAT: Format = Format {
    name: "spc",
    about: "SPC text (UMass): ASU,sector,bytes,r|w,seconds; an ASU is a volume",
    sniff,
    weigh: Some(weigh),
    open,
};

fn sniff(head: &[u8]) -> Option<Match> {
    let good = text::mostly(text::lines(head), |line| {
        fields::commas(line).is_some_and(|[asu, sector, bytes, op, time]| {
            [asu, sector, bytes].iter().all(|field| number::whole(text::unquoted(field)).is_some())
                && text::op_of(op).is_some()
                && number::scaled(text::unquoted(time), 1).is_some()
        })
    });
    Match::lines(Match::LIKELY, good)
}

/// Checks the units, because other tools write the same columns with other units: times are seconds
/// with a point, sizes bytes, and addresses sectors.
fn weigh(sample: &Sample) -> Weight {
    let mut seen = Columns::default();
    for line in sample.pieces().flatten() {
        let Some([_, sector, bytes, _, time]) = fields::commas(line) else { continue };
        seen.add(text::unquoted(time), text::unquoted(sector), text::unquoted(bytes));
    }
    if seen.are_whole_times() {
        return Weight::Odd {
            why: "the columns are those of SPC, whose times are seconds with a point, and these are \
                  whole numbers",
            map: "csv:device=1,offset=2/sectors,size=3/bytes,op=4,time=5/ms (or /us, /ns)",
        };
    }
    if seen.are_sizes_in_sectors() {
        return Weight::Odd {
            why: "the columns are those of SPC, whose sizes are bytes, and these are small as if \
                  they were sectors",
            map: "csv:device=1,offset=2/sectors,size=3/sectors,op=4,time=5/s",
        };
    }
    if seen.are_offsets_in_bytes() {
        return Weight::Odd {
            why: "the columns are those of SPC, whose addresses are sectors, and these are multiples \
                  of 512 as if they were bytes",
            map: "csv:device=1,offset=2/bytes,size=3/bytes,op=4,time=5/s",
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
    let Some([asu, sector, bytes, op, time]) = fields::commas(line) else {
        return Err(text::too_few(line, "ASU,sector,bytes,r|w,seconds"));
    };
    let Some(volume) = volumes.select(text::unquoted(asu))? else { return Ok(None) };
    let op = text::op_of(op).ok_or_else(|| text::unknown_op(op, "here it is r or w"))?;
    Ok(Some(Raw {
        ns: text::time(time, NS_PER_S, "time (column 5)")?,
        offset: text::sectors(sector, "address (column 2)")?,
        bytes: text::whole(bytes, "size (column 3)")?,
        op,
        volume,
    }))
}
