//! A cache over a drive, in virtual time: carries out what the cache plans, and counts.
//!
//! Closed loop adds up: each I/O begins when the one before it is done (SAC, PORE). Open loop
//! queues: each I/O begins when what it depends on is done and its device is free, so that an SSD
//! hit never waits for the disk.

mod zones;

use std::sync::Arc;

use shingle_core::cache::{CacheCore, Outcome};
use shingle_core::plan::{Destage, Manner, Plan, WriteOrder};
use shingle_core::policy::{Access, Cost};
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request, Slot};
use shingle_drive::{BufferState, Counters, Description, Drive, Io, Served, Stamp};
use shingle_result::{HostCounters, Pacing, Responses, Snapshot, Translating};

use crate::check::{Check, Stale};
use crate::device::Device;
use crate::disk::Disk;
use crate::translated::Translated;
use crate::watch::{Cause, Watch};

/// How requests and plans become I/O.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// When requests come.
    pub pacing: Pacing,
    /// Each block is an I/O of its own, destages in the order in which the policy named them: the
    /// rule of the papers' prototypes.
    pub split: bool,
    /// The rest of a partly written block is read from the disk when it is not cached. Otherwise
    /// such a block counts as written whole, as in the papers.
    pub fill_partial: bool,
}

/// Destages are joined to at most this many blocks (512 KiB) an I/O.
const JOINED_BLOCKS_MAX: usize = 128;

/// Neighbouring blocks of a request that the disk has to serve, not yet issued.
#[derive(Clone, Debug, Default)]
struct Run {
    op: Option<Op>,
    first: Block,
    blocks: Vec<(Slot, Stamp)>, // slot to fill, or NONE; the stamp a bypassing write carries
    /// The host writes into the slots once they are filled.
    written: bool,
}

/// A cache over a drive. With policy `none` it is the drive.
pub struct System {
    cache: Box<dyn CacheCore>,
    ssd: Device,
    disk: Device,
    rules: Rules,
    plan: Plan,
    run: Run,
    host: HostCounters,
    check: Option<Box<Check>>,
    stamps: Vec<Stamp>,
    requests: u64,
    /// Closed loop: the clock.
    clock: Nanos,
    /// The next I/O of the request may begin.
    ready: Nanos,
    /// The request is done, as far as is known.
    done: Nanos,
    warm: Warm,
    wants_horizon: bool,
    wants_write_pointers: bool,
    /// The disk is a translation that gets the host's requests as they come, and is told of them ahead.
    announces: bool,
    /// The next use of the block of each access, if the policy is told.
    future: Option<Arc<Vec<u64>>>,
    /// Closed loop on a uniform SSD: blocks read and written for the request under way, served
    /// together at its end.
    pooled: Option<Pooled>,
    /// Checked and pooled: what each slot holds, as the SSD is told of no slots then.
    in_slots: Vec<Stamp>,
    /// Checked: the data of a zone that the host reads and merges.
    merged: Vec<Stamp>,
}

/// Blocks of one request on the SSD.
#[derive(Clone, Copy, Debug, Default)]
struct Pooled {
    read_blocks: u64,
    written_blocks: u64,
}

/// Whether the cache (without one: the buffer) has been full.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant)] // one a system
enum Warm {
    NotYet,
    /// From the next access on.
    Next,
    /// Since this request, with the counters before it.
    Since {
        request: u64,
        before: Snapshot,
    },
}

impl System {
    /// `cache` over `disk`, its blocks on `ssd`. With `checked`, data stamps are kept.
    #[must_use]
    pub fn new(
        cache: Box<dyn CacheCore>,
        ssd: Box<dyn Drive>,
        disk: impl Into<Disk>,
        rules: Rules,
        checked: bool,
    ) -> System {
        let (open, disk) = (rules.pacing == Pacing::Open, disk.into());
        let pools = !open && ssd.description().uniform;
        let stamped_slots = if pools && checked { cache.slots().capacity() } else { 0 };
        System {
            in_slots: vec![0; stamped_slots as usize],
            pooled: pools.then(Pooled::default),
            wants_horizon: cache.wants_horizon(),
            wants_write_pointers: cache.wants_write_pointers(),
            // A cache changes what the disk is asked; in closed loop nothing ever waits.
            announces: open && cache.slots().capacity() == 0 && disk.translated().is_some(),
            merged: Vec::new(),
            future: None,
            cache,
            ssd: Device::new(ssd, open),
            disk: Device::new(disk, false),
            rules,
            plan: Plan::default(),
            run: Run::default(),
            host: HostCounters::default(),
            check: checked.then(Box::default),
            stamps: Vec::with_capacity(JOINED_BLOCKS_MAX),
            requests: 0,
            clock: Nanos::ZERO,
            ready: Nanos::ZERO,
            done: Nanos::ZERO,
            warm: Warm::NotYet,
        }
    }

    /// Serves a request and returns when it came and when it was done.
    pub fn request(&mut self, request: &Request) -> (Nanos, Nanos) {
        let start = match self.rules.pacing {
            Pacing::Closed => self.clock,
            Pacing::Open => request.at,
        };
        (self.ready, self.done) = (start, start);
        self.tell_translation(1, &[]);
        if self.wants_write_pointers {
            self.disk.catch_up(start);
            self.tell_write_pointers();
        }
        match request.op {
            Op::Read | Op::Write => {
                self.blocks(request);
                self.serve_pooled();
            }
            Op::Trim => self.trim(request),
            Op::Flush => self.flush(),
        }
        if matches!(self.warm, Warm::NotYet) && self.full() {
            self.warm = Warm::Next;
        }
        self.requests += 1;
        self.clock = self.clock.max(self.done);
        (start, self.done)
    }

    /// Whether the policy wants to be told [`System::foresee`].
    #[must_use]
    pub fn wants_future(&self) -> bool {
        self.cache.wants_future()
    }

    /// Tells the policy the future: `next_uses` is that of every block access from the first
    /// request on ([`crate::future::next_uses`]). Accesses beyond its end know of no next use.
    pub fn foresee(&mut self, next_uses: Vec<u64>) {
        self.future = Some(Arc::new(next_uses));
    }

    /// The next use of the block of the access that comes now.
    fn next_use(&self) -> u64 {
        let now = (self.host.read_blocks + self.host.write_blocks) as usize;
        let known = self.future.as_ref().and_then(|future| future.get(now));
        known.copied().unwrap_or(Access::NEVER)
    }

    /// Those who look on at what the disk is asked, if anybody does.
    pub(crate) fn watched(&mut self) -> Option<&mut Watch> {
        self.disk.watched()
    }

    /// Lets somebody look on at what the disk is asked, but not at what copies of the system ask.
    pub(crate) fn watch(&mut self) -> &mut Watch {
        self.disk.watch()
    }

    /// These requests come next; see [`CacheCore::expect`].
    pub fn expect(&self, requests: &[Request]) {
        self.cache.expect(requests);
    }

    /// Whether [`System::announce`] is of use.
    #[must_use]
    pub fn announces(&self) -> bool {
        self.announces
    }

    /// These requests come behind those announced before; see [`Translated::announce`].
    pub fn announce(&mut self, requests: &[Request]) {
        self.tell_translation(0, requests);
    }

    /// The first `begun` requests of those announced have come, and `coming` follow.
    fn tell_translation(&mut self, begun: usize, coming: &[Request]) {
        if !self.announces {
            return;
        }
        if let Some(translated) = self.disk.disk_mut().translated_mut() {
            translated.announce(begun, coming);
        }
    }

    fn full(&self) -> bool {
        match self.cache.slots().capacity() {
            0 => self.disk.drive().buffer().was_full,
            _ => self.cache.full(),
        }
    }

    fn blocks(&mut self, request: &Request) {
        match request.op {
            Op::Read => self.host.read_requests += 1,
            _ => self.host.write_requests += 1,
        }
        let (first, count) = (request.first(), request.blocks());
        let mut access = Access::whole(self.requests, first, request.op);
        access.request = *request;
        for place in 0..count {
            access.block = first.after(place);
            access.place = place as u32;
            // Only the outer blocks of a request can be partial.
            access.partial = (place == 0 || place + 1 == count) && request.partial(access.block);
            access.next_use = self.next_use();
            self.access(&mut access);
            if self.rules.split {
                self.issue();
            }
        }
        self.issue();
    }

    #[inline]
    fn access(&mut self, access: &mut Access) {
        if let Warm::Next = self.warm {
            self.warm = Warm::Since { request: self.requests, before: self.snapshot() };
        }
        let mut outcome = self.cache.access(access, &mut self.plan);
        if outcome == Outcome::NoRoom || !self.plan.is_empty() {
            outcome = self.make_room(access, outcome);
        }
        let fills = access.partial && self.rules.fill_partial;
        match access.op {
            Op::Read => {
                self.host.read_blocks += 1;
                match outcome {
                    Outcome::Hit(slot) => {
                        self.host.read_hits += 1;
                        self.read_slot(slot, access.block);
                    }
                    Outcome::Miss(slot) => self.miss(slot, access, false),
                    _ => self.bypass(access),
                }
            }
            _ => {
                self.host.write_blocks += 1;
                match outcome {
                    Outcome::Hit(slot) => {
                        self.host.write_hits += 1;
                        self.write_slot(slot, access.block);
                    }
                    Outcome::Miss(slot) if fills => self.miss(slot, access, true),
                    Outcome::Miss(slot) => {
                        self.write_slot(slot, access.block);
                        self.notice_full();
                    }
                    _ => self.bypass(access),
                }
            }
        }
    }

    fn notice_full(&mut self) {
        if matches!(self.warm, Warm::NotYet) && self.cache.full() {
            self.warm = Warm::Next;
        }
    }

    // ── The SSD ──────────────────────────────────────────────────────────────────────────────

    #[inline]
    fn read_slot(&mut self, slot: Slot, block: Block) {
        if let Some(pooled) = &mut self.pooled {
            pooled.read_blocks += 1;
            if let Some(check) = &mut self.check {
                check.read(block, self.in_slots[slot.index()]);
            }
            return;
        }
        let mut stamp = [0];
        let checked = usize::from(self.check.is_some());
        let io = Io { op: Op::Read, block: Block(u64::from(slot.0)), count: 1 };
        let (start, served) = self.ssd.serve(self.ready, &io, &mut stamp[..checked]);
        self.host.ssd_read_time += served.done.since(start);
        if let Some(check) = &mut self.check {
            check.read(block, stamp[0]);
        }
        self.waited_for(served.done);
    }

    /// The host's data goes into `slot`.
    #[inline]
    fn write_slot(&mut self, slot: Slot, block: Block) {
        let stamp = self.check.as_mut().map(|check| check.write(block));
        let done = self.store(slot, stamp);
        self.waited_for(done);
    }

    #[inline]
    fn store(&mut self, slot: Slot, stamp: Option<Stamp>) -> Nanos {
        if let Some(pooled) = &mut self.pooled {
            pooled.written_blocks += 1;
            if let Some(stamp) = stamp {
                self.in_slots[slot.index()] = stamp;
            }
            return self.ready;
        }
        let mut data = [stamp.unwrap_or(0)];
        let io = Io { op: Op::Write, block: Block(u64::from(slot.0)), count: 1 };
        let (start, served) =
            self.ssd.serve(self.ready, &io, &mut data[..usize::from(stamp.is_some())]);
        self.host.ssd_write_time += served.done.since(start);
        served.done
    }

    /// Serves what the request under way has pooled.
    fn serve_pooled(&mut self) {
        let Some(pooled) = self.pooled.as_mut().map(core::mem::take) else { return };
        for (op, count) in [(Op::Read, pooled.read_blocks), (Op::Write, pooled.written_blocks)] {
            if count > 0 {
                let io = Io { op, block: Block(0), count };
                let (start, served) = self.ssd.serve(self.ready, &io, &mut []);
                *(match op {
                    Op::Read => &mut self.host.ssd_read_time,
                    _ => &mut self.host.ssd_write_time,
                }) += served.done.since(start);
                self.waited_for(served.done);
            }
        }
    }

    /// The request is not done before `done`; in closed loop nothing else begins before it.
    #[inline]
    fn waited_for(&mut self, done: Nanos) {
        self.done = self.done.max(done);
        if self.rules.pacing == Pacing::Closed {
            self.ready = done;
        }
    }

    /// What comes next begins when this is done, and the request is not done before.
    fn chain(&mut self, done: Nanos) {
        self.ready = self.ready.max(done);
        self.done = self.done.max(done);
    }

    // ── The disk, for the host ───────────────────────────────────────────────────────────────

    /// `slot` is to be filled from the disk, for a read or for the rest of a partly written block.
    fn miss(&mut self, slot: Slot, access: &Access, written: bool) {
        self.host.fills += u64::from(written);
        self.cache.pin(slot);
        self.append(Op::Read, access.block, slot, written);
        self.notice_full();
    }

    fn bypass(&mut self, access: &Access) {
        let fills = access.partial && self.rules.fill_partial;
        match access.op {
            Op::Read => {
                self.host.bypassed_reads += 1;
                self.append(Op::Read, access.block, Slot::NONE, false);
            }
            _ => {
                self.host.bypassed_writes += 1;
                if fills {
                    // The disk writes whole blocks: the rest of this one is read first.
                    self.host.fills += 1;
                    self.append(Op::Read, access.block, Slot::NONE, false);
                }
                self.append(Op::Write, access.block, Slot::NONE, false);
            }
        }
    }

    /// Adds a block to the run under way, or begins a new one.
    fn append(&mut self, op: Op, block: Block, slot: Slot, written: bool) {
        let next = self.run.first.after(self.run.blocks.len() as u64);
        if self.run.op != Some(op) || block != next || written || self.run.written {
            self.issue();
            (self.run.op, self.run.first, self.run.written) = (Some(op), block, written);
        }
        let stamp = match (op, &mut self.check) {
            (Op::Write, Some(check)) => check.write(block),
            _ => 0,
        };
        self.run.blocks.push((slot, stamp));
    }

    /// Issues the run under way.
    fn issue(&mut self) {
        let Some(op) = self.run.op.take() else { return };
        let blocks = core::mem::take(&mut self.run.blocks);
        let io = Io { op, block: self.run.first, count: blocks.len() as u64 };
        self.stamps.clear();
        if self.check.is_some() {
            self.stamps.extend(blocks.iter().map(|&(_, stamp)| stamp));
        }
        let cause = match blocks.first() {
            Some(&(Slot::NONE, _)) => Cause::Bypass,
            _ if self.run.written => Cause::Fill,
            _ => Cause::Miss,
        };
        let (start, served) = self.disk.serve_for(cause, self.ready, &io, &mut self.stamps);
        let took = served.done.since(start);
        *(match op {
            Op::Read => &mut self.host.drive_read_time,
            _ => &mut self.host.drive_write_time,
        }) += took;
        self.waited_for(served.done);
        if op == Op::Read {
            self.cache.observe(&Cost { op, blocks: io.count, took });
            self.fill(&blocks, served.done);
        }
        self.run.blocks = blocks;
        self.run.blocks.clear();
    }

    /// What the disk has read goes to the host and into the slots that wait for it. The host does
    /// not wait for that, unless it writes there itself.
    fn fill(&mut self, blocks: &[(Slot, Stamp)], read: Nanos) {
        self.ready = self.ready.max(read);
        for (at, &(slot, _)) in blocks.iter().enumerate() {
            let block = self.run.first.after(at as u64);
            let stamp = self.check.as_mut().map(|check| {
                check.read(block, self.stamps[at]);
                if self.run.written { check.write(block) } else { self.stamps[at] }
            });
            if slot == Slot::NONE {
                continue;
            }
            let done = self.store(slot, stamp);
            if self.run.written || self.rules.pacing == Pacing::Closed {
                self.waited_for(done);
            }
            self.cache.unpin(slot);
        }
    }

    // ── The disk, for the cache ──────────────────────────────────────────────────────────────

    /// Carries out the plan, and asks again until the access has its slot.
    fn make_room(&mut self, access: &mut Access, mut outcome: Outcome) -> Outcome {
        // Each turn destages something or unpins everything; the latter is possible once.
        loop {
            let stuck = self.plan.is_empty();
            if stuck {
                assert!(self.run.op.is_some(), "the policy names no victim and nothing is in use");
                self.issue();
            }
            self.carry_out();
            if outcome != Outcome::NoRoom {
                return outcome;
            }
            outcome = self.cache.retry(access, &mut self.plan);
            if outcome != Outcome::NoRoom && self.plan.is_empty() {
                return outcome;
            }
        }
    }

    fn carry_out(&mut self) {
        self.host.evicted_clean += self.plan.dropped_blocks();
        if let (&[one], true) = (self.plan.destages(), self.plan.is_plain()) {
            self.plan.clear();
            self.destage(&[one]);
            return self.tell_of_disk();
        }
        let mut plan = core::mem::take(&mut self.plan);
        for (group, manner) in plan.groups() {
            let as_named = self.rules.split && matches!(manner, Manner::Write(_));
            if manner != Manner::Write(WriteOrder::AsGiven) && !as_named {
                group.sort_unstable_by_key(|destage| destage.block);
            }
            match manner {
                Manner::Write(_) => self.destage_all(group),
                Manner::Append(zone) => self.append_to(zone, group),
                Manner::Rewrite(zone) => self.rewrite(zone, group),
                Manner::HostRmw(zone) => self.host_rmw(zone, group),
            }
        }
        plan.clear();
        self.plan = plan;
        self.tell_of_disk();
    }

    /// Most blocks of an I/O.
    fn joined_max(&self) -> usize {
        if self.rules.split { 1 } else { JOINED_BLOCKS_MAX }
    }

    /// Destages in the order given; neighbours are joined.
    fn destage_all(&mut self, mut rest: &[Destage]) {
        while !rest.is_empty() {
            let joined = rest
                .windows(2)
                .take(self.joined_max() - 1)
                .take_while(|pair| pair[0].block.after(1) == pair[1].block)
                .count();
            let (run, after) = rest.split_at(joined + 1);
            self.destage(run);
            rest = after;
        }
    }

    /// Tells a policy what it wants to know: how far the disk's buffer has been emptied, and where
    /// write pointers are.
    fn tell_of_disk(&mut self) {
        if self.wants_horizon {
            let disk = self.disk.drive();
            // (With nothing in the buffer all that was destaged is in its place.)
            let written = disk.counters().written_blocks;
            let behind = written - disk.buffer().oldest.unwrap_or(written);
            self.cache.set_horizon(self.cache.slots().destaged().saturating_sub(behind));
        }
        if self.wants_write_pointers {
            self.tell_write_pointers();
        }
    }

    /// Reads the blocks of `run` from the SSD, their stamps into `stamps`. Returns when that is done.
    fn read_slots(&mut self, run: &[Destage]) -> Nanos {
        self.stamps.clear();
        if let Some(pooled) = &mut self.pooled {
            pooled.read_blocks += run.len() as u64;
            if self.check.is_some() {
                self.stamps.extend(run.iter().map(|one| self.in_slots[one.slot.index()]));
            }
            return self.ready;
        }
        let mut read = self.ready;
        for destage in run {
            let mut stamp = [0];
            let checked = usize::from(self.check.is_some());
            let io = Io { op: Op::Read, block: Block(u64::from(destage.slot.0)), count: 1 };
            let ready = if self.rules.pacing == Pacing::Closed { read } else { self.ready };
            let (start, served) = self.ssd.serve(ready, &io, &mut stamp[..checked]);
            self.host.ssd_read_time += served.done.since(start);
            self.stamps.extend(&stamp[..checked]);
            read = read.max(served.done);
        }
        read
    }

    /// Writes neighbouring blocks to the disk; their slots are free then.
    fn destage(&mut self, run: &[Destage]) {
        let read = self.read_slots(run);
        let io = Io { op: Op::Write, block: run[0].block, count: run.len() as u64 };
        let (start, served) = self.disk.serve_for(Cause::Destage, read, &io, &mut self.stamps);
        let took = served.done.since(start);
        self.host.drive_write_time += took;
        // Whoever needs the room waits for it.
        self.chain(served.done);
        self.host.evicted_dirty += run.len() as u64;
        for destage in run {
            self.cache.destaged(destage.slot);
        }
        self.cache.observe(&Cost { op: Op::Write, blocks: io.count, took });
    }

    // ── Trim, flush, drain ───────────────────────────────────────────────────────────────────

    fn trim(&mut self, request: &Request) {
        self.host.trim_requests += 1;
        // Only whole blocks: the rest of a partly trimmed block is still wanted.
        let (first, count) = request.whole_blocks();
        if count == 0 {
            return;
        }
        self.cache.trim(first, count);
        if let Some(check) = &mut self.check {
            check.trim(first, count);
        }
        let io = Io { op: Op::Trim, block: first, count };
        let (start, served) = self.disk.serve_for(Cause::Trim, self.ready, &io, &mut []);
        self.host.drive_write_time += served.done.since(start);
        self.waited_for(served.done);
    }

    /// Dirty blocks are safe on the SSD; what either device holds in volatile caches is not.
    fn flush(&mut self) {
        self.host.flush_requests += 1;
        let io = Io { op: Op::Flush, block: Block(0), count: 0 };
        let (start, on_ssd) = self.ssd.serve(self.ready, &io, &mut []);
        self.host.ssd_write_time += on_ssd.done.since(start);
        self.waited_for(on_ssd.done);
        let (start, on_disk) = self.disk.serve_for(Cause::Flush, self.ready, &io, &mut []);
        self.host.drive_write_time += on_disk.done.since(start);
        self.waited_for(on_disk.done);
    }

    /// Destages all dirty blocks, by address, and empties the disk's buffer. Returns when that is
    /// done.
    pub fn drain_all(&mut self) -> Nanos {
        self.ready = self.clock.max(self.disk.last_io());
        self.done = self.ready;
        // An eviction of everything: the policy empties itself, however many calls that takes.
        while self.cache.slots().dirty_blocks() > 0 {
            self.cache.evict(self.cache.slots().capacity(), &mut self.plan);
            assert!(!self.plan.is_empty(), "a policy with dirty blocks names no victim");
            self.carry_out();
        }
        self.serve_pooled();
        self.clock = self.disk.drain(self.ready);
        // Whoever asked for the buffer to be empty waits for the cleaning: charged as a write.
        self.host.drive_write_time += self.clock.since(self.ready);
        self.clock
    }

    // ── What there is to know ────────────────────────────────────────────────────────────────

    /// All counters now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { host: self.host, ssd: self.ssd.counters(), disk: self.disk.counters() }
    }

    /// Counters when the cache (without one: the buffer) was first full, and the number of the
    /// request from which on it was. `None` if it never was.
    #[must_use]
    pub fn warm(&self) -> Option<(u64, &Snapshot)> {
        match &self.warm {
            Warm::Since { request, before } => Some((*request, before)),
            _ => None,
        }
    }

    /// The cache.
    #[must_use]
    pub fn cache(&self) -> &dyn CacheCore {
        self.cache.as_ref()
    }

    /// The disk.
    #[must_use]
    pub fn disk(&self) -> &dyn Drive {
        self.disk.drive()
    }

    /// What the translation over the disk has done, if there is one.
    #[must_use]
    pub fn translating(&self) -> Option<Translating> {
        self.disk.disk().translated().map(Translated::translating)
    }

    /// The parts of the time that the disk and the SSD were at work.
    #[must_use]
    pub fn utilisation(&self) -> [f64; 2] {
        [&self.disk, &self.ssd].map(|device| device.utilisation(self.finished()))
    }

    /// When the last I/O is done.
    #[must_use]
    pub fn finished(&self) -> Nanos {
        self.clock.max(self.disk.last_io()).max(self.ssd.last_io())
    }

    /// Response times of the disk.
    #[must_use]
    pub fn drive_responses(&self) -> Responses {
        self.disk.responses()
    }

    /// How long after `at` the disk is still busy with what came before.
    #[must_use]
    pub fn backlog(&self, at: Nanos) -> Nanos {
        self.disk.last_io().since(at)
    }

    /// The first stale read and how many were checked, in a checked system.
    #[must_use]
    pub fn checked(&self) -> Option<(u64, Option<Stale>)> {
        self.check.as_ref().map(|check| (check.reads(), check.stale()))
    }

    /// A copy in the same state.
    #[must_use]
    pub fn duplicate(&self) -> System {
        System {
            cache: self.cache.copy(),
            ssd: self.ssd.copy(),
            disk: self.disk.copy(),
            rules: self.rules,
            plan: self.plan.clone(),
            run: self.run.clone(),
            host: self.host,
            check: self.check.clone(),
            stamps: Vec::with_capacity(JOINED_BLOCKS_MAX),
            requests: self.requests,
            clock: self.clock,
            ready: self.ready,
            done: self.done,
            warm: self.warm,
            wants_horizon: self.wants_horizon,
            wants_write_pointers: self.wants_write_pointers,
            announces: self.announces,
            merged: Vec::new(),
            future: self.future.clone(),
            pooled: self.pooled,
            in_slots: self.in_slots.clone(),
        }
    }
}

/// A cache over a drive is again a drive: caches stack.
impl Drive for System {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        assert!(data.is_empty(), "a system keeps its own stamps: make it checked");
        self.clock = self.clock.max(now);
        let (offset, bytes) = (io.block.bytes(), io.count * BLOCK_BYTES);
        let (_, done) = self.request(&Request { at: now, offset, bytes, op: io.op });
        Served { done, transfer: done.since(now), ..Served::default() }
    }

    fn drain(&mut self, now: Nanos) -> Nanos {
        self.clock = self.clock.max(now);
        self.drain_all()
    }

    fn counters(&self) -> &Counters {
        self.disk.drive().counters()
    }

    fn buffer(&self) -> BufferState {
        // What the cache above destaged may lie on the SSD still.
        BufferState { oldest: None, ..self.disk.drive().buffer() }
    }

    fn description(&self) -> &Description {
        self.disk.drive().description()
    }

    fn copy(&self) -> Box<dyn Drive> {
        Box::new(self.duplicate())
    }

    fn check(&self) {
        self.cache.check();
        self.disk.drive().check();
    }
}
