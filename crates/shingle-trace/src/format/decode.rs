//! Formats of lines or of records of one size: what a format has to say, and the source that reads
//! it.

use super::binary::cut_short;
use super::text::{is_skipped, prefer_binary_error};
use super::{Decoded, Options};
use crate::arrange::{Records, fill_from};
use crate::error::{Kind, Place, Problem, TraceError};
use crate::input::Input;
use crate::reorder::Reorder;
use crate::source::{Gate, Raw};
use crate::volume::Volumes;

/// Decodes a line or a record into a request.
pub(super) trait Decode: Send {
    /// Returns `None` if the piece is to be skipped, as one of another volume.
    fn decode(&mut self, piece: &[u8]) -> Result<Option<Raw>, Problem>;

    /// Returns a further request of the line decoded last; called until `None`. A record has only
    /// one.
    fn pending(&mut self) -> Option<Raw> {
        None
    }

    fn volumes(&self) -> Option<&Volumes> {
        None
    }

    /// Returns why the trace has no request. The default is for texts.
    fn empty_error(&self) -> Problem {
        Problem::new(Kind::Empty, "holds no request: only blank lines, comments or a header")
    }

    /// Returns what the user should know although it is no error.
    fn warning(&self) -> Option<String> {
        None
    }
}

/// A source of requests from lines or records.
pub(super) struct Pieces<D> {
    input: Input,
    /// `None` for lines.
    record_bytes: Option<usize>,
    decoder: D,
    gate: Gate,
}

impl<D: Decode> Pieces<D> {
    pub(super) fn lines(input: Input, decoder: D, reorder: Reorder) -> Self {
        Pieces { input, record_bytes: None, decoder, gate: Gate::new(reorder) }
    }

    pub(super) fn records(input: Input, bytes: usize, decoder: D, reorder: Reorder) -> Self {
        Pieces { input, record_bytes: Some(bytes), decoder, gate: Gate::new(reorder) }
    }

    #[inline]
    fn next(&mut self) -> Result<Option<Raw>, TraceError> {
        loop {
            let byte = self.input.byte();
            let decoded = if let Some(raw) = self.decoder.pending() {
                Ok(Some(raw))
            } else if let Some(bytes) = self.record_bytes {
                let record = self.input.next_record(bytes)?;
                match record.len() {
                    0 => return Ok(None),
                    there if there < bytes => Err(cut_short(there, bytes)),
                    _ => self.decoder.decode(record),
                }
            } else {
                let Some(line) = self.input.next_line()? else { return Ok(None) };
                if is_skipped(line) {
                    continue;
                }
                self.decoder.decode(line).map_err(|problem| prefer_binary_error(problem, line))
            };
            let admitted = match decoded {
                Ok(Some(raw)) => self.gate.admit(raw),
                Ok(None) => continue,
                Err(problem) => Err(problem),
            };
            return admitted.map(Some).map_err(|problem| {
                let line = self.input.line();
                let place = self.record_bytes.map_or(Place::Line(line), |_| Place::Byte(byte));
                let error = problem.at(self.input.name(), place);
                self.input.root_cause(error)
            });
        }
    }
}

impl<D: Decode> Records for Pieces<D> {
    fn fill(&mut self, out: &mut Vec<Raw>) -> Result<bool, TraceError> {
        fill_from(out, || self.next())
    }

    fn name(&self) -> &str {
        self.input.name()
    }

    fn length_hint(&self) -> Option<u64> {
        Some(self.input.content_bytes()? / self.record_bytes? as u64)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }

    fn warnings(&self) -> Vec<String> {
        self.decoder.warning().into_iter().collect()
    }

    fn volumes(&self) -> Option<&Volumes> {
        self.decoder.volumes()
    }

    fn empty_error(&self) -> Problem {
        self.decoder.empty_error()
    }
}

/// Opens a format in which a request depends only on its line and the volumes.
pub(super) fn by_line<V, F>(
    input: Input,
    options: &Options<'_>,
    volumes: V,
    request: F,
) -> Result<Decoded, TraceError>
where
    V: AsRef<Volumes> + Send + 'static,
    F: Fn(&mut V, &[u8]) -> Result<Option<Raw>, Problem> + Send + 'static,
{
    let decoder = ByLine { volumes, request };
    Decoded::records(Pieces::lines(input, decoder, options.reorder))
}

struct ByLine<V, F> {
    volumes: V,
    request: F,
}

impl<V, F> Decode for ByLine<V, F>
where
    V: AsRef<Volumes> + Send,
    F: Fn(&mut V, &[u8]) -> Result<Option<Raw>, Problem> + Send,
{
    #[inline]
    fn decode(&mut self, line: &[u8]) -> Result<Option<Raw>, Problem> {
        (self.request)(&mut self.volumes, line)
    }

    fn volumes(&self) -> Option<&Volumes> {
        Some(self.volumes.as_ref())
    }
}
