//! A cache served: to clients over NBD, to operators over its control socket, until it is stopped.

use std::fmt::Display;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use shingle_core::registry::Registry;
use shingle_core::witness::Shared as Witness;
use shingle_nbd::listen::{Address, ListenError, Listener};
use shingle_nbd::server::{Event, Limits, Server};
use shingle_nbd::stream::Stream;
use thiserror::Error;
use uuid::Uuid;

use super::control::{self, Answer, ControlError, Request};
use super::create::{EndError, destroy};
use super::export::Served;
use super::fingerprint::{UNKNOWN, fingerprint};
use super::settings::{Settings, SettingsError};
use super::status::{SCHEMA, Status};
use crate::backend::{Device, FileError, Handle, Ready, Store, StoreError, write_superblock};
use crate::engine::{Config, Mode};
use crate::recover::recover;

/// What is served, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The SSD with the cache.
    pub ssd: PathBuf,
    /// Its disk.
    pub disk: PathBuf,
    /// Where clients connect.
    pub addresses: Vec<Address>,
    /// What offsets and lengths of clients have to be multiples of, in bytes.
    pub minimum_block: u32,
    /// The disk may have been written without its cache: what is cached counts nevertheless.
    pub trust_disk: bool,
    /// Where operators ask, if not at [`control::socket`].
    pub control: Option<PathBuf>,
}

/// Why a cache is not served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file or device.
    #[error(transparent)]
    File(#[from] FileError),
    /// What the superblock says of policy and parameters.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The sockets.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The end of the cache.
    #[error(transparent)]
    End(#[from] EndError),
    /// The disk is not what it was.
    #[error(
        "{}: was written without its cache since that was shut down, so what is cached may be \
         stale{}; make a new cache with `create --destroy {uuid}`, or serve it nevertheless with \
         --trust-disk", disk.display(), match dirty { 0 => String::new(), n => format!(" (and {n} blocks are dirty)") }
    )]
    Changed {
        /// The disk.
        disk: PathBuf,
        /// The cache.
        uuid: Uuid,
        /// Blocks that the disk does not have.
        dirty: u64,
    },
    /// The control socket.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The system.
    #[error("cannot serve: {0}")]
    System(#[from] io::Error),
}

/// Somebody wants the process to leave.
#[derive(Debug)]
struct Leave {
    /// After the cache was ended.
    detach: bool,
    /// Who wants it: gets the answer when it is done.
    asker: Option<UnixStream>,
}

/// Tells a process that serves to leave.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Leave>);

impl Stopper {
    /// Shut down in order.
    pub fn stop(&self) {
        // If nobody listens it is leaving already.
        let _ = self.0.send(Leave { detach: false, asker: None });
    }
}

/// Makes who is told of everything that happens, of a cache with these settings, so many slots and a
/// disk of so many blocks.
pub type Record<'a> = &'a dyn Fn(&Settings, u32, u64) -> io::Result<Witness>;

/// A cache that is served.
pub struct Serving {
    store: Store,
    control: Arc<Listener>,
    shared: Arc<Shared>,
    leave: (Sender<Leave>, Receiver<Leave>),
    options: Options,
}

/// What answers to operators are made of.
struct Shared {
    handle: Handle,
    /// Gone when the process leaves.
    server: Mutex<Option<Server>>,
    settings: Mutex<Settings>,
    registry: Registry,
    /// A recording has one policy.
    recorded: bool,
    /// What does not change.
    status: Status,
    uuid: Uuid,
    slots: u64,
    disk_blocks: u64,
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
        tell: impl Fn(Event) + Send + Sync + 'static,
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
        tell: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Serving, ServeError> {
        let ready = Ready::open(&options.ssd, &options.disk)?;
        let superblock = ready.superblock().clone();
        let uuid = Uuid::from_bytes(superblock.uuid);
        let known = superblock.fingerprint != UNKNOWN && ready.found().clean;
        if known && !options.trust_disk && fingerprint(ready.disk())? != superblock.fingerprint {
            let dirty = ready.found().dirty_blocks();
            return Err(ServeError::Changed { disk: options.disk, uuid, dirty });
        }
        let settings = Settings::of_words(&superblock.words)?;
        let (slots, disk_blocks) = (superblock.layout.slots, ready.disk().blocks());
        let cache = settings.cache(registry, slots as u32, disk_blocks)?;
        // An address that is taken is found before anything is changed.
        let control = options.control.clone().unwrap_or_else(|| control::socket(uuid));
        control::make_folder(&control)?;
        let control = Arc::new(Listener::bind(&Address::Unix(control))?);
        let listeners = options.addresses.iter().map(Listener::bind).collect::<Result<_, _>>()?;
        let config = Config { mode: settings.mode, ..Config::for_slots(slots) };
        let witness = record.map(|record| record(&settings, slots as u32, disk_blocks));
        let (witness, recorded) = (witness.transpose()?, record.is_some());
        let store = ready.start_with(cache, config, witness, None)?;
        let handle = store.handle().clone();
        let served = shingle_nbd::server::Served {
            name: String::new(),
            description: format!("shingle {uuid}"),
            minimum_block: options.minimum_block,
            export: Arc::new(Served(handle.clone())),
        };
        let server = Server::start_at(listeners, vec![served], Limits::default(), tell)?;
        let server = Mutex::new(Some(server));
        let status = Status {
            schema: SCHEMA.to_owned(),
            uuid: uuid.to_string(),
            ssd: options.ssd.display().to_string(),
            disk: options.disk.display().to_string(),
            slots,
            ..Status::default()
        };
        let shared = Arc::new(Shared {
            handle,
            server,
            settings: Mutex::new(settings),
            registry: registry.clone(),
            recorded,
            status,
            uuid,
            slots,
            disk_blocks,
        });
        let serving = Serving { store, control, shared, leave: channel(), options };
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
    /// the superblock says of the disk.
    ///
    /// # Errors
    /// If the store fails, or the last word cannot be written.
    pub fn wait(self) -> Result<(), ServeError> {
        let leave = self.leave.1.recv().unwrap_or(Leave { detach: false, asker: None });
        let outcome = self.leave(leave.detach);
        if let Some(asker) = leave.asker {
            // One who has gone needs no answer.
            let _ = control::say(&asker, &done(outcome.as_ref().copied()));
        }
        outcome
    }

    fn leave(self, detach: bool) -> Result<(), ServeError> {
        let server = self.shared.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        server.map(|server| server.stop(GRACE));
        self.control.close();
        let (ssd, disk) = (&self.options.ssd, &self.options.disk);
        if detach {
            return match self.store.shut_down_for_good()? {
                0 => Ok(destroy(&Device::open(ssd)?)?),
                dirty => Err(EndError::Dirty(dirty).into()),
            };
        }
        self.store.shut_down()?;
        let (ssd, disk) = Device::pair(ssd, disk)?;
        say_fingerprint(&ssd, &disk)
    }
}

/// Writes down what the disk is like, of a cache that was shut down in order.
fn say_fingerprint(ssd: &Device, disk: &Device) -> Result<(), ServeError> {
    let found = recover(&mut { ssd })
        .map_err(|error| StoreError::Recover { path: ssd.path().to_owned(), error })?;
    if found.clean {
        let mut superblock = found.journal.superblock().clone();
        superblock.edition += 1;
        superblock.fingerprint = fingerprint(disk)?;
        write_superblock(ssd, &superblock)?;
    }
    Ok(())
}

/// Destages everything, without serving.
///
/// # Errors
/// As [`Serving::start`], or if the disk does not take something.
pub fn export(
    ssd: &Path,
    disk: &Path,
    registry: &Registry,
    left: &mut dyn FnMut(u64),
) -> Result<(), ServeError> {
    let ready = Ready::open(ssd, disk)?;
    let superblock = ready.superblock().clone();
    let settings = Settings::of_words(&superblock.words)?;
    let slots = superblock.layout.slots;
    let cache = settings.cache(registry, slots as u32, ready.disk().blocks())?;
    let config = Config { mode: Mode::PassThrough, ..Config::for_slots(slots) };
    let store = ready.start(cache, config)?;
    let outcome = drain(store.handle(), &mut |blocks| {
        left(blocks);
        Ok(())
    });
    store.shut_down()?;
    let (ssd, disk) = Device::pair(ssd, disk)?;
    say_fingerprint(&ssd, &disk)?;
    outcome?;
    Ok(())
}

/// Waits until nothing is dirty, and tells now and then how many blocks are. Blocks whose data is lost
/// do not count: they never will be clean.
///
/// # Errors
/// If data is lost, the disk takes nothing, or `left` fails.
pub fn drain(handle: &Handle, left: &mut dyn FnMut(u64) -> io::Result<()>) -> io::Result<()> {
    /// Without a block destaged for so long there is something wrong with the disk.
    const PATIENCE: Duration = Duration::from_secs(120);
    /// Or, if the SSD has failed, with what it still gives.
    const PATIENCE_GONE: Duration = Duration::from_secs(10);
    const STEP: Duration = Duration::from_millis(50);
    handle.drain(true);
    let (mut least, mut idle) = (u64::MAX, Duration::ZERO);
    let outcome = loop {
        let Some(status) = handle.status() else {
            break Err(io::Error::other("the store has ended"));
        };
        let lost = status.lost.len() as u64;
        let dirty = status.dirty_blocks.saturating_sub(lost);
        if dirty == 0 && lost > 0 {
            break Err(io::Error::other(format!("the data of {lost} dirty blocks is lost")));
        }
        if dirty == 0 {
            break Ok(());
        }
        if dirty < least {
            (least, idle) = (dirty, Duration::ZERO);
        }
        if idle > PATIENCE || status.ssd_failed && idle > PATIENCE_GONE {
            let who =
                if status.ssd_failed { "the SSD has failed" } else { "the disk takes nothing" };
            let told = format!("{who}; {dirty} blocks stay dirty");
            break Err(io::Error::other(told));
        }
        if let Err(error) = left(dirty) {
            break Err(error);
        }
        thread::sleep(STEP);
        idle += STEP;
    };
    handle.drain(false);
    outcome
}

impl Shared {
    fn answer(&self, stream: &UnixStream, leave: &Sender<Leave>) {
        // An operator who has gone needs no answer.
        let _ = control::serve(stream, |request, answer| match request {
            Request::Status => answer(&match self.status() {
                Some(status) => Answer::Status(Box::new(status)),
                None => Answer::Failed("the store has ended".to_owned()),
            }),
            Request::Set { what } => answer(&done(self.set(&what))),
            Request::Flush => {
                let outcome = drain(&self.handle, &mut |left| answer(&Answer::DirtyBlocks(left)));
                answer(&done(outcome))
            }
            Request::Detach => {
                // Nothing becomes dirty again while the last of it goes.
                self.handle.set_mode(Mode::PassThrough);
                let outcome = drain(&self.handle, &mut |left| answer(&Answer::DirtyBlocks(left)));
                if outcome.is_err() {
                    self.handle.set_mode(self.settings().mode);
                    return answer(&done(outcome));
                }
                let _ = leave.send(Leave { detach: true, asker: Some(stream.try_clone()?) });
                Ok(())
            }
            Request::Stop => {
                let _ = leave.send(Leave { detach: false, asker: Some(stream.try_clone()?) });
                Ok(())
            }
        });
    }

    /// What the server says, if it is there still.
    fn server<T>(&self, ask: impl FnOnce(&Server) -> T) -> Option<T> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ask)
    }

    fn settings(&self) -> Settings {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn status(&self) -> Option<Status> {
        let said = self.handle.status()?;
        let settings = self.settings();
        let mut status = Status {
            addresses: self
                .server(Server::addresses)
                .iter()
                .flatten()
                .map(ToString::to_string)
                .collect(),
            connections: self.server(Server::connections).unwrap_or(0) as u64,
            policy: settings.policy,
            mode: settings.mode.name().to_owned(),
            ..self.status.clone()
        };
        status.take(&said);
        Some(status)
    }

    /// All of it counts at once, and at the next start.
    fn set(&self, what: &[String]) -> Result<(), SettingsError> {
        let mut held = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let mut settings = held.clone();
        what.iter().try_for_each(|text| settings.set(text))?;
        let cache = settings.cache(&self.registry, self.slots as u32, self.disk_blocks)?;
        let words = settings.to_words()?;
        if (&settings.policy, &settings.sets) != (&held.policy, &held.sets) {
            if self.recorded {
                return Err(SettingsError::recorded());
            }
            self.handle.set_cache(cache);
        }
        self.handle.set_words(words);
        self.handle.set_mode(settings.mode);
        *held = settings;
        Ok(())
    }
}

/// What an operator is told of it.
fn done(outcome: Result<(), impl Display>) -> Answer {
    match outcome {
        Ok(()) => Answer::Done(()),
        Err(error) => Answer::Failed(error.to_string()),
    }
}
