//! The open connections of a server, and which of them gives way if there are too many.
//!
//! First, half-open connections, whose handshake is not over. Then connections in transmission that
//! have been idle for some time: no byte was transferred, and the export works on none of their
//! requests. In each group, the one whose last byte is the oldest. So a client that sends nothing,
//! never completes a request, or never takes a reply locks no other client out, and a client that
//! the export works for is never cut off.
//!
//! The same if another connection waits for memory, and an idle one holds some.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::activity::Activity;
use crate::handshake::Encryption;
use crate::limits::Limits;
use crate::offers::Offer;
use crate::outbox::Outbox;
use crate::sender::Sender;
use crate::session::Session;
use crate::stream::Stream;
use crate::tls::{Channel, Identity, Tls};

/// Whether a connection is encrypted.
#[derive(Clone, Debug)]
pub(crate) enum Security {
    /// There is no TLS.
    None,
    /// TLS is optional.
    Offered(Arc<Tls>),
    /// TLS is required before anything else.
    Required(Arc<Tls>),
}

impl Security {
    pub(crate) fn tls(&self) -> Option<&Tls> {
        match self {
            Security::None => None,
            Security::Offered(tls) | Security::Required(tls) => Some(tls),
        }
    }

    pub(crate) fn policy(&self) -> Encryption {
        match self {
            Security::None => Encryption::None,
            Security::Offered(_) => Encryption::Offered,
            Security::Required(_) => Encryption::Required,
        }
    }
}

/// An open connection.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) stream: Arc<Stream>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) activity: Arc<Activity>,
    /// The export that it uses, after the handshake.
    pub(crate) export: Arc<OnceLock<Arc<Offer>>>,
    /// The encryption that it may or must use.
    pub(crate) security: Security,
    pub(crate) channel: Arc<OnceLock<Channel>>,
    /// The identity of its certificate.
    pub(crate) client: Arc<OnceLock<Identity>>,
    /// Set when its certificate does not allow its export any more.
    pub(crate) revoked: Arc<AtomicBool>,
    /// How long it had been idle when it had to give way; it ends at once.
    pub(crate) gave_way: Option<Duration>,
}

impl Connection {
    /// Notes the export that the handshake has ended with.
    pub(crate) fn agree(&self, offer: &Arc<Offer>) {
        // There is only one handshake.
        let _ = self.export.set(Arc::clone(offer));
    }

    /// The sender of its replies, for the agreed `session`.
    pub(crate) fn sender(&self, session: Session) -> Sender {
        let Connection { stream, activity, channel, .. } = self.clone();
        Sender { stream, activity, channel, session, sending: Mutex::default() }
    }

    pub(crate) fn uses(&self, offer: &Arc<Offer>) -> bool {
        self.export.get().is_some_and(|used| Arc::ptr_eq(used, offer))
    }

    /// Checks whether its certificate still allows its export. The server sets new rights before it
    /// calls this, so a client that agrees at the same time either sees the new rights or is
    /// checked here.
    pub(crate) fn check_rights(&self) {
        if let (Some(tls), Some(client), Some(offer)) =
            (self.security.tls(), self.client.get(), self.export.get())
            && !tls.rights().allow(client, &offer.served.name)
        {
            self.revoked.store(true, Ordering::SeqCst);
        }
    }

    pub(crate) fn is_revoked(&self) -> bool {
        self.revoked.load(Ordering::SeqCst)
    }

    /// Whether it uses the export of this name, and has not given way.
    pub(crate) fn uses_name(&self, name: &str) -> bool {
        self.gave_way.is_none() && self.export.get().is_some_and(|used| used.served.name == name)
    }
}

#[derive(Default)]
pub(crate) struct Connections {
    /// The number of the last connection.
    last: u64,
    open: BTreeMap<u64, Connection>,
}

impl Connections {
    /// Adds a connection, which `make` makes for a number. Another one may give way to it. `None`
    /// if there are too many, and none is idle.
    pub(crate) fn enter(
        &mut self,
        limits: &Limits,
        make: impl FnOnce(u64) -> Connection,
    ) -> Option<(u64, Connection)> {
        // Connections that give way still have their threads for a moment: their number must be
        // limited, too.
        let full = self.len() >= limits.connections;
        if full && (self.open.len() >= 2 * limits.connections || !self.make_room(limits.idle)) {
            return None;
        }
        self.last += 1;
        let new = make(self.last);
        self.open.insert(self.last, new.clone());
        Some((self.last, new))
    }

    /// Cuts off an idle connection, if there is one.
    fn make_room(&mut self, idle: Duration) -> bool {
        self.cut_off_one(idle, |_| true)
    }

    /// Another connection waits for memory: cuts off an idle one in transmission that holds some.
    pub(crate) fn free_memory(&mut self, idle: Duration) -> bool {
        self.cut_off_one(idle, |connection| connection.outbox.holds_pooled())
    }

    fn cut_off_one(&mut self, idle: Duration, meant: impl Fn(&Connection) -> bool) -> bool {
        let now = Instant::now();
        let mut found: Vec<_> = self
            .open
            .values_mut()
            .filter(|connection| connection.gave_way.is_none() && meant(connection))
            .map(|connection| {
                let activity = &connection.activity;
                (activity.transmits(), activity.last_transfer(), connection)
            })
            .filter(|&(transmits, last_transfer, _)| {
                !transmits || now.duration_since(last_transfer) >= idle
            })
            .collect();
        found.sort_unstable_by_key(|&(transmits, last_transfer, _)| (transmits, last_transfer));
        for (_, last_transfer, connection) in found {
            // A request whose payload has not arrived is not yet with the export.
            let lacking = usize::from(connection.activity.lacks_payload());
            if connection.outbox.abandon_idle(lacking) {
                connection.gave_way = Some(now.duration_since(last_transfer));
                connection.stream.shutdown(Shutdown::Both);
                return true;
            }
        }
        false
    }

    /// Removes a connection that has ended.
    pub(crate) fn remove(&mut self, id: u64) -> Option<Connection> {
        self.open.remove(&id)
    }

    /// The number of connections, without those that gave way.
    pub(crate) fn len(&self) -> usize {
        self.open.values().filter(|connection| connection.gave_way.is_none()).count()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.open.values()
    }
}
