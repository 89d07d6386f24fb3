//! Time, device, sector, size and flags in five columns: what DiskSim's, FlashSim's and MQSim's
//! traces have in common, and how to tell them apart by their numbers.

use shingle_core::units::Op;

use super::text::{self, Decode, TextSource};
use super::{Decoded, Options, fields, number};
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

pub(super) struct Five {
    units: Units,
    volumes: Volumes,
}

impl Five {
    pub(super) fn open(
        input: Input,
        options: &Options<'_>,
        format: &str,
        units: Units,
    ) -> Result<Decoded, TraceError> {
        options.without_map(format, &input)?;
        let decoder = Five { units, volumes: Volumes::new(options.volume) };
        Decoded::records(TextSource::new(input, decoder, options.reorder))
    }
}

impl Decode for Five {
    #[inline]
    fn decode(&mut self, line: &[u8]) -> Result<Option<Raw>, Problem> {
        let Some([time, device, sector, size, flags]) = fields::words(line) else {
            return Err(text::too_few(line, "time device sector size flags"));
        };
        let Some(volume) = self.volumes.takes(device)? else { return Ok(None) };
        let Some(flags) = hexadecimal(flags).filter(|flags| *flags <= self.units.flags_max) else {
            return Err(text::unknown_op(flags, "here 0 writes and 1 reads"));
        };
        let bytes = text::whole(size, "size (column 4)")?
            .checked_mul(self.units.size_bytes)
            .ok_or_else(|| text::too_large(size, "size (column 4)"))?;
        Ok(Some(Raw {
            ns: text::time(time, self.units.time_ns, "time (column 1)")?,
            offset: text::sectors(sector, "address (column 3)")?,
            bytes,
            op: if flags & 1 == 1 { Op::Read } else { Op::Write },
            volume,
        }))
    }

    fn volumes(&self) -> Option<&Volumes> {
        Some(&self.volumes)
    }
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

/// What the numbers tell; nothing where they leave it open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    /// Times are in nanoseconds rather than in milliseconds.
    pub(super) nanoseconds: Option<bool>,
    /// Sizes are in pages of 4 KiB rather than in sectors.
    pub(super) pages: Option<bool>,
}

/// Looks at the numbers of a text of five columns.
pub(super) fn look(head: &[u8]) -> Option<Seen> {
    let shaped = text::most(text::lines(head), |line| {
        let Some((columns, rest)) = fields::words_and_rest::<5>(line) else { return false };
        let [time, device, sector, size, flags] = columns;
        rest.trim_ascii().is_empty()
            && number::scaled(time, 1).is_some()
            && [device, sector, size].iter().all(|field| number::whole(field).is_some())
            && hexadecimal(flags).is_some()
    });
    shaped.then(|| Seen { nanoseconds: times(head), pages: sizes(head) })
}

/// Nanoseconds are whole numbers. If all are whole, the pace tells: a request in ten microseconds
/// is fast for nanoseconds, and one in ten seconds slow for milliseconds.
fn times(head: &[u8]) -> Option<bool> {
    const NS_PACE_MIN: u64 = 10_000;
    const MS_PACE_MAX: u64 = 100;
    let (mut first, mut last, mut count) = (None, 0, 0);
    for line in text::lines(head) {
        let Some([time]) = fields::words(line) else { continue };
        let Some(time) = number::whole(time) else { return Some(false) };
        first = first.or(Some(time));
        last = time;
        count += 1;
    }
    let pace = last.saturating_sub(first?) / (count - 1).max(1);
    if pace >= NS_PACE_MIN {
        Some(true)
    } else if (1..=MS_PACE_MAX).contains(&pace) {
        Some(false)
    } else {
        None
    }
}

/// Sizes and addresses that are all whole pages are counted in sectors: pages would not be all
/// multiples of eight. Otherwise requests that go on where another ended tell how long that was.
fn sizes(head: &[u8]) -> Option<bool> {
    const LINES_MIN: u32 = 8;
    const FOLLOWING_MIN: u32 = 8;
    const PAGE_SECTORS: u64 = 8;
    /// How far back that other may stand: fewer requests than a page has sectors, or a run of whole
    /// requests would look like one of pages.
    const BACK_MAX: usize = 4;
    let (mut lines, mut aligned) = (0, true);
    let (mut as_sectors, mut as_pages) = (0, 0);
    let mut before = [(0_u64, 0_u64); BACK_MAX];
    for line in text::lines(head) {
        let Some([_, _, sector, size]) = fields::words(line) else { continue };
        let (Some(sector), Some(size)) = (number::whole(sector), number::whole(size)) else {
            continue;
        };
        aligned &= sector % PAGE_SECTORS == 0 && size % PAGE_SECTORS == 0;
        // Sizes in pages were rounded up, so the next request begins in the last page, or behind it.
        let in_pages = |&(from, pages): &(u64, u64)| {
            sector
                .checked_sub(from)
                .is_some_and(|gap| gap > 0 && gap.div_ceil(PAGE_SECTORS) == pages)
        };
        let in_sectors = |&(from, sectors): &(u64, u64)| {
            sectors > 0 && sector.checked_sub(from) == Some(sectors)
        };
        match (before.iter().any(in_sectors), before.iter().any(in_pages)) {
            (true, false) => as_sectors += 1,
            (false, true) => as_pages += 1,
            (false, false) | (true, true) => {}
        }
        before[lines as usize % BACK_MAX] = (sector, size);
        lines += 1;
    }
    if aligned {
        return (lines >= LINES_MIN).then_some(false);
    }
    if as_sectors >= FOLLOWING_MIN && as_sectors > 2 * as_pages {
        Some(false)
    } else if as_pages >= FOLLOWING_MIN && as_pages > 2 * as_sectors {
        Some(true)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_tells_the_unit_of_time() {
        assert_eq!(times(b"1 0 0 8 1\n2.5 0 0 8 1\n"), Some(false));
        assert_eq!(times(b"938513000 0 0 8 1\n938828000 0 0 8 1\n"), Some(true));
        assert_eq!(times(b"10 0 0 8 1\n30 0 0 8 1\n"), Some(false));
        assert_eq!(times(b"1000 0 0 8 1\n3000 0 0 8 1\n"), None);
        assert_eq!(times(b"938513000 0 0 8 1\n"), None);
    }

    #[test]
    fn what_follows_tells_the_unit_of_size() {
        let lines = |step: u64, size: u64| -> Vec<u8> {
            (0..20)
                .flat_map(|n| format!("{n}.5 0 {} {size} 0\n", 3 + n * step).into_bytes())
                .collect()
        };
        assert_eq!(sizes(&lines(7, 7)), Some(false));
        assert_eq!(sizes(&lines(7, 1)), Some(true));
        assert_eq!(sizes(&lines(16, 2)), Some(true));
        assert_eq!(sizes(&lines(1000, 2)), None, "nothing goes on");
        assert_eq!(sizes(b"1.5 0 16 8 0\n"), None, "one line is no evidence");
    }

    #[test]
    fn flags_are_hexadecimal() {
        assert_eq!([&b"0"[..], b"1", b"8F"].map(hexadecimal), [Some(0), Some(1), Some(0x8f)]);
        assert_eq!([&b""[..], b"-1", b"123456789"].map(hexadecimal), [None; 3]);
    }
}
