//! Sends several replies together: with few system calls, and without copying payloads.

use std::io::{self, IoSlice, Write};

/// Bytes to be sent, in order.
#[derive(Default, Debug)]
pub struct Batch {
    /// All headers, concatenated.
    heads: Vec<u8>,
    /// Payloads, each with the end of the headers that precede it.
    payloads: Vec<(usize, Vec<u8>)>,
    /// The number of bytes sent.
    sent: usize,
}

impl Batch {
    /// The buffer that headers are appended to.
    pub fn head(&mut self) -> &mut Vec<u8> {
        &mut self.heads
    }

    /// Appends a payload.
    pub fn data(&mut self, data: Vec<u8>) {
        self.payloads.push((self.heads.len(), data));
    }

    /// Sends everything, and is empty then. After an error, the next call continues where this one
    /// stopped.
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
        // Drops empty slices at the front, too, so that a write of 0 bytes means a closed
        // connection.
        IoSlice::advance_slices(&mut rest, self.sent);
        while !rest.is_empty() {
            match to.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => {
                    self.sent += sent;
                    IoSlice::advance_slices(&mut rest, sent);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.clear();
        Ok(())
    }

    /// Drops what was to be sent.
    pub fn clear(&mut self) {
        self.heads.clear();
        self.payloads.clear();
        self.sent = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes seven bytes, then none, and so on.
    struct Reluctant {
        taken: Vec<u8>,
        takes: bool,
    }

    impl Write for Reluctant {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.takes = !self.takes;
            if !self.takes {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let taken = &bytes[..bytes.len().min(7)];
            self.taken.extend_from_slice(taken);
            Ok(taken.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn it_goes_on_where_it_was() {
        let (mut batch, mut all) = (Batch::default(), Vec::new());
        for part in 0..4_u8 {
            batch.head().extend([part; 16]);
            batch.data(vec![part + 100; 10 * usize::from(part)]);
            all.extend([part; 16]);
            all.extend(vec![part + 100; 10 * usize::from(part)]);
        }
        let mut to = Reluctant { taken: Vec::new(), takes: false };
        let mut tries = 1;
        while let Err(error) = batch.send(&mut to) {
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            tries += 1;
        }
        assert!(tries > 10 && batch.heads.is_empty() && batch.payloads.is_empty(), "{tries} times");
        assert_eq!(to.taken, all);
    }
}
