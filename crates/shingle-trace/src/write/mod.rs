//! Writes traces: one file a format, and one line in [`WRITERS`].
//!
//! The format is named by the user or by the extension of the file (`trace.csv.zst`). Losses of
//! information in a format are counted during writing and reported at the end.

mod csv;
mod destination;
mod iolog;
mod lost;
mod msr;
mod native;
mod out;
#[cfg(feature = "parquet")]
mod parquet;
mod spc;
mod text;

use shingle_core::params::nearest;
use shingle_core::units::Request;

pub use destination::Destination;
pub use native::native_bytes;
pub(crate) use out::Out;

use crate::error::{Kind, Place, Problem, TraceError, shown};

/// Every format that can be written, in the order in which they are listed.
pub static WRITERS: &[Writer] = &[
    native::WRITER,
    csv::WRITER,
    iolog::WRITER,
    msr::WRITER,
    spc::WRITER,
    #[cfg(feature = "parquet")]
    parquet::WRITER,
];

/// A format that can be written.
#[derive(Debug)]
pub struct Writer {
    /// The name, as of the reader of the format.
    pub name: &'static str,
    /// File extensions that select it.
    pub extensions: &'static [&'static str],
    /// Starts a file.
    pub(crate) create: fn(Out) -> Result<Box<dyn Sink>, TraceError>,
}

/// A destination for requests, which come in the order of their times.
pub trait Sink: Send {
    /// Writes requests.
    ///
    /// # Errors
    /// If the file cannot be written any more.
    fn put(&mut self, requests: &[Request]) -> Result<(), TraceError>;

    /// Names the trace of the requests, for formats that record it. To be called before the end.
    fn name_source(&mut self, _source: &str) {}

    /// Completes the file, which gets its name only now. Returns sentences about what the format
    /// could not represent.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn finish(self: Box<Self>) -> Result<Vec<String>, TraceError>;
}

/// Creates a trace at `path`, or on stdout for `-`, in `format` or in that of its extension.
///
/// # Errors
/// If the format is unknown, or the file cannot be created.
pub fn create(path: &str, format: Option<&str>) -> Result<Box<dyn Sink>, TraceError> {
    let writer = match format {
        Some(name) => named(name),
        None => by_extension(path),
    };
    let writer = writer.map_err(|problem| problem.at(path, Place::Whole))?;
    (writer.create)(Out::create(path)?)
}

fn named(name: &str) -> Result<&'static Writer, Problem> {
    WRITERS.iter().find(|writer| writer.name == name).ok_or_else(|| {
        let names = nearest(name, WRITERS.iter().map(|writer| writer.name));
        Problem::usage(format!(
            "the format {} cannot be written; those that can are {}",
            shown(name.as_bytes()),
            names.join(", ")
        ))
    })
}

fn by_extension(path: &str) -> Result<&'static Writer, Problem> {
    let stem = out::without_compression_suffix(path);
    let fits =
        |writer: &&Writer| writer.extensions.iter().any(|end| stem.ends_with(&format!(".{end}")));
    WRITERS.iter().find(fits).ok_or_else(|| {
        let known: Vec<&str> = WRITERS.iter().flat_map(|w| w.extensions).copied().collect();
        Problem::new(
            Kind::Usage,
            format!(
                "the name does not say which format to write; end it in .{}, or name the format",
                known.join(", .")
            ),
        )
    })
}
