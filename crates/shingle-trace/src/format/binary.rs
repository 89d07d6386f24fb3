//! Reads formats whose records have one size, and returns checked requests.

use super::decode::Decode;
use crate::arrange::{Records, fill_from};
use crate::error::{Kind, Place, Problem, TraceError};
use crate::input::Input;
use crate::reorder::Reorder;
use crate::source::{Gate, Raw};
use crate::volume::Volumes;

/// A source of records of one size.
pub(super) struct Fixed<D> {
    input: Input,
    record_bytes: usize,
    decoder: D,
    gate: Gate,
}

impl<D: Decode> Fixed<D> {
    pub(super) fn new(input: Input, record_bytes: usize, decoder: D, reorder: Reorder) -> Self {
        Fixed { input, record_bytes, decoder, gate: Gate::new(reorder) }
    }

    /// Returns the next request, `None` at the end.
    #[inline]
    fn next(&mut self) -> Result<Option<Raw>, TraceError> {
        loop {
            let byte = self.input.byte();
            let record = self.input.next_record(self.record_bytes)?;
            if record.is_empty() {
                return Ok(None);
            }
            let decoded = if record.len() < self.record_bytes {
                Err(cut_short(record.len(), self.record_bytes))
            } else {
                self.decoder.decode(record)
            };
            let admitted = match decoded {
                Ok(Some(raw)) => self.gate.admit(raw),
                Ok(None) => continue,
                Err(problem) => Err(problem),
            };
            return match admitted {
                Ok(request) => Ok(Some(request)),
                Err(problem) => {
                    let error = problem.at(self.input.name(), Place::Byte(byte));
                    Err(self.input.root_cause(error))
                }
            };
        }
    }
}

impl<D: Decode> Records for Fixed<D> {
    fn fill(&mut self, out: &mut Vec<Raw>) -> Result<bool, TraceError> {
        fill_from(out, || self.next())
    }

    fn name(&self) -> &str {
        self.input.name()
    }

    fn length_hint(&self) -> Option<u64> {
        self.input.content_bytes().map(|bytes| bytes / self.record_bytes as u64)
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

#[inline]
pub(super) fn part<const N: usize>(record: &[u8], from: usize) -> [u8; N] {
    record[from..from + N].try_into().expect("the range has this length")
}

#[cold]
pub(super) fn cut_short(there: usize, size: usize) -> Problem {
    Problem::new(
        Kind::Truncated,
        format!(
            "the last record has {there} of {size} bytes: the file is cut short; copy it again, \
             or cut it to whole records with truncate"
        ),
    )
}
