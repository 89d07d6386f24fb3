//! Every policy over every drive and on every SSD, made tiny, under random requests: each read returns the last
//! write, the accounts add up after each request, and a drain leaves nothing behind.
//!
//! Policies and drives come from their registries, so newcomers are tested without a change here.

mod translations;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use shingle_core::params::{Kind, Params};
use shingle_core::policies::ORDER_NAMES;
use shingle_core::policy::Zoning;
use shingle_core::registry::{CACHE_PARAMS, Entry, Registry, Setup};
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request};
use shingle_drive::{
    Buffer, BufferState, Counters, Description, Drive, Io, Overrides, Parameter, Rng, Served,
    Settings, Stamp, Timing, drives, entry, make, make_ssd, ssds,
};
use shingle_result::{Counts, Pacing, Snapshot};
use shingle_sim::Disk;
use shingle_sim::system::{Rules, System};
use shingle_testbed::times;

// ── What is tested ───────────────────────────────────────────────────────────────────────────

/// Parameters that make a drive tiny, where it has them: value in the parameter's own unit.
const TINY: [(&str, u64); 27] = [
    ("capacity_bytes", 107 * BLOCK_BYTES),
    ("track_od_bytes", 8 * BLOCK_BYTES),
    ("track_id_bytes", 4 * BLOCK_BYTES),
    ("rate_zones", 3),
    ("zone_tracks", 7),
    ("read_ahead_bytes", 6 * BLOCK_BYTES),
    ("read_segments", 3),
    ("write_cache_entries", 3),
    ("tracks_per_band", 2),
    ("log_bytes", 24 * BLOCK_BYTES),
    ("extent_max_bytes", 4 * BLOCK_BYTES),
    ("merge_bytes", 8 * BLOCK_BYTES),
    ("collect_reads_max", 3),
    ("stream_min_bytes", 5 * BLOCK_BYTES),
    ("journal_packets", 5),
    ("band_first_bytes", 5 * BLOCK_BYTES),
    ("band_step_bytes", BLOCK_BYTES),
    ("band_classes", 3),
    ("bands_per_class", 5),
    ("zone_bytes", 5 * BLOCK_BYTES),
    ("conventional_zones", 1),
    ("log_zones", 3),
    ("open_zones", 2),
    ("flash_bytes", 80 * BLOCK_BYTES),
    ("flash_units", 2),
    ("flash_pages_per_block", 2),
    ("mcm_reserve_blocks", 1),
];

/// Parameters that make an SSD tiny, where it has them: room for at least 50 slots, and garbage to
/// collect soon.
const TINY_SSD: [(&str, u64); 5] = [
    ("capacity_bytes", 64 * BLOCK_BYTES),
    ("units", 2),
    ("blocks_per_unit", 8),
    ("pages_per_block", 4),
    ("over_provisioning_percent", 20),
];

/// In what a tiny drive differs from the plain one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Variation {
    Plain,
    Cost,
    IdleCleaning,
    FewExtents,
    NoWriteCache,
}

/// A policy with values for its parameters.
#[derive(Clone)]
struct Variant {
    entry: Entry,
    params: Params,
}

impl std::fmt::Debug for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.entry.name)?;
        self.params.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// Variants of a policy beyond which not all combinations are tried.
const COMBINATIONS_MAX: usize = 12;

/// Every policy of the registry, with every combination of its switches and choices. What orders
/// it is built on, of which there are many, varies alone.
fn variants() -> Vec<Variant> {
    let registry = Registry::default();
    registry.entries().iter().flat_map(combinations).collect()
}

fn combinations(entry: &Entry) -> Vec<Variant> {
    let mut params = Params::new(entry.params);
    if params.has("zone") {
        params.set("zone", "6b").expect("a zone of six blocks");
    }
    let with = |params: &Params, name: &str, word: &str| {
        let mut params = params.clone();
        params.set(name, word).expect("a declared value");
        params
    };
    let mut all = vec![params.clone()];
    for param in entry.params {
        let words: &[&str] = match param.kind {
            Kind::Choice(words) if words == ORDER_NAMES || param.name == "whole_bands" => continue,
            Kind::Switch => &["on", "off"],
            Kind::Choice(words) => words,
            _ => continue,
        };
        let each = |params| words.iter().map(move |word| with(params, param.name, word));
        // Beyond a dozen one value at a time is changed: conformance tries the combinations.
        if all.len() * words.len() <= COMBINATIONS_MAX {
            all = all.iter().flat_map(each).collect();
        } else {
            all.extend(each(&params).collect::<Vec<_>>());
        }
    }
    for param in entry.params.iter().filter(|param| param.kind == Kind::Choice(ORDER_NAMES)) {
        let others = ORDER_NAMES.iter().filter(|&&name| name != param.default);
        all.extend(others.map(|name| with(&params, param.name, name)));
    }
    // Bands written whole, by a policy that does so itself and by others.
    if ["disk-time", "most", "sac"].contains(&entry.name) {
        let bands = with(&params, "zone", "bands");
        all.push(bands.clone());
        if bands.has("whole_bands") {
            all.push(with(&bands, "whole_bands", "always"));
        }
    }
    all.into_iter().map(|params| Variant { entry: *entry, params }).collect()
}

/// The values of `tiny` for those parameters that there are.
fn overrides(known: &[Parameter], tiny: &[(&str, u64)]) -> Overrides {
    let has = |name: &str| known.iter().any(|parameter| parameter.name == name);
    let set = tiny.iter().filter(|(name, _)| has(name));
    set.fold(Overrides::new(), |set, (name, value)| set.with(name, &value.to_string()))
}

thread_local! {
    /// All SSDs, made tiny: once, as reading their sheets takes longer than a case.
    static SSDS: Vec<(&'static str, Box<dyn Drive>)> = ssds()
        .iter()
        .map(|entry| {
            let overrides = overrides(&entry.parameters(), &TINY_SSD);
            let ssd = make_ssd(entry.name, &Settings { overrides, ..Settings::default() });
            (entry.name, ssd.expect("a tiny SSD"))
        })
        .collect();
}

fn tiny_ssd(name: &str) -> Box<dyn Drive> {
    SSDS.with(|ssds| ssds.iter().find(|ssd| ssd.0 == name).expect("a name of an SSD").1.copy())
}

/// A drive, unless it cannot be varied so.
type Made = Option<Box<dyn Drive>>;

thread_local! {
    /// Drives as [`made`] made them: once, as reading their sheets takes longer than a case.
    static MADE: RefCell<BTreeMap<(String, Variation), Made>> =
        const { RefCell::new(BTreeMap::new()) };
}

/// The drive called `name`, made tiny; `None` if the variation is none of this drive.
fn tiny(name: &str, variation: Variation) -> Option<Box<dyn Drive>> {
    MADE.with_borrow_mut(|all| {
        let drive = all.entry((name.into(), variation)).or_insert_with(|| made(name, variation));
        drive.as_ref().map(|drive| drive.copy())
    })
}

fn made(name: &str, variation: Variation) -> Option<Box<dyn Drive>> {
    let entry = entry(name).expect("a name of the registry");
    let known = entry.parameters();
    let has = |name: &str| known.iter().any(|parameter| parameter.name == name);
    let mut settings = Settings { overrides: overrides(&known, &TINY), ..Settings::default() };
    let limits = |extents| Buffer::Limits { log_bytes: 24 * BLOCK_BYTES, extents };
    let buffered = make(name, &settings).is_ok_and(|drive| drive.description().buffer_blocks > 0);
    if buffered {
        settings.buffer =
            if has("log_bytes") { limits(14) } else { Buffer::Bytes(9 * BLOCK_BYTES) };
    }
    if has("idle_cleaning") {
        settings.idle_cleaning = Some(false);
    }
    match variation {
        Variation::Plain => {}
        Variation::Cost => settings.timing = Some(Timing::Cost),
        Variation::IdleCleaning => {
            if !has("idle_cleaning") {
                return None;
            }
            settings.idle_cleaning = Some(true);
            settings.idle_delay = Some(Nanos::from_micros(10));
        }
        Variation::FewExtents if buffered => settings.buffer = limits(3),
        Variation::NoWriteCache if has("write_cache") => {
            settings.overrides.set("write_cache", "off")
        }
        Variation::FewExtents | Variation::NoWriteCache => return None,
    }
    let made = make(name, &settings);
    Some(made.unwrap_or_else(|error| panic!("{} {variation:?}: {error}", entry.name)))
}

/// Every drive of the registry in every variation it has.
fn kinds() -> Vec<(&'static str, Variation)> {
    use Variation::{Cost, FewExtents, IdleCleaning, NoWriteCache, Plain};
    let variations = [Plain, Cost, IdleCleaning, FewExtents, NoWriteCache];
    let all = drives().iter().flat_map(|entry| variations.map(|kind| (entry.name, kind)));
    all.filter(|&(name, variation)| tiny(name, variation).is_some()).collect()
}

fn ssd_names() -> Vec<&'static str> {
    ssds().iter().map(|entry| entry.name).collect()
}

/// A cache over something, by numbers that any source of randomness can give.
#[derive(Clone, Debug)]
struct Case {
    variant: Variant,
    ssd: &'static str,
    cache_blocks: u32,
    batch: u32,
    rules: Rules,
}

impl Case {
    /// `None` if the policy wants bands or zones and the drive has none, or writes anywhere and the
    /// drive's zones must be written in sequence.
    fn system(&self, disk: impl Into<Disk>, checked: bool) -> Option<System> {
        let disk = disk.into();
        let description = disk.drive().description().clone();
        let mut cache_params = Params::new(CACHE_PARAMS);
        cache_params.set("batch", &self.batch.to_string()).expect("a count");
        let known = self.variant.entry.zoning(&self.variant.params) == Zoning::Bands;
        // (Where zones show, some work with these and their write pointers, whatever they are told.)
        let pointers = description.exposed.is_some()
            && self.variant.entry.zoning(&Params::new(self.variant.entry.params))
                == Zoning::ExposedOrFixed;
        let takes_whole = description.in_order.band_pass.is_some() && !pointers;
        if known && self.variant.params.has("zone") && takes_whole {
            cache_params.set("bands", "whole").expect("a choice");
        }
        let none = self.variant.entry.name == "none";
        let required = description.exposed.is_some_and(|zones| zones.sequential_required);
        let setup = Setup {
            cache_blocks: if none { 0 } else { self.cache_blocks },
            disk_blocks: description.disk_blocks,
            bands: description.bands.as_ref(),
            conventional_zones: description.exposed.map(|zones| zones.conventional_zones),
            sequential_required: required,
            buffer_blocks: description.buffer_blocks,
            is_log: false,
            in_order: description.in_order,
            costs: description.costs,
            cache: &cache_params,
        };
        let cache = match self.variant.entry.make(&self.variant.params, &setup) {
            Ok(cache) => cache,
            Err(error) => {
                let lacks = match self.variant.entry.zoning(&self.variant.params) {
                    Zoning::Bands => description.bands.is_none(),
                    Zoning::Exposed => description.exposed.is_none(),
                    _ => false,
                };
                let lacks = lacks || required && !self.variant.entry.in_sequence;
                assert!(lacks, "{error}");
                return None;
            }
        };
        let ssd = tiny_ssd(self.ssd);
        Some(System::new(cache, ssd, disk, self.rules, checked))
    }
}

// ── What the disk must hold ──────────────────────────────────────────────────────────────────

/// Keeps apart from the system what each block must read as. A system draws one stamp for each
/// block that is written, so a block must hold one of the stamps of the last request that wrote it.
#[derive(Clone, Default)]
struct Model {
    drawn: Stamp,
    /// `None`: trimmed and not written since.
    last: BTreeMap<u64, Option<RangeInclusive<Stamp>>>,
}

impl Model {
    fn request(&mut self, request: &Request) {
        let (first, count) = (request.first().0, request.blocks());
        match request.op {
            Op::Write => {
                let stamps = self.drawn + 1..=self.drawn + count;
                self.drawn += count;
                self.last.extend((first..first + count).map(|b| (b, Some(stamps.clone()))));
            }
            Op::Trim => {
                let whole = request.offset.div_ceil(BLOCK_BYTES)
                    ..(request.offset + request.bytes) / BLOCK_BYTES;
                self.last.extend(whole.map(|block| (block, None)));
            }
            Op::Read | Op::Flush => {}
        }
    }

    /// Reads all of `disk` and compares.
    fn verify(&self, disk: &dyn Drive) {
        let mut disk = disk.copy();
        let count = disk.description().disk_blocks;
        let mut data = vec![Stamp::MAX; usize::try_from(count).expect("tiny")];
        let io = Io { op: Op::Read, block: Block(0), count };
        disk.serve(Nanos(u64::MAX / 2), &io, &mut data);
        let mut seen = HashSet::new();
        for (block, &found) in (0..).zip(&data) {
            match self.last.get(&block) {
                Some(None) => {}
                Some(Some(stamps)) => {
                    assert!(stamps.contains(&found), "block {block}: {found}, not {stamps:?}");
                    assert!(seen.insert(found), "block {block} holds another block's data");
                }
                None => assert_eq!(found, 0, "block {block} was never written"),
            }
        }
    }
}

// ── A run, with its accounts ─────────────────────────────────────────────────────────────────

struct Run {
    system: System,
    rules: Rules,
    model: Model,
    /// The disk is a drive, not another cache: its counters say what this cache asked of it.
    bare: bool,
    asked: Snapshot,
    /// Blocks that trims dropped from the cache.
    trimmed: u64,
    partial_writes: u64,
    done: Nanos,
}

impl Run {
    fn new(system: System, rules: Rules, bare: bool) -> Run {
        Run {
            system,
            rules,
            model: Model::default(),
            bare,
            asked: Snapshot::default(),
            trimmed: 0,
            partial_writes: 0,
            done: Nanos::ZERO,
        }
    }

    fn cached(&self) -> u64 {
        let slots = self.system.cache().slots();
        u64::from(slots.clean_blocks()) + u64::from(slots.dirty_blocks())
    }

    fn request(&mut self, request: &Request) {
        let host = &mut self.asked.host;
        match request.op {
            Op::Read => {
                (host.read_requests, host.read_blocks) =
                    (host.read_requests + 1, host.read_blocks + request.blocks())
            }
            Op::Write => {
                (host.write_requests, host.write_blocks) =
                    (host.write_requests + 1, host.write_blocks + request.blocks())
            }
            Op::Trim => host.trim_requests += 1,
            Op::Flush => host.flush_requests += 1,
        }
        self.model.request(request);
        let fills = self.fills_expected(request);
        let (before, cached) = (self.system.snapshot(), self.cached());
        let (start, done) = self.system.request(request);
        assert!(done >= start, "done before it came");
        match self.rules.pacing {
            Pacing::Closed => assert_eq!(start, self.done, "the next when the last is done"),
            Pacing::Open => assert_eq!(start, request.at, "at its time"),
        }
        self.done = self.done.max(done);
        if request.op == Op::Trim {
            self.trimmed += cached - self.cached();
            let mut whole = (0..request.blocks()).map(|place| request.first().after(place));
            let kept =
                |block| !request.partial(block) && self.system.cache().lookup(block).is_some();
            assert!(!whole.any(kept), "a trimmed block stays in the cache");
        }
        let filled = self.system.snapshot().host.fills - before.host.fills;
        assert!(fills.contains(&filled), "{filled} fills, not {fills:?}");
        Drive::check(&self.system);
        self.accounts();
    }

    /// How many partly written blocks may have to be read. The first block is met with the cache
    /// as it is before the request; a last block of its own may be evicted meanwhile, or not.
    fn fills_expected(&mut self, request: &Request) -> RangeInclusive<u64> {
        if request.op != Op::Write {
            return 0..=0;
        }
        let (first, last) = (request.first(), request.first().after(request.blocks() - 1));
        let misses = |block| u64::from(self.system.cache().lookup(block).is_none());
        let head = if request.partial(first) { misses(first) } else { 0 };
        let tail = u64::from(last != first && request.partial(last));
        self.partial_writes += u64::from(request.partial(first)) + tail;
        if self.rules.fill_partial { head..=head + tail } else { 0..=0 }
    }

    /// What must hold at any time.
    fn accounts(&self) {
        let Snapshot { host, ssd, disk } = self.system.snapshot();
        let asked = self.asked.host;
        assert_eq!(
            [host.read_requests, host.write_requests, host.trim_requests, host.flush_requests],
            [asked.read_requests, asked.write_requests, asked.trim_requests, asked.flush_requests]
        );
        assert_eq!((host.read_blocks, host.write_blocks), (asked.read_blocks, asked.write_blocks));

        // Each access hits, misses or goes round the cache; each miss brings in a block, and each
        // block brought in has left, was trimmed, or is still there.
        let accesses = host.read_blocks + host.write_blocks;
        let hits = host.read_hits + host.write_hits;
        let bypassed = host.bypassed_reads + host.bypassed_writes;
        assert_eq!(host.trimmed, self.trimmed);
        let inserted = host.evicted_clean + host.evicted_dirty + self.trimmed + self.cached();
        assert_eq!(accesses, hits + inserted + bypassed, "hits + misses + bypasses");
        assert_eq!(ssd.written_blocks, host.write_hits + inserted, "what the SSD took");
        let destaged = host.evicted_dirty + host.cleaned;
        assert_eq!(ssd.read_blocks, host.read_hits + destaged, "what the SSD gave");
        assert!(host.fills <= self.partial_writes);
        let (reads, stale) = self.system.checked().expect("the system is checked");
        assert_eq!(stale, None);
        assert_eq!(reads, host.read_blocks + host.fills, "each block read is checked");

        let ssd_time = ssd.read_time + ssd.write_time + ssd.clean_time;
        assert_eq!(host.ssd_read_time + host.ssd_write_time, ssd_time, "SSD time");
        if self.bare {
            self.accounts_of_disk(&host, &disk, ssd_time);
        }
    }

    fn accounts_of_disk(
        &self,
        host: &shingle_result::HostCounters,
        disk: &Counters,
        ssd_time: Nanos,
    ) {
        let merged = host.host_rmw_read_blocks; // read to be written back
        assert_eq!(disk.read_blocks, host.read_blocks - host.read_hits + host.fills + merged);
        let destaged = host.evicted_dirty + host.cleaned;
        let written = destaged + host.bypassed_writes + host.host_rmw_added_blocks;
        assert_eq!(disk.written_blocks, written, "{host:?} {disk:?}");
        let found = disk.buffer_read_blocks + disk.native_read_blocks;
        assert_eq!(disk.read_blocks, found + disk.beyond_pointer_blocks);
        let gone =
            disk.buffer_write_hits + disk.buffer_evicted_blocks + disk.buffer_released_blocks;
        let buffer = self.system.disk().buffer();
        // Translations may bring blocks back from zones; those check themselves.
        if self.system.translating().is_none() {
            assert_eq!(disk.buffer_written_blocks, buffer.blocks + gone, "blocks in the buffer");
        } else {
            let native = disk.native_bytes_written / BLOCK_BYTES;
            assert!(disk.buffer_written_blocks + native <= disk.written_blocks, "{disk:?}");
        }

        let by_call = host.drive_read_time + host.drive_write_time;
        let by_cause = [disk.read_time, disk.log_time, disk.write_time, disk.clean_time];
        let by_cause: Nanos = by_cause.into_iter().sum();
        assert_eq!(by_call, by_cause, "disk time by call and by cause");
        if self.rules.pacing == Pacing::Closed {
            assert_eq!(self.system.finished(), ssd_time + by_cause, "one thing after another");
        }
    }

    /// The result format, from the counters as they are.
    fn report(&self) {
        let end = self.system.snapshot();
        let all = Counts::between(&Snapshot::default(), &end);
        ratios_are_null_or_right(&all);
        if self.rules.pacing == Pacing::Closed && self.bare {
            let (call, cause) = (all.seconds.by_call, all.seconds.by_cause);
            let call = call.ssd_read + call.ssd_write + call.drive_read + call.drive_write;
            let cause = cause.ssd + cause.read + cause.log + cause.write + cause.clean;
            assert!((call - cause).abs() < 1e-6 && (call - all.seconds.total).abs() < 1e-6);
        }
        if let Some((from, before)) = self.system.warm() {
            let requests = all.requests;
            assert!(from < requests.read + requests.write + requests.trim + requests.flush);
            let warm = Counts::between(before, &end);
            ratios_are_null_or_right(&warm);
            let json = |counts: &Counts| serde_json::to_value(counts).expect("plain numbers");
            no_more_than(&json(&warm), &json(&all), "");
        }
    }

    /// Drains a copy and the system itself: the same time, and nothing is left in either.
    fn drain(mut self) {
        let from = self.system.finished();
        let mut copy = self.system.duplicate();
        let end = copy.drain_all();
        assert!(end >= from.min(self.done), "a drain takes time");
        assert_eq!(self.system.drain_all(), end, "a copy drains as fast");
        for system in [&copy, &self.system] {
            assert_eq!(system.cache().slots().dirty_blocks(), 0);
            assert_eq!(system.disk().buffer().blocks, 0);
            assert_eq!(system.checked().expect("checked").1, None);
            self.model.verify(system.disk());
        }
        Drive::check(&self.system);
        self.accounts();
        self.report();
    }
}

fn ratios_are_null_or_right(counts: &Counts) {
    let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let io = &counts.drive_io;
    let medium = io.band_bytes_written + io.native_bytes_written + io.log_bytes_written;
    assert_eq!(
        counts.wa_band,
        ratio(io.band_bytes_written, counts.pb.evicted_blocks * BLOCK_BYTES)
    );
    assert_eq!(counts.wa_drive, ratio(medium, io.written_blocks * BLOCK_BYTES));
    assert_eq!(counts.wa_host.is_none(), counts.wa_host.is_none_or(f64::is_nan));
    let ssd = &counts.ssd;
    if ssd.programmed_blocks == 0 {
        assert_eq!((counts.wa_flash, ssd.copied_blocks, ssd.erases), (None, 0, 0));
    } else {
        assert_eq!(ssd.programmed_blocks, ssd.written_blocks + ssd.copied_blocks);
        assert_eq!(counts.wa_flash, ratio(ssd.programmed_blocks, ssd.written_blocks));
    }
    if let Some(hits) = counts.hits.ratio {
        assert!((0.0..=1.0).contains(&hits));
    }
}

/// Each number of `part` is at most that of `all`; ratios apart.
fn no_more_than(part: &serde_json::Value, all: &serde_json::Value, path: &str) {
    use serde_json::Value;
    match (part, all) {
        (Value::Object(part), Value::Object(all)) => {
            assert_eq!(part.len(), all.len());
            for (name, value) in part {
                no_more_than(value, &all[name], &format!("{path}.{name}"));
            }
        }
        _ if path.ends_with("ratio") || path.contains("wa_") => {}
        (part, all) => {
            let (part, all) = (part.as_f64(), all.as_f64());
            assert!(part.is_some() && part <= all, "{path}: {part:?} of {all:?}");
        }
    }
}

// ── Random requests ──────────────────────────────────────────────────────────────────────────

/// A request by numbers of any size; [`requests`] fits it to the disk.
#[derive(Clone, Copy, Debug)]
struct Draw {
    op: Op,
    block: u64,
    blocks: u64,
    /// Sectors that the first and the last block lack.
    cut: (u64, u64),
    gap_us: u64,
}

fn requests(draws: &[Draw], disk_blocks: u64) -> Vec<Request> {
    const SECTOR: u64 = 512;
    let mut at = Nanos::ZERO;
    let request = |draw: &Draw| {
        at += Nanos::from_micros(draw.gap_us);
        if draw.op == Op::Flush {
            return Request { at, offset: 0, bytes: 0, op: draw.op };
        }
        let block = draw.block % disk_blocks;
        let blocks = draw.blocks.min(disk_blocks - block);
        // A request of one block keeps at least two of its eight sectors.
        let (head, tail) = (draw.cut.0 % 4 * SECTOR, draw.cut.1 % 4 * SECTOR);
        let (offset, bytes) = (block * BLOCK_BYTES + head, blocks * BLOCK_BYTES - head - tail);
        Request { at, offset, bytes, op: draw.op }
    };
    draws.iter().map(request).collect()
}

fn drawn(rng: &mut Rng) -> Draw {
    let op = match rng.below(20) {
        0 => Op::Flush,
        1 => Op::Trim,
        2..8 => Op::Read,
        _ => Op::Write,
    };
    // Half of all goes to a few blocks, and most of it is short: there must be hits.
    let block = if rng.below(2) == 0 { rng.below(30) } else { rng.below(120) };
    let blocks = if rng.below(5) == 0 { 1 + rng.below(40) } else { 1 + rng.below(4) };
    let cut = if rng.below(3) == 0 { (rng.below(4), rng.below(4)) } else { (0, 0) };
    let gap_us = match rng.below(8) {
        0 => rng.below(3_000_000), // long enough to clean everything
        1..4 => rng.below(20_000),
        _ => 0,
    };
    Draw { op, block, blocks, cut, gap_us }
}

fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let op = prop_oneof![
        12 => Just(Op::Write),
        6 => Just(Op::Read),
        1 => Just(Op::Trim),
        1 => Just(Op::Flush),
    ];
    let blocks = prop_oneof![4 => 1u64..5, 1 => 1u64..41];
    let cut = prop_oneof![2 => Just((0, 0)), 1 => (0u64..4, 0u64..4)];
    let gap_us = prop_oneof![4 => Just(0), 3 => 0u64..20_000, 1 => 0u64..3_000_000];
    let draw = (op, prop_oneof![0u64..30, 0u64..120], blocks, cut, gap_us)
        .prop_map(|(op, block, blocks, cut, gap_us)| Draw { op, block, blocks, cut, gap_us });
    prop::collection::vec(draw, 1..80)
}

fn rules() -> impl Strategy<Value = Rules> {
    (prop_oneof![Just(Pacing::Closed), Just(Pacing::Open)], any::<bool>(), any::<bool>())
        .prop_map(|(pacing, split, fill_partial)| Rules { pacing, split, fill_partial })
}

fn every_rule() -> impl Iterator<Item = Rules> + Clone {
    (0..8).map(|bits| Rules {
        pacing: if bits & 1 == 0 { Pacing::Closed } else { Pacing::Open },
        split: bits & 2 != 0,
        fill_partial: bits & 4 != 0,
    })
}

/// Runs a case to its drain; what happened in it, if the policy goes with the drive.
fn try_case(case: &Case, kind: (&str, Variation), draws: &[Draw]) -> Option<Snapshot> {
    let (name, variation) = kind;
    let disk = tiny(name, variation).expect("one of the kinds");
    let requests = requests(draws, disk.description().disk_blocks);
    let mut run = Run::new(case.system(disk, true)?, case.rules, true);
    for request in &requests {
        run.request(request);
    }
    run.report();
    let happened = run.system.snapshot();
    run.drain();
    Some(happened)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: times(200) as u32,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    /// Shrinks to a short list of requests what the seeded loop below only finds.
    #[test]
    fn each_read_returns_the_last_write(
        variant in prop::sample::select(variants()),
        kind in prop::sample::select(kinds()),
        ssd in prop::sample::select(ssd_names()),
        cache_blocks in 3u32..50,
        batch in 1u32..8,
        rules in rules(),
        draws in draws(),
    ) {
        try_case(&Case { variant, ssd, cache_blocks, batch, rules }, kind, &draws);
    }
}

/// Tries all cases; how long and how often what can happen did.
fn counted(cases: &[(Case, (&str, Variation), Vec<Draw>)]) -> ([Nanos; 3], [u64; 10]) {
    let mut happened = [Nanos::ZERO; 3];
    let mut counted = [0; 10];
    for (case, kind, draws) in cases {
        // A policy may be made by a closure, of which nothing is used after a panic.
        let trial = std::panic::AssertUnwindSafe(|| try_case(case, *kind, draws));
        let tried = std::panic::catch_unwind(trial);
        let Ok(tried) = tried else { panic!("{case:?} over {} {:?}: {draws:?}", kind.0, kind.1) };
        let Snapshot { host, ssd, disk } = tried.unwrap_or_default();
        let times = [disk.clean_time, disk.idle_clean_time, disk.log_time];
        happened.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
        let counts = [
            host.read_hits,
            host.write_hits,
            host.bypassed_reads,
            host.fills,
            host.evicted_clean,
            host.evicted_dirty,
            disk.rmw,
            disk.rmw_free,
            ssd.pages_copied,
            ssd.flash_blocks_erased,
        ];
        counted.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    (happened, counted)
}

#[test]
fn every_policy_over_every_drive_under_every_rule() {
    let mut rng = Rng::new(7);
    let mut cases = Vec::new();
    let ssds = ssd_names();
    for variant in variants() {
        for kind in kinds() {
            let some = usize::try_from(rng.below(8)).expect("small");
            for rules in every_rule().cycle().skip(some).take(times(3).min(8) as usize) {
                // Few slots are where the rare ways are taken.
                let cache_blocks = [3, 4, 7, 16, 40][usize::try_from(rng.below(5)).expect("small")];
                let batch = [1, 1, 2, 64][usize::try_from(rng.below(4)).expect("small")];
                let ssd = ssds[usize::try_from(rng.below(ssds.len() as u64)).expect("few")];
                let case = Case { variant: variant.clone(), ssd, cache_blocks, batch, rules };
                let draws: Vec<Draw> = (0..60).map(|_| drawn(&mut rng)).collect();
                cases.push((case, kind, draws));
            }
        }
    }
    let (some, others) = cases.split_at(cases.len() / 2);
    let (some, others) = std::thread::scope(|scope| {
        let some = scope.spawn(|| counted(some));
        let others = counted(others);
        (some.join().expect("each case was tried"), others)
    });
    let happened: [Nanos; 3] = std::array::from_fn(|at| some.0[at] + others.0[at]);
    let counted: [u64; 10] = std::array::from_fn(|at| some.1[at] + others.1[at]);
    // A workload that leaves a way untaken tests nothing there.
    assert!(happened.iter().all(|&time| time > Nanos::ZERO), "{happened:?}");
    assert!(counted.iter().all(|&count| count > 50), "{counted:?}");
}

// ── A cache over a cache ─────────────────────────────────────────────────────────────────────

/// A system as a drive with contents: a system keeps stamps of its own, so those of the cache
/// above are kept here, and both must be right.
struct Stacked {
    inner: System,
    model: Model,
    contents: BTreeMap<u64, Stamp>,
}

impl Drive for Stacked {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        let (offset, bytes) = (io.block.bytes(), io.count * BLOCK_BYTES);
        self.model.request(&Request { at: now, offset, bytes, op: io.op });
        for (block, stamp) in (io.block.0..).zip(data) {
            match io.op {
                Op::Write => _ = self.contents.insert(block, *stamp),
                _ => *stamp = self.contents.get(&block).copied().unwrap_or(0),
            }
        }
        self.inner.serve(now, io, &mut [])
    }

    fn drain(&mut self, now: Nanos) -> Nanos {
        let end = self.inner.drain(now);
        assert_eq!(self.inner.cache().slots().dirty_blocks(), 0);
        self.model.verify(self.inner.disk());
        end
    }

    fn counters(&self) -> &Counters {
        self.inner.counters()
    }

    fn buffer(&self) -> BufferState {
        self.inner.buffer()
    }

    fn description(&self) -> &Description {
        self.inner.description()
    }

    fn copy(&self) -> Box<dyn Drive> {
        Box::new(Stacked {
            inner: self.inner.duplicate(),
            model: self.model.clone(),
            contents: self.contents.clone(),
        })
    }

    fn check(&self) {
        Drive::check(&self.inner);
        assert_eq!(self.inner.checked().expect("checked").1, None);
    }
}

#[test]
fn a_cache_over_a_cache_is_a_cache_over_a_drive() {
    let mut rng = Rng::new(11);
    let (variants, kinds) = (variants(), kinds());
    for upper in &variants {
        for rules in every_rule() {
            let lower = &variants[usize::try_from(rng.below(variants.len() as u64)).expect("few")];
            let kind = kinds[usize::try_from(rng.below(kinds.len() as u64)).expect("few")];
            let draws: Vec<Draw> = (0..60).map(|_| drawn(&mut rng)).collect();
            let disk = tiny(kind.0, kind.1).expect("one of the kinds");
            let requests = requests(&draws, disk.description().disk_blocks);
            let case = |variant: &Variant, cache_blocks, rules| Case {
                variant: variant.clone(),
                ssd: "ssd-slc",
                cache_blocks,
                batch: 1,
                rules,
            };
            // What the lower cache is asked is whole blocks.
            let beneath = Rules { fill_partial: false, ..rules };
            let Some(inner) = case(lower, 20, beneath).system(disk, true) else { continue };
            let (model, contents) = (Model::default(), BTreeMap::new());
            let stacked: Box<dyn Drive> = Box::new(Stacked { inner, model, contents });
            let Some(system) = case(upper, 6, rules).system(stacked, true) else { continue };
            let mut run = Run::new(system, rules, false);
            for request in &requests {
                run.request(request);
            }
            run.drain();
        }
    }
}
