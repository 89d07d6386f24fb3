//! Trace formats: one file each, or one for formats with the same columns, and a line in
//! [`FORMATS`].
//!
//! The format is recognised by the content; `--format NAME` forces it. Options that only that
//! format understands follow after a colon, such as the columns of a CSV: `csv:time=1/us,op=2,…`.
//! If the content fits several formats equally, the result is an error that names them, not a
//! guess.

mod alibaba;
mod binary;
mod blkparse;
pub(crate) mod blktrace;
mod csv;
mod decode;
mod emmc;
pub mod evidence;
mod fields;
mod fiu;
mod five;
mod iolog;
mod lcs;
mod msr;
mod native;
pub(crate) mod number;
mod oracle_general;
#[cfg(feature = "parquet")]
mod parquet;
pub mod recognise;
mod req;
mod spc;
mod srt;
mod systor;
mod tencent;
mod text;
mod units;
pub mod validation;
mod vscsi;

use evidence::{Evidence, Match, Sample, Weight};
use recognise::{Recognised, recognised};
use shingle_core::params::nearest;
use shingle_core::units::Op;

use crate::OpenOptions;
use crate::arrange::{Arranged, Records};
use crate::error::{Place, Problem, TraceError, shown};
use crate::input::{Input, PEEK_BYTES_MAX};
use crate::reorder::Reorder;
use crate::source::Source;
use crate::volume::Choice;

/// Every format, in the order in which they are listed.
pub static FORMATS: &[Format] = &[
    native::FORMAT,
    msr::FORMAT,
    spc::FORMAT,
    systor::FORMAT,
    alibaba::FORMAT,
    tencent::FORMAT,
    fiu::FORMAT,
    blkparse::FORMAT,
    five::DISKSIM,
    five::FLASHSIM,
    five::MQSIM,
    emmc::FORMAT,
    req::FORMAT,
    csv::FORMAT,
    vscsi::FORMAT,
    blktrace::FORMAT,
    srt::FORMAT,
    iolog::FORMAT,
    lcs::FORMAT,
    #[cfg(feature = "parquet")]
    parquet::FORMAT,
    oracle_general::FORMAT,
];

pub(crate) type Open = fn(Input, &Options<'_>) -> Result<Decoded, TraceError>;

/// The result of opening a trace.
pub(crate) enum Decoded {
    /// Requests that still have to be put in order.
    Records(Box<dyn Records>),
    /// Requests for which the format itself guarantees all that a source promises.
    Source(Box<dyn Source>),
}

impl Decoded {
    fn records(records: impl Records + 'static) -> Result<Decoded, TraceError> {
        Ok(Decoded::Records(Box::new(records)))
    }
}

/// A trace format.
#[derive(Debug)]
pub struct Format {
    /// The name for `--format`.
    pub name: &'static str,
    /// A description of one line for lists.
    pub about: &'static str,
    /// Returns whether a file that begins like this may be in this format, and why. The bytes are
    /// the first 64 KiB of the content, or all of it.
    pub sniff: fn(&[u8]) -> Option<Match>,
    /// Returns whether the numbers fit, for formats that differ from others only in their units.
    pub(crate) weigh: Option<fn(&Sample) -> Weight>,
    /// Opens the content; nothing may have been consumed before.
    pub(crate) open: Open,
}

/// The user's options for reading a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    /// The text after the colon behind the name of the format.
    pub(crate) map: Option<&'a str>,
    /// The volumes to read.
    pub(crate) volume: &'a Choice,
    /// How to handle requests out of order.
    pub(crate) reorder: Reorder,
    /// The operation of all requests, for formats that do not record it.
    pub(crate) assume_op: Option<Op>,
}

impl Options<'_> {
    /// Returns an error if a map was given to a format that takes none.
    fn without_map(&self, format: &str, input: &Input) -> Result<(), TraceError> {
        let Some(map) = self.map else { return Ok(()) };
        let message = format!("takes no columns, so leave out ':{map}'; only csv does");
        Err(Problem::usage(format!("--format {format} {message}")).at(input.name(), Place::Whole))
    }

    fn without_volume(&self, format: &str, input: &Input) -> Result<(), TraceError> {
        if matches!(self.volume, Choice::Only | Choice::All) {
            return Ok(());
        }
        let message = format!("the {format} format knows no volumes; leave out --volume");
        Err(Problem::usage(message).at(input.name(), Place::Whole))
    }
}

/// Opens `input` in the format that the options name, or else in the one its content shows.
///
/// # Errors
/// If the format is unknown or not recognised, or its first bytes are wrong.
pub fn open(
    input: Input,
    options: &OpenOptions,
) -> Result<(Recognised, Box<dyn Source>), TraceError> {
    let (recognised, decoded) = decoded(input, options)?;
    let source: Box<dyn Source> = match decoded {
        Decoded::Records(records) => {
            Box::new(Arranged::new(records, options.reorder, options.volume.several()))
        }
        Decoded::Source(source) => source,
    };
    Ok((recognised, source))
}

/// Opens as [`open`] does, before requests are put in order and volumes side by side.
pub(crate) fn decoded(
    mut input: Input,
    options: &OpenOptions,
) -> Result<(Recognised, Decoded), TraceError> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    if input.peek(BYTE_ORDER_MARK.len())? == BYTE_ORDER_MARK {
        input.next_record(BYTE_ORDER_MARK.len())?;
    }
    if let Some(problem) = text::lone_returns_error(input.peek(PEEK_BYTES_MAX)?) {
        return Err(problem.at(input.name(), Place::Whole));
    }
    let forced = options.format.as_deref();
    let (format, evidence) = match forced {
        Some(spec) => {
            let name = spec.split_once(':').map_or(spec, |(name, _)| name);
            let format = named(name).map_err(|problem| problem.at(input.name(), Place::Whole))?;
            (format, Evidence::Explicit)
        }
        None => recognised(&mut input)?,
    };
    let map = forced.and_then(|spec| spec.split_once(':')).map(|(_, map)| map);
    let OpenOptions { ref volume, reorder, assume_op, .. } = *options;
    let decoded = (format.open)(input, &Options { map, volume, reorder, assume_op })?;
    Ok((Recognised { name: format.name, about: format.about, evidence }, decoded))
}

fn named(name: &str) -> Result<&'static Format, Problem> {
    FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        let names = nearest(name, FORMATS.iter().map(|format| format.name));
        Problem::usage(format!(
            "there is no format {}; --format takes {}",
            shown(name.as_bytes()),
            names.join(", ")
        ))
    })
}
