//! Five columns: time, device, sector, size and flags: the traces of DiskSim, FlashSim and MQSim.
//! Only the numbers tell which of the three it is.

mod line;
mod units;

use shingle_core::units::{BLOCK_BYTES, Op, SECTOR_BYTES};

use self::line::{hexadecimal, numbers};
use self::units::Seen;
use super::decode::by_line;
use super::{Decoded, Format, Match, Options, Sample, Weight, fields, text};
use crate::error::{Problem, TraceError};
use crate::input::Input;
use crate::source::Raw;
use crate::volume::Volumes;

/// DiskSim ASCII: the default input of DiskSim 2 to 4, written by many tools.
///
/// ```text
/// 5265.313 0 6357144 8 0
/// time (ms) device address (sectors of 512 bytes) size (sectors) flags (hexadecimal)
/// ```
///
/// From the DiskSim 4.0 reference manual (Bucy, Schindler, Schlosser, Ganger 2008): bit 0 of the
/// flags marks a read. Further bits give the urgency, and are ignored.
pub(super) const DISKSIM: Format = Format {
    name: "disksim",
    about: "DiskSim ASCII: milliseconds device sector sectors flags; 1 reads",
    sniff,
    weigh: Some(|sample| {
        fits_unless(sample, |seen| seen.nanoseconds == Some(true) || seen.pages == Some(true))
    }),
    open: |input, options| {
        let units = Units { time_ns: 1_000_000, size_bytes: SECTOR_BYTES, flags_max: u32::MAX };
        open(input, options, "disksim", units)
    },
};

/// FlashSim: the columns of DiskSim, with sizes in pages of 4 KiB.
///
/// ```text
/// 26.214000 0 303574 1 0
/// time (ms) device address (sectors of 512 bytes) size (pages of 4 KiB) flags: 1 reads
/// ```
///
/// The UMass traces come with FlashSim like this (Gupta, Kim, Urgaonkar: DFTL, ASPLOS 2009). Their
/// sizes were rounded up to pages while addresses stayed sectors. The column of the ASU was
/// dropped, so all volumes overlap.
pub(super) const FLASHSIM: Format = Format {
    name: "flashsim",
    about: "FlashSim text: milliseconds device sector pages flags; 1 reads",
    sniff,
    weigh: Some(|sample| {
        fits_unless(sample, |seen| seen.nanoseconds == Some(true) || seen.pages == Some(false))
    }),
    open: |input, options| {
        let units = Units { time_ns: 1_000_000, size_bytes: BLOCK_BYTES, flags_max: u32::MAX };
        open(input, options, "flashsim", units)
    },
};

/// MQSim ASCII: the columns of DiskSim, with times in nanoseconds.
///
/// ```text
/// 938513000 4 264719034 16 0
/// time (ns) device address (sectors of 512 bytes) size (sectors) type: 0 writes, 1 reads
/// ```
///
/// From the README and the trace reader of MQSim (Tavakkol and others, FAST 2018). Times are whole
/// numbers, and the type is the opposite of Tencent's. MQSim itself ignores the device and puts all
/// on one SSD; here a device is a volume, and `--volume '*'` reads all side by side.
pub(super) const MQSIM: Format = Format {
    name: "mqsim",
    about: "MQSim ASCII: nanoseconds device sector sectors type; 0 writes, 1 reads",
    sniff,
    weigh: Some(|sample| fits_unless(sample, |seen| seen.nanoseconds == Some(false))),
    open: |input, options| {
        let units = Units { time_ns: 1, size_bytes: SECTOR_BYTES, flags_max: 1 };
        open(input, options, "mqsim", units)
    },
};

#[derive(Clone, Copy, Debug)]
struct Units {
    /// Nanoseconds of a unit of time.
    time_ns: u64,
    /// Bytes of a unit of size.
    size_bytes: u64,
    flags_max: u32,
}

/// Returns that the numbers fit, unless `others` holds for them.
fn fits_unless(sample: &Sample, others: fn(Seen) -> bool) -> Weight {
    if others(Seen::of(sample)) { Weight::Excluded } else { Weight::Fits }
}

fn open(
    input: Input,
    options: &Options<'_>,
    format: &str,
    units: Units,
) -> Result<Decoded, TraceError> {
    options.without_map(format, &input)?;
    let volumes = Volumes::new(options.volume);
    by_line(input, options, volumes, move |volumes, line| request(units, volumes, line))
}

#[inline]
fn request(units: Units, volumes: &mut Volumes, line: &[u8]) -> Result<Option<Raw>, Problem> {
    let Some([time, device, sector, size, flags]) = fields::words(line) else {
        return Err(text::too_few(line, "time device sector size flags"));
    };
    let Some(volume) = volumes.select(device)? else { return Ok(None) };
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

/// Returns a match if the beginning has these columns.
fn sniff(head: &[u8]) -> Option<Match> {
    Match::lines(Match::LIKELY, text::mostly(text::lines(head), |line| numbers(line).is_some()))
}
