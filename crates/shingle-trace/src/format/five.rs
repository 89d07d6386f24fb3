//! Time, device, sector, size and flags in five columns: what DiskSim's, FlashSim's and MQSim's
//! traces have in common. `units.rs` tells them apart by their numbers.

use shingle_core::units::Op;

use super::{Decoded, Match, Options, fields, number, text};
use crate::error::{Problem, TraceError};
use crate::input::Input;
use crate::source::Raw;
use crate::volume::Volumes;

/// What a column's numbers count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    /// Nanoseconds of a unit of time.
    pub(super) time_ns: u64,
    /// Bytes of a unit of size.
    pub(super) size_bytes: u64,
    /// The largest value of the flags.
    pub(super) flags_max: u32,
}

pub(super) fn open(
    input: Input,
    options: &Options<'_>,
    format: &str,
    units: Units,
) -> Result<Decoded, TraceError> {
    options.without_map(format, &input)?;
    let volumes = Volumes::new(options.volume);
    text::by_line(input, options, volumes, move |volumes, line| request(units, volumes, line))
}

#[inline]
fn request(units: Units, volumes: &mut Volumes, line: &[u8]) -> Result<Option<Raw>, Problem> {
    let Some([time, device, sector, size, flags]) = fields::words(line) else {
        return Err(text::too_few(line, "time device sector size flags"));
    };
    let Some(volume) = volumes.takes(device)? else { return Ok(None) };
    let Some(flags) = hexadecimal(flags).filter(|flags| *flags <= units.flags_max) else {
        return Err(text::unknown_op(flags, "here 0 writes and 1 reads"));
    };
    let bytes = text::whole(size, "size (column 4)")?
        .checked_mul(units.size_bytes)
        .ok_or_else(|| text::too_large(size, "size (column 4)"))?;
    Ok(Some(Raw {
        ns: text::time(time, units.time_ns, "time (column 1)")?,
        offset: text::sectors(sector, "address (column 3)")?,
        bytes,
        op: if flags & 1 == 1 { Op::Read } else { Op::Write },
        volume,
    }))
}

#[inline]
fn hexadecimal(field: &[u8]) -> Option<u32> {
    const DIGITS_MAX: usize = 8;
    if field.is_empty() || field.len() > DIGITS_MAX {
        return None;
    }
    field
        .iter()
        .try_fold(0, |value, &byte| char::from(byte).to_digit(16).map(|digit| value << 4 | digit))
}

/// A line's time, sector and size, and whether its flags are but 0 or 1.
pub(super) struct Numbers<'a> {
    pub(super) time: &'a [u8],
    pub(super) sector: u64,
    pub(super) size: u64,
    pub(super) flag: bool,
}

/// The numbers of a line that has these five columns and nothing else.
pub(super) fn numbers(line: &[u8]) -> Option<Numbers<'_>> {
    let ([time, device, sector, size, flags], rest) = fields::words_and_rest::<5>(line)?;
    let is_whole = number::whole(device).is_some() && rest.trim_ascii().is_empty();
    number::scaled(time, 1).filter(|_| is_whole)?;
    Some(Numbers {
        time,
        sector: number::whole(sector)?,
        size: number::whole(size)?,
        flag: hexadecimal(flags)? <= 1,
    })
}

/// Whether the beginning has these columns. Which of the formats it is, their units tell.
pub(super) fn sniff(head: &[u8]) -> Option<Match> {
    Match::lines(Match::LIKELY, text::most(text::lines(head), |line| numbers(line).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_hexadecimal() {
        assert_eq!([&b"0"[..], b"1", b"8F"].map(hexadecimal), [Some(0), Some(1), Some(0x8f)]);
        assert_eq!([&b""[..], b"-1", b"123456789"].map(hexadecimal), [None; 3]);
    }
}
