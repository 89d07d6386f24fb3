//! Runs all cells: each workload is made once for each mode, and all systems run over it in
//! parallel.

use std::borrow::Cow;

use shingle_core::registry::Registry;
use shingle_core::units::BLOCK_BYTES;
use shingle_drive::Settings;
use shingle_result::{ByCause, RunResult, verdict};
use shingle_sim::bound::{Accesses, Prices, Room};
use shingle_sim::experiment::{self, Assignment, ExperimentError, Job, Options, Trace};
use shingle_trace::{Choice, Mode, OpenOptions, Shape, Summary};

use super::sensitivity::{AS_IT_IS, CONDITIONS, Condition, Varied};
use super::{
    Cell, DISKS, Disk, Kind, LOG, LOG_BLOCKS_PER_EXTENT, Measured, Own, Role, SCHEMA, SYSTEMS,
    System, WORKLOADS, goals, role,
};
use crate::runner::PaperError;

/// Sizes of the cache, relative to the distinct blocks accessed.
const CACHES: [&str; 2] = ["1%", "5%"];
/// Requests of a made workload at scale 1; below scale 1 recorded workloads are cut in the same
/// way.
const REQUESTS: u64 = 500_000;
/// Entries of the buffer's map, in thousandths of the blocks of the touched zones (PORE §V-A.3).
const BUFFER_THOUSANDTHS: u64 = 4;

/// Blocks of a zone of the host-managed disk: 16 MiB, as the buffers are scaled, too.
const HOST_MANAGED_ZONE_BLOCKS: u64 = 4096;

/// The parameters of a comparison.
pub struct Order<'a> {
    /// Seeds of made workloads.
    pub seeds: Vec<u64>,
    /// Scale of the number of requests; below 1 recorded workloads are cut as well.
    pub scale: f64,
    /// Workloads and files in addition to those of the study; with `alone` only these.
    pub on: Vec<String>,
    /// Leaves out the workloads of the study.
    pub alone: bool,
    /// Names of the disks; empty for all.
    pub disks: Vec<String>,
    /// Format of all files; `None` to detect it.
    pub format: Option<String>,
    /// Volumes to be read from files.
    pub volume: Choice,
    /// Repeats everything under [`CONDITIONS`].
    pub sensitivity: bool,
    /// Computes the lower bounds.
    pub bounds: bool,
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
        own.chain(self.on.iter().map(|name| (name.clone(), role(name)))).collect()
    }

    fn disks(&self) -> impl Iterator<Item = &'static Disk> {
        DISKS
            .iter()
            .filter(|disk| self.disks.is_empty() || self.disks.iter().any(|name| name == disk.name))
    }

    fn varied(&self) -> Vec<(&'static Condition, &'static Disk)> {
        let conditions = CONDITIONS.iter().filter(|_| self.sensitivity);
        let on_disks = conditions.flat_map(|one| self.disks().map(move |disk| (one, disk)));
        on_disks.filter(|(condition, disk)| condition.fits(disk)).collect()
    }

    /// Reads a workload. `None` if only writes are wanted and there are none.
    fn trace(&self, spec: &str, seed: u64, mode: Mode) -> Result<Option<Trace>, PaperError> {
        let made = is_synthetic(spec);
        let (format, volume) = match made {
            true => (None, Choice::default()),
            false => (self.format.clone(), self.volume.clone()),
        };
        let options = OpenOptions { format, volume, seed, ..OpenOptions::default() };
        let mut opened = shingle_trace::open(spec, &options)?;
        let requests = (made || self.scale < 1.0).then(|| self.requests());
        let shape = Shape { mode, requests, ..Shape::default() };
        let requests = match shape.read(opened.source.as_mut(), &mut |_| ()) {
            Err(error) if mode == Mode::Write && error.kind == shingle_trace::Kind::Empty => {
                return Ok(None);
            }
            read => read?,
        };
        let summary = Summary::of(&requests);
        let format = Some(opened.recognised);
        Ok(Some(Trace { name: opened.name, format, requests, summary }))
    }
}

/// Fits the trace to a disk, packed if needed. `None` if it does not fit at all.
fn fit_trace<'a>(trace: &'a Trace, disk: &Disk) -> Result<Option<Cow<'a, Trace>>, PaperError> {
    let drive = shingle_drive::make(disk.drive, &Settings::default())
        .map_err(|error| ExperimentError::Usage(error.to_string()))?;
    let disk_bytes = drive.description().disk_blocks * BLOCK_BYTES;
    // A log keeps a fifth of the zones, and one of a hundred is for the map.
    let disk_bytes = if disk.log { disk_bytes / 4 * 3 } else { disk_bytes };
    if trace.summary.end_bytes <= disk_bytes {
        return Ok(Some(Cow::Borrowed(trace)));
    }
    let requests = Shape { remap: true, ..Shape::default() }.apply(trace.requests.clone())?;
    let summary = Summary::of(&requests);
    let fits = summary.end_bytes <= disk_bytes;
    let (name, format) = (trace.name.clone(), trace.format.clone());
    Ok(fits.then_some(Cow::Owned(Trace { name, format, requests, summary })))
}

fn is_synthetic(spec: &str) -> bool {
    spec.starts_with("synth:")
}

const MODES: [Mode; 2] = [Mode::ReadWrite, Mode::Write];

/// The number of cells and varied places that [`run`] will process.
#[must_use]
pub fn work(order: &Order) -> u64 {
    let cells = order.disks().count() * CACHES.len();
    (order.workloads().len() * MODES.len() * (cells + order.varied().len())) as u64
}

/// Runs the comparison. `done` gets the number of cells since its last call.
///
/// # Errors
/// The first error.
pub fn run(order: &Order, done: &dyn Fn(u64)) -> Result<Own, PaperError> {
    let (mut cells, mut left_out) = (Vec::new(), Vec::new());
    let without_results = |(condition, disk): (&'static Condition, &'static Disk)| Varied {
        of: condition.of,
        is: condition.is,
        disk: disk.name,
        ahead: Vec::new(),
    };
    let mut varied: Vec<Varied> = order.varied().into_iter().map(without_results).collect();
    for (spec, role) in order.workloads() {
        for mode in MODES {
            let seeds =
                if is_synthetic(&spec) { order.seeds.as_slice() } else { &order.seeds[..1] };
            let mut of_workload: Vec<Cell> = Vec::new();
            for &seed in seeds {
                let Some(trace) = order.trace(&spec, seed, mode)? else {
                    left_out.push(format!("{spec} only reads: left out where writes are alone"));
                    break;
                };
                let count = |cells| done(if seed == seeds[0] { cells } else { 0 });
                for disk in order.disks() {
                    let Some(trace) = fit_trace(&trace, disk)? else {
                        left_out.push(format!("{spec} does not fit the disk {}", disk.name));
                        count(CACHES.len() as u64);
                        continue;
                    };
                    for cache in CACHES {
                        let place =
                            Place { trace: &trace, mode, disk, cache, seed, condition: AS_IT_IS };
                        let cell = place.cell(role, order)?;
                        count(1);
                        let same = |old: &&mut Cell| (old.disk, old.cache) == (disk.name, cache);
                        match of_workload.iter_mut().find(same) {
                            Some(old) => old.add(cell),
                            None => of_workload.push(cell),
                        }
                    }
                }
                for ((condition, disk), varied) in order.varied().into_iter().zip(&mut varied) {
                    let Some(trace) = fit_trace(&trace, disk)? else { continue };
                    let caches = condition.cache.map_or(CACHES.to_vec(), |cache| vec![cache]);
                    for cache in caches {
                        let place =
                            Place { trace: &trace, mode, disk, cache, seed, condition: *condition };
                        varied.ahead.extend(place.ahead(order.registry)?);
                    }
                    count(1);
                }
            }
            cells.append(&mut of_workload);
        }
    }
    let goals = goals(&cells);
    let (seeds, requests) = (order.seeds.clone(), order.requests());
    Ok(Own { schema: SCHEMA, seeds, requests, cells, left_out, goals, sensitivity: varied })
}

/// A workload, disk, cache, mode and seed, where all systems run.
#[derive(Clone, Copy)]
struct Place<'a> {
    trace: &'a Trace,
    mode: Mode,
    disk: &'static Disk,
    cache: &'static str,
    seed: u64,
    /// The condition that differs from the study.
    condition: Condition,
}

impl Place<'_> {
    /// Runs systems in parallel. Returns the jobs and the results.
    fn runs<'s>(
        &self,
        systems: impl Iterator<Item = &'s System>,
        registry: &Registry,
    ) -> Result<(Vec<Job>, Vec<SystemRun<'s>>), PaperError> {
        let (mut asked, mut jobs) = (Vec::new(), Vec::new());
        for system in systems {
            let fixed = self.condition.batch.as_ref().map(std::slice::from_ref);
            for &batch in fixed.unwrap_or(system.batches) {
                let (mut planned, _) =
                    experiment::plan(&self.options(system, batch), registry, self.trace)?;
                asked.push((system, batch));
                jobs.push(planned.remove(0));
            }
        }
        let runs = experiment::run_all(&jobs, self.trace, &|_| ())?;
        let ran = asked.into_iter().zip(runs).map(|((system, batch), run)| SystemRun {
            system,
            batch,
            run,
        });
        Ok((jobs, ran.collect()))
    }

    fn cell(&self, role: Role, order: &Order) -> Result<Cell, PaperError> {
        let systems = SYSTEMS.iter().filter(|system| runs_on(system, self.disk));
        let (jobs, ran) = self.runs(systems, order.registry)?;
        let blocks =
            |job: &Job| (u64::from(job.cache_blocks()), job.labels().pb_blocks.unwrap_or(0));
        let (cache_blocks, buffer_blocks) = blocks(&jobs[0]);
        let published = ran.iter().filter(|ran| ran.system.kind == Kind::Published);
        let published = published.map(|ran| &ran.run);
        let least = match order.bounds {
            true => least_seconds(&jobs[0], self.trace, self.disk, published)?,
            false => 0.0,
        };
        let mut measured: Vec<Measured> = Vec::new();
        for ran in &ran {
            let one = Measured::of(ran.system, ran.batch, &ran.run);
            match measured.last_mut().filter(|last| last.system == ran.system.label) {
                Some(last) if one.seconds[0] < last.seconds[0] => *last = one,
                Some(_) => {}
                None => measured.push(one),
            }
        }
        Ok(Cell {
            workload: self.trace.name.clone(),
            role,
            disk: self.disk.name,
            mode: self.mode.name(),
            cache: self.cache,
            cache_blocks,
            buffer_blocks,
            too_little: too_little(&ran),
            least_seconds: vec![least],
            systems: measured,
        })
    }

    /// The time of the best published policy ÷ that of the policy. `None` if next to nothing
    /// happens.
    fn ahead(&self, registry: &Registry) -> Result<Option<f64>, PaperError> {
        let held = [Kind::Own, Kind::Published];
        let on_it = |system: &&System| runs_on(system, self.disk);
        let systems = SYSTEMS.iter().filter(on_it).filter(|system| held.contains(&system.kind));
        let (_, ran) = self.runs(systems, registry)?;
        let best = |kind| {
            let of_kind = ran.iter().filter(|ran| ran.system.kind == kind);
            of_kind.map(|ran| verdict::done_and_left(&ran.run)).min_by(f64::total_cmp)
        };
        let ahead = best(Kind::Published).zip(best(Kind::Own)).map(|(best, own)| best / own);
        Ok(ahead.filter(|_| !too_little(&ran)))
    }

    fn options(&self, system: &System, batch: &str) -> Options {
        let touched = self.trace.summary.accessed_zone_bytes() / BLOCK_BYTES;
        let quarters = self.condition.buffer_quarters;
        let share = touched * BUFFER_THOUSANDTHS / 1000;
        let set = |key: &str, value: &str| Assignment::new(key, value).expect("of the study");
        // (A system may override the batch.)
        let mut sets = vec![set("cache.batch", batch)];
        sets.extend(system.sets.iter().map(|(key, value)| set(key, value)));
        // LRU has no zones, and LRU-band and ROCO use the bands in any case.
        let translation = translation(system, self.disk);
        // Over a translation there are no bands.
        let zoned =
            translation == "none" && !["none", "lru", "lru-band", "roco"].contains(&system.policy);
        let zone = if self.disk.bands { Some("bands") } else { self.condition.zone };
        if let Some(zone) = zone.filter(|_| zoned) {
            sets.push(set(&format!("{}.zone", system.policy), zone));
        }
        if self.disk.extents {
            let entries = share.max(64) * quarters / 4;
            sets.push(set("drive.extents", &entries.to_string()));
            sets.push(set("drive.pb", &format!("{}b", entries * LOG_BLOCKS_PER_EXTENT)));
        } else if quarters != AS_IT_IS.buffer_quarters {
            sets.push(set("drive.pb", &format!("{}b", (share * quarters / 4).max(1))));
        }
        if self.disk.write_pointers {
            // The data that a trace reads was written before. To read an empty zone takes no time.
            sets.push(set("drive.filled", "on"));
        }
        if self.disk.host_managed {
            sets.push(set("drive.zone_bytes", &format!("{HOST_MANAGED_ZONE_BLOCKS}b")));
            sets.push(set("translation.map", "on"));
            if translation != LOG {
                // 1 % of what is touched, as in Amphisbaena, but three zones at least: `dm-zoned` needs two.
                let buffer = (touched / 100).max(3 * HOST_MANAGED_ZONE_BLOCKS);
                sets.push(set("drive.pb", &format!("{buffer}b")));
            }
        }
        sets.extend(self.condition.cost_of(self.disk).map(|(key, value)| set(&key, &value)));
        Options {
            seed: self.seed,
            policies: vec![system.policy.to_owned()],
            drives: vec![self.disk.drive.to_owned()],
            translations: vec![translation.to_owned()],
            caches: vec![self.cache.to_owned()],
            sets: sets.into_iter().collect(),
            mode: self.mode,
            ..Options::default()
        }
    }
}

/// The result of a system with a batch.
struct SystemRun<'a> {
    system: &'a System,
    batch: &'static str,
    run: RunResult,
}

/// The lower bound of done + left, at the prices of rewrites and reads of the fastest of `runs`. 0
/// if nothing was rewritten, and for disks that expose zones, which hosts may rewrite instead, or
/// that are written as a log.
fn least_seconds<'a>(
    job: &Job,
    trace: &Trace,
    disk: &Disk,
    runs: impl Iterator<Item = &'a RunResult>,
) -> Result<f64, PaperError> {
    let made = job.disk()?;
    let description = made.drive().description();
    if description.exposed.is_some() || disk.log {
        return Ok(0.0);
    }
    let prices = Prices::of_fastest(runs, description, disk.whole);
    let (Some(bands), Some(prices)) = (&description.bands, prices) else { return Ok(0.0) };
    let room = Room::of(description, job.cache_blocks().into());
    Ok(Accesses::new(&trace.requests, bands, room.run_max).bound(&room, &prices).cost)
}

/// Whether a system applies to a disk: not if it needs whole bands or write pointers that the disk
/// lacks.
fn runs_on(system: &System, disk: &Disk) -> bool {
    let sets = |name: &str| system.sets.iter().any(|(set, _)| *set == name);
    let whole = sets("cache.bands") || sets("disk-time.whole_bands");
    let whole_over_log = disk.log && whole && system.kind == Kind::Part;
    (disk.whole || !whole)
        && !whole_over_log
        && (disk.write_pointers || system.policy != "roco")
        && translates_there(system, disk)
}

/// Whether a system belongs on a disk for the translation that it runs over.
fn translates_there(system: &System, disk: &Disk) -> bool {
    match system.over {
        None => true,
        // On a host-managed disk all run over a log, but for those that are there for another translation.
        Some(LOG) => disk.log && (!disk.host_managed || system.policy == "none"),
        Some(_) => disk.host_managed,
    }
}

/// The translation of a system on a disk.
fn translation(system: &System, disk: &Disk) -> &'static str {
    let own = matches!(system.kind, Kind::Own | Kind::Part);
    match system.over {
        Some(translation) => translation,
        None if disk.host_managed || disk.log && own => LOG,
        None => "none",
    }
}

/// A cell counts only if some policy has at least this many rewrites.
const REWRITES_MIN: u64 = 30;

fn too_little(ran: &[SystemRun]) -> bool {
    let runs: Vec<&RunResult> = ran.iter().map(|ran| &ran.run).collect();
    let cleaned = |run: &&RunResult| {
        run.translation_counters.as_ref().is_some_and(|did| did.cleanings >= REWRITES_MIN)
    };
    if runs.iter().all(|run| run.labels.translation.is_some()) {
        return !runs.iter().any(cleaned);
    }
    runs.iter().all(|run| verdict::rewrites(run).iter().sum::<u64>() < REWRITES_MIN)
        || verdict::none_filled(&runs)
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
        let latency = run.read_latency.unwrap_or(run.latency);
        Measured {
            system: system.label,
            kind: system.kind,
            batch,
            seconds: vec![verdict::done_and_left(run)],
            by_cause: vec![done_and_left_by_cause(run)],
            disk_rewrites: vec![disk],
            host_rewrites: vec![host],
            bytes_per_byte: vec![run.all.wa_host.unwrap_or(0.0)],
            p99_us: vec![latency.p99_us],
            p999_us: vec![latency.p999_us],
        }
    }
}

impl Cell {
    /// Adds the results of another seed.
    fn add(&mut self, other: Cell) {
        self.too_little |= other.too_little;
        self.least_seconds.extend(other.least_seconds);
        for (mine, one) in self.systems.iter_mut().zip(other.systems) {
            mine.seconds.extend(one.seconds);
            mine.by_cause.extend(one.by_cause);
            mine.disk_rewrites.extend(one.disk_rewrites);
            mine.host_rewrites.extend(one.host_rewrites);
            mine.bytes_per_byte.extend(one.bytes_per_byte);
            mine.p99_us.extend(one.p99_us);
            mine.p999_us.extend(one.p999_us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_only_reads_has_no_part_with_writes_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("reads.csv");
        let line = |n: u64| format!("{},host,0,Read,{},4096,1\n", 10_000_000 * n, 8192 * n);
        std::fs::write(&path, (0..10).map(line).collect::<String>()).expect("written");
        let registry = Registry::default();
        let order = Order {
            seeds: vec![1, 2],
            scale: 1.0,
            on: vec![path.display().to_string()],
            alone: true,
            disks: vec!["plain".into()],
            format: Some("msr".into()),
            volume: Choice::default(),
            sensitivity: false,
            bounds: false,
            registry: &registry,
        };
        let own = run(&order, &|_| ()).expect("run");
        assert_eq!(own.cells.iter().map(|cell| cell.mode).collect::<Vec<_>>(), ["rw", "rw"]);
        assert_eq!(own.left_out.len(), 1, "{:?}", own.left_out);
        assert!(own.left_out[0].contains("reads.csv only reads"), "{:?}", own.left_out);
    }
}
