//! Opens a cache, lets the caller inspect it, and starts it.

use std::fs::File;
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, Builder};

use rustix::event::{EventfdFlags, eventfd};
use shingle_core::cache::CacheCore;
use shingle_core::observer::{Observed, Shared};
use shingle_core::registry::Registry;
use shingle_core::units::BLOCK_BYTES;
use shingle_device::{
    Device, DeviceError, DeviceIo, Direct, IoMethod, Mark, Medium, MediumThreads,
};
use shingle_engine::format::superblock::Superblock;
use shingle_engine::journal::Write;
use shingle_engine::recover::{
    LostPage, RecoverError, Recovered, recover, recover_telling, salvage,
};
use shingle_engine::settings::{Settings, SettingsError};
use shingle_engine::{Config, Engine};

use super::disk::Disk;
use super::errors::{Errors, Tell};
use super::handle::Handle;
use super::run::{Run, Store};
use super::store_error::StoreError;
use super::superblock::must_be_whole;
use super::zoned::open_pair;

/// Optional companions of a running store.
#[derive(Default)]
pub struct StartOptions {
    /// Receives all events, on the store's thread.
    pub observer: Option<Shared>,
    /// Does the I/O of the disk.
    pub medium: Option<Box<dyn Medium>>,
    /// Receives lines about failed I/O.
    pub tell: Option<Tell>,
    /// How I/O is done: by io_uring, if not given and the system allows that.
    pub io_method: Option<IoMethod>,
}

/// The settings of a cache, and an empty cache that decides by them.
pub type Made = (Settings, Box<dyn CacheCore>);

/// A cache that is opened and not started yet, to be inspected.
pub struct Ready {
    ssd: Device,
    disk: Box<dyn Disk>,
    found: Recovered,
    trusts_disk: bool,
    only_drains: bool,
}

impl Ready {
    /// Opens the cache on `ssd` and its `disk`.
    ///
    /// # Errors
    /// If they are in use, have another size than before, or the cache cannot be used.
    pub fn open(ssd_path: &Path, disk_path: &Path) -> Result<Ready, StoreError> {
        let (ssd, disk) = open_pair(ssd_path, disk_path)?;
        Ready::from_devices(ssd, disk)
    }

    /// Opens the cache on `ssd` over an open disk.
    pub fn from_devices(ssd: Device, disk: Box<dyn Disk>) -> Result<Ready, StoreError> {
        must_be_whole(&ssd)?;
        let found = recover(&mut ssd.reader()).map_err(unusable(ssd.path()))?;
        Ready::of_found(ssd, disk, found)
    }

    /// Opens the cache on `ssd` and its `disk`. Also returns the settings that it has, and an empty
    /// [cache](CacheCore) of its size that decides by them: its memory is made ready while the SSD is
    /// read.
    ///
    /// # Errors
    /// As [`Ready::open`]. The inner error: there is no such policy or parameter, or a value does not
    /// fit.
    pub fn open_with_cache(
        ssd_path: &Path,
        disk_path: &Path,
        registry: &Registry,
    ) -> Result<(Ready, Result<Made, SettingsError>), StoreError> {
        let (ssd, disk) = open_pair(ssd_path, disk_path)?;
        must_be_whole(&ssd)?;
        thread::scope(|scope| {
            let mut making = None;
            let found = recover_telling(&mut ssd.reader(), |superblock| {
                let superblock = superblock.clone();
                let thread = Builder::new().name("shingle-make".to_owned());
                making = thread.spawn_scoped(scope, move || make(&superblock, registry)).ok();
            });
            let ready = Ready::of_found(ssd, disk, found.map_err(unusable(ssd_path))?)?;
            let made = match making {
                Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // If the system gives no thread, this one makes it.
                None => make(ready.superblock(), registry),
            };
            Ok((ready, made))
        })
    }

    /// As [`Ready::open`], also if pages of the frame table are lost, which are returned. Such a
    /// cache is not to be started.
    pub(crate) fn open_to_salvage(
        ssd_path: &Path,
        disk_path: &Path,
    ) -> Result<(Ready, Vec<LostPage>), StoreError> {
        let (ssd, disk) = open_pair(ssd_path, disk_path)?;
        must_be_whole(&ssd)?;
        let (found, lost) = salvage(&mut ssd.reader()).map_err(unusable(ssd.path()))?;
        Ok((Ready::of_found(ssd, disk, found)?, lost))
    }

    fn of_found(
        mut ssd: Device,
        mut disk: Box<dyn Disk>,
        found: Recovered,
    ) -> Result<Ready, StoreError> {
        let superblock = found.journal.superblock();
        ssd.limit_to(superblock.ssd_bytes)?;
        disk.limit_to(superblock.disk_bytes)?;
        Ok(Ready { ssd, disk, found, trusts_disk: false, only_drains: false })
    }

    /// Starts the cache even if the disk does not take its mark: the operator has confirmed that
    /// the disk is the right one.
    pub fn trust_disk(&mut self) {
        self.trusts_disk = true;
    }

    /// Starts the cache only to destage everything, even if the superblock cannot be written.
    /// Clients must not be served then: at the next start the journal would not be valid from here
    /// on.
    pub(crate) fn only_drain(&mut self) {
        self.only_drains = true;
    }

    /// SSD, disk, and what recovery found.
    pub(crate) fn into_parts(self) -> (Device, Box<dyn Disk>, Recovered) {
        (self.ssd, self.disk, self.found)
    }

    /// The superblock of the SSD.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        self.found.journal.superblock()
    }

    /// The SSD, to be inspected.
    #[must_use]
    pub fn ssd(&self) -> &Device {
        &self.ssd
    }

    /// The disk, to be inspected.
    #[must_use]
    pub fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// What recovery found.
    #[must_use]
    pub fn found(&self) -> &Recovered {
        &self.found
    }

    /// Starts the store, with an empty cache of as many slots as the superblock says.
    ///
    /// # Errors
    /// If the cache does not fit, or the SSD takes no writes.
    pub fn start(self, cache: Box<dyn CacheCore>, config: Config) -> Result<Store, StoreError> {
        self.start_with(cache, config, StartOptions::default())
    }

    /// Opens direct I/O on the disk, for a [`Medium`] that replaces it.
    ///
    /// # Errors
    /// If the process may open no more files, or a medium does the I/O of the disk already.
    pub fn direct_disk(&self) -> io::Result<Direct> {
        let made = || io::Error::other("it is made of another disk, and no place for a model");
        self.disk.device().ok_or_else(made)?.again()
    }

    /// As [`Ready::start`], with companions.
    pub fn start_with(
        self,
        cache: Box<dyn CacheCore>,
        config: Config,
        options: StartOptions,
    ) -> Result<Store, StoreError> {
        let StartOptions { observer, medium, tell, io_method } = options;
        let cache = match &observer {
            Some(observer) => Box::new(Observed::new(cache, observer.clone())),
            None => cache,
        };
        let Ready { ssd, disk, mut found, trusts_disk, only_drains } = self;
        let disk_blocks = disk.blocks();
        let superblocks = found.journal.mark_in_use_with(disk.fingerprint_in_use());
        let Superblock { uuid, edition, .. } = *found.journal.superblock();
        let mut engine = Engine::open(found, cache, disk_blocks, config)?;
        if let Some(observer) = observer {
            engine.watch(observer);
        }
        let doorbell =
            eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| StoreError::Start(error.into()))?;
        let doorbell = File::from(doorbell);
        let of_io = doorbell.try_clone().map_err(StoreError::Start)?;
        // Shares of the files for what is read and written before the engine does I/O, and after.
        let direct = || disk.device().map(Device::again).transpose();
        let files = ssd.again().and_then(|ssd| Ok((ssd, direct()?)));
        let (ssd_file, disk_file) = files.map_err(StoreError::Start)?;
        let io = DeviceIo::new(ssd_file, disk_file, of_io, io_method).map_err(StoreError::Start)?;
        // Everything that can be refused has been checked, and the engine has submitted no I/O yet.
        // First the SSD records that the disk may change; then the disk gets the mark of the cache
        // that may change it.
        match write_all(&ssd, &superblocks) {
            Ok(()) => {}
            Err(_) if only_drains => {}
            Err(error) => return Err(StoreError::Superblock { error }),
        }
        match disk.leave_mark(&Mark { uuid, edition }) {
            Err(error) if !trusts_disk => return Err(StoreError::Mark { error }),
            // With the mark of an earlier start the disk is trusted only if the operator confirms
            // it again.
            _ => {}
        }
        let doorbell = Arc::new(doorbell);
        let start = |medium| MediumThreads::start(medium, doorbell.clone());
        let medium = medium.or_else(|| disk.medium()).map(start).transpose();
        let medium = medium.map_err(StoreError::Start)?;
        let errors = Errors::new(tell);
        let (handle, inbox) = Handle::new(doorbell, disk_blocks, errors.last());
        let run = Run::new(inbox, engine, io, medium, errors, (ssd, disk));
        run.begin(handle).map_err(StoreError::Start)
    }
}

fn unusable(ssd: &Path) -> impl FnOnce(RecoverError<io::Error>) -> StoreError {
    move |error| StoreError::Recover { path: ssd.to_owned(), error }
}

fn make(superblock: &Superblock, registry: &Registry) -> Result<Made, SettingsError> {
    let settings = Settings::from_text(&superblock.settings)?;
    let slots = superblock.layout.slots as u32;
    let cache = settings.cache(registry, slots, superblock.disk_bytes / BLOCK_BYTES)?;
    Ok((settings, cache))
}

/// Writes copies of the superblock, each flushed before the next.
fn write_all(ssd: &Device, writes: &[Write]) -> Result<(), DeviceError> {
    for Write { page, bytes, .. } in writes {
        ssd.write(*page, &bytes[..])?;
        ssd.flush()?;
    }
    Ok(())
}
