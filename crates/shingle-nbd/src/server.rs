//! The server: listeners, connections, and how they end.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Shutdown;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::connection::{self, CutOff, End};
use crate::export::Export;
use crate::handshake::ExportInfo;
use crate::inbox::Inbox;
use crate::listen::{Address, ListenError, Listener};
use crate::outbox::{Outbox, Room};
use crate::session::Session;
use crate::stream::Stream;

/// Connections at the same time. Another one is closed at once.
pub const CONNECTIONS_MAX: usize = 64;
/// Requests of one connection between their arrival and the sending of their replies. No more are
/// read then.
pub const REQUESTS_IN_FLIGHT_MAX: usize = 256;
/// Bytes of payload of one connection that are held at the same time.
pub const MEMORY_BYTES_MAX: u64 = 64 << 20;
/// How long a handshake may take.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(30);
/// The largest minimum block size that the protocol allows, in bytes.
pub const MINIMUM_BLOCK_MAX: u32 = 64 << 10;

/// An export, with what the handshake tells of it.
#[derive(Clone)]
pub struct Served {
    /// Its name; may be empty.
    pub name: String,
    /// For people; may be empty.
    pub description: String,
    /// What offsets and lengths have to be multiples of, in bytes: a power of two up to 64 KiB. 1
    /// lets clients write single bytes.
    pub minimum_block: u32,
    /// The export itself.
    pub export: Arc<dyn Export>,
}

/// What a server does not exceed.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// [`CONNECTIONS_MAX`]
    pub connections: usize,
    /// [`REQUESTS_IN_FLIGHT_MAX`]
    pub requests_in_flight: usize,
    /// [`MEMORY_BYTES_MAX`]
    pub memory_bytes: u64,
    /// [`HANDSHAKE_MAX`]
    pub handshake: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS_MAX,
            requests_in_flight: REQUESTS_IN_FLIGHT_MAX,
            memory_bytes: MEMORY_BYTES_MAX,
            handshake: HANDSHAKE_MAX,
        }
    }
}

/// What a server may want to tell its operator, one line each.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A client is there; connections are numbered from 1.
    Connected(u64),
    /// It left.
    Left(u64, End),
    /// It was cut off.
    CutOff(u64, CutOff),
    /// One too many.
    Full,
    /// The system cannot give us a connection or a thread; the server goes on.
    Starved(std::io::Error),
    /// The export panicked under this connection, which is closed.
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
            Self::Full => write!(f, "a client was refused: there are too many connections"),
            Self::Starved(error) => write!(f, "a client could not be accepted: {error}"),
            Self::Panicked(id) => write!(f, "the export failed under client {id}: this is a bug"),
        }
    }
}

/// A running server. Dropping it stops it without waiting for requests under way.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Arc<Listener>>,
    accepting: Vec<JoinHandle<()>>,
}

struct Shared {
    exports: Vec<Served>,
    infos: Vec<ExportInfo>,
    limits: Limits,
    tell: Box<dyn Fn(Event) + Send + Sync>,
    stopping: AtomicBool,
    connections: Mutex<Connections>,
    /// A connection has ended.
    ended: Condvar,
}

#[derive(Default)]
struct Connections {
    last: u64,
    open: BTreeMap<u64, Connection>,
}

struct Connection {
    stream: Arc<Stream>,
    outbox: Arc<Outbox>,
}

impl Server {
    /// Listens on each of `addresses` and serves `exports` until it is stopped. The first export
    /// is also found under the empty name. `tell` is called from the server's threads.
    ///
    /// # Panics
    /// If there is no export, or a minimum block size is none.
    pub fn start(
        addresses: &[Address],
        exports: Vec<Served>,
        limits: Limits,
        tell: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Self, ListenError> {
        let listeners = addresses.iter().map(Listener::bind).collect::<Result<_, _>>()?;
        Self::start_at(listeners, exports, limits, tell)
    }

    /// As [`Server::start`], with addresses that were taken before: for exports that are not to be
    /// touched while it is not certain that somebody can reach them.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start_at(
        listeners: Vec<Listener>,
        exports: Vec<Served>,
        limits: Limits,
        tell: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Self, ListenError> {
        let listeners: Vec<_> = listeners.into_iter().map(Arc::new).collect();
        let shared = Arc::new(Shared {
            infos: exports.iter().map(Served::info).collect(),
            exports,
            limits,
            tell: Box::new(tell),
            stopping: AtomicBool::new(false),
            connections: Mutex::default(),
            ended: Condvar::new(),
        });
        assert!(!shared.exports.is_empty(), "a server without exports");
        let mut server = Self { shared, listeners, accepting: Vec::new() };
        for listener in &server.listeners {
            let (shared, accepted) = (Arc::clone(&server.shared), Arc::clone(listener));
            let accepting = thread::Builder::new()
                .name("nbd-accept".to_owned())
                .spawn(move || shared.accept(&accepted));
            server.accepting.push(accepting.map_err(ListenError::Thread)?);
        }
        Ok(server)
    }

    /// Where it listens; port 0 has become a real one.
    pub fn addresses(&self) -> Vec<Address> {
        self.listeners.iter().filter_map(|listener| listener.address().ok()).collect()
    }

    /// Serves a connection that was made elsewhere. False if there are too many.
    pub fn adopt(&self, stream: Stream) -> bool {
        self.shared.admit(stream)
    }

    /// How many clients are connected.
    pub fn connections(&self) -> usize {
        self.shared.lock().open.len()
    }

    /// Accepts no more clients, reads no more requests, answers those under way, and closes all
    /// connections. After `grace` those that are left are cut off. Returns how many these were.
    pub fn stop(mut self, grace: Duration) -> usize {
        self.close(grace)
    }

    fn close(&mut self, grace: Duration) -> usize {
        self.shared.stopping.store(true, Ordering::Release);
        self.listeners.iter().for_each(|listener| listener.close());
        self.accepting.drain(..).for_each(|thread| drop(thread.join()));
        // Closes the sockets and removes their files.
        self.listeners.clear();
        let all = self.shared.lock();
        all.open.values().for_each(|connection| connection.stream.shutdown(Shutdown::Read));
        let left = self.shared.wait(all, grace);
        let cut_off = left.open.len();
        for connection in left.open.values() {
            connection.stream.shutdown(Shutdown::Both);
            connection.outbox.abandon();
        }
        // They end at once, unless the export does not return from `submit`.
        drop(self.shared.wait(left, Duration::from_secs(1)));
        cut_off
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close(Duration::ZERO);
    }
}

impl Served {
    fn info(&self) -> ExportInfo {
        let minimum = self.minimum_block;
        assert!(minimum.is_power_of_two() && minimum <= MINIMUM_BLOCK_MAX, "minimum {minimum}");
        ExportInfo {
            name: self.name.clone(),
            description: self.description.clone(),
            size_bytes: self.export.size_bytes(),
            read_only: self.export.read_only(),
            minimum_block: minimum,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no connection is open, or until `limit` is over.
    fn wait<'a>(
        &'a self,
        mut open: MutexGuard<'a, Connections>,
        limit: Duration,
    ) -> MutexGuard<'a, Connections> {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if open.open.is_empty() || left.is_zero() {
                return open;
            }
            open = match self.ended.wait_timeout(open, left) {
                Ok((open, _)) => open,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    fn accept(self: &Arc<Self>, listener: &Listener) {
        loop {
            let accepted = listener.accept();
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            match accepted {
                Ok(stream) => drop(self.admit(stream)),
                Err(error) => {
                    (self.tell)(Event::Starved(error));
                    // Out of descriptors, most likely: trying again at once would help nobody.
                    thread::sleep(Duration::from_millis(100));
                }
            }
        }
    }

    fn admit(self: &Arc<Self>, stream: Stream) -> bool {
        let Limits { requests_in_flight, memory_bytes, .. } = self.limits;
        let stream = Arc::new(stream);
        let outbox = Arc::new(Outbox::new(Room { requests: requests_in_flight, memory_bytes }));
        let id = {
            let mut all = self.lock();
            if self.stopping.load(Ordering::Acquire) {
                return false;
            }
            if all.open.len() >= self.limits.connections {
                drop(all);
                (self.tell)(Event::Full);
                return false;
            }
            all.last += 1;
            let connection =
                Connection { stream: Arc::clone(&stream), outbox: Arc::clone(&outbox) };
            let id = all.last;
            all.open.insert(id, connection);
            id
        };
        let shared = Arc::clone(self);
        let spawned = thread::Builder::new().name(format!("nbd-{id}")).spawn(move || {
            (shared.tell)(Event::Connected(id));
            let served = AssertUnwindSafe(|| shared.serve(id, &stream, &outbox));
            let event = match std::panic::catch_unwind(served) {
                Ok(Ok(end)) => Event::Left(id, end),
                Ok(Err(why)) => Event::CutOff(id, why),
                Err(_) => Event::Panicked(id),
            };
            stream.shutdown(Shutdown::Both);
            shared.remove(id);
            (shared.tell)(event);
        });
        if let Err(error) = spawned {
            self.remove(id);
            (self.tell)(Event::Starved(error));
            return false;
        }
        true
    }

    fn remove(&self, id: u64) {
        self.lock().open.remove(&id);
        self.ended.notify_all();
    }

    fn serve(&self, id: u64, stream: &Stream, outbox: &Arc<Outbox>) -> Result<End, CutOff> {
        let mut inbox = Inbox::new(stream);
        let limit = self.limits.handshake;
        let agreed = connection::shake_hands(stream, &mut inbox, &self.infos, limit)?;
        let Some(agreement) = agreed else { return Ok(End::Closed) };
        let session = Session::new(&self.infos[agreement.export], agreement);
        let export = &*self.exports[agreement.export].export;
        thread::scope(|scope| {
            let writing = thread::Builder::new()
                .name(format!("nbd-{id}-out"))
                .spawn_scoped(scope, || connection::write(stream, &session, outbox))?;
            // Whatever ends the reading, the writer is told.
            let ended = EndOnDrop(outbox);
            let end = connection::read(&mut inbox, &session, export, outbox, &self.stopping);
            drop(ended);
            drop(writing.join());
            end
        })
    }
}

struct EndOnDrop<'a>(&'a Outbox);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
