//! One client from its first byte to its last: this thread reads, a second one writes.

use std::cell::OnceCell;
use std::io::{self, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::connections::Security;
use crate::export::{Answer, Completion, Export};
use crate::handshake::{Agreement, ExportInfo, Handshake, Step};
use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::reading::Arrival;
use crate::requests::Request;
use crate::sender::Sender;
use crate::session::Session;
use crate::stream::Stream;
use crate::tls::{self, Identity};
use crate::wire::Malformed;

/// The reason shown for a client that hangs up during TLS. Some give no other sign that they reject
/// a certificate.
const HUNG_UP: &str = "the client hung up: it may not trust the server's certificate (its authority, its name, its time)";
const EXPIRED: &str = "server-cert.pem has expired";

/// Why a client was cut off.
#[derive(Debug, Error)]
pub enum CutOff {
    /// It sent something that is not a message of the protocol.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It did not complete the handshake in time.
    #[error("the handshake did not end within {0:?}")]
    Slow(Duration),
    /// TLS is required, and it did not begin TLS.
    #[error("it did not begin TLS, and nothing is served without")]
    Plain,
    /// The handshake of TLS failed.
    #[error("TLS: {0}")]
    Tls(String),
    /// It hung up in the middle of a message.
    #[error("it hung up in the middle of a message")]
    HungUp,
    /// The connection failed.
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

/// Does the handshake, within `limit`. `None` if the client left. `exports` are those that the
/// client may open: all of them, or those that its certificate allows.
pub(crate) fn shake_hands(
    inbox: &mut Inbox<'_>,
    security: &Security,
    exports: &Exports,
    limit: Duration,
) -> Result<Option<Agreement>, CutOff> {
    let deadline = Instant::now() + limit;
    let slow = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => CutOff::Slow(limit),
        _ => error.into(),
    };
    let mut out = Vec::new();
    let Exports { all, opened, .. } = exports;
    let mut handshake = Handshake::new(all, &mut out).with(security.policy());
    loop {
        let (taken, step) = handshake.step(inbox.bytes(), &mut out)?;
        inbox.consume(taken);
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(CutOff::Slow(limit));
        }
        let mut watched = inbox.stream();
        watched.stream.set_timeouts(Some(left))?;
        if let Step::Serve(_) = step {
            // Before the client can know that the handshake is over.
            inbox.begin_transmission();
        }
        match watched.write_all(&out) {
            // A client that has sent ABORT need not wait for the reply.
            Err(_) if matches!(step, Step::Close) => {}
            written => written.map_err(slow)?,
        }
        out.clear();
        match step {
            Step::Again => {}
            Step::More if inbox.fill().map_err(slow)? => {}
            Step::More | Step::Close if handshake.is_too_plain() => return Err(CutOff::Plain),
            Step::More | Step::Close => {
                watched.close();
                return Ok(None);
            }
            Step::StartTls => {
                let tls = security.tls().expect("it was offered");
                if !inbox.bytes().is_empty() {
                    return Err(CutOff::Tls("bytes in plain text behind STARTTLS".to_owned()));
                }
                let begun = tls::begin(tls, watched.stream, deadline);
                let expired = || tls.has_expired();
                let (channel, client) = begun.map_err(|error| match error.kind() {
                    io::ErrorKind::InvalidData if expired() => {
                        CutOff::Tls(format!("{error}; {EXPIRED}"))
                    }
                    io::ErrorKind::InvalidData => CutOff::Tls(error.to_string()),
                    io::ErrorKind::UnexpectedEof if expired() => {
                        CutOff::Tls(format!("the client hung up; {EXPIRED}"))
                    }
                    io::ErrorKind::UnexpectedEof => CutOff::Tls(HUNG_UP.to_owned()),
                    _ => slow(error),
                })?;
                let rights = tls.rights();
                let may = |export: &&ExportInfo| rights.allow(&client, &export.name);
                let allowed: Vec<ExportInfo> = all.iter().filter(may).cloned().collect();
                if allowed.is_empty() {
                    let text =
                        format!("its certificate is good, but may open nothing here ({client})");
                    return Err(CutOff::Tls(text));
                }
                assert!(watched.channel.set(channel).is_ok(), "TLS begins once");
                let _ = exports.client.set(client);
                handshake.secured(opened.get_or_init(|| allowed));
            }
            Step::Serve(agreement) => {
                watched.stream.set_timeouts(None)?;
                if let Some(channel) = watched.channel.get() {
                    channel.wait_for_ever();
                }
                return Ok(Some(agreement));
            }
        }
    }
}

/// The exports of a server when a client connects.
pub(crate) struct Exports {
    pub(crate) all: Vec<ExportInfo>,
    /// Those that the client may open, if its certificate decides that.
    pub(crate) opened: OnceCell<Vec<ExportInfo>>,
    /// The identity of its certificate.
    pub(crate) client: OnceCell<Identity>,
}

impl Exports {
    /// The export of an agreement.
    pub(crate) fn get(&self, at: usize) -> &ExportInfo {
        &self.opened.get().unwrap_or(&self.all)[at]
    }
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
