//! The store in virtual time: the very engine that serves real disks, with its journal, its group commits,
//! the room it keeps ahead and its work in idle time, over models of an SSD and a disk.
//!
//! What a [`System`](crate::system::System) leaves out because papers do, this has. It is slower, and it
//! runs only what a store takes: a disk that is written anywhere, and policies that know what a host can
//! know.

mod agenda;
mod client;
mod stamps;
mod world;

pub use client::goes_alone;

use std::cell::Cell;
use std::time::Instant;

use shingle_core::cache::CacheCore;
use shingle_core::observer::Observed;
use shingle_core::units::{BLOCK_BYTES, Nanos};
use shingle_drive::Drive;
use shingle_engine::format::layout::{Copy, Layout};
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::{Pages, recover};
use shingle_engine::{Config, Engine, OpenError};
use shingle_result::{
    Counts, DriveLatency, Flash, HostCounters, HostMeter, Labels, Left, RunResult, Wall,
};

use crate::device::Device;
use crate::disk::Disk;
use crate::requests::RequestList;
use crate::run::{Course, RunError, guarded_run};
use crate::translated::Translated;
use crate::watch::Log;
use client::Client;
use world::World;

/// What a store and its client are told beside what any run is.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Mode, room ahead, idle time and the rest.
    pub config: Config,
    /// Closed loop: requests under way at a time.
    pub depth: usize,
    /// Closed loop: what a request costs client and store themselves, the devices apart. No two come closer
    /// after one another.
    pub request_time: Nanos,
    /// The client flushes as often as this, beside what the trace has; never, if `None`.
    pub flush_every: Option<Nanos>,
    /// Data stamps are kept, and every read is checked.
    pub check: bool,
}

/// The devices of a simulated store.
pub struct Devices {
    /// What the cache is on.
    pub ssd: Box<dyn Drive>,
    /// What it stands before.
    pub disk: Disk,
    /// Is told of each command that the disk gets.
    pub log: Option<Log>,
}

/// A new cache in memory: two superblocks, and zeros.
struct Blank([(u64, Page); 2]);

impl Pages for Blank {
    type Error = std::convert::Infallible;

    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), Self::Error> {
        for (page, at) in out.iter_mut().zip(first..) {
            let written = self.0.iter().find(|(place, _)| *place == at);
            *page = written.map_or([0; PAGE_BYTES], |(_, page)| *page);
        }
        Ok(())
    }
}

/// An engine over a new cache of the slots of `cache`, for a disk of so many blocks.
fn open(
    cache: Box<dyn CacheCore>,
    disk_blocks: u64,
    config: Config,
) -> Result<Engine<stamps::Stamped>, OpenError> {
    let layout = Layout::for_slots(cache.slots().capacity().into());
    let bytes = layout.pages() * PAGE_BYTES as u64;
    let superblock = Superblock::new([0; 16], layout, bytes, disk_blocks * BLOCK_BYTES);
    let page = superblock.encode();
    let mut blank = Blank(Copy::BOTH.map(|copy| (copy.superblock_page(), page)));
    let mut found = recover(&mut blank).expect("a new cache is whole");
    // (Both copies of the superblock are written before anything else: nothing is counted yet.)
    let _ = found.journal.put_into_use();
    Engine::open(found, cache, disk_blocks, config)
}

/// Serves `requests` with a store that `cache` decides for. `progress` is told how many have been served.
///
/// # Errors
/// If a checked read was stale, or something panicked: a policy may be anybody's.
///
/// # Panics
/// If `cache` wants to know the future, which no store can tell it.
pub fn run(
    cache: Box<dyn CacheCore>,
    devices: Devices,
    serving: &Serving,
    requests: &(impl RequestList + ?Sized),
    labels: &Labels,
    course: &Course,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<RunResult, RunError> {
    guarded_run(labels, |served| {
        serve_all(cache, devices, serving, requests, labels, course, progress, served)
    })
}

#[allow(clippy::too_many_arguments)] // those of `run`, and how far it has come
fn serve_all(
    cache: Box<dyn CacheCore>,
    devices: Devices,
    serving: &Serving,
    requests: &(impl RequestList + ?Sized),
    labels: &Labels,
    course: &Course,
    progress: &(dyn Fn(u64) + Sync),
    served: &Cell<usize>,
) -> Result<RunResult, RunError> {
    let begun = Instant::now();
    let memory = cache.memory();
    let disk_blocks = devices.disk.drive().description().disk_blocks;
    let cache = Box::new(Observed::new(cache, HostMeter::default()));
    let engine = open(cache, disk_blocks, serving.config.clone());
    let engine = engine.expect("what the store refuses was refused before");
    let (ssd, mut disk) = (Device::new(devices.ssd, true), Device::new(devices.disk, false));
    if let Some(log) = devices.log {
        disk.watch().log = Some(log);
    }
    let world = World::new(engine, ssd, disk, serving.check);
    // What a start costs is not the trace's affair.
    let start = world.snapshot(&HostCounters::default());

    let mut client = Client::new(world, serving, course, requests.len());
    client.serve(requests, progress, served)?;
    let checked_reads = client.checked_reads();

    let before = client.snapshot();
    let world = &client.world;
    let buffer = world.disk().drive().buffer();
    // What a disk tells beyond what all disks count.
    let told = |disk: &Device| (disk.wear(), disk.disk().translated().map(Translated::translating));
    let told_before = told(world.disk());
    let dirty_blocks = world.engine.dirty_blocks();
    let drive_latency = DriveLatency::of(world.disk().responses());
    let queue = client.queue.as_ref().map(|queue| queue.result(world));
    client.world.drain();
    let after = client.snapshot();
    let (wear, translating) = if course.drain { told(client.world.disk()) } else { told_before };
    let Client { times, points, warm, .. } = client;
    let undone = Left {
        dirty_blocks,
        buffer_blocks: buffer.pending_blocks(),
        buffer_bands: buffer.bands,
        ..Left::doing(&Counts::between(&before, &after))
    };
    let end = if course.drain { after } else { before };
    let (left, drained) =
        if course.drain { (Left::default(), Some(undone)) } else { (undone, None) };
    let all = Counts::between(&start, &end);
    let wall = begun.elapsed().as_secs_f64().max(1e-9);
    let blocks_per_second = (all.accesses.read_blocks + all.accesses.write_blocks) as f64 / wall;
    Ok(RunResult {
        all,
        warm: Counts::between(warm.as_ref().map_or(&end, |(_, before)| before), &end),
        warm_from: warm.as_ref().map(|(request, _)| *request),
        left,
        drained,
        latency: times.latency(),
        read_latency: times.read_latency(),
        drive_latency,
        translation_counters: translating,
        flash: wear.map(|wear| Flash::new(&wear, &end.disk)),
        queue,
        series: points,
        histogram: if course.points > 0 { times.bars() } else { Vec::new() },
        checked_reads,
        wall: Wall { seconds: wall, blocks_per_second },
        ..RunResult::uncounted(labels, memory)
    })
}
