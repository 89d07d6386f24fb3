//! The state of a served cache, shared by the threads that serve it, inspect it or change it.

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shingle_core::registry::Registry;
use shingle_core::service::Mode;
use shingle_device::{Fingerprint, start_thread};
use shingle_engine as engine;
use shingle_engine::settings::Settings;
use shingle_nbd::server::Server;
use uuid::Uuid;

use super::control;
use super::counters::Counters;
use super::missing::Missing;
use super::notice::{Notice, TellNotice};
use super::status::{Recording, Status};
use crate::backend::{Asked, Asking, Handle, Watch};
use crate::measures::{DevicesNow, IosNow, Measures, Misplaced, Now};

/// How long to wait for an answer of a store: it answers at once, unless it hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// The end of a cache takes longer than this only if a device does.
pub(super) const LATE: Duration = Duration::from_secs(10);

/// A device with older I/O than this hangs.
const HANGS: Duration = Duration::from_secs(30);

/// A served cache.
///
/// # Locks
///
/// The order is `changing`, `settings`, and then one of the others. `changing` is held while devices
/// do I/O, and only ever tried; `settings` while the thread of the store answers, which takes none
/// of them. The others are held for moments, and around no call.
pub(super) struct Shared {
    pub(super) handle: Handle,
    pub(super) server: Arc<Server>,
    pub(super) settings: Mutex<Settings>,
    pub(super) registry: Registry,
    /// Whether its decisions are recorded.
    pub(super) recorded: bool,
    /// The state of the recording, if it may end before the store.
    pub(super) recording: Option<Arc<Mutex<Recording>>>,
    /// The status of the disk, if it is a zoned one.
    pub(super) watch: Option<Watch>,
    /// The devices whose names do not lead to them any more.
    pub(super) misplaced: Asking<Vec<Misplaced>>,
    /// What the log has told of the devices.
    pub(super) told: Mutex<Told>,
    /// Whether trims are passed on to the disk by default.
    pub(super) frees_trimmed: bool,
    /// The part of the status that changes only with a reload.
    pub(super) fixed: Arc<Mutex<Status>>,
    pub(super) counters: Counters,
    /// Other exports of the process, which are not served.
    pub(super) not_served: Missing,
    pub(super) uuid: Uuid,
    pub(super) devices: Mutex<Devices>,
    /// The fingerprint for the superblock while the disk is in use.
    pub(super) fingerprint_in_use: Fingerprint,
    /// Held while devices are changed.
    pub(super) changing: Mutex<()>,
    /// The number of operators that detach the cache: meanwhile nothing becomes dirty, whatever
    /// mode is set.
    pub(super) detaching: AtomicU32,
    /// Set when nothing may be changed any more.
    pub(super) ending: AtomicBool,
    /// Receives the changes made by operators.
    pub(super) tell: TellNotice,
}

/// What is told once, when it begins.
#[derive(Default)]
pub(super) struct Told {
    misplaced: Vec<Misplaced>,
    writes_refused: bool,
}

impl Told {
    /// What has begun since the last call.
    fn begins(&mut self, measures: &Measures) -> Vec<String> {
        let before = mem::replace(&mut self.misplaced, measures.misplaced.clone());
        let misplaced = measures.misplaced.iter().filter(|one| !before.contains(one));
        let mut new: Vec<_> = misplaced.map(ToString::to_string).collect();
        let refused = measures.writes_refused();
        if !mem::replace(&mut self.writes_refused, refused.is_some()) {
            new.extend(refused);
        }
        new
    }
}

/// The devices in use.
#[derive(Clone, Debug)]
pub(super) struct Devices {
    pub(super) ssd: String,
    /// Its absolute path, which is resolved once, as a folder may hang later.
    pub(super) ssd_place: String,
    pub(super) edition: u64,
    pub(super) slots: u64,
    pub(super) disk_blocks: u64,
}

impl Shared {
    pub(super) fn settings(&self) -> Settings {
        self.hold_settings().clone()
    }

    fn fixed_status(&self) -> MutexGuard<'_, Status> {
        self.fixed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of the export.
    pub(super) fn export(&self) -> String {
        self.fixed_status().export.clone()
    }

    /// The path of the disk.
    pub(super) fn disk(&self) -> String {
        self.fixed_status().disk.clone()
    }

    pub(super) fn ssd(&self) -> PathBuf {
        self.devices().ssd.clone().into()
    }

    /// Changes the name of the export.
    pub(super) fn rename(&self, export: &str) {
        export.clone_into(&mut self.fixed_status().export);
    }

    /// Locks the settings.
    pub(super) fn hold_settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies the mode of the settings, or that of a cache that is being detached.
    pub(super) fn use_mode(&self, settings: &Settings) {
        let set_detaching = self.detaching.load(Ordering::Relaxed) > 0;
        self.handle.set_mode(if set_detaching { Mode::PassThrough } else { settings.mode });
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

    /// Notes that another SSD is in use.
    pub(super) fn exchanged(&self, ssd: &Path, slots: u64, edition: u64) {
        let ssd_place = control::place(ssd).display().to_string();
        let mut devices = self.devices();
        (devices.ssd, devices.ssd_place) = (ssd.display().to_string(), ssd_place);
        (devices.slots, devices.edition) = (slots, edition);
    }

    /// Whether it is still recorded: a recording has one policy and one cache.
    pub(super) fn is_recorded(&self) -> bool {
        self.recorded && self.recording_now().is_none_or(|recording| recording.ended.is_none())
    }

    fn recording_now(&self) -> Option<Recording> {
        let recording = self.recording.as_ref()?;
        Some(recording.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Asks for the measurements: whoever wants those of many caches asks all before it waits for one.
    pub(super) fn ask(&self) -> AskedOf<'_> {
        AskedOf {
            shared: self,
            until: Instant::now() + PATIENCE,
            store: self.handle.begin_measures(),
            zoned: self.watch.as_ref().map(|watch| (watch, watch.ask())),
            misplaced: self.misplaced.ask(),
        }
    }

    /// The measurements. If the store does not answer, the last known ones.
    pub(super) fn measures(&self) -> Measures {
        self.ask().measures()
    }

    /// What the end of the cache waits for.
    pub(super) fn waits_for(&self) -> String {
        let first = match self.ending.load(Ordering::Relaxed) {
            false => "requests of clients, which are cut off after 30 s",
            true => "I/O that is under way",
        };
        let under_way = match self.handle.begin_measures().recv_timeout(PATIENCE) {
            Ok((_, devices)) => under_way(devices.now),
            Err(RecvTimeoutError::Timeout) => "its store does not answer".to_owned(),
            // Its fingerprint is being read.
            Err(RecvTimeoutError::Disconnected) => "the disk is read a last time".to_owned(),
        };
        format!(
            "it is ending, and waits for {first} ({under_way}); if that takes long a device hangs: see dmesg"
        )
    }

    /// Reports devices that hang, without a request; and, when it begins, that the name of one does not lead to it any more,
    /// or that a zoned disk refuses writes. At the end of a cache the waiting thread does that instead.
    pub(super) fn report_devices(&self, measures: &Measures) {
        let hangs = hangs(measures.now.ios).filter(|_| measures.up);
        if let Some(text) = hangs.filter(|_| !self.ending.load(Ordering::Relaxed)) {
            (self.tell)(Notice::Remark(self.export(), text));
        }
        let new = self.told.lock().unwrap_or_else(PoisonError::into_inner).begins(measures);
        for text in new {
            (self.tell)(Notice::Remark(self.export(), text));
        }
    }

    /// Saves the counters, if they are kept, without a request.
    pub(super) fn save_counters(&self) {
        if self.counters.are_kept() {
            // The report itself is not needed: making it saves them.
            let _ = self.measures();
        }
    }

    /// The status. Does not wait for a store that hangs: each request would hold a thread and a
    /// connection.
    pub(super) fn status(&self) -> Result<Status, &'static str> {
        let said = self.handle.begin_measures().recv_timeout(PATIENCE);
        let (said, devices) = said.map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                "its store does not answer: a device hangs, or this is a bug"
            }
            RecvTimeoutError::Disconnected => "the store has ended",
        })?;
        let mut status = self.fixed_status().clone();
        status.addresses.extend(self.server.addresses().iter().map(ToString::to_string));
        status.connections = self.server.connections_of(&status.export) as u64;
        let Devices { ssd, edition, slots, .. } = self.devices().clone();
        (status.ssd, status.edition, status.slots) = (ssd, edition, slots);
        status.disk_bytes = self.handle.disk_bytes();
        status.zoned = self.watch.as_ref().and_then(Watch::status);
        status.misplaced = self.misplaced.answer().unwrap_or_default();
        status.recording = self.recording_now();
        status.put_settings(&self.settings());
        status.put_engine(&said, &self.handle.last_errors());
        status.put_devices(devices.now);
        Ok(status)
    }
}

/// The measurements of a cache that were asked for.
pub(super) struct AskedOf<'a> {
    shared: &'a Shared,
    /// Until when the store may answer.
    until: Instant,
    store: Receiver<(engine::Status, DevicesNow)>,
    zoned: Option<(&'a Watch, Asked<shingle_translated::Status>)>,
    misplaced: Asked<Vec<Misplaced>>,
}

impl AskedOf<'_> {
    /// The measurements. If the store does not answer, the last known ones.
    pub(super) fn measures(self) -> Measures {
        let AskedOf { shared, until, store, zoned, misplaced } = self;
        let said = store.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
        let zoned = zoned.and_then(|(watch, asked)| watch.answer(asked));
        let Status { export, uuid, disk, .. } = shared.fixed_status().clone();
        let Devices { ssd, ssd_place, slots, .. } = shared.devices().clone();
        let Settings { policy, mode, .. } = shared.settings();
        let connections = shared.server.connections_of(&export) as u64;
        let up = said.is_some();
        let (totals, now) = shared.counters.report(said.as_ref(), zoned.as_ref(), slots);
        let (now, mode) = (Now { connections, ..now }, mode.name().to_owned());
        let misplaced = misplaced.answer().unwrap_or_default();
        let not_served = shared.not_served.all();
        Measures {
            export,
            uuid,
            ssd,
            disk,
            ssd_place,
            policy,
            mode,
            misplaced,
            not_served,
            up,
            totals,
            now,
            zoned,
        }
    }
}

/// Runs `ask`, which asks devices something, in a thread. `None` if that takes longer than `patience`: with a device that hangs the
/// thread stays.
pub(super) fn within<T: Send + 'static>(
    patience: Duration,
    ask: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (to, answer) = sync_channel(1);
    // (The receiver may have given up.)
    start_thread("shingle-asking", move || drop(to.send(ask()))).ok()?;
    answer.recv_timeout(patience).ok()
}

/// The report on a device that does not answer.
fn hangs(devices: [IosNow; 2]) -> Option<String> {
    let oldest = devices.iter().map(|ios| ios.oldest_ns).max().unwrap_or(0);
    (u128::from(oldest) > HANGS.as_nanos()).then(|| {
        format!(
            "I/O has been under way for long ({}): a device hangs, see dmesg",
            under_way(devices)
        )
    })
}

/// The I/O in flight of SSD and disk.
fn under_way([ssd, disk]: [IosNow; 2]) -> String {
    let of = |(name, ios): (&str, IosNow)| {
        let seconds = ios.oldest_ns / 1_000_000_000;
        let count = ios.under_way;
        (count > 0).then(|| format!("{name}: {count}, the oldest for {seconds} s"))
    };
    let all: Vec<String> = [("SSD", ssd), ("disk", disk)].into_iter().filter_map(of).collect();
    if all.is_empty() { "none of its devices is busy".to_owned() } else { all.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_refuses_writes_is_told_of_once_each_time() {
        let measures = |why: Option<&str>| {
            let writes_refused = why.map(str::to_owned);
            let zoned = shingle_translated::Status { writes_refused, ..Default::default() };
            Measures { zoned: Some(zoned), ..Measures::default() }
        };
        let mut told = Told::default();
        for _ in 0..2 {
            assert_eq!(told.begins(&Measures::default()), [""; 0], "no zoned disk");
            assert_eq!(told.begins(&measures(None)), [""; 0]);
            let full = "writes to the disk are refused: the map has 9 runs";
            assert_eq!(told.begins(&measures(Some("the map has 9 runs"))), [full]);
            assert_eq!(told.begins(&measures(Some("the map has 8 runs"))), [""; 0], "told");
        }
    }

    #[test]
    fn a_device_that_hangs_is_told_from_busy_ones() {
        let ios =
            |under_way, seconds: u64| IosNow { under_way, oldest_ns: seconds * 1_000_000_000 };
        assert_eq!(hangs([ios(0, 0), ios(0, 0)]), None);
        assert_eq!(hangs([ios(100, 2), ios(4, 30)]), None, "busy");
        let text = hangs([ios(0, 0), ios(4, 41)]).expect("the disk hangs");
        assert!(text.contains("(disk: 4, the oldest for 41 s)"), "{text}");
        assert!(hangs([ios(1, 600), ios(0, 0)]).is_some(), "the SSD hangs");
    }
}
