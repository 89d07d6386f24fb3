//! Alibaba Cloud's block traces of 2020: a thousand virtual disks for a month, in one file.
//!
//! ```text
//! 0,R,126703644672,4096,1577808000000626
//! device,R|W,offset (bytes),length (bytes),time (µs since 1970)
//! ```
//!
//! From github.com/alibaba/block-traces; there is no header. The sizes of the disks are in another
//! file. Requests of all devices are mixed, so the user has to choose a device.

use super::decode::by_line;
use super::{Decoded, Format, Match, Options, fields, number, text};
use crate::error::{Problem, TraceError};
use crate::input::Input;
use crate::source::Raw;
use crate::volume::Volumes;

pub(super) const FORMAT: Format = Format {
    name: "alibaba",
    about: "Alibaba Cloud 2020 CSV: device,R|W,offset,length,microseconds; a device is a volume",
    sniff,
    weigh: None,
    open,
};

/// Number of digits of the microseconds since 1970, until 2286. It rejects the same columns in
/// other units.
const TIME_DIGITS: usize = 16;
const NS_PER_US: u64 = 1_000;

fn sniff(head: &[u8]) -> Option<Match> {
    let good = text::mostly(text::lines(head), |line| {
        fields::commas(line).is_some_and(|[device, op, offset, length, time]| {
            time.len() == TIME_DIGITS
                && text::op_of(op).is_some()
                && [device, offset, length, time].iter().all(|f| number::whole(f).is_some())
        })
    });
    Match::lines(Match::SURE, good)
}

fn open(input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_map(FORMAT.name, &input)?;
    by_line(input, options, Volumes::new(options.volume), request)
}

#[inline]
fn request(volumes: &mut Volumes, line: &[u8]) -> Result<Option<Raw>, Problem> {
    let Some([device, op, offset, length, time]) = fields::commas(line) else {
        return Err(text::too_few(line, "device,R|W,offset,length,microseconds"));
    };
    let Some(volume) = volumes.select(text::unquoted(device))? else { return Ok(None) };
    let op = text::op_of(op).ok_or_else(|| text::unknown_op(op, "here it is R or W"))?;
    Ok(Some(Raw {
        ns: text::time(time, NS_PER_US, "time (column 5)")?,
        offset: text::whole(offset, "offset (column 3)")?,
        bytes: text::whole(length, "length (column 4)")?,
        op,
        volume,
    }))
}
