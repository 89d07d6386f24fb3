//! The open connections of a server, and which of them gives way when there are too many.
//!
//! Half-open ones go first: those whose handshake is not over. Then those in transmission that have
//! been idle for some time: no byte has moved, and the export works on none of their requests. Among
//! both the one whose last byte is the oldest. So whoever sits there, never ends a request, or never
//! takes a reply locks nobody out, and one that the export works for is never cut off.
//!
//! Likewise where somebody waits for memory, and such a one has it.

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
    /// There is nothing to encrypt with.
    None,
    /// If the client wants.
    Offered(Arc<Tls>),
    /// Before anything else.
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

/// One that is open.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) stream: Arc<Stream>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) activity: Arc<Activity>,
    /// What it has agreed on.
    pub(crate) export: Arc<OnceLock<Arc<Offer>>>,
    /// What it may, or has to, be encrypted with.
    pub(crate) security: Security,
    pub(crate) channel: Arc<OnceLock<Channel>>,
    /// Whose certificate it has shown.
    pub(crate) client: Arc<OnceLock<Identity>>,
    /// That certificate does not open its export any more.
    pub(crate) barred: Arc<AtomicBool>,
    /// For how long it had done nothing when it had to give way; it ends at once.
    pub(crate) gave_way: Option<Duration>,
}

impl Connection {
    /// The handshake has ended with this export.
    pub(crate) fn agree(&self, offer: &Arc<Offer>) {
        // (There is one handshake.)
        let _ = self.export.set(Arc::clone(offer));
    }

    /// For its replies, once it has agreed on `session`.
    pub(crate) fn sender(&self, session: Session) -> Sender {
        let Connection { stream, activity, channel, .. } = self.clone();
        Sender { stream, activity, channel, session, sending: Mutex::default() }
    }

    pub(crate) fn uses(&self, offer: &Arc<Offer>) -> bool {
        self.export.get().is_some_and(|used| Arc::ptr_eq(used, offer))
    }

    /// Notes whether its certificate still opens what it uses. Rights are set before the server judges connections
    /// again: one that agrees at this moment sees them, or is seen.
    pub(crate) fn judge(&self) {
        if let (Some(tls), Some(client), Some(offer)) =
            (self.security.tls(), self.client.get(), self.export.get())
            && !tls.rights().allow(client, &offer.served.name)
        {
            self.barred.store(true, Ordering::SeqCst);
        }
    }

    pub(crate) fn is_barred(&self) -> bool {
        self.barred.load(Ordering::SeqCst)
    }

    /// Whether it uses the export of this name, and has not given way.
    pub(crate) fn uses_name(&self, name: &str) -> bool {
        self.gave_way.is_none() && self.export.get().is_some_and(|used| used.served.name == name)
    }
}

#[derive(Default)]
pub(crate) struct Connections {
    /// The number of the newest.
    last: u64,
    open: BTreeMap<u64, Connection>,
}

impl Connections {
    /// A new one, of which `make` gets the number; another one may give way to it. None if there are
    /// too many that work.
    pub(crate) fn enter(
        &mut self,
        limits: &Limits,
        make: impl FnOnce(u64) -> Connection,
    ) -> Option<(u64, Connection)> {
        // Those that give way still have their threads, for a moment: there must not be any number.
        let full = self.len() >= limits.connections;
        if full && (self.open.len() >= 2 * limits.connections || !self.make_room(limits.idle)) {
            return None;
        }
        self.last += 1;
        let new = make(self.last);
        self.open.insert(self.last, new.clone());
        Some((self.last, new))
    }

    /// Cuts off the one that does nothing, if there is one.
    fn make_room(&mut self, idle: Duration) -> bool {
        self.cut_off_one(idle, |_| true)
    }

    /// Somebody stands in line for memory: cuts off one that holds some, and does nothing in transmission.
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
                (activity.transmits(), activity.moved(), connection)
            })
            .filter(|&(transmits, moved, _)| !transmits || now.duration_since(moved) >= idle)
            .collect();
        found.sort_unstable_by_key(|&(transmits, moved, _)| (transmits, moved));
        for (_, moved, connection) in found {
            // A request whose payload has not come is nothing that the export works on.
            let lacking = usize::from(connection.activity.lacks_payload());
            if connection.outbox.abandon_idle(lacking) {
                connection.gave_way = Some(now.duration_since(moved));
                connection.stream.shutdown(Shutdown::Both);
                return true;
            }
        }
        false
    }

    /// The connection has ended.
    pub(crate) fn remove(&mut self, id: u64) -> Option<Connection> {
        self.open.remove(&id)
    }

    /// How many there are, without those that gave way.
    pub(crate) fn len(&self) -> usize {
        self.open.values().filter(|connection| connection.gave_way.is_none()).count()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.open.values()
    }
}
