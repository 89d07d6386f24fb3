//! The thread of a store, and the handle by which others talk to it.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use rustix::event::{EventfdFlags, eventfd};
use shingle_core::cache::CacheCore;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos};
use shingle_core::witness::{Shared, Watched};
use thiserror::Error;

use super::file::{Device, FileError};
use super::medium::{Direct, Medium, Served};
use super::ring::Ring;
use crate::engine::{Command, Config, Engine, Errno, Mode, OpenError, Status};
use crate::format::superblock::Superblock;
use crate::recover::{RecoverError, recover};

/// Why a store cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file or device.
    #[error(transparent)]
    File(#[from] FileError),
    /// What stands on the SSD.
    #[error("cannot use the cache on {path}: {error}")]
    Recover {
        /// The SSD.
        path: std::path::PathBuf,
        /// Why.
        error: RecoverError<io::Error>,
    },
    /// The cache and the SSD do not fit.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The policy.
    #[error("{0}")]
    Policy(String),
    /// No io_uring.
    #[error("this system does not allow io_uring ({0}): see sysctl kernel.io_uring_disabled")]
    Ring(io::Error),
    /// No thread, or no bell.
    #[error("cannot start the store: {0}")]
    Start(io::Error),
}

/// What becomes of a command: its data, or an error.
pub type Answer = Box<dyn FnOnce(Result<Vec<u8>, Errno>) + Send>;

/// What becomes of a question which blocks are dirty.
type Runs = Box<dyn FnOnce(Vec<(u64, bool)>) + Send>;

enum Message {
    Command(Command, Answer),
    SetMode(Mode),
    SetCache(Box<dyn CacheCore>),
    Drain(bool),
    SetWords(String),
    Dirty(Block, u64, Runs),
    Status(SyncSender<Status>),
    ShutDown,
    ShutDownForGood,
}

/// Messages that wait at most; a sender waits longer.
const MESSAGES_MAX: usize = 1024;
/// The engine is told the time at least so often.
const TICK: Duration = Duration::from_millis(50);

/// What has been opened and not begun yet: there is time to look at it.
pub struct Ready {
    ssd: Device,
    disk: Device,
    found: crate::recover::Recovered,
}

impl Ready {
    /// Opens the cache on `ssd` and its `disk`.
    ///
    /// # Errors
    /// If they are in use, of other sizes than before, or what stands on the SSD cannot be used.
    pub fn open(ssd_path: &Path, disk_path: &Path) -> Result<Ready, StoreError> {
        let (ssd, disk) = Device::pair(ssd_path, disk_path)?;
        let found = recover(&mut &ssd)
            .map_err(|error| StoreError::Recover { path: ssd_path.to_owned(), error })?;
        let superblock = found.journal.superblock();
        ssd.must_have(superblock.ssd_bytes)?;
        disk.must_have(superblock.disk_bytes)?;
        Ok(Ready { ssd, disk, found })
    }

    /// What the SSD says of itself.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        self.found.journal.superblock()
    }

    /// The disk, to be looked at.
    #[must_use]
    pub fn disk(&self) -> &Device {
        &self.disk
    }

    /// What was found.
    #[must_use]
    pub fn found(&self) -> &crate::recover::Recovered {
        &self.found
    }

    /// Begins, with an empty cache of as many slots as the superblock says.
    ///
    /// # Errors
    /// If the cache does not fit, or the system has no io_uring.
    pub fn start(self, cache: Box<dyn CacheCore>, config: Config) -> Result<Store, StoreError> {
        self.start_with(cache, config, None, None)
    }

    /// Direct I/O on the disk, for a [`Medium`] that takes its place.
    ///
    /// # Errors
    /// If the system gives no more files.
    pub fn direct_disk(&self) -> io::Result<Direct> {
        Ok(Direct(self.disk.direct.try_clone()?))
    }

    /// As [`Ready::start`]; `witness` is told of everything that happens, on the store's thread, and
    /// I/O on the disk goes to `medium`.
    ///
    /// # Errors
    /// As there.
    pub fn start_with(
        self,
        cache: Box<dyn CacheCore>,
        config: Config,
        witness: Option<Shared>,
        medium: Option<Box<dyn Medium>>,
    ) -> Result<Store, StoreError> {
        let cache = match &witness {
            Some(witness) => Box::new(Watched::new(cache, witness.clone())),
            None => cache,
        };
        let disk_blocks = self.disk.blocks();
        let mut found = self.found;
        found.journal.forget_fingerprint();
        let mut engine = Engine::open(found, cache, disk_blocks, config)?;
        if let Some(witness) = witness {
            engine.watch(witness);
        }
        let bell =
            eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| StoreError::Start(error.into()))?;
        let bell = std::fs::File::from(bell);
        let ring_bell = bell.try_clone().map_err(StoreError::Start)?;
        let (ssd, disk) = (self.ssd, self.disk);
        let files = ssd.direct.try_clone().and_then(|ssd| Ok((ssd, disk.direct.try_clone()?)));
        let (ssd_file, disk_file) = files.map_err(StoreError::Start)?;
        let ring = Ring::new(ssd_file, disk_file, ring_bell).map_err(StoreError::Ring)?;
        let (sender, receiver) = sync_channel(MESSAGES_MAX);
        let bell = Arc::new(bell);
        let medium = medium.map(|medium| Served::start(medium, bell.clone())).transpose();
        let medium = medium.map_err(StoreError::Start)?;
        let handle = Handle { sender, bell, disk_blocks };
        let run = Run {
            engine,
            ring,
            medium,
            receiver,
            answers: HashMap::new(),
            numbers: 0,
            ended: false,
            _devices: (ssd, disk),
        };
        let thread = std::thread::Builder::new().name("shingle-store".into());
        let thread = thread.spawn(move || run.run()).map_err(StoreError::Start)?;
        Ok(Store { handle, thread: Some(thread) })
    }
}

/// Talks to a store from any thread.
#[derive(Clone)]
pub struct Handle {
    sender: SyncSender<Message>,
    bell: Arc<std::fs::File>,
    disk_blocks: u64,
}

impl Handle {
    /// Size of the disk.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.disk_blocks * BLOCK_BYTES
    }

    /// Gives a command, whose `id` is of no meaning here; `answer` is called by the store's thread and
    /// must not block. Waits while too many commands wait.
    pub fn submit(&self, command: Command, answer: Answer) {
        self.send(command, answer);
        self.ring();
    }

    /// As [`Handle::submit`], without waking the store: [`Handle::ring`] does, once for many.
    pub fn send(&self, command: Command, answer: Answer) {
        if let Err(refused) = self.sender.send(Message::Command(command, answer))
            && let Message::Command(_, answer) = refused.0
        {
            answer(Err(Errno::SHUT_DOWN));
        }
    }

    /// As [`Handle::submit`], and waits for the answer.
    ///
    /// # Errors
    /// What the command was answered.
    pub fn call(&self, command: Command) -> Result<Vec<u8>, Errno> {
        let (sender, receiver) = sync_channel(1);
        self.submit(command, Box::new(move |result| drop(sender.send(result))));
        receiver.recv().unwrap_or(Err(Errno::SHUT_DOWN))
    }

    /// Switches the mode.
    pub fn set_mode(&self, mode: Mode) {
        self.tell(Message::SetMode(mode));
    }

    /// From now on this cache decides, which is empty and of the same size. What is cached goes over to
    /// it. One that does not fit changes nothing.
    pub fn set_cache(&self, cache: Box<dyn CacheCore>) {
        self.tell(Message::SetCache(cache));
    }

    /// Destages everything that is dirty, now and from now on; or no longer.
    pub fn drain(&self, on: bool) {
        self.tell(Message::Drain(on));
    }

    /// Sets what the superblock says of policy and parameters, for the next start.
    pub fn set_words(&self, words: String) {
        self.tell(Message::SetWords(words));
    }

    /// Gives `answer` the runs of `blocks` blocks from `first` on that are dirty and that are not,
    /// with the length of each in blocks. They may end early. The store's thread calls it.
    pub fn dirty(
        &self,
        first: Block,
        blocks: u64,
        answer: impl FnOnce(Vec<(u64, bool)>) + Send + 'static,
    ) {
        self.tell(Message::Dirty(first, blocks, Box::new(answer)));
    }

    /// How things are; `None` if the store has ended.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        let (sender, receiver) = sync_channel(1);
        self.tell(Message::Status(sender));
        receiver.recv().ok()
    }

    fn tell(&self, message: Message) {
        // If the store has ended there is nobody to tell.
        if self.sender.send(message).is_ok() {
            self.ring();
        }
    }

    /// Wakes the store.
    pub fn ring(&self) {
        let _ = (&*self.bell).write(&1_u64.to_ne_bytes());
    }
}

/// A store at work. Dropped, it is shut down in order.
pub struct Store {
    handle: Handle,
    thread: Option<JoinHandle<io::Result<u64>>>,
}

impl Store {
    /// To talk to it.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Shuts it down in order: what is dirty stays dirty, and is there at the next start.
    ///
    /// # Errors
    /// If the ring failed.
    pub fn shut_down(mut self) -> io::Result<()> {
        self.end(Message::ShutDown).map(drop)
    }

    /// Shuts it down before its cache is ended: that takes no time however large it is. Returns how many
    /// blocks are dirty; if there are any, the cache is as after a crash.
    ///
    /// # Errors
    /// If the ring failed.
    pub fn shut_down_for_good(mut self) -> io::Result<u64> {
        self.end(Message::ShutDownForGood)
    }

    fn end(&mut self, how: Message) -> io::Result<u64> {
        let Some(thread) = self.thread.take() else { return Ok(0) };
        self.handle.tell(how);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the store's thread has panicked")))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.end(Message::ShutDown);
    }
}

/// The thread's own.
struct Run {
    engine: Engine,
    ring: Ring,
    medium: Option<Served>,
    receiver: Receiver<Message>,
    answers: HashMap<u64, Answer>,
    numbers: u64,
    /// No more messages are wanted.
    ended: bool,
    /// They hold the locks.
    _devices: (Device, Device),
}

impl Run {
    fn run(mut self) -> io::Result<u64> {
        let start = Instant::now();
        let mut done = Vec::new();
        loop {
            self.listen();
            self.carry_out();
            if self.ended && (self.engine.is_stopped() || self.engine.can_do_no_more()) {
                let dirty = self.engine.status().dirty_blocks;
                return self.medium.map_or(Ok(()), Served::end).map(|()| dirty);
            }
            self.ring.wait(TICK)?;
            // Before completions are reported: what they took is counted to now.
            self.engine.tick(Nanos(start.elapsed().as_nanos() as u64));
            self.ring.done(&mut done);
            if let Some(medium) = &self.medium {
                done.extend(medium.done());
            }
            for io in done.drain(..) {
                self.engine.done(io.id, io.result, io.buffers);
            }
        }
    }

    fn listen(&mut self) {
        while self.engine.accepts() {
            match self.receiver.try_recv() {
                Ok(message) => self.hear(message),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => return self.hear(Message::ShutDown),
            }
        }
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Command(mut command, answer) => {
                command.id = self.numbers;
                self.numbers += 1;
                self.answers.insert(command.id, answer);
                self.engine.submit(command);
            }
            Message::SetMode(mode) => self.engine.set_mode(mode),
            // (Who sends one has made it for this store.)
            Message::SetCache(cache) => drop(self.engine.set_cache(cache)),
            Message::Drain(true) => self.engine.drain(),
            Message::Drain(false) => self.engine.keep_dirty(),
            Message::SetWords(words) => self.engine.set_words(words),
            Message::Dirty(first, blocks, answer) => answer(self.engine.dirty_runs(first, blocks)),
            Message::Status(sender) => drop(sender.send(self.engine.status())),
            Message::ShutDown => {
                self.ended = true;
                self.engine.shut_down();
            }
            Message::ShutDownForGood => {
                self.ended = true;
                self.engine.shut_down_for_good();
            }
        }
    }

    fn carry_out(&mut self) {
        let effects = self.engine.take();
        for io in effects.ios {
            match &self.medium {
                Some(medium) if io.device == crate::engine::Device::Disk => medium.begin(io),
                _ => self.ring.begin(io),
            }
        }
        for reply in effects.replies {
            if let Some(answer) = self.answers.remove(&reply.id) {
                answer(reply.result);
            }
        }
    }
}
