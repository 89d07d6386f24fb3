//! What operators ask of a process that serves a cache, and are answered.

use std::fmt::Display;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use shingle_core::registry::Registry;
use shingle_core::service::Mode;
use shingle_device::{Fingerprint, deleted};
use shingle_engine::settings::{Settings, SettingsError};
use shingle_engine::{self as engine, SsdState};
use shingle_nbd::server::Server;
use uuid::Uuid;

use super::change::{ChangeError, Replace};
use super::control::{self, Answer, Request, watch};
use super::counters::Counters;
use super::drain::{Told, drain};
use super::errors::ServeError;
use super::notice::{Notice, Outcome, TellNotice};
use super::reload::Changes;
use super::serve::Options;
use super::status::{Recording, Status};
use crate::backend::{Handle, Watch};
use crate::measures::{DevicesNow, IosNow, Measures, Now};

/// What a process that serves is to do.
#[derive(Debug)]
pub(super) enum Leave {
    /// To end all.
    All,
    /// To end this cache; who wants it gets the answer when it is done.
    Stop(Uuid, Arc<UnixStream>),
    /// Likewise, for good.
    Detach(Uuid, Arc<UnixStream>),
    /// The store of this cache has failed.
    Failed(Uuid, String),
    /// To serve this instead; the answer goes back.
    Reload(Options, Sender<Result<Changes, ServeError>>),
}

/// A store answers at once, unless it hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// What answers to operators are made of.
pub(super) struct Shared {
    pub(super) handle: Handle,
    pub(super) server: Arc<Server>,
    pub(super) settings: Mutex<Settings>,
    pub(super) registry: Registry,
    /// Somebody looks on at what it decides.
    pub(super) recorded: bool,
    /// How that is doing, if it may end before the store does.
    pub(super) recording: Option<Arc<Mutex<Recording>>>,
    /// Tells of the disk, if that is a zoned one.
    pub(super) watch: Option<Watch>,
    /// The disk is to be told of trims, if nothing else was set.
    pub(super) frees_trimmed: bool,
    /// What changes only with a reload.
    pub(super) fixed: Mutex<Status>,
    pub(super) counters: Counters,
    pub(super) uuid: Uuid,
    pub(super) devices: Mutex<Devices>,
    /// Stands in the superblock while the disk changes.
    pub(super) fingerprint_in_use: Fingerprint,
    /// Held while devices change.
    pub(super) changing: Mutex<()>,
    /// Nothing is to be changed any more.
    pub(super) ending: AtomicBool,
    /// Hears of what operators change.
    pub(super) tell: TellNotice,
}

/// The devices that are used.
#[derive(Clone, Debug)]
pub(super) struct Devices {
    pub(super) ssd: String,
    pub(super) edition: u64,
    pub(super) slots: u64,
    pub(super) disk_blocks: u64,
}

impl Shared {
    pub(super) fn answer(&self, stream: &Arc<UnixStream>, leave: &Sender<Leave>) {
        // An operator who has gone needs no answer.
        let _ = control::serve(stream, |request, answer| {
            if self.ending.load(Ordering::Relaxed) && request != Request::Measures {
                return answer(&Answer::Failed(self.waits_for()));
            }
            let Some(what) = request.change() else {
                return self.answer_one(request, stream, leave, answer);
            };
            if !request.is_quick() {
                self.note(&what, Outcome::Begun);
            }
            self.answer_one(request, stream, leave, &mut |said| {
                match said {
                    Answer::Done(()) | Answer::Said(_) => self.note(&what, Outcome::Done),
                    Answer::Failed(why) => self.note(&what, Outcome::Failed(why.clone())),
                    _ => {}
                }
                answer(said)
            })
        });
    }

    fn note(&self, what: &str, outcome: Outcome) {
        (self.tell)(Notice::Asked(self.export(), what.to_owned(), outcome));
    }

    fn answer_one(
        &self,
        request: Request,
        stream: &Arc<UnixStream>,
        leave: &Sender<Leave>,
        answer: &mut dyn FnMut(&Answer) -> io::Result<()>,
    ) -> io::Result<()> {
        match request {
            Request::Status => answer(&match self.status() {
                Ok(status) => Answer::Status(Box::new(status)),
                Err(why) => Answer::Failed(why.to_owned()),
            }),
            Request::Measures => answer(&Answer::Measures(Box::new(self.measures()))),
            Request::Set { what } => answer(&match self.set(&what) {
                Ok(()) => done(self.keep_settings()),
                Err(error) => Answer::Failed(error.to_string()),
            }),
            Request::Flush => {
                let outcome = drain(&self.handle, &mut |told| answer(&told.into()));
                answer(&done(outcome))
            }
            Request::Replace { with, destroy, overwrite, accept_lost } => {
                let destroy = destroy.iter().map(|uuid| Uuid::try_parse(uuid)).collect();
                let destroy: Vec<Uuid> = match destroy {
                    Ok(destroy) => destroy,
                    Err(error) => return answer(&Answer::Failed(format!("--destroy: {error}"))),
                };
                let replace = Replace { with: &with, destroy: &destroy, overwrite, accept_lost };
                let mut tell = |told: Told| answer(&told.into());
                let outcome = self.replace(&replace, &mut tell);
                answer(&said(outcome))
            }
            Request::Watch => watch::tell(&self.handle, stream),
            Request::Grow => {
                let outcome = self.grow(&mut |told| answer(&told.into()));
                answer(&said(outcome))
            }
            Request::Detach => {
                if let Some(why) = self.goes_with_the_end(true) {
                    return answer(&Answer::Failed(why));
                }
                // Nothing becomes dirty again while the last of it goes.
                self.handle.set_mode(Mode::PassThrough);
                let outcome = drain(&self.handle, &mut |told| answer(&told.into()));
                if outcome.is_err() {
                    self.handle.set_mode(self.settings().mode);
                    return answer(&done(outcome));
                }
                let _ = leave.send(Leave::Detach(self.uuid, stream.clone()));
                Ok(())
            }
            Request::Stop => {
                if let Some(why) = self.goes_with_the_end(false) {
                    return answer(&Answer::Failed(why));
                }
                let _ = leave.send(Leave::Stop(self.uuid, stream.clone()));
                Ok(())
            }
        }
    }

    fn settings(&self) -> Settings {
        self.hold_settings().clone()
    }

    fn unchanging(&self) -> MutexGuard<'_, Status> {
        self.fixed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Name of the export.
    pub(super) fn export(&self) -> String {
        self.unchanging().export.clone()
    }

    /// Path of the disk.
    pub(super) fn disk(&self) -> String {
        self.unchanging().disk.clone()
    }

    /// Path of the SSD, as it is by now.
    pub(super) fn ssd(&self) -> PathBuf {
        self.devices().ssd.clone().into()
    }

    /// The export has another name.
    pub(super) fn rename(&self, export: &str) {
        export.clone_into(&mut self.unchanging().export);
    }

    /// Nobody sets anything as long as this is held.
    pub(super) fn hold_settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn devices(&self) -> MutexGuard<'_, Devices> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn slots(&self) -> u64 {
        self.devices().slots
    }

    pub(super) fn disk_blocks(&self) -> u64 {
        self.devices().disk_blocks
    }

    pub(super) fn set_disk_blocks(&self, blocks: u64) {
        self.devices().disk_blocks = blocks;
    }

    /// Another SSD is used.
    pub(super) fn exchanged(&self, ssd: &Path, slots: u64, edition: u64) {
        let mut devices = self.devices();
        devices.ssd = ssd.display().to_string();
        (devices.slots, devices.edition) = (slots, edition);
    }

    /// Whether it is recorded still: a recording has one policy and one cache.
    fn is_recorded(&self) -> bool {
        self.recorded && self.recording_now().is_none_or(|recording| recording.ended.is_none())
    }

    fn recording_now(&self) -> Option<Recording> {
        let recording = self.recording.as_ref()?;
        Some(recording.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Devices may be changed as long as this is held, if nobody else does.
    pub(super) fn change(&self) -> Result<MutexGuard<'_, ()>, ChangeError> {
        if self.is_recorded() {
            return Err(ChangeError::Recorded);
        }
        match self.changing.try_lock() {
            Ok(held) => Ok(held),
            Err(TryLockError::Poisoned(held)) => Ok(held.into_inner()),
            Err(TryLockError::WouldBlock) => Err(ChangeError::Busy),
        }
    }

    /// What is measured. A store that does not answer is told of, as it was.
    pub(super) fn measures(&self) -> Measures {
        self.measures_of(&self.handle.asked_for_measures(), Instant::now() + PATIENCE)
    }

    /// The same, where the store was asked before and may answer until `end`.
    pub(super) fn measures_of(
        &self,
        answer: &Receiver<(engine::Status, DevicesNow)>,
        end: Instant,
    ) -> Measures {
        let left = end.saturating_duration_since(Instant::now());
        let said = answer.recv_timeout(left).ok();
        let zoned = self.watch.as_ref().and_then(Watch::status);
        let Status { export, uuid, disk, .. } = self.unchanging().clone();
        let Devices { ssd, slots, .. } = self.devices().clone();
        let Settings { policy, mode, .. } = self.settings();
        let connections = self.server.connections_of(&export) as u64;
        let up = said.is_some();
        let (totals, now) = self.counters.told(said.as_ref(), zoned.as_ref(), slots);
        let (now, mode) = (Now { connections, ..now }, mode.name().to_owned());
        let ssd_place = control::place(Path::new(&ssd)).display().to_string();
        Measures { export, uuid, ssd, disk, ssd_place, policy, mode, up, totals, now, zoned }
    }

    /// What it waits for, of a cache that is about to end.
    pub(super) fn waits_for(&self) -> String {
        let first = match self.ending.load(Ordering::Relaxed) {
            false => "requests of clients, which are cut off after 30 s",
            true => "I/O that is under way",
        };
        let under_way = match self.handle.asked_for_measures().recv_timeout(PATIENCE) {
            Ok((_, devices)) => under_way(devices.now),
            Err(RecvTimeoutError::Timeout) => "its store does not answer".to_owned(),
            // (Its fingerprint is taken.)
            Err(RecvTimeoutError::Disconnected) => "the disk is read a last time".to_owned(),
        };
        format!(
            "it is ending, and waits for {first} ({under_way}); if that takes long a device hangs: see dmesg"
        )
    }

    /// What nobody finds any more after the end, as a file was deleted that is used. A store that hangs may be ended.
    fn goes_with_the_end(&self, detach: bool) -> Option<String> {
        let devices = self.handle.devices_within(PATIENCE)?;
        if devices.disk_is_deleted {
            return Some(deleted(
                self.disk(),
                "all that it holds goes with the end of the server; copy what is served first, as with nbdcopy, and end the \
                 server with a signal",
            ));
        }
        let dirty = devices.dirty_blocks;
        (!detach && dirty > 0 && devices.ssd_is_deleted).then(|| {
            let what = format!(
                "what is dirty on it goes with the end of the server (blocks: {dirty}); `shingle store flush` writes them to \
                 the disk, `shingle store replace` takes another SSD"
            );
            deleted(self.ssd().display(), &what)
        })
    }

    /// Nobody has to ask for counters that are to go on.
    pub(super) fn save_counters(&self) {
        if self.counters.are_kept() {
            let _ = self.measures();
        }
    }

    /// How things are. Nobody waits for a store that hangs: each who asked would have a thread and a connection.
    pub(super) fn status(&self) -> Result<Status, &'static str> {
        let said = self.handle.asked_for_status().recv_timeout(PATIENCE);
        let said = said.map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                "its store does not answer: a device hangs, or this is a bug"
            }
            RecvTimeoutError::Disconnected => "the store has ended",
        })?;
        let mut status = self.unchanging().clone();
        status.addresses.extend(self.server.addresses().iter().map(ToString::to_string));
        status.connections = self.server.connections_of(&status.export) as u64;
        let Devices { ssd, edition, slots, .. } = self.devices().clone();
        (status.ssd, status.edition, status.slots) = (ssd, edition, slots);
        status.disk_bytes = self.handle.disk_bytes();
        status.zoned = self.watch.as_ref().and_then(Watch::status);
        status.recording = self.recording_now();
        status.put_settings(&self.settings());
        status.put_engine(&said, &self.handle.last_errors());
        Ok(status)
    }

    /// All of it counts at once, and at the next start.
    fn set(&self, what: &[String]) -> Result<(), SettingsError> {
        let mut held = self.hold_settings();
        let mut settings = held.clone();
        what.iter().try_for_each(|text| settings.set(text))?;
        let (slots, disk_blocks) = (self.slots(), self.disk_blocks());
        let cache = settings.cache(&self.registry, slots as u32, disk_blocks)?;
        if self.watch.is_some() {
            settings.check_without_bands()?;
        }
        let limits = settings.limits(&self.registry)?;
        let tells_trims = settings.tells_trims(&self.registry, self.frees_trimmed)?;
        let text = settings.to_text()?;
        if settings.decides_otherwise_than(&held) {
            if self.is_recorded() {
                return Err(SettingsError::recorded());
            }
            self.handle.set_cache(cache);
        }
        self.handle.set_limits(limits);
        self.handle.set_tells_trims(tells_trims);
        self.handle.set_settings(text);
        self.handle.set_mode(settings.mode);
        *held = settings;
        Ok(())
    }

    /// Waits until the SSD has what was set. (One that enters gets it then.)
    fn keep_settings(&self) -> Result<(), &'static str> {
        let begun = Instant::now();
        loop {
            let status = self.handle.status_within(PATIENCE).ok_or(NOT_KEPT)?;
            if status.ssd != SsdState::In {
                return Ok(());
            }
            if status.errors.ssd_failed || begun.elapsed() > PATIENCE_WITH_SSD {
                return Err(NOT_KEPT);
            }
            if status.journal.has_settings {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// An SSD with much to do takes a superblock within this time. (Whoever asks waits a little longer for an answer.)
const PATIENCE_WITH_SSD: Duration = Duration::from_secs(6);

/// What whoever sets something is told of an SSD that fails or hangs.
const NOT_KEPT: &str = "it counts from now on, but the SSD has not taken it: the next start may not know it; see \
                        `shingle store status`, and set it again";

/// What SSD and disk are doing.
fn under_way([ssd, disk]: [IosNow; 2]) -> String {
    let of = |(name, ios): (&str, IosNow)| {
        let seconds = ios.oldest_ns / 1_000_000_000;
        let count = ios.under_way;
        (count > 0).then(|| format!("{name}: {count}, the oldest for {seconds} s"))
    };
    let all: Vec<String> = [("SSD", ssd), ("disk", disk)].into_iter().filter_map(of).collect();
    if all.is_empty() { "none of its devices is busy".to_owned() } else { all.join("; ") }
}

impl From<Told> for Answer {
    fn from(told: Told) -> Answer {
        match told {
            Told::Dirty(blocks) => Answer::DirtyBlocks(blocks),
            Told::Stuck(why) => Answer::Stuck(why),
        }
    }
}

fn said(outcome: Result<Option<String>, ChangeError>) -> Answer {
    match outcome {
        Ok(None) => Answer::Done(()),
        Ok(Some(text)) => Answer::Said(text),
        Err(error) => Answer::Failed(error.to_string()),
    }
}

/// What an operator is told of it.
pub(super) fn done(outcome: Result<(), impl Display>) -> Answer {
    match outcome {
        Ok(()) => Answer::Done(()),
        Err(error) => Answer::Failed(error.to_string()),
    }
}
