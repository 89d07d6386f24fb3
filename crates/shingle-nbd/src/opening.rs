//! The beginning of a connection: the handshake with its I/O, and TLS in the middle of it.

use std::cell::OnceCell;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::activity::Watched;
use crate::connection::CutOff;
use crate::connections::Security;
use crate::handshake::{Agreement, ExportInfo, Handshake, Step};
use crate::inbox::Inbox;
use crate::tls::{self, Identity, Rights, Tls};

/// The reason shown for a client that hangs up during TLS. Some give no other sign that they reject
/// a certificate.
const HUNG_UP: &str = "the client hung up: it may not trust the server's certificate (its authority, its name, its time)";
const EXPIRED: &str = "server-cert.pem has expired";

/// The exports of a server when a client connects.
pub(crate) struct Exports {
    all: Vec<ExportInfo>,
    /// What TLS has shown of the client, once it has begun.
    client: OnceCell<Client>,
}

/// A client with a certificate.
struct Client {
    identity: Identity,
    /// The exports that its certificate allows.
    exports: Vec<ExportInfo>,
}

impl Exports {
    pub(crate) fn new(all: Vec<ExportInfo>) -> Exports {
        Exports { all, client: OnceCell::new() }
    }

    /// The export of an agreement.
    pub(crate) fn get(&self, at: usize) -> &ExportInfo {
        &self.client.get().map_or(&self.all, |client| &client.exports)[at]
    }

    /// The identity of the client's certificate.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.client.get().map(|client| &client.identity)
    }

    /// Those of all exports that a client may open.
    fn allowed(&self, rights: &Rights, client: &Identity) -> Result<Vec<ExportInfo>, CutOff> {
        let may = |export: &&ExportInfo| rights.allow(client, &export.name);
        let allowed: Vec<ExportInfo> = self.all.iter().filter(may).cloned().collect();
        if allowed.is_empty() {
            let text = format!("its certificate is good, but may open nothing here ({client})");
            return Err(CutOff::Tls(text));
        }
        Ok(allowed)
    }
}

/// The end of the time for a handshake.
struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    fn left(&self) -> Result<Duration, CutOff> {
        match self.at.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(CutOff::Slow(self.limit)),
            left => Ok(left),
        }
    }

    /// The meaning of a failed read or write, whose timeout was the time left.
    fn cut_off(&self, error: io::Error) -> CutOff {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => CutOff::Slow(self.limit),
            _ => error.into(),
        }
    }
}

/// Does the handshake, within `limit`. `None` if the client left.
pub(crate) fn shake_hands(
    inbox: &mut Inbox<'_>,
    security: &Security,
    exports: &Exports,
    limit: Duration,
) -> Result<Option<Agreement>, CutOff> {
    let deadline = Deadline { at: Instant::now() + limit, limit };
    let mut out = Vec::new();
    let mut handshake = Handshake::new(&exports.all, &mut out).with(security.policy());
    loop {
        let (taken, step) = handshake.step(inbox.bytes(), &mut out)?;
        inbox.consume(taken);
        let left = deadline.left()?;
        let mut watched = inbox.stream();
        watched.stream.set_timeouts(Some(left))?;
        if let Step::Serve(_) = step {
            // Before the client can know that the handshake is over.
            inbox.begin_transmission();
        }
        match watched.write_all(&out) {
            // A client that has sent ABORT need not wait for the reply.
            Err(_) if matches!(step, Step::Close) => {}
            written => written.map_err(|error| deadline.cut_off(error))?,
        }
        out.clear();
        match step {
            Step::Again => {}
            Step::More if inbox.fill().map_err(|error| deadline.cut_off(error))? => {}
            Step::More | Step::Close if handshake.is_too_plain() => return Err(CutOff::Plain),
            Step::More | Step::Close => {
                watched.close();
                return Ok(None);
            }
            Step::StartTls => {
                if !inbox.bytes().is_empty() {
                    return Err(CutOff::Tls("bytes in plain text behind STARTTLS".to_owned()));
                }
                let tls = security.tls().expect("it was offered");
                let client = begin_tls(watched, tls, exports, &deadline)?;
                handshake.secured(&exports.client.get_or_init(|| client).exports);
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

/// Does the handshake of TLS. From here on everything goes through its channel.
fn begin_tls(
    watched: Watched<'_>,
    tls: &Tls,
    exports: &Exports,
    deadline: &Deadline,
) -> Result<Client, CutOff> {
    let begun = tls::begin(tls, watched.stream, deadline.at);
    let (channel, identity) = begun.map_err(|error| no_tls(error, tls, deadline))?;
    let exports = exports.allowed(&tls.rights(), &identity)?;
    assert!(watched.channel.set(channel).is_ok(), "TLS begins once");
    Ok(Client { identity, exports })
}

/// The meaning of a failed handshake of TLS. Clients that reject a certificate hang up, or send an
/// alert without the reason, so an expired one is named here.
fn no_tls(error: io::Error, tls: &Tls, deadline: &Deadline) -> CutOff {
    let told = match error.kind() {
        io::ErrorKind::InvalidData => error.to_string(),
        io::ErrorKind::UnexpectedEof if tls.has_expired() => "the client hung up".to_owned(),
        io::ErrorKind::UnexpectedEof => return CutOff::Tls(HUNG_UP.to_owned()),
        _ => return deadline.cut_off(error),
    };
    CutOff::Tls(if tls.has_expired() { format!("{told}; {EXPIRED}") } else { told })
}
