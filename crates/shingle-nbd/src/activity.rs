//! The activity of a connection: if there are too many connections, an idle one gives way to a new
//! one.

use std::io::{self, IoSlice, Read, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::stream::Stream;
use crate::tls::Channel;

/// Longer writes are cut, so that a slow client shows activity with each piece that it takes.
const PIECE_BYTES: usize = 1 << 20;

/// The last activity of one connection. Its threads record it, and the server reads it.
pub(crate) struct Activity {
    begun: Instant,
    /// When bytes were last transferred, in nanoseconds since `begun`.
    last_transfer_ns: AtomicU64,
    /// The handshake is over.
    transmits: AtomicBool,
    /// A request has arrived without its payload: the client has to act next.
    lacks_payload: AtomicBool,
}

impl Activity {
    pub(crate) fn new() -> Self {
        let (transmits, lacks_payload) = (AtomicBool::new(false), AtomicBool::new(false));
        Self {
            begun: Instant::now(),
            last_transfer_ns: AtomicU64::new(0),
            transmits,
            lacks_payload,
        }
    }

    fn record_transfer(&self) {
        // It wraps around after 584 years.
        let now = self.begun.elapsed().as_nanos() as u64;
        self.last_transfer_ns.store(now, Ordering::Relaxed);
    }

    /// When bytes were last transferred.
    pub(crate) fn last_transfer(&self) -> Instant {
        self.begun + Duration::from_nanos(self.last_transfer_ns.load(Ordering::Relaxed))
    }

    /// Notes that the handshake is over.
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

/// A connection that records its activity.
#[derive(Clone, Copy)]
pub(crate) struct Watched<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) activity: &'a Activity,
    /// The encryption, once it has begun.
    pub(crate) channel: &'a OnceLock<Channel>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        let read = match self.channel.get() {
            None => stream.read(buffer),
            Some(channel) => channel.read(stream, buffer),
        };
        self.activity.record_transfer();
        read
    }
}

impl Write for Watched<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        // Before the write: a client that has a reply must have been active before.
        self.activity.record_transfer();
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
        self.activity.record_transfer();
        let mut stream = self.stream;
        stream.write_vectored(&buffers[..whole])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Watched<'_> {
    /// Ends the writing.
    pub(crate) fn close(&self) {
        if let Some(channel) = self.channel.get() {
            channel.close(self.stream);
        }
    }

    /// Joins small buffers, and what fits of a large one, to one message of TLS.
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
        self.activity.record_transfer();
        channel.write(self.stream, &together)
    }
}

/// The same in plain text, without blocking: if the client does not take everything at once, the
/// error is [`io::ErrorKind::WouldBlock`].
pub(crate) struct NonBlocking<'a>(pub(crate) Watched<'a>);

impl Write for NonBlocking<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buffer)])
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.activity.record_transfer();
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
        assert!(activity.last_transfer() > activity.begun);
        drop(stream);
        reader.join().expect("no panic").expect("read");
    }
}
