//! The store, its devices, its client and its clock.

use shingle_core::cache::CacheCore;
use shingle_core::drive_view::InOrder;
use shingle_core::params::Params;
use shingle_core::policies;
use shingle_core::registry::{CACHE_PARAMS, Entry, Setup};
use shingle_core::service::{Hours, Limits, Mode};
use shingle_core::units::{BLOCK_BYTES, Block, Nanos};
use shingle_core::zones::ZoneMap;
use shingle_engine::format::layout::{Copy, Layout};
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::table::ENTRIES;
use shingle_engine::format::{Frame, PAGE_BYTES, Page, State};
use shingle_engine::recover::{Recovered, recover};
use shingle_engine::{Bug, Command, CommandOp, Config, Connection, Device, Effects, Engine, Io};

use super::Rng;
use super::device::{Faults, Gone, Pending, Simulated};
use super::oracle::{Oracle, name, stamp};
use super::trail::Trail;

/// One run in this many has a large cache.
const LARGE_ONE_IN: u64 = 10;

/// The theme of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Theme {
    /// Power cuts and kills.
    Crashes,
    /// I/O errors and power cuts.
    Faults,
    /// Bit flips in cached data.
    Flips,
    /// Exchanges of SSDs and growth of the disk, with power cuts and kills, and with or without I/O
    /// errors.
    Changes,
    /// Destaging of whole bands, with power cuts and kills, and with or without I/O errors.
    Bands,
    /// A few slots and pages of the journal, and many trims, flushes and FUA, with power cuts and
    /// kills, and with or without I/O errors.
    Tiny,
    /// Limits, the time of the day and trims to the disk, which operators change all the time, with
    /// power cuts and kills, and with or without I/O errors.
    Limits,
}

impl Theme {
    pub(crate) const ALL: [Theme; 6] =
        [Theme::Crashes, Theme::Faults, Theme::Flips, Theme::Changes, Theme::Bands, Theme::Tiny];
}

/// The complete state.
pub(crate) struct World {
    pub(super) rng: Rng,
    pub(super) seed: u64,
    /// Whether every step is printed: when one seed is replayed.
    pub(super) tells: bool,
    pub(super) theme: Theme,
    /// Whether devices fail.
    pub(super) faulty: bool,
    /// The old SSD was abandoned, and must not be served after a crash.
    pub(super) abandoned: bool,
    /// How many of the blocks forgotten with the SSD the oracle knows.
    pub(super) forgotten: usize,
    pub(super) ssd: Simulated,
    pub(super) disk: Simulated,
    pub(super) layout: Layout,
    pub(super) disk_blocks: u64,
    pub(super) policy: Entry,
    pub(super) config: Config,
    pub(super) engine: Engine,
    pub(super) pending: Vec<Pending>,
    pub(super) oracle: Oracle,
    pub(super) now: Nanos,
    pub(super) commands: u64,
    pub(super) depth: u64,
    /// Percentage of completions among actions.
    pub(super) diligence: u64,
    pub(super) hot: u64,
    /// One step in this many makes the SSD fail.
    pub(super) goes: u64,
    /// One step in this many makes the disk refuse something for a while.
    pub(super) refusals: u64,
    /// Open connections; numbers are not reused.
    pub(super) connections: Vec<Connection>,
    pub(super) last_connection: u64,
    /// The next request that is interesting after the last event: first block and count.
    pub(super) next: Option<(CommandOp, u64, u64)>,
    /// Blocks that the disk has lost since the start, though reads may return them for a while.
    pub(super) lost: Vec<u64>,
    /// Late I/O of a killed process, which only a seeded bug lets arrive after the next start.
    pub(super) late: Vec<Io>,
    /// Size of a band in blocks, if bands are written whole.
    pub(super) band_blocks: Option<u64>,
    /// Numbers of bands written whole, and of those given up, in previous lives.
    pub(super) bands: (u64, u64),
    /// The policies of the run.
    pub(super) policies: Vec<Entry>,
    /// The I/O and replies of the engine.
    pub(super) trail: Trail,
    /// After each call a copy of the engine runs all steps, and they must do nothing.
    pub(crate) checks_for_missed_steps: bool,
}

fn policies() -> Vec<Entry> {
    policies::all().filter(|entry| entry.name != "none").copied().collect()
}

/// A cache over a disk with known size; or with known bands, which are written whole.
pub(super) fn cache(
    entry: &Entry,
    slots: u64,
    disk_blocks: u64,
    band_blocks: Option<u64>,
) -> Option<Box<dyn CacheCore>> {
    let mut params = Params::new(entry.params);
    if params.has("zone") {
        params.set("zone", if band_blocks.is_some() { "bands" } else { "8b" }).expect("a size");
    }
    let mut cache = Params::new(CACHE_PARAMS);
    let (mut bands, mut in_order) = (None, InOrder::default());
    if let Some(blocks) = band_blocks {
        cache.set("bands", "whole").expect("a word");
        // (The first band is shorter, and the last one may be.)
        bands = Some(ZoneMap::runs(&[(blocks.div_ceil(2), 1), (blocks, 1)], disk_blocks));
        in_order.band_pass = Some(Nanos::from_millis(150));
    }
    let setup = Setup {
        bands: bands.as_ref(),
        buffer_blocks: 20,
        is_log: false,
        in_order,
        ..Setup::new(slots as u32, disk_blocks, &cache)
    };
    entry.make(&params, &setup).ok().filter(|cache| !cache.wants_future())
}

impl World {
    /// Whether a store can use this policy with a disk of which it knows only the size.
    pub(crate) fn can_run(policy: &Entry) -> bool {
        policies().iter().any(|entry| entry.name == policy.name)
            && cache(policy, 16, 64, None).is_some()
    }

    pub(crate) fn new(seed: u64, theme: Theme, bug: Option<Bug>) -> World {
        World::with(seed, theme, bug, None)
    }

    /// Begins with this policy, or with a random one.
    pub(crate) fn with(seed: u64, theme: Theme, bug: Option<Bug>, policy: Option<&Entry>) -> World {
        World::of(seed, theme, bug, policy, policies())
    }

    /// Uses these policies, one after the other.
    pub(crate) fn among(seed: u64, theme: Theme, names: &[&str]) -> World {
        let named = |name: &&str| policies().into_iter().find(|entry| entry.name == *name);
        let policies = names.iter().map(|name| named(name).expect("a policy")).collect();
        World::of(seed, theme, None, None, policies)
    }

    fn of(
        seed: u64,
        theme: Theme,
        bug: Option<Bug>,
        policy: Option<&Entry>,
        policies: Vec<Entry>,
    ) -> World {
        let mut rng = Rng::new(seed);
        // Some runs are so large that the table has several pages, and a page of the journal can be
        // full.
        let large = policy.is_none() && theme != Theme::Tiny && rng.one_in(LARGE_ONE_IN);
        let (disk_blocks, slots, spare_frames, journal_pages) = match theme {
            Theme::Tiny => (rng.range(2, 12), rng.range(1, 4), rng.range(1, 5), rng.range(1, 4)),
            _ if large => {
                (rng.range(280, 420), rng.range(190, 260), rng.range(26, 60), rng.range(6, 12))
            }
            _ => (rng.range(24, 96), rng.range(4, 40), rng.range(6, 40), rng.range(6, 24)),
        };
        let frames = slots + spare_frames;
        let table_pages = frames.div_ceil(ENTRIES as u64);
        let layout = Layout { journal_pages, table_pages, frames, slots };
        // (Other themes draw nothing here, so that their seeds do not change.)
        let band_blocks = (theme == Theme::Bands).then(|| rng.range(3, 14));
        let policy = loop {
            let any = *rng.pick(&policies);
            let entry = policy.copied().unwrap_or(any);
            if cache(&entry, slots, disk_blocks, band_blocks).is_some() {
                break entry;
            }
        };
        let mut ssd = formatted(layout, disk_blocks, 1);
        let disk_atom = if rng.one_in(2) { 512 } else { PAGE_BYTES };
        let mut disk =
            Simulated::new((0..disk_blocks).map(|block| stamp(block, 0)).collect(), disk_atom);
        let mut oracle = Oracle::new(disk_blocks);
        let faulty = match theme {
            Theme::Faults => true,
            Theme::Changes | Theme::Bands | Theme::Tiny | Theme::Limits => rng.one_in(2),
            Theme::Crashes | Theme::Flips => false,
        };
        oracle.may_fail = faulty || theme == Theme::Flips;
        oracle.may_tear = disk_atom == 512;
        if faulty {
            let mut faults = |often: u64| Faults {
                reads: *rng.pick(&[0, 20, 100]),
                writes: *rng.pick(&[0, 20, 100]),
                flushes: *rng.pick(&[0, often, often * 5]),
                short: *rng.pick(&[0, 0, 30]),
            };
            (ssd.faults, disk.faults) = (faults(0), faults(10));
            // A failed flush of the SSD is the end of the SSD.
            ssd.faults.flushes = *rng.pick(&[0, 0, 0, 200]);
        }
        let mut config = Config::new(*rng.pick(&Mode::ALL), slots);
        config.depth = rng.range(1, 20) as usize;
        config.rules.sequential_bytes = rng.one_in(3).then_some(40_000);
        config.rules.room_slots = rng.below(slots / 2) as u32;
        // (Not random, so that seeds from before there were trims do not change.)
        config.trim_passdown = seed % 4 < 3;
        if theme == Theme::Bands {
            let modes = [Mode::WriteBack, Mode::WriteBack, Mode::NoReadFill];
            config.rules.mode = *rng.pick(&modes);
            // A write that continues another one bypasses the cache: the disk gets it beside the
            // bands.
            config.rules.sequential_bytes = Some(*rng.pick(&[1, 1, 5_000]));
            config.piece_blocks = rng.range(1, 6) as usize;
            // (Time passes with each I/O, so many bands take longer than a real client waits.)
            config.rules.room_timeout = Nanos::from_millis(3_600_000);
        }
        if matches!(theme, Theme::Tiny | Theme::Limits) {
            // (A write of many blocks waits for the only slot again and again, and time passes with
            // each I/O.)
            config.rules.room_timeout = Nanos::from_millis(3_600_000);
        }
        config.bug = bug;
        let mut found = recover(&mut ssd).expect("a new cache");
        assert!(found.clean && found.live().next().is_none());
        for write in found.journal.mark_in_use() {
            ssd.keep(write.page, &write.bytes);
        }
        let mut world = World {
            engine: open(found, &policy, slots, disk_blocks, band_blocks, &config),
            depth: rng.range(1, 24),
            diligence: rng.range(20, 95),
            hot: rng.range(2, disk_blocks),
            goes: if faulty { *rng.pick(&[0, 0, 300]) } else { 0 },
            refusals: if faulty { *rng.pick(&[0, 0, 200]) } else { 0 },
            connections: Vec::new(),
            last_connection: 0,
            next: None,
            lost: Vec::new(),
            late: Vec::new(),
            band_blocks,
            bands: (0, 0),
            policies,
            trail: Trail::default(),
            checks_for_missed_steps: false,
            rng,
            seed,
            tells: std::env::var("SHINGLE_SEED").is_ok(),
            theme,
            faulty,
            abandoned: false,
            forgotten: 0,
            ssd,
            disk,
            layout,
            disk_blocks,
            policy,
            config,
            pending: Vec::new(),
            oracle,
            now: Nanos::ZERO,
            commands: 0,
        };
        world.connect();
        world.effects();
        world
    }

    /// One run, from the seed to the end.
    pub(crate) fn live(mut self) -> World {
        // A few long lives, or many short ones: problems of one start show at the next.
        let short = self.rng.one_in(4);
        let lives = if short { self.rng.range(6, 16) } else { self.rng.range(1, 5) };
        let lengths: &[u64] = if short { &[0, 2, 8, 25, 60] } else { &[0, 20, 100, 400] };
        for _ in 0..if self.theme == Theme::Flips { 0 } else { lives } {
            let steps = *self.rng.pick(lengths);
            for _ in 0..self.rng.below(steps + 1) {
                self.step();
            }
            self.crash();
        }
        for _ in 0..self.rng.below(400) {
            self.step();
            if self.theme == Theme::Flips && self.rng.one_in(20) {
                self.flip();
            }
        }
        self.end();
        self.count_bands();
        self
    }

    /// Adds the counts of bands at the end of a life.
    pub(super) fn count_bands(&mut self) {
        let counts = self.engine.status().bands;
        self.bands = (self.bands.0 + counts.written, self.bands.1 + counts.given_up);
    }

    /// Numbers of bands written whole, and of those given up.
    pub(crate) fn bands(&self) -> (u64, u64) {
        self.bands
    }

    /// Whether SSDs are exchanged and the disk grows.
    fn changes(&self) -> bool {
        self.theme == Theme::Changes || self.theme == Theme::Bands && self.seed % 4 == 1
    }

    pub(super) fn step(&mut self) {
        if self.rng.one_in(self.goes) {
            self.lose_ssd();
        }
        self.disk_refuses();
        self.something_lands();
        if self.changes() && self.rng.one_in(25) {
            self.change();
        }
        if self.theme == Theme::Limits && self.rng.one_in(30) {
            self.limit();
        }
        match self.rng.below(100) {
            n if n < self.diligence && !self.pending.is_empty() => self.complete(),
            n if n < 97 => {
                let room = (self.oracle.under_way() as u64) < self.depth;
                if room && self.engine.can_submit() {
                    self.ask();
                } else if !self.pending.is_empty() {
                    self.complete();
                } else {
                    self.tick();
                }
            }
            97 if self.rng.one_in(10) => {
                let back = self.theme == Theme::Bands && !self.engine.mode().writes_through();
                let mode = *self.rng.pick(&Mode::ALL);
                // (Other modes do not write whole bands.)
                let mode = if self.theme == Theme::Bands && !back { Mode::WriteBack } else { mode };
                self.config.rules.mode = mode;
                self.engine.set_mode(mode);
            }
            98 if self.rng.one_in(10) => self.swap(),
            98 => self.connect(),
            _ => self.tick(),
        }
        self.effects();
    }

    /// Changes the limits and the time of the day, also back, and whether trims reach the disk.
    fn limit(&mut self) {
        let rng = &mut self.rng;
        let hours = *rng.pick(&["0-24", "0-0", "22-6", "3-4"]);
        let limits = Limits {
            destage_blocks_per_s: *rng.pick(&[None, None, Some(16), Some(1_000)]),
            hours: Hours::parse(hours).expect("hours"),
            ssd_blocks_per_day: *rng.pick(&[None, Some(0), Some(100), Some(u64::MAX)]),
        };
        let time_of_day = Nanos::from_millis(rng.below(24 * 3_600_000));
        self.config.rules.limits = limits;
        self.config.trim_passdown = rng.one_in(2);
        self.engine.set_limits(limits);
        self.engine.set_time_of_day(self.now, time_of_day);
        self.engine.set_trim_passdown(self.config.trim_passdown);
    }

    /// Changes the policy.
    fn swap(&mut self) {
        let policy = *self.rng.pick(&self.policies);
        if let Some(cache) = cache(&policy, self.layout.slots, self.disk_blocks, self.band_blocks) {
            if self.tells {
                println!("policy {}", policy.name);
            }
            self.policy = policy;
            self.engine.set_cache(cache).expect("it is as large");
        }
    }

    /// A client connects, or one of several disconnects.
    pub(super) fn connect(&mut self) {
        let at = self.rng.below(3) as usize;
        match self.connections.get(at).copied() {
            Some(connection) if self.connections.len() > 1 => {
                if !self.oracle.is_busy(connection) {
                    self.connections.remove(at);
                    self.engine.connection_closed(connection);
                }
            }
            _ => {
                self.last_connection += 1;
                let connection = Connection(self.last_connection);
                self.connections.push(connection);
                self.oracle.opened(connection);
                self.engine.connection_opened(connection);
            }
        }
    }

    /// The disk refuses something for a while, and recovers.
    fn disk_refuses(&mut self) {
        if self.disk.gone.is_some() {
            if self.rng.one_in(40) {
                self.disk.gone = None;
            }
        } else if self.rng.one_in(self.refusals) {
            let part = Gone::Part(0, self.disk_blocks / 2);
            let ways = [Gone::Silent, Gone::ReadOnly, Gone::Unflushed, part];
            self.disk.gone = Some(*self.rng.pick(&ways));
        }
    }

    /// Late I/O of a killed process arrives.
    fn something_lands(&mut self) {
        if !self.late.is_empty() && self.rng.one_in(10) {
            let at = self.rng.below(self.late.len() as u64) as usize;
            let io = self.late.swap_remove(at);
            let device = if io.device == Device::Ssd { &mut self.ssd } else { &mut self.disk };
            device.land(&io, &mut self.rng);
        }
    }

    pub(super) fn tick(&mut self) {
        let millis = *self.rng.pick(&[0, 1, 50, 300, 1500]);
        self.now += Nanos::from_millis(millis);
        self.engine.tick(self.now);
    }

    /// Handles the effects of the engine.
    pub(super) fn effects(&mut self) {
        let effects = self.engine.take_effects();
        if self.checks_for_missed_steps {
            self.check_for_missed_steps();
        }
        if self.changes() {
            self.changed();
        }
        for io in effects.ios {
            if self.tells {
                let names: Vec<_> = io.buffers.iter().map(|buffer| name(&buffer.0)).collect();
                println!("{:?} {:?} {} {names:?}", io.device, io.kind, io.page);
            }
            self.trail.asked(&io);
            let device = if io.device == Device::Ssd { &self.ssd } else { &self.disk };
            self.pending.push(device.begin(io));
        }
        for reply in &effects.replies {
            if self.tells {
                println!(
                    "{} answered {:?}",
                    reply.id,
                    reply.result.as_ref().map(|data| name(data))
                );
            }
            self.trail.answered(reply);
            self.oracle.answered(reply, self.faulty && self.engine.status().errors.ssd_failed);
        }
    }

    /// Runs all steps on a copy of the engine: they must do nothing, except for what was left to
    /// later calls. (A policy that is asked for victims again may choose others.)
    fn check_for_missed_steps(&self) {
        let mut engine = self.engine.clone();
        (0..100).for_each(|_| drop(engine.take_effects()));
        engine.run_all_steps();
        let Effects { ios, replies } = engine.take_effects();
        let ios: Vec<_> = ios.iter().map(|io| (io.device, io.kind, io.page)).collect();
        assert!(ios.is_empty() && replies.is_empty(), "seed {}: left out {ios:?}", self.seed);
    }

    pub(super) fn complete(&mut self) {
        let at = self.rng.below(self.pending.len() as u64) as usize;
        let mut pending = self.pending.swap_remove(at);
        let device = match pending.io.device {
            Device::Ssd => &mut self.ssd,
            Device::Disk => &mut self.disk,
        };
        let result = device.end(&mut pending, &mut self.pending, &mut self.rng);
        self.disk_has_lost();
        self.now += Nanos::from_micros(self.rng.below(500));
        let io = pending.io;
        self.engine.io_done(io.id, result, io.buffers);
    }

    /// Data that the disk has lost cannot be restored, unless the SSD has it.
    fn disk_has_lost(&mut self) {
        self.ssd.take_lost();
        for (block, left) in self.disk.take_lost() {
            let dirty = self.engine.dirty_runs(Block(block), 1) == [(1, true)];
            if !dirty {
                self.oracle.lose(block, &left);
                self.lost.push(block);
            } else if self.oracle.is_being_written(block) {
                // A write in flight makes a block dirty before the SSD has it, and may still bypass
                // the SSD.
                self.oracle.may_lack(block);
            }
        }
    }

    fn ask(&mut self) {
        let rng = &mut self.rng;
        let mut op = match rng.below(64) {
            0..12 if self.theme == Theme::Tiny => CommandOp::Trim,
            0..24 => CommandOp::Read,
            24..52 => CommandOp::Write,
            52..55 => CommandOp::WriteZeroes,
            55..57 => CommandOp::Trim,
            _ => CommandOp::Flush,
        };
        let mut first =
            if rng.one_in(2) { rng.below(self.hot) } else { rng.below(self.disk_blocks) };
        let most = *rng.pick(&[1, 1, 4, 12]);
        let mut blocks =
            (1 + rng.below(most * self.disk_blocks.div_ceil(96))).min(self.disk_blocks - first);
        if let Some(next) = self.next.take()
            && rng.one_in(2)
        {
            (op, first, blocks) = next;
        }
        let (mut offset, mut bytes) = (first * BLOCK_BYTES, blocks * BLOCK_BYTES);
        // After a partial write of a block its complete contents are not known.
        if !self.oracle.may_fail && op != CommandOp::Trim && rng.one_in(3) {
            offset += rng.below(BLOCK_BYTES);
            bytes = 1 + rng.below(bytes - (offset - first * BLOCK_BYTES));
        }
        if op == CommandOp::Trim {
            let reads = self.config.trim_passdown && self.commands.is_multiple_of(2);
            let next = if reads { CommandOp::Read } else { CommandOp::Write };
            self.next = Some((next, first, blocks));
        } else if self.theme == Theme::Bands && op == CommandOp::Write {
            let end = first + blocks;
            let more = 1 + rng.below(4).min((self.disk_blocks - end).saturating_sub(1));
            self.next = (end < self.disk_blocks).then_some((op, end, more));
        } else if !self.lost.is_empty() && rng.one_in(8) {
            self.next = Some((CommandOp::Read, *rng.pick(&self.lost), 1));
        }
        let fua = rng.one_in(if self.theme == Theme::Tiny { 2 } else { 8 });
        if self.tells {
            println!("{} {op:?} {offset} +{bytes} fua {fua}", self.commands + 1);
        }
        self.commands += 1;
        let connection = *rng.pick(&self.connections);
        let (id, data) = (self.commands, Vec::new());
        let mut command = Command { id, connection, op, offset, bytes, fua, data };
        self.oracle.ask(&mut command);
        self.engine.submit(command);
    }

    /// The SSD fails for good, in one of several ways.
    fn lose_ssd(&mut self) {
        let journal = self.layout.journal_page(1, Copy::One);
        let table = journal + 2 * self.layout.journal_pages;
        let ways = [
            Gone::Silent,
            Gone::ReadOnly,
            Gone::Unflushed,
            Gone::Part(journal, table),
            Gone::Part(journal, self.layout.pages()),
        ];
        self.ssd.gone = Some(*self.rng.pick(&ways));
    }

    /// A bit of a frame flips.
    fn flip(&mut self) {
        let frame = Frame(self.rng.below(self.layout.frames) as u32);
        let bit = self.rng.below(PAGE_BYTES as u64 * 8) as usize;
        self.ssd.flip_bit(self.layout.frame_page(frame), bit);
    }

    pub(super) fn until(&mut self, done: impl Fn(&Engine) -> bool, what: &str) {
        for _ in 0..200_000 {
            if done(&self.engine) {
                return;
            }
            if self.pending.is_empty() || self.rng.one_in(50) {
                self.tick();
            } else {
                self.complete();
            }
            self.effects();
        }
        panic!("{what} never come to an end: {}", self.says());
    }

    pub(crate) fn says(&self) -> String {
        let status = self.engine.status();
        format!(
            "seed {}: {} {} slots {}, {} reads checked, {status:?}",
            self.seed,
            self.policy.name,
            self.engine.mode().name(),
            self.layout.slots,
            self.oracle.reads_checked,
        )
    }

    pub(crate) fn trail(&self) -> Trail {
        self.trail
    }

    pub(crate) fn reads_checked(&self) -> u64 {
        self.oracle.reads_checked
    }
}

/// A new SSD.
pub(super) fn formatted(layout: Layout, disk_blocks: u64, edition: u64) -> Simulated {
    let mut pages = vec![[0; PAGE_BYTES]; layout.pages() as usize];
    let (ssd_bytes, disk_bytes) = (layout.pages() * PAGE_BYTES as u64, disk_blocks * BLOCK_BYTES);
    let new = Superblock::new(*b"a cache for test", layout, ssd_bytes, disk_bytes);
    let superblock = Superblock { edition, ..new };
    for copy in Copy::BOTH {
        pages[copy.superblock_page() as usize] = superblock.encode();
    }
    Simulated::new(pages, 512)
}

pub(super) fn open(
    found: Recovered,
    policy: &Entry,
    slots: u64,
    disk_blocks: u64,
    band_blocks: Option<u64>,
    config: &Config,
) -> Engine {
    let cache = cache(policy, slots, disk_blocks, band_blocks).expect("it was made before");
    Engine::open(found, cache, disk_blocks, config.clone()).expect("what was found makes sense")
}

/// The contents of a block; `None` if it is known to be damaged.
pub(super) fn page_of<'a>(
    found: &Recovered,
    ssd: &'a Simulated,
    disk: &'a Simulated,
    block: u64,
) -> Option<&'a Page> {
    let live = found.live().filter(|(cached, _)| cached.0 == block).collect::<Vec<_>>();
    assert!(live.len() <= 1, "block {block} is in two frames");
    let Some((_, frame)) = live.first() else { return Some(disk.page(block)) };
    let entry = found.journal.table.entry(*frame);
    let page = ssd.page(found.journal.layout().frame_page(*frame));
    match crc32c::crc32c(page) == entry.crc {
        true => Some(page),
        false if entry.state == State::Clean => Some(disk.page(block)),
        false => None,
    }
}
