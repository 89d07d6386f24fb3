//! Trace formats: a file each, or for those of the same columns, and a line in [`FORMATS`].
//!
//! The format is found from the content; `--format NAME` forces it. After a colon comes what only
//! that format understands, such as the columns of a CSV: `csv:time=1/us,op=2,…`. Where the content
//! fits several formats alike the answer is an error that names them, and no guess.

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

/// Makes requests of the bytes.
pub(crate) type Open = fn(Input, &Options<'_>) -> Result<Decoded, TraceError>;

/// What a format makes of the bytes.
pub(crate) enum Decoded {
    /// Requests that are yet to be put in order.
    Records(Box<dyn Records>),
    /// Requests of which the format itself guarantees all that a source promises.
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
    /// What `--format` calls it.
    pub name: &'static str,
    /// One line for a list.
    pub about: &'static str,
    /// Whether a file that begins like this may be in this format, and why. The bytes are the first
    /// 64 KiB of the content, or all of it.
    pub sniff: fn(&[u8]) -> Option<Match>,
    /// For formats that others resemble but for their units: whether the numbers fit.
    pub(crate) weigh: Option<fn(&Sample) -> Weight>,
    /// Makes a source of it. Called with nothing consumed.
    pub(crate) open: Open,
}

/// What the user said about how to read a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    /// What followed the colon after the name of the format.
    pub(crate) map: Option<&'a str>,
    /// The volumes to read.
    pub(crate) volume: &'a Choice,
    /// What to do about requests out of order.
    pub(crate) reorder: Reorder,
    /// What all requests are in formats that do not say.
    pub(crate) assume_op: Option<Op>,
}

impl Options<'_> {
    /// Refuses options that a format has no use for.
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

/// Opens `input` as the format that the options name, or else as the one its content shows.
///
/// # Errors
/// If the format is unknown, not recognised, or finds the first bytes wrong.
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

/// As [`open`], before requests are put in order and volumes side by side.
pub(crate) fn decoded(
    mut input: Input,
    options: &OpenOptions,
) -> Result<(Recognised, Decoded), TraceError> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    if input.peek(BYTE_ORDER_MARK.len())? == BYTE_ORDER_MARK {
        input.next_record(BYTE_ORDER_MARK.len())?;
    }
    if let Some(problem) = text::lone_returns(input.peek(PEEK_BYTES_MAX)?) {
        return Err(problem.at(input.name(), Place::Whole));
    }
    let forced = options.format.as_deref();
    let (format, evidence) = match forced {
        Some(spec) => {
            let name = spec.split_once(':').map_or(spec, |(name, _)| name);
            let format = named(name).map_err(|problem| problem.at(input.name(), Place::Whole))?;
            (format, Evidence::Told)
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
