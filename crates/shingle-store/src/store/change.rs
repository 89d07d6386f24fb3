//! Changes of devices while clients are served: another SSD, or an SSD or a disk that has grown.
//!
//! The engine makes the decisions; this module does the work on files. A new cache is made on the
//! SSD that enters, and the disk gets its mark before the old one is given up.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use shingle_core::service::Rules;
use shingle_core::size::show_bytes;
use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_device::{Device, DeviceError, IoFile, Mark, is_same};
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::format::layout::Layout;
use shingle_engine::format::superblock::SUCCESSOR_AHEAD;
use shingle_engine::recover::{RecoverError, Recovered, recover};
use shingle_engine::settings::SettingsError;
use shingle_engine::{NewSsd, SsdState, Status};
use thiserror::Error;
use uuid::Uuid;

use super::create::{Consent, CreateError, check_free};
use super::drain::{Tell, Waiting};
use super::format::{NewCache, format_for, read_superblock};
use super::moved::Moved;
use super::shared::{LATE, Shared, within};
use crate::backend::{StoreError, write_over_superblocks};

/// Why nothing was changed, or not everything.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(super) enum ChangeError {
    #[error("another change is under way")]
    Busy,
    #[error(
        "it is being recorded, and a recording has one cache: stop it, and serve it without --record"
    )]
    Recorded,
    #[error("{}: is in use by this very store; name another one", .0.display())]
    Same(PathBuf),
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}: {error}", path.display())]
    Recover { path: PathBuf, error: RecoverError<io::Error> },
    #[error("SSD and disk did not say within {} s how large they are: one of them hangs; see `shingle store status` and dmesg", LATE.as_secs())]
    Silent,
    #[error("neither SSD nor disk is larger than what is used: enlarge the file or device first")]
    NotLarger,
    #[error(
        "{path}: it has shrunk: it has {}, and {} of it are used; give it back its old size, as what lies beyond cannot be read or \
         written until then",
        show_bytes(*has), show_bytes(*used)
    )]
    Shrunk {
        path: String,
        /// Its size, in bytes.
        has: u64,
        /// What is used of it, in bytes.
        used: u64,
    },
    #[error("{error}; {done}")]
    Half { done: String, error: Box<ChangeError> },
    #[error(
        "the data of {0} dirty blocks is lost, and `status` lists them; --accept-lost gives them up: then the disk \
         serves what it has of them. The SSD stays in use"
    )]
    Lost(u64),
    #[error("{0}. The SSD stays in use")]
    Stuck(String),
    #[error(
        "the SSD failed before it was known what it holds; stop the server, and use `shingle store export \
         --trust-disk`"
    )]
    Unknown,
    #[error(transparent)]
    Asker(#[from] io::Error),
    /// The store has ended before it used the new SSD, and there is no way back to the old one.
    #[error("the store has ended meanwhile; the disk, which has everything, belongs to the new SSD: from now on serve {}", .0.display())]
    EndedWith(PathBuf),
    #[error("{error}; {second}: it may hold an empty cache by now, do not serve it")]
    Left { error: Box<ChangeError>, second: DeviceError },
    #[error(
        "{0}; the old SSD is out, and the disk, which has everything, is served without a cache until `shingle store replace` \
         names an SSD that can be used"
    )]
    Out(Box<ChangeError>),
}

const STEP: Duration = Duration::from_millis(20);
/// A store that takes longer to carry out a change has ended, or its devices hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// Checks that an SSD takes writes, by rewriting its last page unchanged. The SSD may be the one in
/// use, after it has grown: that does not use its last page.
fn check_writable(ssd: &Device) -> Result<(), DeviceError> {
    let last = Block(ssd.blocks() - 1);
    let mut page = [0; PAGE_BYTES];
    ssd.read_block(last, &mut page)?;
    ssd.write(last.0, &page)?;
    ssd.flush()
}

/// The error of a store that ended after the disk was marked: the operator has to know that the new
/// SSD is the one to serve.
fn ended_with(new: &Path, error: StoreError) -> ChangeError {
    match error {
        StoreError::Ended => ChangeError::EndedWith(new.to_owned()),
        error => error.into(),
    }
}

/// The parameters of a replacement of the SSD.
pub(super) struct Replace<'a> {
    pub(super) with: &'a Path,
    pub(super) destroy: &'a [Uuid],
    pub(super) overwrite: bool,
    pub(super) accept_lost: bool,
}

impl Shared {
    /// Locks the devices for a change, if no other one is in progress.
    fn change(&self) -> Result<MutexGuard<'_, ()>, ChangeError> {
        if self.is_recorded() {
            return Err(ChangeError::Recorded);
        }
        match self.changing.try_lock() {
            Ok(held) => Ok(held),
            Err(TryLockError::Poisoned(held)) => Ok(held.into_inner()),
            Err(TryLockError::WouldBlock) => Err(ChangeError::Busy),
        }
    }

    /// Exchanges the SSD for another one. Returns a message for the operator.
    pub(super) fn replace(
        &self,
        replace: &Replace<'_>,
        tell: Tell<'_>,
    ) -> Result<Option<String>, ChangeError> {
        let _one_at_a_time = self.change()?;
        let new = self.open_new(replace)?;
        let old = self.exchange(new, replace.accept_lost, tell)?;
        // Marks the old SSD, so that it is not mistaken for a cache in use. A failed SSD may not
        // take that.
        let (path, new) = (old.path().to_owned(), self.ssd());
        let moved = Moved::new(self.uuid, &new).encode();
        let mut said = format!("from now on name {}, also in the file of --config", new.display());
        if let Err(error) = write_over_superblocks(&old, &moved) {
            said += &format!(
                "; {error}; it holds an old state of the cache still: do not serve {}",
                path.display()
            );
        }
        Ok(Some(said))
    }

    /// Uses the whole of devices that have grown.
    pub(super) fn grow(&self, tell: Tell<'_>) -> Result<Option<String>, ChangeError> {
        let _one_at_a_time = self.change()?;
        let (mut ssd, disk) = self.handle.devices()?;
        let (one, other) = (ssd.clone(), disk.share());
        let measured = within(LATE, move || (one.measure(), other.measure()));
        let (ssd_bytes, disk_bytes) = measured.ok_or(ChangeError::Silent)?;
        let (path, has, used) = (self.disk(), disk_bytes?, self.handle.disk_bytes());
        let blocks = has / BLOCK_BYTES;
        if has < used {
            return Err(ChangeError::Shrunk { path, has, used });
        }
        let (path, has, used) = (ssd.path().display().to_string(), ssd_bytes?, ssd.bytes());
        if has < used {
            return Err(ChangeError::Shrunk { path, has, used });
        }
        ssd.set_used_bytes(has);
        let disk_grows = blocks > self.handle.disk_bytes() / BLOCK_BYTES;
        let layout = Layout::for_ssd(ssd.bytes());
        let slots = layout.map_or(0, |layout| layout.slots);
        if !disk_grows && slots <= self.slots() {
            return Err(ChangeError::NotLarger);
        }
        let mut said = Vec::new();
        if disk_grows {
            // A power cut may undo the growth of a file, and a cache is refused if its disk is smaller than recorded.
            disk.device().map_or(Ok(()), Device::flush)?;
            self.grow_disk(blocks)?;
            said.push(format!(
                "the disk has {} now; clients see that when they connect anew",
                show_bytes(blocks * BLOCK_BYTES)
            ));
        }
        if slots > self.slots() {
            let grown = self.exchange(ssd, false, tell);
            if let Err(error) = grown {
                return Err(match said.pop() {
                    Some(done) => ChangeError::Half { done, error: Box::new(error) },
                    None => error,
                });
            }
            said.push(format!("the cache has room for {} now", show_bytes(slots * BLOCK_BYTES)));
        }
        Ok(Some(said.join("; ")))
    }

    fn open_new(&self, replace: &Replace<'_>) -> Result<Device, ChangeError> {
        let with = replace.with;
        if [self.ssd(), self.disk().into()].iter().any(|used| is_same(used, with)) {
            return Err(ChangeError::Same(with.to_owned()));
        }
        let ssd = Device::open(with)?;
        let Replace { destroy, overwrite, .. } = *replace;
        check_free(&ssd, None, Consent { destroy, overwrite })?;
        Ok(ssd)
    }

    fn grow_disk(&self, blocks: u64) -> Result<(), ChangeError> {
        {
            // A policy that is set in the meantime is made for a disk of the new size.
            let settings = self.hold_settings();
            let cache = settings.cache(&self.registry, self.slots() as u32, blocks)?;
            self.handle.grow_disk(blocks, cache)?;
            self.set_disk_blocks(blocks);
        }
        let mut waited = Duration::ZERO;
        while self.handle.disk_bytes() < blocks * BLOCK_BYTES {
            let failed = self.handle.status().is_none_or(|status| status.errors.ssd_failed);
            if failed || waited > PATIENCE {
                return Err(ChangeError::Store(StoreError::Ended));
            }
            thread::sleep(STEP);
            waited += STEP;
        }
        Ok(())
    }

    /// Takes the SSD out and puts `new` in. Returns the old one.
    fn exchange(
        &self,
        new: Device,
        accept_lost: bool,
        tell: Tell<'_>,
    ) -> Result<Device, ChangeError> {
        // Checks everything that can be refused before anything is given up.
        let layout = Layout::for_ssd(new.bytes()).ok_or_else(|| CreateError::TooSmall {
            path: new.path().to_owned(),
            found: new.bytes(),
        })?;
        self.hold_settings().cache(&self.registry, layout.slots as u32, self.disk_blocks())?;
        new.reserve()?;
        check_writable(&new)?;
        let file = new.again().and_then(IoFile::new).map_err(StoreError::Start)?;
        self.take_out(accept_lost, tell)?;
        self.put_in(new, file, layout).map_err(|error| match error {
            ended @ (ChangeError::Store(StoreError::Ended) | ChangeError::EndedWith(_)) => ended,
            error => ChangeError::Out(Box::new(error)),
        })
    }

    /// Puts `new` in, in place of an SSD that is out. Returns the old one.
    fn put_in(&self, new: Device, file: IoFile, layout: Layout) -> Result<Device, ChangeError> {
        let path = new.path().to_owned();
        let (found, edition) =
            self.prepare(&new).map_err(|error| self.undo_new_cache(&new, error))?;
        // The settings may have changed in the meantime.
        let held = self.hold_settings();
        let cache = held.cache(&self.registry, layout.slots as u32, self.disk_blocks());
        let cache = cache.map_err(|error| self.undo_new_cache(&new, error.into()))?;
        let room_slots = Rules::for_slots(layout.slots).room_slots;
        let old = self.handle.put_ssd_in(new, file, NewSsd { found, cache, room_slots });
        let old = old.map_err(|error| ended_with(&path, error))?;
        self.handle.set_settings(held.to_text()?);
        self.exchanged(&path, layout.slots, edition);
        drop(held);
        self.wait_for(SsdState::In).map_err(|error| ended_with(&path, error))?;
        Ok(old)
    }

    /// Makes a cache on `new` and gives the disk its mark. Returns what it holds, and its edition.
    fn prepare(&self, new: &Device) -> Result<(Recovered, u64), ChangeError> {
        let path = new.path().to_owned();
        let edition = self.edition_of_old()? + SUCCESSOR_AHEAD;
        let uuid = *self.uuid.as_bytes();
        // Settings that are changed while the old SSD leaves are only on that one, and a crash may
        // leave the new one.
        let settings = self.hold_settings().to_text()?;
        // The name of a zoned disk, without which it would not be recognized after a crash.
        let fingerprint = self.fingerprint_in_use;
        let cache = NewCache { uuid, edition, fingerprint, settings };
        let disk = self.disk();
        let disk = (Path::new(&disk), self.handle.disk_bytes());
        format_for(new, disk, &cache)?;
        let mut found =
            recover(&mut { new }).map_err(|error| ChangeError::Recover { path, error })?;
        for write in found.journal.mark_in_use_with(self.fingerprint_in_use) {
            new.write(write.page, &write.bytes[..])?;
            new.flush()?;
        }
        let edition = found.journal.superblock().edition;
        self.handle.leave_mark(Mark { uuid, edition })?;
        Ok((found, edition))
    }

    /// Removes the cache from `new`, which is not used because of `error`. The next one gets the
    /// same edition, and the two could be mixed up.
    fn undo_new_cache(&self, new: &Device, error: ChangeError) -> ChangeError {
        // An SSD that has grown is the old one, too. After the end of the store either may be used
        // next.
        let ended = matches!(error, ChangeError::Store(StoreError::Ended));
        if ended || is_same(&self.ssd(), new.path()) {
            return error;
        }
        match write_over_superblocks(new, &[0; PAGE_BYTES]) {
            Ok(()) => error,
            Err(second) => ChangeError::Left { error: Box::new(error), second },
        }
    }

    fn engine_status(&self) -> Result<Status, StoreError> {
        self.handle.status().ok_or(StoreError::Ended)
    }

    fn wait_for(&self, state: SsdState) -> Result<(), StoreError> {
        while self.engine_status()?.ssd != state {
            thread::sleep(STEP);
        }
        Ok(())
    }

    /// Takes the SSD out; after an error it stays in, if possible.
    fn take_out(&self, accept_lost: bool, tell: Tell<'_>) -> Result<(), ChangeError> {
        self.handle.take_ssd_out(accept_lost);
        let outcome = self.until_out(accept_lost, tell);
        // An SSD that is invalidated cannot stay in: the next exchange continues from there.
        if outcome.is_err() {
            self.handle.keep_ssd_in();
        }
        outcome
    }

    fn until_out(&self, accept_lost: bool, tell: Tell<'_>) -> Result<(), ChangeError> {
        let mut waiting = Waiting::for_blocks_of(&self.handle);
        loop {
            let status = self.engine_status()?;
            let lost = status.lost.len() as u64;
            waiting.set_dirty(status.dirty_blocks.saturating_sub(lost));
            match status.ssd {
                SsdState::Out => return Ok(()),
                SsdState::Untold => {
                    // An SSD that takes no writes must not be served again: the disk is marked
                    // first.
                    let edition = self.edition_of_old()? + 1;
                    self.handle.leave_mark(Mark { uuid: *self.uuid.as_bytes(), edition })?;
                    self.handle.abandon_ssd();
                }
                _ if lost > 0 && !accept_lost => return Err(ChangeError::Lost(lost)),
                _ if waiting.has_stalled()
                    && status.errors.ssd_failed
                    && !status.errors.ssd_invalidated =>
                {
                    return Err(ChangeError::Unknown);
                }
                _ if waiting.has_stalled() => {
                    return Err(ChangeError::Stuck(waiting.stall_reason()));
                }
                _ => {}
            }
            waiting.step(tell)?;
        }
    }

    /// The edition of the superblock on the old SSD, or a higher one if it cannot be read.
    fn edition_of_old(&self) -> Result<u64, ChangeError> {
        const FAR: u64 = 1 << 32;
        let (ssd, _) = self.handle.devices()?;
        let started = self.status().map_or(0, |status| status.edition);
        Ok(match read_superblock(&ssd) {
            Ok((found, _)) if Uuid::from_bytes(found.uuid) == self.uuid => {
                found.edition.max(started)
            }
            _ => started + FAR,
        })
    }
}
