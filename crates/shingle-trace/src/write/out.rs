//! An output file: compressed as its name says, and kept only if it is complete.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::destination::Destination;
use crate::error::{Kind, Place, TraceError};
use crate::input::error_text;

/// The default level of Zstandard.
#[cfg(feature = "compression")]
const ZSTD_LEVEL: i32 = 3;

enum Compressor {
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
    compressor: Option<Compressor>,
}

/// Returns the name of a file without `.gz` or `.zst`.
pub(super) fn without_compression_suffix(path: &str) -> &str {
    [".gz", ".zst"].iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path)
}

#[cfg(feature = "compression")]
fn zstd_compressor(raw: BufWriter<Box<dyn Write + Send>>) -> io::Result<Compressor> {
    Ok(Compressor::Zstd(zstd::stream::write::Encoder::new(raw, ZSTD_LEVEL)?))
}

/// Never called: the name is refused before a file is created.
#[cfg(not(feature = "compression"))]
fn zstd_compressor(_: BufWriter<Box<dyn Write + Send>>) -> io::Result<Compressor> {
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
        let compressor = if path.ends_with(".gz") {
            Compressor::Gzip(flate2::write::GzEncoder::new(raw, flate2::Compression::default()))
        } else if path.ends_with(".zst") {
            zstd_compressor(raw).map_err(failed)?
        } else {
            Compressor::Plain(raw)
        };
        Ok(Out { name: path.to_owned(), destination, compressor: Some(compressor) })
    }

    /// Returns the file name that the user gave.
    #[cfg(feature = "parquet")]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the folder of the file; `None` for stdout, devices and pipes.
    pub(crate) fn folder(&self) -> Option<&Path> {
        let Destination::ViaTemporary { partial, .. } = self.destination.as_ref()? else {
            return None;
        };
        partial.parent().map(|folder| if folder == "" { Path::new(".") } else { folder })
    }

    pub(super) fn failed(&self, error: &io::Error) -> TraceError {
        failed(&self.name, error)
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        self.write_all(bytes).map_err(|error| self.failed(&error))
    }

    /// Completes the file.
    pub(crate) fn finish(mut self) -> Result<(), TraceError> {
        let packed = match self.compressor.take().expect("finished once") {
            Compressor::Plain(raw) => Ok(raw),
            Compressor::Gzip(compressor) => compressor.finish(),
            #[cfg(feature = "compression")]
            Compressor::Zstd(compressor) => compressor.finish(),
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
        match self.compressor.as_mut().expect("not finished") {
            Compressor::Plain(raw) => raw.write(bytes),
            Compressor::Gzip(compressor) => compressor.write(bytes),
            #[cfg(feature = "compression")]
            Compressor::Zstd(compressor) => compressor.write(bytes),
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
            destination.discard();
        }
    }
}

#[cold]
fn failed(path: &str, error: &io::Error) -> TraceError {
    let message = format!("cannot be written: {}", error_text(error));
    let kind = match error.kind() {
        io::ErrorKind::BrokenPipe => Kind::Unread,
        _ => Kind::Io,
    };
    TraceError::new(kind, path, Place::Whole, message)
}
