//! Reads block traces and synthetic workloads as streams of requests.
//!
//! ```text
//! path, - ──▶ input (decompress, sniff) ──▶ format ─┐
//!                                                   ├─▶ Source ──▶ shape ──▶ requests ──▶ summary
//! synth:NAME ─────────────────────▶ synth ──────────┘
//! ```
//!
//! Begin with [`open`]. For any input it returns valid requests or an error of one line that says
//! where the fault is and what to do. It never panics, and memory is bounded.
//!
//! ```
//! use shingle_trace::{OpenOptions, Summary, read_all};
//!
//! let mut opened = shingle_trace::open("synth:mixed?requests=1000", &OpenOptions::default())?;
//! let requests = read_all(opened.source.as_mut(), &mut |_| {})?;
//! assert_eq!(requests.len(), 1000);
//! assert!(requests.is_sorted_by_key(|request| request.at));
//! assert!(Summary::of(&requests).distinct_blocks > 0);
//! # Ok::<(), shingle_trace::TraceError>(())
//! ```

pub mod analysis;
mod arrange;
pub mod cut;
pub mod distance;
pub mod error;
pub mod format;
pub mod hash;
pub mod input;
pub mod like;
mod marks;
pub mod mix;
pub mod native;
pub mod papers;
pub mod record;
pub mod reorder;
pub mod sample;
pub mod shape;
mod shaped;
mod shuffle;
pub mod source;
pub mod summary;
pub mod synth;
pub mod tally;
mod touched;
pub mod volume;
pub mod volumes;
pub mod write;
pub mod zones;

pub use error::{Kind, Place, TraceError};
pub use format::evidence::Evidence;
pub use format::recognise::Recognised;
pub use reorder::Reorder;
pub use shape::{Mode, Shape};
pub use shaped::Shaped;
pub use source::{Source, read_all};
pub use summary::Summary;
pub use volume::Choice;

use input::Input;
use shingle_core::units::Op;

/// The user's options, apart from the trace itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpenOptions {
    /// `--format`: the name of a format; after a colon, options that only this format understands.
    pub format: Option<String>,
    /// `--volume`: the volumes to read.
    pub volume: Choice,
    /// `--reorder`: how to handle requests that are not in the order of their times.
    pub reorder: Reorder,
    /// `--assume-op`: the operation of all requests, for formats that do not record it.
    pub assume_op: Option<Op>,
    /// `--seed`: the seed of synthetic workloads.
    pub seed: u64,
}

impl OpenOptions {
    /// Creates options from a format, if any, and a choice of volumes as written after `--volume`,
    /// if any.
    #[must_use]
    pub fn of(format: Option<&str>, volume: Option<&str>) -> OpenOptions {
        OpenOptions {
            format: format.map(str::to_owned),
            volume: volume.map_or(Choice::Only, Choice::parse),
            ..OpenOptions::default()
        }
    }
}

/// An opened trace, ready to be read.
pub struct Opened {
    /// A short name for tables: the file name without its folders, or the workload as given.
    pub name: String,
    /// The format or workload, and how it was recognised.
    pub recognised: Recognised,
    /// The requests.
    pub source: Box<dyn Source>,
}

/// Opens a trace: a path, `-` for stdin, or a workload `synth:NAME?key=value&…`.
///
/// # Errors
/// If it cannot be opened or recognised, or a name or option is wrong.
pub fn open(spec: &str, options: &OpenOptions) -> Result<Opened, TraceError> {
    if spec.starts_with(synth::PREFIX) {
        return open_synthetic(spec, options);
    }
    let spec = &*format::blktrace::first_file(spec);
    let input = Input::open(spec).map_err(|error| with_hint(spec, error))?;
    let (recognised, source) = format::open(input, options)?;
    Ok(Opened { name: name_of(spec), recognised, source })
}

/// Opens a trace in memory, compressed or not. Errors call it `name`.
///
/// # Errors
/// As [`open`].
pub fn open_bytes(name: &str, bytes: Vec<u8>, options: &OpenOptions) -> Result<Opened, TraceError> {
    let (recognised, source) = format::open(Input::from_bytes(name, bytes)?, options)?;
    Ok(Opened { name: name.to_owned(), recognised, source })
}

/// Returns a short name for tables. Control characters are escaped, because a terminal would obey
/// them.
fn name_of(path: &str) -> String {
    match path {
        "-" => "stdin".to_owned(),
        path => {
            error::one_line(path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path))
        }
    }
}

fn open_synthetic(spec: &str, options: &OpenOptions) -> Result<Opened, TraceError> {
    if options.format.is_some() || options.volume != Choice::Only {
        let message = "a synthetic workload has no format and no volumes; leave out --format and \
                       --volume";
        return Err(TraceError::new(Kind::Usage, spec, Place::Whole, message));
    }
    let (workload, source) = synth::open(spec, options.seed)?;
    let recognised =
        Recognised { name: workload.name, about: workload.about, evidence: Evidence::Workload };
    Ok(Opened { name: spec.to_owned(), recognised, source })
}

/// Adds a hint to the error if a missing file has the name of a workload.
fn with_hint(spec: &str, mut error: TraceError) -> TraceError {
    if synth::WORKLOADS.iter().any(|workload| workload.name == spec) {
        error.message = format!("is no file; the built-in workload is synth:{spec}");
    }
    error
}
