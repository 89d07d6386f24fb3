//! The receive buffer: reads many small requests with one system call, and large payloads without
//! copying.

use std::io::{self, Read};

use crate::activity::Watched;
use crate::wire::OPTION_BYTES_MAX;

/// Holds the largest option with its header, and many writes of one block.
const BUFFER_BYTES: usize = 2 * OPTION_BYTES_MAX as usize;
/// Payloads up to this size are read into the buffer, with the requests that follow.
const SMALL_BYTES: usize = 32 << 10;

pub(crate) struct Inbox<'a> {
    stream: Watched<'a>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl<'a> Inbox<'a> {
    pub(crate) fn new(stream: Watched<'a>) -> Self {
        Self { stream, buffer: vec![0; BUFFER_BYTES], start: 0, end: 0 }
    }

    pub(crate) fn stream(&self) -> Watched<'a> {
        self.stream
    }

    /// Notes that the handshake is over.
    pub(crate) fn begin_transmission(&self) {
        self.stream.activity.begin_transmission();
    }

    /// The bytes in the buffer.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Drops the first `bytes` of the buffer.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        assert!(self.start <= self.end, "more was used than is there");
    }

    /// Waits for more bytes. False at the end of the stream. The buffer must hold less than the
    /// largest option with its header.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        assert!(self.end < self.buffer.len(), "a message is longer than the buffer");
        loop {
            match self.stream.read(&mut self.buffer[self.end..]) {
                Ok(bytes) => {
                    self.end += bytes;
                    return Ok(bytes > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for a payload, and returns it.
    pub(crate) fn take(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        self.stream.activity.set_lacks_payload(self.bytes().len() < bytes);
        let payload = self.await_payload(bytes);
        self.stream.activity.set_lacks_payload(false);
        payload
    }

    fn await_payload(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        while bytes <= SMALL_BYTES && self.bytes().len() < bytes {
            if !self.fill()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let there = self.bytes().len().min(bytes);
        if there == bytes {
            let payload = self.bytes()[..bytes].to_vec();
            self.consume(bytes);
            return Ok(payload);
        }
        let mut payload = vec![0; bytes];
        payload[..there].copy_from_slice(self.bytes());
        self.consume(there);
        self.stream.read_exact(&mut payload[there..])?;
        Ok(payload)
    }

    /// Waits for a payload, and drops it.
    pub(crate) fn skip(&mut self, mut bytes: usize) -> io::Result<()> {
        loop {
            let there = self.bytes().len().min(bytes);
            self.consume(there);
            bytes -= there;
            self.stream.activity.set_lacks_payload(bytes > 0);
            if bytes == 0 {
                return Ok(());
            }
            if !self.fill()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
