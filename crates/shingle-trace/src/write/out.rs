//! An output file: compressed as its name says, and kept only if it is complete.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::destination::Destination;
use crate::error::{Kind, Place, TraceError};
use crate::input::plain;

/// The default level of Zstandard.
#[cfg(feature = "compression")]
const ZSTD_LEVEL: i32 = 3;

enum Packer {
    Plain(BufWriter<Box<dyn Write + Send>>),
    Gzip(flate2::write::GzEncoder<BufWriter<Box<dyn Write + Send>>>),
    #[cfg(feature = "compression")]
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<Box<dyn Write + Send>>>),
}

/// The output of a trace.
pub(crate) struct Out {
    name: String,
    /// `None` for stdout, and after the end.
    destination: Option<Destination>,
    packer: Option<Packer>,
}

/// Returns the name of a file without `.gz` or `.zst`.
pub(super) fn without_packing(path: &str) -> &str {
    [".gz", ".zst"].iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path)
}

#[cfg(feature = "compression")]
fn packed_with_zstd(raw: BufWriter<Box<dyn Write + Send>>) -> io::Result<Packer> {
    Ok(Packer::Zstd(zstd::stream::write::Encoder::new(raw, ZSTD_LEVEL)?))
}

/// Never called: the name is refused before a file is created.
#[cfg(not(feature = "compression"))]
fn packed_with_zstd(_: BufWriter<Box<dyn Write + Send>>) -> io::Result<Packer> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Out {
    pub(crate) fn create(path: &str) -> Result<Out, TraceError> {
        if cfg!(not(feature = "compression")) && path.ends_with(".zst") {
            let message = "this build does not pack with zstd, as its feature `compression` was left \
                           out; end the name in .gz, or in neither";
            return Err(TraceError::new(Kind::Usage, path, Place::Whole, message));
        }
        let failed = |error: io::Error| failed(path, &error);
        let destination = (path != "-").then(|| Destination::of(path.as_ref()));
        let raw: Box<dyn Write + Send> = match &destination {
            None => Box::new(io::stdout()),
            Some(destination) => Box::new(destination.create().map_err(failed)?),
        };
        let raw = BufWriter::with_capacity(256 << 10, raw);
        let packer = if path.ends_with(".gz") {
            Packer::Gzip(flate2::write::GzEncoder::new(raw, flate2::Compression::default()))
        } else if path.ends_with(".zst") {
            packed_with_zstd(raw).map_err(failed)?
        } else {
            Packer::Plain(raw)
        };
        Ok(Out { name: path.to_owned(), destination, packer: Some(packer) })
    }

    /// Returns the file name that the user gave.
    #[cfg(feature = "parquet")]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the folder of the file; `None` for stdout, devices and pipes.
    pub(crate) fn folder(&self) -> Option<&Path> {
        let Destination::Beside { partial, .. } = self.destination.as_ref()? else { return None };
        partial.parent().map(|folder| if folder == "" { Path::new(".") } else { folder })
    }

    /// Returns the error of a failed write.
    pub(super) fn failed(&self, error: &io::Error) -> TraceError {
        failed(&self.name, error)
    }

    /// Appends bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        self.write_all(bytes).map_err(|error| self.failed(&error))
    }

    /// Completes the file.
    pub(crate) fn finish(mut self) -> Result<(), TraceError> {
        let packed = match self.packer.take().expect("finished once") {
            Packer::Plain(raw) => Ok(raw),
            Packer::Gzip(packer) => packer.finish(),
            #[cfg(feature = "compression")]
            Packer::Zstd(packer) => packer.finish(),
        };
        let written = packed.and_then(|mut raw| raw.flush());
        let named = match self.destination.take() {
            Some(destination) => destination.finish(written),
            None => written,
        };
        named.map_err(|error| failed(&self.name, &error))
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.packer.as_mut().expect("not finished") {
            Packer::Plain(raw) => raw.write(bytes),
            Packer::Gzip(packer) => packer.write(bytes),
            #[cfg(feature = "compression")]
            Packer::Zstd(packer) => packer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes a file that was not completed.
impl Drop for Out {
    fn drop(&mut self) {
        if let Some(destination) = self.destination.take() {
            destination.give_up();
        }
    }
}

#[cold]
fn failed(path: &str, error: &io::Error) -> TraceError {
    let message = format!("cannot be written: {}", plain(error));
    let kind = match error.kind() {
        io::ErrorKind::BrokenPipe => Kind::Unread,
        _ => Kind::Io,
    };
    TraceError::new(kind, path, Place::Whole, message)
}
