//! A client after the handshake: this thread reads, a second one writes; and how connections end.

use std::io;
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::export::{Answer, Completion, Export};
use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::reading::Arrival;
use crate::requests::Request;
use crate::sender::Sender;
use crate::session::Session;
use crate::stream::Stream;
use crate::wire::Malformed;

/// Why a client was cut off.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say it
pub enum CutOff {
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("the handshake did not end within {0:?}")]
    Slow(Duration),
    #[error("it did not begin TLS, and nothing is served without")]
    Plain,
    #[error("TLS: {0}")]
    Tls(String),
    #[error("it hung up in the middle of a message")]
    HungUp,
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for CutOff {
    fn from(error: io::Error) -> CutOff {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => CutOff::HungUp,
            _ => CutOff::Io(error),
        }
    }
}

/// A regular end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The client sent DISC or ABORT, or requested an export that does not exist.
    Closed,
    /// The client hung up, and every request that it began was complete.
    HungUp,
    /// The server is stopping.
    Stopped,
}

/// The transmission: reads requests until the client leaves or `is_ending`, while `write` runs on
/// another thread, which also answers the requests in flight at the end. While this waits for
/// memory, it calls `stalls`.
pub(crate) fn read(
    inbox: &mut Inbox<'_>,
    session: &Session,
    export: &dyn Export,
    outbox: &Arc<Outbox>,
    is_ending: &dyn Fn() -> bool,
    stalls: &dyn Fn(),
) -> Result<End, CutOff> {
    loop {
        let arrived = match Arrival::of(session, inbox.bytes())? {
            Arrival::Nothing => {
                export.kick();
                if is_ending() {
                    return Ok(End::Stopped);
                }
                if !inbox.fill()? {
                    return match inbox.bytes() {
                        _ if is_ending() => Ok(End::Stopped),
                        [] => Ok(End::HungUp),
                        _ => Err(CutOff::HungUp),
                    };
                }
                continue;
            }
            Arrival::Bye => {
                export.kick();
                return Ok(End::Closed);
            }
            Arrival::Request(arrived) => arrived,
        };
        inbox.consume(Request::BYTES);
        let which = arrived.which;
        if !outbox.enter(which.memory_bytes, || export.kick(), stalls) {
            // The writer has found that the client is gone, unless the server closed the
            // connection.
            return Ok(if is_ending() { End::Stopped } else { End::HungUp });
        }
        let payload_bytes = arrived.payload_bytes();
        if inbox.bytes().len() < payload_bytes {
            export.kick();
        }
        if let Some(failure) = arrived.refused {
            // The error is sent after the payload: a client may not receive while it sends.
            let skipped = inbox.skip(payload_bytes);
            Completion::to_connection(Arc::clone(outbox), which).done(Err(failure));
            skipped?;
            continue;
        }
        // From here on the request is answered, even if its payload never arrives.
        let done = Completion::to_connection(Arc::clone(outbox), which);
        let payload = inbox.take(payload_bytes)?;
        match arrived.command(session, payload) {
            Some(command) => export.submit(command, done),
            None => done.done(Ok(Answer::Done)),
        }
    }
}

/// Sends replies until the outbox has ended. A client that does not take replies any more is cut
/// off: no request of it is accepted, and nothing waits for those in flight.
pub(crate) fn write(outbox: &Outbox, sender: &Sender) {
    let (to, stream) = (sender.watched(), &*sender.stream);
    let _hang_up = HangUp { stream, outbox };
    let mut ready = Vec::new();
    let mut broken = false;
    while outbox.take(&mut ready) {
        let mut sending = sender.lock();
        sending.add(&sender.session, &mut ready);
        let sent = if broken { None } else { sending.send(to).ok() };
        if sent.is_none() {
            broken = true;
            outbox.abandon();
            stream.shutdown(Shutdown::Both);
        }
        let sent = sent.unwrap_or_else(|| sending.discard());
        drop(sending);
        outbox.release(sent);
    }
    if !broken {
        to.close();
    }
}

/// Shuts the connection down however the writer ends, as the reader must not wait for it.
struct HangUp<'a> {
    stream: &'a Stream,
    outbox: &'a Outbox,
}

impl Drop for HangUp<'_> {
    fn drop(&mut self) {
        self.outbox.abandon();
        self.stream.shutdown(Shutdown::Both);
    }
}
