//! Runs every cell: each workload is made once a mode, and all systems run over it side by side.

use shingle_core::registry::Registry;
use shingle_core::units::BLOCK_BYTES;
use shingle_result::{ByCause, RunResult, verdict};
use shingle_sim::bound::{Accesses, Prices, Room};
use shingle_sim::experiment::{self, Assignment, Job, Options, Trace};
use shingle_trace::{Mode, OpenOptions, Shape, Summary};

use super::{
    Cell, DISKS, Disk, Kind, LOG_BLOCKS_PER_EXTENT, Measured, Own, Role, SCHEMA, SYSTEMS, System,
    WORKLOADS, goals,
};
use crate::runner::PaperError;

/// Caches, of the different blocks accessed.
const CACHES: [&str; 2] = ["1%", "5%"];
/// Requests of a made workload that are run at scale 1.
const REQUESTS: u64 = 500_000;
/// The buffer's map: thousandths of the touched zones, as single blocks (PORE §V-A.3).
const BUFFER_THOUSANDTHS: u64 = 4;

/// What is to be run.
pub struct Order<'a> {
    /// Seeds of made workloads.
    pub seeds: Vec<u64>,
    /// Part of all requests of made workloads.
    pub scale: f64,
    /// Workloads and files beside those of the study; alone, with `alone`.
    pub on: Vec<String>,
    /// Only those.
    pub alone: bool,
    /// Disks by name; empty: all.
    pub disks: Vec<String>,
    /// Policies.
    pub registry: &'a Registry,
}

impl Order<'_> {
    fn requests(&self) -> u64 {
        ((REQUESTS as f64 * self.scale) as u64).max(1_000)
    }

    fn workloads(&self) -> Vec<(String, Role)> {
        let own = WORKLOADS.iter().filter(|_| !self.alone);
        let own = own.map(|workload| (workload.spec.to_owned(), workload.role));
        own.chain(self.on.iter().map(|name| (name.clone(), Role::Given))).collect()
    }

    fn disks(&self) -> impl Iterator<Item = &'static Disk> {
        DISKS
            .iter()
            .filter(|disk| self.disks.is_empty() || self.disks.iter().any(|name| name == disk.name))
    }
}

/// Cells that [`run`] will go through.
#[must_use]
pub fn work(order: &Order) -> u64 {
    (order.workloads().len() * 2 * order.disks().count() * CACHES.len()) as u64
}

/// Runs it. `done` is told of each cell.
///
/// # Errors
/// The first that is met.
pub fn run(order: &Order, done: &dyn Fn(u64)) -> Result<Own, PaperError> {
    let mut cells = Vec::new();
    for (spec, role) in order.workloads() {
        for mode in [Mode::ReadWrite, Mode::Write] {
            let made = spec.starts_with("synth:");
            let seeds = if made { order.seeds.as_slice() } else { &order.seeds[..1] };
            let mut of_workload: Vec<Cell> = Vec::new();
            for &seed in seeds {
                let trace = trace(&spec, made.then(|| order.requests()), seed, mode)?;
                if trace.requests.is_empty() {
                    continue;
                }
                for disk in order.disks() {
                    for cache in CACHES {
                        let place = (&trace, role, mode, disk, cache);
                        let cell = cell(place, seed, order.registry)?;
                        done(if seed == seeds[0] { 1 } else { 0 });
                        let same = |old: &&mut Cell| (old.disk, old.cache) == (disk.name, cache);
                        match of_workload.iter_mut().find(same) {
                            Some(old) => old.add(cell),
                            None => of_workload.push(cell),
                        }
                    }
                }
            }
            cells.append(&mut of_workload);
        }
    }
    let goals = goals(&cells);
    let (seeds, requests) = (order.seeds.clone(), order.requests());
    Ok(Own { schema: SCHEMA, seeds, requests, cells, goals })
}

fn trace(spec: &str, requests: Option<u64>, seed: u64, mode: Mode) -> Result<Trace, PaperError> {
    let mut opened = shingle_trace::open(spec, &OpenOptions { seed, ..OpenOptions::default() })?;
    let shape = Shape { mode, requests, ..Shape::default() };
    let requests = shape.read(opened.source.as_mut(), &mut |_| ())?;
    let summary = Summary::of(&requests);
    let format = Some(opened.recognised);
    Ok(Trace { name: opened.name, format, requests, summary })
}

type Place<'a> = (&'a Trace, Role, Mode, &'static Disk, &'static str);

fn cell(place: Place, seed: u64, registry: &Registry) -> Result<Cell, PaperError> {
    let (trace, role, mode, disk, cache) = place;
    let systems = || SYSTEMS.iter().filter(|system| disk.bands || !needs_bands(system));
    let (mut asked, mut jobs) = (Vec::new(), Vec::new());
    for system in systems() {
        for &batch in system.batches {
            let options = options(place, system, batch, seed);
            let (mut planned, _) = experiment::plan(&options, registry, trace)?;
            asked.push((system, batch));
            jobs.push(planned.remove(0));
        }
    }
    let blocks = |job: &Job| (u64::from(job.cache_blocks()), job.labels().pb_blocks.unwrap_or(0));
    let (cache_blocks, buffer_blocks) = blocks(&jobs[0]);
    let runs = experiment::run_all(&jobs, trace, &|_| ())?;
    let published =
        asked.iter().zip(&runs).filter(|((system, _), _)| system.kind == Kind::Published);
    let least = least_seconds(&jobs[0], trace, disk, published.map(|(_, run)| run))?;
    let mut measured: Vec<Measured> = Vec::new();
    for ((system, batch), run) in asked.into_iter().zip(&runs) {
        let one = Measured::of(system, batch, run);
        match measured.last_mut().filter(|last| last.system == system.label) {
            Some(last) if one.seconds[0] < last.seconds[0] => *last = one,
            Some(_) => {}
            None => measured.push(one),
        }
    }
    Ok(Cell {
        workload: trace.name.clone(),
        role,
        disk: disk.name,
        mode: mode.name(),
        cache,
        cache_blocks,
        buffer_blocks,
        too_little: too_little(&runs),
        least_seconds: vec![least],
        systems: measured,
    })
}

/// The bound on done + left, with rewrites and reads that take what they took the fastest of `runs`; 0 if nothing
/// was rewritten.
fn least_seconds<'a>(
    job: &Job,
    trace: &Trace,
    disk: &Disk,
    runs: impl Iterator<Item = &'a RunResult>,
) -> Result<f64, PaperError> {
    let made = job.disk()?;
    let description = made.drive().description();
    let prices = Prices::of_fastest(runs, description, disk.bands);
    let (Some(bands), Some(prices)) = (&description.bands, prices) else { return Ok(0.0) };
    let room = Room::of(description, job.cache_blocks().into());
    Ok(Accesses::new(&trace.requests, bands, room.run_max).bound(&room, &prices).cost)
}

/// Whether a system is of use only where bands are known and written whole.
fn needs_bands(system: &System) -> bool {
    system.kind == Kind::Widened || system.label.ends_with("whole bands")
}

fn options(place: Place, system: &System, batch: &str, seed: u64) -> Options {
    let (trace, _, mode, disk, cache) = place;
    let touched = trace.summary.accessed_zone_bytes() / BLOCK_BYTES;
    let entries = (touched * BUFFER_THOUSANDTHS / 1000).max(64);
    let set = |key: &str, value: &str| Assignment::new(key, value).expect("of the study");
    let own = system.sets.iter().map(|(key, value)| set(key, value));
    // (A system may set its batch.)
    let mut sets = vec![set("cache.batch", batch)];
    sets.extend(own);
    // LRU has no zones, and LRU-band takes the bands anyway.
    let zoned = !["lru", "lru-band"].contains(&system.policy);
    if disk.bands && zoned {
        sets.push(set(&format!("{}.zone", system.policy), "bands"));
    }
    if disk.extents {
        sets.push(set("drive.extents", &entries.to_string()));
        sets.push(set("drive.pb", &format!("{}b", entries * LOG_BLOCKS_PER_EXTENT)));
    }
    Options {
        seed,
        policies: vec![system.policy.to_owned()],
        drives: vec![disk.drive.to_owned()],
        caches: vec![cache.to_owned()],
        sets: sets.into_iter().collect(),
        mode,
        ..Options::default()
    }
}

/// Cells with fewer rewrites than this under each policy say little.
const REWRITES_MIN: u64 = 30;

fn too_little(runs: &[RunResult]) -> bool {
    runs.iter().all(|run| verdict::rewrites(run).iter().sum::<u64>() < REWRITES_MIN)
        || verdict::none_filled(&runs.iter().collect::<Vec<_>>())
}

fn done_and_left_by_cause(run: &RunResult) -> ByCause {
    let (done, left) = (&run.all.seconds.by_cause, &run.left.by_cause);
    ByCause {
        ssd: done.ssd + left.ssd,
        read: done.read + left.read,
        log: done.log + left.log,
        write: done.write + left.write,
        clean: done.clean + left.clean,
        idle_clean: done.idle_clean,
    }
}

impl Measured {
    fn of(system: &System, batch: &'static str, run: &RunResult) -> Measured {
        let [disk, host] = verdict::rewrites(run);
        Measured {
            system: system.label,
            kind: system.kind,
            batch,
            seconds: vec![verdict::done_and_left(run)],
            by_cause: vec![done_and_left_by_cause(run)],
            disk_rewrites: vec![disk],
            host_rewrites: vec![host],
            p99_us: vec![run.latency.p99_us],
            p999_us: vec![run.latency.p999_us],
        }
    }
}

impl Cell {
    /// The same with another seed.
    fn add(&mut self, other: Cell) {
        self.too_little |= other.too_little;
        self.least_seconds.extend(other.least_seconds);
        for (mine, one) in self.systems.iter_mut().zip(other.systems) {
            mine.seconds.extend(one.seconds);
            mine.by_cause.extend(one.by_cause);
            mine.disk_rewrites.extend(one.disk_rewrites);
            mine.host_rewrites.extend(one.host_rewrites);
            mine.p99_us.extend(one.p99_us);
            mine.p999_us.extend(one.p999_us);
        }
    }
}
