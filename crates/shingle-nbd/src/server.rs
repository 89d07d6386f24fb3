//! The server: listeners, connections, and how they end.

use std::fmt;
use std::net::Shutdown;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::activity::{Activity, Watched};
use crate::connection::{self, CutOff, End};
use crate::connections::{Connection, Connections, Security};
use crate::export::Export;
use crate::inbox::Inbox;
pub use crate::limits::{
    CONNECTIONS_MAX, HANDSHAKE_MAX, IDLE_MIN, Limits, MEMORY_BYTES_ALL_MAX, MEMORY_BYTES_MAX,
    REQUESTS_IN_FLIGHT_MAX,
};
use crate::listen::{Address, ListenError, Listener};
use crate::offers::{List, Offer, infos};
use crate::opening::{Exports, shake_hands};
use crate::outbox::{Outbox, Room};
use crate::pool::Pool;
pub use crate::served::{MINIMUM_BLOCK_MAX, Served};
use crate::session::Session;
use crate::stream::Stream;
use crate::tls::{NotRenewed, Tls};
use crate::users::{Refused, Users};

/// How often it is reported that the system gives no connections.
const STARVED_EVERY: Duration = Duration::from_secs(60);

/// An event for the operator, of one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A client has connected; connections are numbered from 1.
    Connected(u64),
    /// A client has left.
    Left(u64, End),
    /// A client was cut off.
    CutOff(u64, CutOff),
    /// A client was idle for this time, and gave way to one that needs its place or its memory.
    GaveWay(u64, Duration),
    /// A client may not connect.
    Refused(Refused),
    /// There are too many connections, and none is idle.
    Full,
    /// The files for TLS were replaced, and the new ones cannot be used.
    NotRenewed(NotRenewed),
    /// The system gave no connection or thread; the server continues.
    Starved(std::io::Error),
    /// The export panicked in this connection, which is closed.
    Panicked(u64),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected(id) => write!(f, "client {id} is there"),
            Self::Left(id, End::Closed) => write!(f, "client {id} has disconnected"),
            Self::Left(id, End::HungUp) => write!(f, "client {id} has hung up"),
            Self::Left(id, End::Stopped) => write!(f, "client {id} was sent away"),
            Self::CutOff(id, why) => write!(f, "client {id} was cut off: {why}"),
            Self::GaveWay(id, idle) => write!(
                f,
                "client {id} was cut off: others need its place, and it had done nothing for {:.1} s",
                idle.as_secs_f64()
            ),
            Self::Refused(why) => write!(f, "{why}"),
            Self::Full => write!(f, "a client was refused: there are too many connections"),
            Self::NotRenewed(error) => write!(f, "{error}"),
            Self::Starved(error) => write!(f, "a client could not be accepted: {error}"),
            Self::Panicked(id) => write!(f, "the export failed under client {id}: this is a bug"),
        }
    }
}

/// A running server. Dropping it stops it without waiting for requests in flight.
pub struct Server {
    shared: Arc<Shared>,
    accepting: Mutex<Vec<Accepting>>,
}

/// A listening socket, and its thread that accepts clients.
struct Accepting {
    listener: Arc<Listener>,
    thread: JoinHandle<()>,
}

struct Shared {
    offers: List,
    limits: Limits,
    pool: Arc<Pool>,
    tell: Box<dyn Fn(Event) + Send + Sync>,
    stopping: AtomicBool,
    connections: Mutex<Connections>,
    /// Notified when a connection has ended.
    ended: Condvar,
}

impl Server {
    /// Listens on each of `addresses` and serves `exports` until it is stopped; others may be added
    /// and removed meanwhile. A single export is also found under the empty name. `tell` is called
    /// from the threads of the server.
    ///
    /// # Panics
    /// If two exports have the same name, or a minimum block size is not valid.
    pub fn start(
        addresses: &[Address],
        exports: Vec<Served>,
        limits: Limits,
        tell: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Self, ListenError> {
        let listeners = addresses.iter().map(Listener::bind).collect::<Result<_, _>>()?;
        Self::start_at(listeners, exports, limits, tell)
    }

    /// As [`Server::start`], with sockets that listen already: for exports that must not be touched
    /// before it is certain that clients can connect.
    ///
    /// # Panics
    /// The same.
    pub fn start_at(
        listeners: Vec<Listener>,
        exports: Vec<Served>,
        limits: Limits,
        tell: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Self, ListenError> {
        let shared = Arc::new(Shared {
            offers: List::default(),
            limits,
            pool: Arc::new(Pool::new(limits.shared_bytes())),
            tell: Box::new(tell),
            stopping: AtomicBool::new(false),
            connections: Mutex::default(),
            ended: Condvar::new(),
        });
        let server = Self { shared, accepting: Mutex::default() };
        exports.into_iter().for_each(|export| assert!(server.offer(export), "a name twice"));
        listeners.into_iter().try_for_each(|listener| server.listen(listener))?;
        Ok(server)
    }

    fn accepting(&self) -> MutexGuard<'_, Vec<Accepting>> {
        self.accepting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts clients of another listener.
    pub fn listen(&self, listener: Listener) -> Result<(), ListenError> {
        let listener = Arc::new(listener);
        let (shared, accepted) = (Arc::clone(&self.shared), Arc::clone(&listener));
        let thread = thread::Builder::new().name("nbd-accept".to_owned());
        let thread = thread.spawn(move || shared.accept(&accepted)).map_err(ListenError::Thread)?;
        self.accepting().push(Accepting { listener, thread });
        Ok(())
    }

    /// Accepts no more clients at this address. Connected ones stay.
    pub fn close(&self, address: &Address) {
        let at = |one: &mut Accepting| one.listener.address().is_ok_and(|at| at == *address);
        let closed: Vec<_> = self.accepting().extract_if(.., at).collect();
        closed.into_iter().for_each(Accepting::close);
    }

    /// Sets the users who may connect over TCP from now on. Connected clients stay.
    pub fn allow(&self, users: &Users) {
        self.accepting().iter().for_each(|one| one.listener.allow(users.clone()));
    }

    /// The addresses it listens on, with real ports in place of 0.
    pub fn addresses(&self) -> Vec<Address> {
        self.accepting().iter().filter_map(|one| one.listener.address().ok()).collect()
    }

    /// Adds an export. False if there is one with this name.
    ///
    /// # Panics
    /// If its minimum block size is not valid.
    pub fn offer(&self, export: Served) -> bool {
        // Checked here, so that the caller learns of an error and not the first client.
        export.check();
        self.shared.offers.add(export)
    }

    /// Removes an export: no client can open it any more, and its name is free. Clients that use it stay until they are
    /// disconnected by [`Withdrawn::send_away`].
    pub fn withdraw(&self, name: &str) -> Option<Withdrawn> {
        let offer = self.shared.offers.withdraw(name)?;
        Some(Withdrawn { shared: self.shared.clone(), offer })
    }

    /// Checks the certificates of connected clients again, after [`Tls::allow`]. Those whose export
    /// is not allowed any more are disconnected as by [`Withdrawn::send_away`].
    pub fn judge_again(&self, grace: Duration) -> usize {
        self.shared.lock().iter().for_each(Connection::check_rights);
        self.shared.send_away(grace, Connection::is_revoked)
    }

    /// Serves a connection that was made elsewhere. False if there are too many.
    pub fn adopt(&self, stream: Stream) -> bool {
        self.shared.admit(stream, Security::None)
    }

    /// As [`Server::adopt`]; the client has to begin TLS.
    pub fn adopt_encrypted(&self, stream: Stream, tls: Arc<Tls>) -> bool {
        self.shared.admit(stream, Security::Required(tls))
    }

    /// The number of connected clients.
    pub fn connections(&self) -> usize {
        self.shared.lock().len()
    }

    /// The number of connected clients that use this export.
    pub fn connections_of(&self, name: &str) -> usize {
        self.shared.lock().iter().filter(|connection| connection.uses_name(name)).count()
    }

    /// Accepts no more clients, reads no more requests, answers those in flight, and closes all
    /// connections. After `grace` the rest is cut off. Returns the number of those.
    pub fn stop(&self, grace: Duration) -> usize {
        self.shared.stopping.store(true, Ordering::Release);
        // Closes the sockets and removes their files.
        let closed = std::mem::take(&mut *self.accepting());
        closed.into_iter().for_each(Accepting::close);
        self.shared.send_away(grace, |_| true)
    }
}

/// An export that no client can open any more.
#[must_use]
pub struct Withdrawn {
    shared: Arc<Shared>,
    offer: Arc<Offer>,
}

impl Withdrawn {
    /// Disconnects the clients that use it: no more requests are read, those in flight are answered, and the connections are
    /// closed. After `grace` the rest is cut off. Returns the number of those.
    pub fn send_away(self, grace: Duration) -> usize {
        self.shared.send_away(grace, |connection| connection.uses(&self.offer))
    }
}

impl Accepting {
    fn close(self) {
        self.listener.close();
        drop(self.thread.join());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connections selected by `meant` in order, and after `grace` the rest at once.
    /// Returns the number of those.
    fn send_away(&self, grace: Duration, meant: impl Fn(&Connection) -> bool) -> usize {
        let all = self.lock();
        all.iter().filter(|one| meant(one)).for_each(|one| one.stream.shutdown(Shutdown::Read));
        let left = self.wait(all, grace, &meant);
        let mut cut_off = 0;
        for connection in left.iter().filter(|one| meant(one)) {
            connection.stream.shutdown(Shutdown::Both);
            connection.outbox.abandon();
            cut_off += 1;
        }
        // They end at once, unless the export does not return from `submit`.
        drop(self.wait(left, Duration::from_secs(1), &meant));
        cut_off
    }

    /// Waits until no selected connection is open, or until `limit` is over.
    fn wait<'a>(
        &'a self,
        mut open: MutexGuard<'a, Connections>,
        limit: Duration,
        meant: &impl Fn(&Connection) -> bool,
    ) -> MutexGuard<'a, Connections> {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if !open.iter().any(meant) || left.is_zero() {
                return open;
            }
            open = match self.ended.wait_timeout(open, left) {
                Ok((open, _)) => open,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    fn accept(self: &Arc<Self>, listener: &Listener) {
        let mut starved_at: Option<Instant> = None;
        loop {
            let accepted = listener.accept();
            if listener.is_closed() {
                return;
            }
            match accepted {
                // Checked before the client takes a place from another one.
                Ok(stream) => match listener.admit(&stream) {
                    Ok(()) => drop(self.admit(stream, listener.security())),
                    Err(refused) => (self.tell)(Event::Refused(refused)),
                },
                Err(error) => {
                    // This may last for days.
                    if starved_at.is_none_or(|at| at.elapsed() >= STARVED_EVERY) {
                        starved_at = Some(Instant::now());
                        (self.tell)(Event::Starved(error));
                    }
                    // Most likely the process has no more file descriptors: a retry at once would
                    // not help.
                    thread::sleep(Duration::from_millis(100));
                }
            }
        }
    }

    fn admit(self: &Arc<Self>, stream: Stream, security: Security) -> bool {
        if let Some(Err(error)) = security.tls().map(Tls::renew) {
            (self.tell)(Event::NotRenewed(error));
        }
        let Limits { requests_in_flight, memory_bytes, .. } = self.limits;
        let room = Room { requests: requests_in_flight, memory_bytes };
        let make = |id| Connection {
            stream: Arc::new(stream),
            outbox: Arc::new(Outbox::new(id, room, self.limits.own_bytes(), self.pool.clone())),
            activity: Arc::new(Activity::new()),
            export: Arc::new(OnceLock::new()),
            security,
            channel: Arc::new(OnceLock::new()),
            client: Arc::new(OnceLock::new()),
            revoked: Arc::new(AtomicBool::new(false)),
            gave_way: None,
        };
        let entered = {
            let mut all = self.lock();
            if self.stopping.load(Ordering::Acquire) {
                return false;
            }
            all.enter(&self.limits, make)
        };
        let Some((id, connection)) = entered else {
            (self.tell)(Event::Full);
            return false;
        };
        let shared = Arc::clone(self);
        let spawned = thread::Builder::new().name(format!("nbd-{id}")).spawn(move || {
            (shared.tell)(Event::Connected(id));
            let served = AssertUnwindSafe(|| shared.serve(id, &connection));
            let ended = match std::panic::catch_unwind(served) {
                Ok(Ok(end)) => Event::Left(id, end),
                Ok(Err(why)) => Event::CutOff(id, why),
                Err(_) => Event::Panicked(id),
            };
            connection.stream.shutdown(Shutdown::Both);
            let gave_way = shared.remove(id);
            (shared.tell)(gave_way.map_or(ended, |idle| Event::GaveWay(id, idle)));
        });
        if let Err(error) = spawned {
            self.remove(id);
            (self.tell)(Event::Starved(error));
            return false;
        }
        true
    }

    /// Removes a connection. Returns how long it had been idle, if it gave way.
    fn remove(&self, id: u64) -> Option<Duration> {
        let removed = self.lock().remove(id);
        self.ended.notify_all();
        removed?.gave_way
    }

    fn serve(&self, id: u64, connection: &Connection) -> Result<End, CutOff> {
        let Connection { stream, outbox, activity, security, channel, .. } = connection;
        let watched = Watched { stream, activity, channel };
        let mut inbox = Inbox::new(watched);
        let limit = self.limits.handshake;
        let offers = self.offers.now();
        let exports = Exports::new(infos(&offers));
        let agreed = shake_hands(&mut inbox, security, &exports, limit)?;
        let Some(agreement) = agreed else { return Ok(End::Closed) };
        let info = exports.get(agreement.export);
        let session = Session::new(info, agreement);
        let offer = offers.iter().find(|offer| offer.served.name == info.name);
        let offer = offer.expect("it is one of ours");
        if let Some(client) = exports.identity() {
            // TLS begins once.
            let _ = connection.client.set(client.clone());
        }
        // Under the lock, as a server that withdraws an export looks for its users under it: it finds this one, or this one sees
        // below that the export is withdrawn.
        let connections = self.lock();
        connection.agree(offer);
        drop(connections);
        // Rights may have changed since the certificate was checked.
        connection.check_rights();
        let export = &*offer.served.export;
        let is_ending = || {
            self.stopping.load(Ordering::Acquire) || offer.is_withdrawn() || connection.is_revoked()
        };
        // A connection that gives way needs a moment for it.
        let stalls = || {
            self.lock().free_memory(self.limits.idle);
        };
        let sender = outbox.begin_transmission(connection.sender(session));
        let _opened = Opened::new(export, id);
        thread::scope(|scope| {
            let writing = thread::Builder::new()
                .name(format!("nbd-{id}-out"))
                .spawn_scoped(scope, || connection::write(outbox, sender))?;
            // However the reading ends, the writer has to end.
            let ended = EndOnDrop(outbox);
            let end = connection::read(&mut inbox, &session, export, outbox, &is_ending, &stalls);
            drop(ended);
            // A panic of the writer has cut the connection off already, and the reader has ended.
            drop(writing.join());
            end
        })
    }
}

/// Tells the export when a connection ends, however that happens.
struct Opened<'a>(&'a dyn Export, u64);

impl<'a> Opened<'a> {
    fn new(export: &'a dyn Export, connection: u64) -> Self {
        export.opened(connection);
        Self(export, connection)
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.0.closed(self.1);
    }
}

struct EndOnDrop<'a>(&'a Outbox);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
