//! Replies that go out together: few system calls, and payloads that are not copied.

use std::io::{self, IoSlice, Write};

/// Bytes to be sent, in order.
#[derive(Default, Debug)]
pub struct Batch {
    /// All headers, one behind the other.
    heads: Vec<u8>,
    /// Payloads, each with the end of the headers that go before it.
    payloads: Vec<(usize, Vec<u8>)>,
}

impl Batch {
    /// Where headers are appended.
    pub fn head(&mut self) -> &mut Vec<u8> {
        &mut self.heads
    }

    /// Appends a payload.
    pub fn data(&mut self, data: Vec<u8>) {
        self.payloads.push((self.heads.len(), data));
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.payloads.is_empty()
    }

    /// Sends it all, and is empty then.
    pub fn send(&mut self, mut to: impl Write) -> io::Result<()> {
        let mut slices = Vec::with_capacity(2 * self.payloads.len() + 1);
        let mut from = 0;
        for (end, data) in &self.payloads {
            slices.push(IoSlice::new(&self.heads[from..*end]));
            slices.push(IoSlice::new(data));
            from = *end;
        }
        slices.push(IoSlice::new(&self.heads[from..]));
        let mut rest = &mut slices[..];
        // Drops empty ones at the front, so that a write of nothing means a closed connection.
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            match to.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => IoSlice::advance_slices(&mut rest, sent),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.clear();
        Ok(())
    }

    /// Forgets what was to be sent.
    pub fn clear(&mut self) {
        self.heads.clear();
        self.payloads.clear();
    }
}
