//! A cache served: to clients over NBD, to operators over its control socket, until it is stopped.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use shingle_core::observer::Shared as Observer;
use shingle_core::registry::Registry;
use shingle_core::size::show_bytes;
use shingle_core::units::BLOCK_BYTES;
use shingle_engine::Config;
use shingle_engine::settings::Settings;
use shingle_nbd::listen::{Address, Listener};
use shingle_nbd::server::{Event, Limits, Server};
use shingle_nbd::stream::Stream;
use shingle_nbd::tls::Tls;
use shingle_nbd::users::Users;
use uuid::Uuid;

use super::control;
pub use super::errors::ServeError;
use super::export::Served;
use super::leave;
use super::operators::{Devices, Leave, Shared, done};
use super::status::{SCHEMA, Status};
use super::trust;
use crate::backend::{Beside, Ready, Store, Tell};

/// What is served, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The SSD with the cache.
    pub ssd: PathBuf,
    /// Its disk.
    pub disk: PathBuf,
    /// Where clients connect.
    pub addresses: Vec<Address>,
    /// Who may connect to those of TCP without TLS.
    pub users: Users,
    /// What connections are encrypted with: those of TCP all, those of sockets in the file system if they want.
    pub tls: Option<Arc<Tls>>,
    /// What offsets and lengths of clients have to be multiples of, in bytes.
    pub minimum_block: u32,
    /// The disk may have been written without its cache: what is cached counts nevertheless.
    pub trust_disk: bool,
    /// Where operators ask, if not at [`control::socket`].
    pub control: Option<PathBuf>,
}

/// What an operator may want to know of, one line each.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice {
    /// Of clients.
    Client(Event),
    /// I/O that failed: the first of its kind, or one that stands for those of the last second.
    Device(String),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Client(event) => event.fmt(f),
            Notice::Device(line) => line.fmt(f),
        }
    }
}

/// Tells a process that serves to leave.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Leave>);

impl Stopper {
    /// Shut down in order.
    pub fn stop(&self) {
        // If nobody listens it is leaving already.
        let _ = self.0.send(Leave::Stop(None));
    }
}

/// Makes who is told of everything that happens, of a cache with these settings, so many slots and a
/// disk of so many blocks.
pub type Record<'a> = &'a dyn Fn(&Settings, u32, u64) -> io::Result<Observer>;

/// A cache that is served.
pub struct Serving {
    store: Store,
    control: Arc<Listener>,
    shared: Arc<Shared>,
    leave: (Sender<Leave>, Receiver<Leave>),
}

/// How long requests of clients may take when the process leaves.
const GRACE: Duration = Duration::from_secs(30);

impl Serving {
    /// Opens the cache and begins to serve. `tell` gets a line for the operator now and then.
    ///
    /// # Errors
    /// If places do not fit together, the disk was changed, or an address is taken.
    pub fn start(
        options: Options,
        registry: &Registry,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Serving, ServeError> {
        Serving::start_recorded(options, registry, None, tell)
    }

    /// As [`Serving::start`], and somebody looks on.
    ///
    /// # Errors
    /// As there, or if `record` fails.
    pub fn start_recorded(
        options: Options,
        registry: &Registry,
        record: Option<Record<'_>>,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Serving, ServeError> {
        let ready = trust::open(&options.ssd, &options.disk, options.trust_disk)?;
        let superblock = ready.superblock().clone();
        let uuid = Uuid::from_bytes(superblock.uuid);
        let settings = Settings::from_text(&superblock.settings)?;
        let (slots, disk_blocks) = (superblock.layout.slots, ready.disk().blocks());
        let cache = settings.cache(registry, slots as u32, disk_blocks)?;
        // An address that is taken is found before anything is changed.
        let control = options.control.clone().unwrap_or_else(|| control::socket(uuid));
        control::make_folder(&control)?;
        let control = Arc::new(Listener::bind(&Address::Unix(control))?);
        let listen = |address| match &options.tls {
            Some(tls) => Listener::bind_encrypted(address, tls.clone()),
            None => Listener::bind(address).map(|l| l.for_users(options.users.clone())),
        };
        let listeners = options.addresses.iter().map(listen).collect::<Result<_, _>>()?;
        let mut config = Config::in_mode(settings.mode, slots);
        config.rules.limits = settings.limits(registry)?;
        let watch = ready.disk().watch();
        let fingerprint_in_use = ready.disk().fingerprint_in_use();
        let larger = larger(&ready)?;
        let tell = Arc::new(tell);
        larger.into_iter().for_each(|line| tell(Notice::Device(line)));
        let lines = device_lines(tell.clone())?;
        let tell = move |event| tell(Notice::Client(event));
        let observer = record.map(|record| record(&settings, slots as u32, disk_blocks));
        let (observer, recorded) = (observer.transpose()?, record.is_some());
        let mut store = ready.start_with(
            cache,
            config,
            Beside { observer, medium: None, tell: Some(lines) },
        )?;
        let leave = channel();
        watch_failure(&mut store, leave.0.clone())?;
        let handle = store.handle().clone();
        let served = shingle_nbd::server::Served {
            name: String::new(),
            description: format!("shingle {uuid}"),
            minimum_block: options.minimum_block,
            export: Arc::new(Served(handle.clone())),
        };
        let server = Server::start_at(listeners, vec![served], Limits::default(), tell)?;
        let server = Mutex::new(Some(server));
        let fixed = Status {
            schema: SCHEMA.to_owned(),
            served: true,
            uuid: uuid.to_string(),
            disk: options.disk.display().to_string(),
            ..Status::default()
        };
        let shared = Arc::new(Shared {
            handle,
            server,
            settings: Mutex::new(settings),
            registry: registry.clone(),
            recorded,
            watch,
            fixed,
            uuid,
            devices: Mutex::new(Devices {
                ssd: options.ssd.display().to_string(),
                // (The start has written a superblock.)
                edition: superblock.edition + 1,
                slots,
                disk_blocks,
            }),
            fingerprint_in_use,
            changing: Mutex::default(),
        });
        let serving = Serving { store, control, shared, leave };
        serving.listen()?;
        Ok(serving)
    }

    /// Name of the cache.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        self.shared.uuid
    }

    /// Where clients connect: a port 0 has become a real one.
    #[must_use]
    pub fn addresses(&self) -> Vec<Address> {
        self.shared.server(Server::addresses).unwrap_or_default()
    }

    /// To stop it, from a thread that waits for signals.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.leave.0.clone())
    }

    /// A thread that answers operators, one at a time, but for those who wait for a flush.
    fn listen(&self) -> io::Result<()> {
        let (control, shared) = (self.control.clone(), self.shared.clone());
        let leave = self.leave.0.clone();
        let thread = thread::Builder::new().name("shingle-control".to_owned());
        thread.spawn(move || {
            while let Ok(stream) = control.accept() {
                let Stream::Unix(stream) = stream else { continue };
                let (shared, leave) = (shared.clone(), leave.clone());
                let thread = thread::Builder::new().name("shingle-operator".to_owned());
                // Without a thread the connection is closed: the operator sees that.
                let _ = thread.spawn(move || shared.answer(&stream, &leave));
            }
        })?;
        Ok(())
    }

    /// Serves until it is stopped, and shuts down in order: clients first, then the store, then what
    /// the superblock says of the disk. `last` is what the process has to do after that: who asked for the end is
    /// answered when that is done, too, as he may use all files then. It is left out if the store fails by
    /// itself, as its last I/O may hang.
    ///
    /// # Errors
    /// If the store fails, the last word cannot be written, or `last` fails.
    pub fn wait(self, last: impl FnOnce() -> io::Result<()>) -> Result<(), ServeError> {
        // (This end of the channel is there as long as the other.)
        let (asker, detach) = match self.leave.1.recv().unwrap_or(Leave::Stop(None)) {
            Leave::Stop(asker) => (asker, false),
            Leave::Detach(asker) => (Some(asker), true),
            Leave::Failed(why) => return Err(self.fail(why)),
        };
        let left = self.leave(detach);
        // (What happens to the disk is worse than what happens to a recording.)
        let outcome = match (left, last()) {
            (Ok(()), Err(error)) => Err(ServeError::Last(error)),
            (left, _) => left,
        };
        if let Some(asker) = asker {
            // One who has gone needs no answer.
            let _ = control::say(&asker, &done(outcome.as_ref().copied()));
        }
        outcome
    }

    fn leave(self, detach: bool) -> Result<(), ServeError> {
        self.send_away(GRACE);
        let uuid = self.shared.uuid;
        if detach {
            return leave::ended(self.store.shut_down_for_good()?, uuid);
        }
        leave::stopped(self.store.shut_down()?, uuid)
    }

    /// Nothing is waited for: clients and operators are cut off, and I/O that is under way keeps the
    /// devices locked until it is done.
    fn fail(self, why: String) -> ServeError {
        self.send_away(Duration::ZERO);
        self.store.abandon();
        ServeError::Failed(why)
    }

    fn send_away(&self, grace: Duration) {
        let server = self.shared.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        server.map(|server| server.stop(grace));
        self.control.close();
    }
}

/// Says which device has more than is used.
fn larger(ready: &Ready) -> Result<Vec<String>, ServeError> {
    let (ssd, disk) = (ready.ssd(), ready.disk());
    let sizes =
        [(ssd.path(), ssd.measure()?, ssd.bytes()), (disk.path(), disk.measure()?, disk.bytes())];
    let larger = sizes.into_iter().filter(|(_, has, used)| has / BLOCK_BYTES > used / BLOCK_BYTES);
    Ok(larger
        .map(|(path, has, used)| {
            let (path, has, used) = (path.display(), show_bytes(has), show_bytes(used));
            format!("{path}: of {has} only {used} are used; `shingle store grow` uses all")
        })
        .collect())
}

/// The store's thread hands lines over, and does not wait until they are written: who reads them may be slow.
fn device_lines(tell: Arc<impl Fn(Notice) + Send + Sync + 'static>) -> io::Result<Tell> {
    let (to, lines) = channel();
    let thread = thread::Builder::new().name("shingle-errors".to_owned());
    thread.spawn(move || lines.into_iter().for_each(|line| tell(Notice::Device(line))))?;
    Ok(Box::new(move |line| {
        // The thread ends after the store only.
        let _ = to.send(line);
    }))
}

/// A store that fails ends the process that serves it.
fn watch_failure(store: &mut Store, leave: Sender<Leave>) -> io::Result<()> {
    let Some(failure) = store.failure() else { return Ok(()) };
    thread::Builder::new().name("shingle-watch".to_owned()).spawn(move || {
        if let Ok(why) = failure.recv() {
            // If nobody listens it is leaving already.
            let _ = leave.send(Leave::Failed(why));
        }
    })?;
    Ok(())
}
