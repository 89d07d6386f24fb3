//! One cache of a serving process: its store, and the thread that answers its operators.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use shingle_core::cache::CacheCore;
use shingle_core::observer::Shared as Observer;
use shingle_core::registry::Registry;
use shingle_core::size::show_bytes;
use shingle_core::units::BLOCK_BYTES;
use shingle_device::{IoMethod, start_thread};
use shingle_engine::Config;
use shingle_engine::settings::Settings;
use shingle_nbd::listen::{Address, ListenError, Listener};
use shingle_nbd::server::{self, Server};
use uuid::Uuid;

use super::control;
use super::counters::Counters;
use super::errors::ServeError;
use super::export::Served;
use super::leave;
use super::missing::Missing;
use super::notice::{Left, Notice, TellNotice};
use super::operators::ServeCommand;
use super::options::CacheOptions;
use super::shared::{Devices, LATE, Shared};
use super::status::{Recording, SCHEMA, Status};
use super::trust;
use crate::backend::{Asking, Handle, Ready, StartOptions, Store, Tell};
use crate::measures::Misplaced;
use crate::ublk;

/// Makes the observer of a cache with these settings, this number of slots and a disk of this
/// number of blocks.
pub type Record<'a> = &'a dyn Fn(&Settings, u32, u64) -> io::Result<Observer>;

/// A cache that was opened and inspected. Nothing was changed.
pub(super) struct Opened {
    options: CacheOptions,
    ready: Ready,
    /// A warning about the disk.
    warning: Option<String>,
    settings: Settings,
    cache: Box<dyn CacheCore>,
    control: Arc<Listener>,
}

impl Opened {
    pub(super) fn open(options: &CacheOptions, registry: &Registry) -> Result<Opened, ServeError> {
        let CacheOptions { ssd, disk, trust_disk, .. } = options;
        let (ready, made, warning) = trust::open(ssd, disk, *trust_disk, registry)?;
        let (settings, cache) = made;
        if ready.disk().device().is_none() {
            settings.check_without_bands()?;
        }
        let uuid = Uuid::from_bytes(ready.superblock().uuid);
        if let Some(number) = options.ublk {
            ublk::Device::check(number, uuid)?;
        }
        let control = options.control.clone().unwrap_or_else(|| control::socket(uuid));
        control::make_folder(&control)?;
        let bound = Listener::bind(&Address::Unix(control)).map_err(|error| match error {
            ListenError::Live(_) => ServeError::Copy(uuid),
            error => error.into(),
        });
        let control = Arc::new(bound?);
        Ok(Opened { options: options.clone(), ready, warning, settings, cache, control })
    }

    fn uuid(&self) -> Uuid {
        Uuid::from_bytes(self.ready.superblock().uuid)
    }

    fn config(&self, registry: &Registry) -> Result<Config, ServeError> {
        let mut config = Config::new(self.settings.mode, self.ready.superblock().layout.slots);
        config.rules.limits = self.settings.limits(registry)?;
        let frees_trimmed = self.ready.disk().frees_trimmed();
        config.trim_passdown = self.settings.trim_passdown(registry, frees_trimmed)?;
        Ok(config)
    }

    /// What operators may want to change.
    fn remarks(&self) -> Result<Vec<String>, ServeError> {
        let mut remarks = larger(&self.ready)?;
        remarks.extend(self.warning.clone());
        // The file may be a copy, which has lost the space reserved for it.
        remarks.extend(self.ready.ssd().reserve().err().map(|error| error.to_string()));
        Ok(remarks)
    }

    fn observer(&self, record: Record<'_>) -> io::Result<Observer> {
        let slots = self.ready.superblock().layout.slots as u32;
        record(&self.settings, slots, self.ready.disk().blocks())
    }

    /// The part of the status that changes only with a reload.
    fn status(&self) -> Status {
        let CacheOptions { name, disk, ublk, .. } = &self.options;
        Status {
            schema: SCHEMA.to_owned(),
            served: true,
            export: name.clone(),
            uuid: self.uuid().to_string(),
            disk: disk.display().to_string(),
            // The addresses of the server change over time.
            addresses: ublk.iter().map(|it| it.path().display().to_string()).collect(),
            ..Status::default()
        }
    }

    fn devices(&self) -> Devices {
        let (ssd, superblock) = (&self.options.ssd, self.ready.superblock());
        Devices {
            ssd: ssd.display().to_string(),
            ssd_place: control::place(ssd).display().to_string(),
            // The start writes a superblock.
            edition: superblock.edition + 1,
            slots: superblock.layout.slots,
            disk_blocks: self.ready.disk().blocks(),
        }
    }
}

/// What is said where threads do the I/O.
const NO_IO_URING: &str = "io_uring is not allowed here (by sysctl kernel.io_uring_disabled, or the \
     filter of system calls of a container or service), so threads do the I/O, which takes more \
     processor time";

/// What the caches of one process share.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) registry: Registry,
    pub(super) server: Arc<Server>,
    pub(super) commands: Sender<ServeCommand>,
    pub(super) tell: TellNotice,
    /// Where counters are kept over restarts.
    pub(super) counters: Option<PathBuf>,
    /// Exports that are to be served and are not.
    pub(super) missing: Missing,
    pub(super) recording: Option<Arc<Mutex<Recording>>>,
}

impl Common {
    /// The counters of a cache, with those of earlier processes.
    fn counters_of(
        &self,
        export: impl Fn() -> String + Send + Sync + 'static,
        uuid: Uuid,
    ) -> Counters {
        let tell = self.tell.clone();
        let told = move |path: &Path, error: &io::Error| {
            tell(Notice::Counters(export(), path.to_owned(), error.to_string()));
        };
        Counters::begin(self.counters.as_deref().map(|folder| (folder, uuid)), told)
    }
}

/// A running cache.
pub(super) struct Cache {
    pub(super) options: CacheOptions,
    store: Store,
    control: Arc<Listener>,
    pub(super) shared: Arc<Shared>,
    device: Option<ublk::Device>,
    /// Why it has failed, if it has.
    pub(super) failed: Arc<OnceLock<String>>,
}

impl Cache {
    /// Puts the cache into use; no client reaches it yet.
    pub(super) fn begin(
        opened: Opened,
        record: Option<Record<'_>>,
        common: &Common,
    ) -> Result<Cache, ServeError> {
        let config = opened.config(&common.registry)?;
        let (uuid, export) = (opened.uuid(), opened.options.name.clone());
        for line in opened.remarks()? {
            (common.tell)(Notice::Remark(export.clone(), line));
        }
        let (fixed, devices) = (Arc::new(Mutex::new(opened.status())), opened.devices());
        let name = name_in(&fixed);
        let tell = device_lines(name.clone(), common.tell.clone())?;
        let observer = record.map(|record| opened.observer(record)).transpose()?;
        let recorded = observer.is_some();
        let Opened { options, ready, settings, cache, control, .. } = opened;
        let disk = ready.disk();
        let (watch, frees_trimmed) = (disk.watch(), disk.frees_trimmed());
        let fingerprint_in_use = disk.fingerprint_in_use();
        let start_options = StartOptions { observer, tell: Some(tell), ..StartOptions::default() };
        let mut store = ready.start_with(cache, config, start_options)?;
        if store.io_method() == IoMethod::Threads {
            (common.tell)(Notice::Remark(export.clone(), NO_IO_URING.to_owned()));
        }
        let failed = Arc::default();
        let fail = failing(uuid, &failed, common.commands.clone());
        watch_failure(&mut store, fail.clone())?;
        let shared = Arc::new(Shared {
            handle: store.handle().clone(),
            server: common.server.clone(),
            settings: Mutex::new(settings),
            registry: common.registry.clone(),
            recorded,
            recording: common.recording.clone(),
            watch,
            misplaced: asking_for_misplaced(store.handle().clone(), options.ssd.clone()),
            told: Mutex::default(),
            frees_trimmed,
            fixed,
            counters: common.counters_of(name, uuid),
            not_served: common.missing.clone(),
            uuid,
            devices: Mutex::new(devices),
            fingerprint_in_use,
            changing: Mutex::default(),
            detaching: AtomicU32::new(0),
            ending: AtomicBool::new(false),
            tell: common.tell.clone(),
        });
        let mut cache = Cache { options, store, control, shared, device: None, failed };
        cache.begin_device(fail)?;
        Ok(cache)
    }

    pub(super) fn uuid(&self) -> Uuid {
        self.shared.uuid
    }

    /// Serves it under the name and with the minimum block of `options`.
    pub(super) fn rename(&mut self, options: &CacheOptions) {
        let CacheOptions { name, minimum_block, .. } = options;
        (self.options.name, self.options.minimum_block) = (name.clone(), *minimum_block);
        self.shared.rename(name);
    }

    /// The export that clients see.
    pub(super) fn export(&self) -> server::Served {
        server::Served {
            name: self.options.name.clone(),
            description: format!("shingle {}", self.uuid()),
            minimum_block: self.options.minimum_block,
            export: Arc::new(Served {
                handle: self.shared.handle.clone(),
                measured: self.shared.counters.requests(),
            }),
        }
    }

    /// Starts a thread that answers operators, each in a thread of its own. Who has asked before waits until then.
    pub(super) fn listen(&self, commands: Sender<ServeCommand>) -> io::Result<()> {
        let shared = self.shared.clone();
        control::listen(self.control.clone(), move |stream| shared.answer(stream, &commands))
    }

    /// Starts the block device of the kernel, if there is to be one.
    fn begin_device(&mut self, fail: impl Fn(String) + Send + 'static) -> Result<(), ServeError> {
        let Some(number) = self.options.ublk else { return Ok(()) };
        let uuid = self.uuid();
        let gone = move || {
            fail(format!("{} is gone, and was not taken away here", number.path().display()));
        };
        let server::Served { export, minimum_block, .. } = self.export();
        self.device = Some(ublk::Device::start(number, uuid, export, minimum_block, gone)?);
        Ok(())
    }

    /// Shuts the cache down in order when no client uses it any more, or deletes it. Returns what
    /// is left.
    pub(super) fn end(self, detach: bool) -> Result<Left, ServeError> {
        self.shared.ending.store(true, Ordering::Relaxed);
        // Until all I/O has ended operators may ask why the devices are still in use.
        let control = self.control.clone();
        let shared = self.shared.clone();
        let (done, is_done) = channel::<()>();
        let late = thread::Builder::new().name("shingle-ending".to_owned()).spawn(move || {
            if is_done.recv_timeout(LATE) == Err(RecvTimeoutError::Timeout) {
                (shared.tell)(Notice::Remark(shared.export(), shared.waits_for()));
            }
        });
        let ended = self.shut_down(detach);
        drop((done, late));
        control.close();
        ended
    }

    fn shut_down(self, detach: bool) -> Result<Left, ServeError> {
        // What the kernel has cached is written now, and nothing after that.
        let written = self.device.map_or(Ok(()), ublk::Device::stop);
        self.shared.save_counters();
        let uuid = self.shared.uuid;
        let ended = match detach {
            true => leave::ended(self.store.shut_down_for_removal()?, uuid),
            false => self.store.shut_down().map_err(ServeError::from).and_then(|left| {
                let shared = &self.shared;
                let tell =
                    |text: &str| (shared.tell)(Notice::Remark(shared.export(), text.to_owned()));
                leave::stopped(left, uuid, &tell)
            }),
        };
        ended.and_then(|left| written.map(|()| left).map_err(ServeError::Unwritten))
    }

    /// Lets go of the cache without waiting: I/O in flight keeps the devices locked until it is done.
    pub(super) fn abandon(self) {
        self.control.close();
        self.store.abandon();
    }
}

/// Reports which device is larger than what is used of it.
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

/// The name of the export, which a reload may change.
fn name_in(
    fixed: &Arc<Mutex<Status>>,
) -> impl Fn() -> String + Clone + Send + Sync + 'static + use<> {
    let fixed = fixed.clone();
    move || fixed.lock().unwrap_or_else(PoisonError::into_inner).export.clone()
}

/// Asks for the devices whose names do not lead to them any more.
fn asking_for_misplaced(handle: Handle, named: PathBuf) -> Asking<Vec<Misplaced>> {
    Asking::new("shingle-places", move || {
        let (ssd, disk) = handle.devices().ok()?;
        Some(Misplaced::among(&ssd, &named, disk.backing()))
    })
}

/// Passes lines about failed I/O to a thread of their own: the log may be slow, and the store's
/// thread must not wait for it.
fn device_lines(
    export: impl Fn() -> String + Send + 'static,
    tell: TellNotice,
) -> io::Result<Tell> {
    let (to, lines) = channel();
    start_thread("shingle-errors", move || {
        lines.into_iter().for_each(|failed| tell(Notice::Device(export(), failed)));
    })?;
    Ok(Box::new(move |failed| {
        // The receiving thread ends after the store.
        let _ = to.send(failed);
    }))
}

/// Has a cache that fails served no longer.
fn failing(
    uuid: Uuid,
    failed: &Arc<OnceLock<String>>,
    commands: Sender<ServeCommand>,
) -> impl Fn(String) + Clone + Send + 'static + use<> {
    let failed = failed.clone();
    move |why| {
        // (The first reason counts.)
        let _ = failed.set(why.clone());
        // The receiver may be gone: the process is ending.
        let _ = commands.send(ServeCommand::Failed(uuid, why));
    }
}

/// Stops serving a store that fails.
fn watch_failure(store: &mut Store, fail: impl Fn(String) + Send + 'static) -> io::Result<()> {
    let Some(failure) = store.failure() else { return Ok(()) };
    start_thread("shingle-watch", move || {
        if let Ok(why) = failure.recv() {
            fail(why);
        }
    })?;
    Ok(())
}
