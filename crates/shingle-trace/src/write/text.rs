//! The common part of the writers of text formats.

use super::Out;
use crate::error::TraceError;

/// Buffers lines, so that not each of them is a call.
pub(super) struct Text {
    out: Out,
    waiting: Vec<u8>,
    digits: itoa::Buffer,
}

const WAITING_BYTES: usize = 64 << 10;

impl Text {
    pub(super) fn new(out: Out) -> Text {
        Text { out, waiting: Vec::with_capacity(WAITING_BYTES), digits: itoa::Buffer::new() }
    }

    #[inline]
    pub(super) fn text(&mut self, text: &str) -> &mut Text {
        self.waiting.extend_from_slice(text.as_bytes());
        self
    }

    #[inline]
    pub(super) fn number(&mut self, number: u64) -> &mut Text {
        self.waiting.extend_from_slice(self.digits.format(number).as_bytes());
        self
    }

    /// Appends a number with leading zeros.
    pub(super) fn digits(&mut self, number: u64, count: usize) -> &mut Text {
        let digits = self.digits.format(number);
        for _ in digits.len()..count {
            self.waiting.push(b'0');
        }
        self.waiting.extend_from_slice(digits.as_bytes());
        self
    }

    #[inline]
    pub(super) fn end_line(&mut self) -> Result<(), TraceError> {
        self.waiting.push(b'\n');
        // A line is always shorter than the 256 bytes of reserve.
        if self.waiting.len() > WAITING_BYTES - 256 {
            self.out.put(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), TraceError> {
        self.out.put(&self.waiting)?;
        self.out.finish()
    }
}
