//! Whether a connection does anything: where there are too many, one that does nothing gives way to
//! a new one.

use std::io::{self, IoSlice, Read, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::stream::Stream;
use crate::tls::Channel;

/// A write of more is cut, so that a slow client shows with each piece that it takes them.
const PIECE_BYTES: usize = 1 << 20;

/// What one connection has done last. Its threads write it down, the server looks.
pub(crate) struct Activity {
    begun: Instant,
    /// When bytes moved last, in nanoseconds since `begun`.
    moved_ns: AtomicU64,
    /// The handshake is over.
    transmits: AtomicBool,
    /// A request has come and its payload has not: it is the client's turn.
    lacks_payload: AtomicBool,
}

impl Activity {
    pub(crate) fn new() -> Self {
        let (transmits, lacks_payload) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { begun: Instant::now(), moved_ns: AtomicU64::new(0), transmits, lacks_payload }
    }

    fn moves(&self) {
        // It wraps around after 584 years.
        let now = self.begun.elapsed().as_nanos() as u64;
        self.moved_ns.store(now, Ordering::Relaxed);
    }

    /// When bytes moved last.
    pub(crate) fn moved(&self) -> Instant {
        self.begun + Duration::from_nanos(self.moved_ns.load(Ordering::Relaxed))
    }

    /// The handshake is over.
    pub(crate) fn begin_transmission(&self) {
        self.transmits.store(true, Ordering::Relaxed);
    }

    pub(crate) fn transmits(&self) -> bool {
        self.transmits.load(Ordering::Relaxed)
    }

    pub(crate) fn set_lacks_payload(&self, lacks: bool) {
        self.lacks_payload.store(lacks, Ordering::Relaxed);
    }

    pub(crate) fn lacks_payload(&self) -> bool {
        self.lacks_payload.load(Ordering::Relaxed)
    }
}

/// A connection whose bytes are noted as they move.
#[derive(Clone, Copy)]
pub(crate) struct Watched<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) activity: &'a Activity,
    /// Once it is encrypted.
    pub(crate) channel: &'a OnceLock<Channel>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        let read = match self.channel.get() {
            None => stream.read(buffer),
            Some(channel) => channel.read(stream, buffer),
        };
        self.activity.moves();
        read
    }
}

impl Write for Watched<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        // Before the bytes go: one who has a reply was active before it came.
        self.activity.moves();
        let mut stream = self.stream;
        let piece = &buffer[..buffer.len().min(PIECE_BYTES)];
        match self.channel.get() {
            None => stream.write(piece),
            Some(channel) => channel.write(stream, piece),
        }
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        if let Some(channel) = self.channel.get() {
            return self.write_together(channel, buffers);
        }
        let mut bytes = 0;
        let fits = |buffer: &&IoSlice<'_>| {
            bytes += buffer.len();
            bytes <= PIECE_BYTES
        };
        let whole = buffers.iter().take_while(fits).count();
        if whole == 0 {
            return buffers.first().map_or(Ok(0), |first| self.write(first));
        }
        self.activity.moves();
        let mut stream = self.stream;
        stream.write_vectored(&buffers[..whole])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Watched<'_> {
    /// Nothing more will be written.
    pub(crate) fn close(&self) {
        if let Some(channel) = self.channel.get() {
            channel.close(self.stream);
        }
    }

    /// Small ones go into one message of TLS, with what fits of a large one.
    fn write_together(&self, channel: &Channel, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        if let [only] = buffers {
            let mut to = *self;
            return to.write(only);
        }
        let mut together = Vec::new();
        for buffer in buffers {
            let room = PIECE_BYTES - together.len();
            together.extend_from_slice(&buffer[..buffer.len().min(room)]);
        }
        self.activity.moves();
        channel.write(self.stream, &together)
    }
}

/// The same in plain text, for who must not wait: what the client does not take at once is an error,
/// [`io::ErrorKind::WouldBlock`].
pub(crate) struct AtOnce<'a>(pub(crate) Watched<'a>);

impl Write for AtOnce<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buffer)])
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.activity.moves();
        self.0.stream.write_at_once(buffers)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn long_writes_are_cut_and_short_ones_go_together() {
        let (ours, theirs) = UnixStream::pair().expect("two sockets");
        let reader = std::thread::spawn(move || io::copy(&mut &theirs, &mut io::sink()));
        let (stream, activity) = (Stream::Unix(ours), Activity::new());
        let channel = OnceLock::new();
        let mut watched = Watched { stream: &stream, activity: &activity, channel: &channel };
        let (small, large) = (vec![1; 1000], vec![2; PIECE_BYTES + 1]);
        let slices = |parts: &[&[u8]], watched: &mut Watched<'_>| {
            let slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
            watched.write_vectored(&slices).expect("sent")
        };
        assert_eq!(slices(&[], &mut watched), 0);
        assert_eq!(slices(&[&small, &small], &mut watched), 2000);
        assert_eq!(slices(&[&small, &large], &mut watched), 1000);
        assert_eq!(slices(&[&large, &small], &mut watched), PIECE_BYTES);
        assert!(activity.moved() > activity.begun);
        drop(stream);
        reader.join().expect("no panic").expect("read");
    }
}
