//! A connection with TLS, used by two threads: one reads, one writes.
//!
//! The state of TLS is behind a lock that is held for computation only, never while a thread waits
//! for the socket: the reader reads from the socket before, the writer writes to it afterwards.
//! Messages of TLS itself, such as the answer to a new key, are sent with the next write, by the
//! only thread that writes.

use std::io::{self, Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustls::{Connection, ServerConnection};

use super::Tls;
use super::names::Identity;
use crate::stream::Stream;

/// The number of bytes read from the socket at a time.
const READ_BYTES: usize = 64 << 10;

/// The longest time for the closing message.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// A connection after the handshake of TLS.
pub(crate) struct Channel {
    state: Mutex<Connection>,
    /// The reader's buffers: bytes from the socket, and decrypted bytes not yet taken.
    incoming: Mutex<Incoming>,
    /// The writer's buffer.
    outgoing: Mutex<Vec<u8>>,
    /// The deadline of the next byte, if there is one.
    deadline: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Incoming {
    cipher: Vec<u8>,
    plain: Vec<u8>,
    /// The number of decrypted bytes taken.
    taken: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn invalid(error: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// The time left.
fn left(deadline: Instant) -> io::Result<Duration> {
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

/// Does the handshake of TLS, up to `deadline`. Returns the identity of the client as well.
///
/// # Errors
/// If the client is too slow, hangs up, or violates the protocol: [`io::ErrorKind::InvalidData`].
pub(crate) fn begin(
    tls: &Tls,
    stream: &Stream,
    deadline: Instant,
) -> io::Result<(Channel, Identity)> {
    let mut connection = ServerConnection::new(tls.config()).map_err(invalid)?;
    let mut socket = stream;
    while connection.is_handshaking() || connection.wants_write() {
        stream.set_timeouts(Some(left(deadline)?))?;
        if connection.wants_write() {
            connection.write_tls(&mut socket)?;
        } else {
            if connection.read_tls(&mut socket)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Err(error) = connection.process_new_packets() {
                // Sends the reason, if the client listens.
                let _ = connection.write_tls(&mut socket);
                return Err(invalid(error));
            }
        }
    }
    let certificate = connection.peer_certificates().and_then(|all| all.first());
    let certificate = certificate.ok_or_else(|| invalid("the client shows no certificate"))?;
    let identity = Identity::new(certificate.clone().into_owned());
    let channel = Channel::new(Connection::Server(connection))?;
    *lock(&channel.deadline) = Some(deadline);
    Ok((channel, identity))
}

impl Channel {
    fn new(mut connection: Connection) -> io::Result<Channel> {
        // Everything written to it is sent at once.
        connection.set_buffer_limit(None);
        let mut incoming = Incoming::default();
        // The client may send data before the end of the handshake.
        let state = connection.process_new_packets().map_err(invalid)?;
        incoming.plain.resize(state.plaintext_bytes_to_read(), 0);
        connection.reader().read_exact(&mut incoming.plain)?;
        Ok(Channel {
            state: Mutex::new(connection),
            incoming: Mutex::new(incoming),
            outgoing: Mutex::default(),
            deadline: Mutex::default(),
        })
    }

    /// Removes the deadline.
    pub(crate) fn wait_for_ever(&self) {
        *lock(&self.deadline) = None;
    }

    /// Reads the next bytes; 0 at the end. Only one thread may call it.
    pub(crate) fn read(&self, mut stream: &Stream, out: &mut [u8]) -> io::Result<usize> {
        let mut incoming = std::mem::take(&mut *lock(&self.incoming));
        let result = self.read_with(&mut incoming, &mut stream, out);
        *lock(&self.incoming) = incoming;
        result
    }

    fn read_with(
        &self,
        incoming: &mut Incoming,
        stream: &mut &Stream,
        out: &mut [u8],
    ) -> io::Result<usize> {
        loop {
            let there = &incoming.plain[incoming.taken..];
            if !there.is_empty() {
                let bytes = there.len().min(out.len());
                out[..bytes].copy_from_slice(&there[..bytes]);
                incoming.taken += bytes;
                return Ok(bytes);
            }
            incoming.plain.clear();
            incoming.taken = 0;
            let deadline = *lock(&self.deadline);
            if let Some(deadline) = deadline {
                stream.set_timeouts(Some(left(deadline)?))?;
            }
            incoming.cipher.resize(READ_BYTES, 0);
            let bytes = stream.read(&mut incoming.cipher)?;
            if !self.decipher(&incoming.cipher[..bytes], &mut incoming.plain)? {
                return Ok(0);
            }
        }
    }

    /// Decrypts `cipher` and appends it to `plain`; returns whether more may come.
    fn decipher(&self, mut cipher: &[u8], plain: &mut Vec<u8>) -> io::Result<bool> {
        if cipher.is_empty() {
            // The client hung up without a closing message: if an NBD message was cut, that shows
            // there.
            return Ok(false);
        }
        let mut connection = lock(&self.state);
        while !cipher.is_empty() {
            connection.read_tls(&mut cipher)?;
            let state = connection.process_new_packets().map_err(invalid)?;
            let (bytes, closed) = (state.plaintext_bytes_to_read(), state.peer_has_closed());
            let from = plain.len();
            plain.resize(from + bytes, 0);
            connection.reader().read_exact(&mut plain[from..])?;
            if closed {
                return Ok(!plain.is_empty());
            }
        }
        Ok(true)
    }

    /// Sends the closing message, which shows the client that nothing was cut off. Does not wait
    /// for a client that does not listen.
    pub(crate) fn close(&self, mut stream: &Stream) {
        let mut out = Vec::new();
        {
            let mut connection = lock(&self.state);
            connection.send_close_notify();
            while connection.wants_write() && connection.write_tls(&mut out).is_ok() {}
        }
        let _ = stream.set_timeouts(Some(CLOSE_MAX)).and_then(|()| stream.write_all(&out));
    }

    /// Sends all of `bytes`. Only one thread may call it.
    pub(crate) fn write(&self, mut stream: &Stream, bytes: &[u8]) -> io::Result<usize> {
        let mut out = std::mem::take(&mut *lock(&self.outgoing));
        out.clear();
        {
            let mut connection = lock(&self.state);
            connection.writer().write_all(bytes)?;
            while connection.wants_write() {
                connection.write_tls(&mut out)?;
            }
        }
        let sent = stream.write_all(&out);
        *lock(&self.outgoing) = out;
        sent.map(|()| bytes.len())
    }
}
