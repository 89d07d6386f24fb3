//! Traces out: one file a format, and one line in [`WRITERS`].
//!
//! The format is found from the name of the file (`trace.csv.zst`) or named. What a format cannot
//! carry is counted while it is written and told at the end.

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
    /// As the reader of the format.
    pub name: &'static str,
    /// One line for a list.
    pub about: &'static str,
    /// Ends of file names that stand for it.
    pub extensions: &'static [&'static str],
    /// Begins to write.
    pub(crate) create: fn(Out) -> Result<Box<dyn Sink>, TraceError>,
}

/// Where requests go, in the order of their times.
pub trait Sink: Send {
    /// Writes requests.
    ///
    /// # Errors
    /// If the file cannot be written on.
    fn put(&mut self, requests: &[Request]) -> Result<(), TraceError>;

    /// Says which trace the requests are of, for formats that record it. Before the end.
    fn name_source(&mut self, _source: &str) {}

    /// Makes the file whole; before, nobody sees it under its name. Returns sentences about what
    /// the format could not carry.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn finish(self: Box<Self>) -> Result<Vec<String>, TraceError>;
}

/// Begins to write a trace to `path`, or to stdout for `-`, as `format` or as its name says.
///
/// # Errors
/// If the format is unknown, or the file cannot be made.
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
    let stem = out::without_packing(path);
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
