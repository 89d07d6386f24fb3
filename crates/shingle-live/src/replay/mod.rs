//! Replays a trace through a running store, on real files or devices, and measures it.

mod client;
mod stamps;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shingle_core::observer::Shared;
use shingle_core::policy::Memory;
use shingle_core::registry::Registry;
use shingle_core::units::{BLOCK_BYTES, Block, Request};
use shingle_device::{DeviceError, Medium};
use shingle_drive::BufferState;
use shingle_engine::settings::SettingsError;
use shingle_engine::{Config, Errno};
use shingle_result::{Labels, Meter, Parts, RealRun, RunResult};
use shingle_store::backend::{Handle, Ready, StartOptions, StoreError, Tell, open_disk};
use shingle_store::store::drain::drain;
use shingle_trace::TraceError;
use shingle_trace::record::{About, Recording};
use thiserror::Error;

use crate::emulate::{Emulation, EmulationState};
use client::{Client, Pace};
pub use stamps::StampError;
use stamps::Stamps;

/// The reason why a replay has no result.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum ReplayError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Recording(#[from] TraceError),
    #[error(transparent)]
    Stamp(#[from] StampError),
    #[error("{}: {error}", path.display())]
    OnDisk { path: PathBuf, error: StampError },
    #[error("block {block} cannot be read: error {}", errno.0)]
    Unread { block: u64, errno: Errno },
    /// The system failed, or the store did at its end.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// The configuration of a replay.
pub struct Replay<'a> {
    /// Device or file of a cache, which is served during the replay with the settings that it was made with.
    pub ssd: &'a Path,
    /// Its disk.
    pub disk: &'a Path,
    /// The available policies.
    pub registry: &'a Registry,
    /// Labels of the result.
    pub labels: &'a Labels,
    /// A drive that is emulated on the disk.
    pub emulation: Option<Emulation>,
    /// Requests in flight, in closed loop.
    pub depth: usize,
    /// Open loop at the times of the trace, at this many thousandths of its speed; `None` for
    /// closed loop.
    pub speed_thousandths: Option<u64>,
    /// Checks the data of every read, and at the end all written data.
    pub verify: bool,
    /// Destages everything at the end, and counts that.
    pub drain: bool,
    /// Path of a recording of requests and decisions.
    pub record: Option<&'a str>,
    /// Number of parts in the course of the run; 0 for none.
    pub parts: u32,
    /// Receives lines about failed I/O.
    pub tell: Option<Tell>,
}

/// The outcome of a replay.
#[derive(Debug)]
pub struct Replayed {
    /// The result of the run.
    pub result: RunResult,
    /// Remarks on the recording.
    pub notes: Vec<String>,
}

impl Replay<'_> {
    /// Serves `requests` with the store. `progress` gets the number of requests since its last
    /// call.
    ///
    /// # Errors
    /// If the store or a device fails, or a read returns wrong data.
    pub fn run(
        mut self,
        requests: &[Request],
        progress: &dyn Fn(u64),
    ) -> Result<Replayed, ReplayError> {
        let (ready, made) = Ready::open_with_cache(self.ssd, self.disk, self.registry)?;
        let slots = ready.superblock().layout.slots;
        let disk_blocks = ready.disk().blocks();
        let (settings, cache) = made?;
        let (medium, emulated) = self.emulate(&ready)?.unzip();
        let meter = match &emulated {
            Some(state) => Meter::of_model(state.counters.clone()),
            None => Meter::default(),
        };
        let meter = Arc::new(Mutex::new(meter));
        let about = About { slots: slots as u32, disk_blocks, settings: settings.to_text()? };
        let recording = self.record.map(|path| Recording::begin(path, &about)).transpose()?;
        let (recorder, recording) = recording.unzip();
        let memory: Memory = cache.memory();
        let config = Config::new(settings.mode, slots);
        let observer = Some(Shared::new((meter.clone(), recorder)));
        let tell = self.tell.take();
        let options = StartOptions { observer, medium, tell, ..StartOptions::default() };
        let store = ready.start_with(cache, config, options)?;

        let is_emulated = emulated.is_some();
        let gauge = Gauge { handle: store.handle().clone(), meter, emulated };
        let (depth, pace) = match self.speed_thousandths {
            None => (Some(self.depth as u64), Pace::Closed(self.depth)),
            Some(speed) => (None, Pace::Open(speed)),
        };
        let parts = Parts::new(requests.len(), self.parts);
        let mut client = Client::new(&gauge.handle, self.verify);
        let mut part_ends = |requests: usize, at: Duration| gauge.end_part(requests, at);
        let took = client.serve(requests, pace, parts, &mut part_ends, progress)?;
        let (dirty_blocks, buffer) = gauge.left();
        let begun = Instant::now();
        if self.drain {
            gauge.lock().drain_begins();
            drain(&gauge.handle, &mut |_| Ok(()))?;
        }
        let labels = Labels { cache_blocks: slots, ..self.labels.clone() };
        let result = |client: &Client<'_>, drained: Option<Duration>| {
            gauge.lock().result(&RealRun {
                labels: &labels,
                memory,
                depth,
                times: &client.times,
                seconds: (took + drained.unwrap_or_default()).as_secs_f64(),
                dirty_blocks,
                buffered: (buffer.blocks, buffer.bands),
                drained_seconds: drained.map(|drained| drained.as_secs_f64()),
            })
        };
        // The end of the store counts only if everything is destaged.
        let without_end = (!self.drain).then(|| result(&client, None));
        store.shut_down()?;
        if is_emulated {
            self.cut_off_emulation(disk_blocks)?;
        }
        let notes = recording.map(Recording::finish).transpose()?.unwrap_or_default();
        let counted = without_end.unwrap_or_else(|| result(&client, Some(begun.elapsed())));
        let checked_reads = self.check(client.stamps)?;
        Ok(Replayed { result: RunResult { checked_reads, ..counted }, notes })
    }

    /// Prepares the emulation of a drive, if there is one.
    fn emulate(&mut self, ready: &Ready) -> io::Result<Option<EmulatedDisk>> {
        let Some(emulation) = self.emulation.take() else { return Ok(None) };
        let state = EmulationState::default();
        let medium = emulation.on(ready.direct_disk()?, state.clone());
        Ok(Some((Box::new(medium), state)))
    }

    /// Cuts the scratch area and the buffer of the emulated drive off a file.
    fn cut_off_emulation(&self, disk_blocks: u64) -> io::Result<()> {
        if !self.disk.metadata().is_ok_and(|found| found.is_file()) {
            return Ok(());
        }
        let file = std::fs::OpenOptions::new().write(true).open(self.disk)?;
        file.set_len(disk_blocks * BLOCK_BYTES)
    }

    /// Checks that all known data is there. Returns how many blocks were checked, with those of reads.
    fn check(&self, stamps: Option<Stamps>) -> Result<Option<u64>, ReplayError> {
        let Some(mut stamps) = stamps else { return Ok(None) };
        match self.drain {
            true => self.check_disk(&mut stamps)?,
            false => self.check_all(&mut stamps)?,
        }
        Ok(Some(stamps.checked))
    }

    /// Restarts the store without a meter, and checks that all known data is there.
    fn check_all(&self, stamps: &mut Stamps) -> Result<(), ReplayError> {
        let (ready, made) = Ready::open_with_cache(self.ssd, self.disk, self.registry)?;
        let (settings, cache) = made?;
        let config = Config::new(settings.mode, ready.superblock().layout.slots);
        let store = ready.start(cache, config)?;
        let outcome = client::check_all(store.handle(), stamps);
        store.shut_down()?;
        outcome
    }

    /// Checks that all known data is on the disk.
    fn check_disk(&self, stamps: &mut Stamps) -> Result<(), ReplayError> {
        let disk = open_disk(self.disk)?;
        let mut page = [[0; BLOCK_BYTES as usize]];
        for block in stamps.blocks() {
            disk.read_blocks(Block(block), &mut page)?;
            stamps.check_block(block, &page[0]).map_err(|error| {
                let path = self.disk.to_owned();
                ReplayError::OnDisk { path, error }
            })?;
        }
        Ok(disk.close()?)
    }
}

/// A disk with an emulated drive, and the state of the drive.
type EmulatedDisk = (Box<dyn Medium>, EmulationState);

/// What is measured of a running store.
struct Gauge {
    handle: Handle,
    meter: Arc<Mutex<Meter>>,
    emulated: Option<EmulationState>,
}

impl Gauge {
    fn lock(&self) -> MutexGuard<'_, Meter> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The dirty blocks, and the buffer of an emulated drive. The store answers only while the
    /// meter is not locked.
    fn left(&self) -> (u64, BufferState) {
        let dirty_blocks = self.handle.status().map_or(0, |status| status.dirty_blocks);
        let buffer = self
            .emulated
            .as_ref()
            .map(|emulated| *emulated.buffer.lock().unwrap_or_else(PoisonError::into_inner));
        (dirty_blocks, buffer.unwrap_or_default())
    }

    fn end_part(&self, requests: usize, at: Duration) {
        let (dirty_blocks, buffer) = self.left();
        self.lock().end_part(requests, at.into(), dirty_blocks, &buffer);
    }
}
