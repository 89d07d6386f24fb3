//! The store in virtual time: the same engine that serves real disks, with its journal, group
//! commits, room ahead and idle work, over models of an SSD and a disk.
//!
//! It includes what a [`System`](crate::system::System) leaves out because the papers do. It is
//! slower, and supports only what a store supports: a disk that is written anywhere, and policies
//! that know only what a host can know.

mod agenda;
mod client;
mod stamps;
mod world;

pub use client::must_be_alone;

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
use shingle_result::{HostCounters, HostMeter, Labels, RunResult, Wall};

use crate::device::Device;
use crate::disk::Disk;
use crate::requests::RequestList;
use crate::run::{RunError, RunOptions, guarded_run};
use crate::watch::Log;
use client::Client;
use world::World;

/// Configuration of a store and its client, in addition to that of any run.
#[derive(Clone, Debug)]
pub struct ServingOptions {
    /// Mode, room ahead, idle time, and so on.
    pub config: Config,
    /// Closed loop: requests in flight at a time.
    pub depth: usize,
    /// Closed loop: CPU time of a request in client and store. It is the least time between two
    /// requests.
    pub request_time: Nanos,
    /// Interval of flushes by the client, besides those of the trace; never, if `None`.
    pub flush_every: Option<Nanos>,
    /// Keep data stamps and check every read.
    pub check: bool,
}

/// The devices of a simulated store.
pub struct Devices {
    /// The device of the cache.
    pub ssd: Box<dyn Drive>,
    /// The disk behind it.
    pub disk: Disk,
    /// Receives each command of the disk.
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

/// Creates an engine over a new cache with the slots of `cache`, for a disk of `disk_blocks`
/// blocks.
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
    // Both copies of the superblock are written before anything is counted.
    let _ = found.journal.mark_in_use();
    Engine::open(found, cache, disk_blocks, config)
}

/// Serves `requests` with a store over `cache`. `progress` gets the number of requests served since
/// its last call.
///
/// # Errors
/// If a checked read was stale, or something panicked: policies may come from anywhere.
///
/// # Panics
/// If `cache` needs to know the future, which a store cannot.
pub fn run(
    cache: Box<dyn CacheCore>,
    devices: Devices,
    serving: &ServingOptions,
    requests: &(impl RequestList + ?Sized),
    labels: &Labels,
    run_options: &RunOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<RunResult, RunError> {
    guarded_run(labels, |served| {
        let begun = Instant::now();
        let memory = cache.memory();
        let world = start(cache, devices, serving);
        // The cost of the start does not count for the trace.
        let started = world.snapshot(&HostCounters::default());
        let mut client = Client::new(world, serving, run_options, requests.len());
        client.serve(requests, progress, served)?;
        let result = client.end(&started, RunResult::without_counts(labels, memory));
        let wall = Wall::new(begun.elapsed().as_secs_f64(), &result.all);
        Ok(RunResult { wall, ..result })
    })
}

/// Starts a store over new devices.
fn start(cache: Box<dyn CacheCore>, devices: Devices, serving: &ServingOptions) -> World {
    let disk_blocks = devices.disk.drive().description().disk_blocks;
    let cache = Box::new(Observed::new(cache, HostMeter::default()));
    let engine = open(cache, disk_blocks, serving.config.clone());
    let engine = engine.expect("what the store refuses was refused before");
    let (ssd, mut disk) = (Device::new(devices.ssd, true), Device::new(devices.disk, false));
    if let Some(log) = devices.log {
        disk.watch().log = Some(log);
    }
    World::new(engine, ssd, disk, serving.check)
}
