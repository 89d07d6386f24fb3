//! eMMC: the log of BIOtracer, which recorded the flash storage of a phone.
//!
//! ```text
//! 4043872 96 49152 5 1398396860.168065791 1398396860.168307510 1398396860.168322874 1398396860.1717
//! sector, sectors, bytes, type, and the times (s since 1970) at which the request was made, taken up
//! by the driver, given to the hardware, and done
//! ```
//!
//! From Zhou, Pan, Wang, Xie: I/O Characteristics of Smartphone Applications and Their Implications
//! for eMMC Design (IISWC 2015), and the README of its tracer. Bit 0 of the type marks a write. Bit
//! 2 marks a request that did not wait for another; it is a result and ignored. Lines are in the
//! order in which the driver took up requests, but the time of a request is when it was made: the
//! two differ by its waiting time. For some requests the driver counts a sector too many (17 for 16
//! of data); sizes are taken as they are.

use shingle_core::units::{NS_PER_S, Op};

use super::decode::{Decode, Pieces};
use super::{Decoded, Format, Match, Options, fields, number, text};
use crate::error::{Problem, TraceError};
use crate::input::Input;
use crate::source::Raw;

pub(super) const FORMAT: Format = Format {
    name: "emmc",
    about: "BIOtracer's log of a phone's eMMC: sector sectors bytes type and four times in seconds",
    sniff,
    weigh: None,
    open,
};

fn sniff(head: &[u8]) -> Option<Match> {
    let good = text::mostly(text::lines(head), |line| {
        let Some((columns, rest)) = fields::words_and_rest::<8>(line) else { return false };
        let (numbers, times) = columns.split_at(4);
        rest.trim_ascii().is_empty()
            && numbers.iter().all(|field| number::whole(field).is_some())
            && times.iter().all(|field| field.contains(&b'.') && number::scaled(field, 1).is_some())
    });
    Match::lines(Match::SURE, good)
}

fn open(input: Input, options: &Options<'_>) -> Result<Decoded, TraceError> {
    options.without_map(FORMAT.name, &input)?;
    options.without_volume(FORMAT.name, &input)?;
    Decoded::records(Pieces::lines(input, Emmc, options.reorder))
}

struct Emmc;

impl Decode for Emmc {
    #[inline]
    fn decode(&mut self, line: &[u8]) -> Result<Option<Raw>, Problem> {
        let Some([sector, _, bytes, kind, made]) = fields::words(line) else {
            return Err(text::too_few(line, "sector sectors bytes type time time time time"));
        };
        let op = if text::whole(kind, "type (column 4)")? & 1 == 1 { Op::Write } else { Op::Read };
        Ok(Some(Raw {
            ns: text::time(made, NS_PER_S, "time (column 5)")?,
            offset: text::sectors(sector, "address (column 1)")?,
            bytes: text::whole(bytes, "size (column 3)")?,
            op,
            volume: 0,
        }))
    }
}
