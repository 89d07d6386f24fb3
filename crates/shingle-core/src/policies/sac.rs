//! SAC (Sun and Chai, ASPLOS 2020, §4): write-back in cycles, each restricted to a few target zones
//! that release the most cache for one cleaning, balanced against clean blocks by the comparator.
//!
//! **Cycle-driven write-back** (§4.2). Rule 1: the target zones of a cycle together are no larger
//! than the buffer (with another cycle length: see `rule1`). Rule 2: a cycle writes no more than
//! fits into the buffer. Rule 3: it ends when its zones hold no dirty block. Rule 4: zones of
//! cycles whose blocks are still in the buffer are not chosen again. **Target selection** (§4.3):
//! by ARS, Equation 1, the number of cold dirty blocks of a zone. Within the target zones the least
//! recently used block leaves first.
//!
//! The paper compares two other ways to select targets (§6.4), here `sac-pd` and `sac-ad`; only the
//! score differs. PD takes "the band with the lowest popularity". The paper does not say how it
//! measures that; here it is the share of hot blocks (`P(x) = 1`) among the dirty blocks of the
//! zone, in whole thousandths. AD takes "the band containing the most cached blocks"; on the dirty
//! side those are its dirty blocks, which a predecessor of the prototype also counts
//! (`zfruc/smr-ssd-cache`, paul.c).
//!
//! The paper leaves open how a host knows that a cycle has left the buffer. Here a cycle counts as
//! active until one buffer of blocks has been destaged after its end. `rule4=exact` asks the
//! simulated drive; `rule4=skip` excludes the zones from the next cycle only, as the authors'
//! prototype does.
//!
//! The paper says nothing of idle time. Here all dirty blocks of a zone are written together, so
//! that one cleaning takes them all: first the target zones, if a cycle is active, then the zones
//! with the highest scores. Rules 1, 2 and 4 keep cycles from filling the buffer with more zones
//! than it holds. An idle disk has time to clean them, so idle time does not apply the rules and
//! does not count as a cycle. A cycle whose zones were written in idle time ends when it is next
//! examined (rule 3).

pub mod target;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::marker::PhantomData;

use crate::ahead::PrefetchStep;
use crate::cdc::recent::Recent;
use crate::cdc::{
    CLEAN_PART, COST, Cdc, Offer, Pair, Shared, Side, WINDOW, group_blocks, next_victims,
};
use crate::drive_view::Costs;
use crate::param;
use crate::params::{Param, Params};
use crate::parts::{Buckets, ByZone, List, ZoneIndex};
use crate::policy::{Access, Memory, Victims, ZONE};
use crate::size::show_bytes;
use crate::slots::Slots;
use crate::units::{BLOCK_BYTES, Nanos, Slot};

use target::{Ad, Ars, Pd, Target};

/// SAC as in the paper.
pub type Sac = Cdc<Ars>;
/// SAC with P-decided targets.
pub type SacPd = Cdc<Pd>;
/// SAC with A-decided targets.
pub type SacAd = Cdc<Ad>;

impl<T: Target> Pair for T {
    const NAME: &'static str = T::NAME;
    const ABOUT: &'static str = T::ABOUT;
    const PARAMS: &'static [Param] = PARAMS;
    type Clean = Recent;
    type Dirty = Cycles<T>;

    fn sides(params: &Params, slots: &Slots) -> (Recent, Cycles<T>) {
        (Recent::new(group_blocks(params, slots)), Cycles::new(params, slots))
    }
}

const PARAMS: &[Param] = &[ZONE, WINDOW, CLEAN_PART, COST, CYCLE, RULE1, RULE2, RULE4];

pub(crate) const CYCLE: Param = param!("cycle": Ratio = "1",
    "cycle length in buffer sizes (SAC §6.5, Fig 16)");

/// What bounds the target zones of a cycle. In the paper the buffer does, while the length of
/// cycles varies (§6.5). But targets no larger than the buffer hold no more blocks than fit into
/// it. Then a cycle ends by rule 3 after one buffer of blocks, whatever longer length rule 2
/// allows, and the steep rise of write amplification at twice the buffer (Fig 16 b) would be
/// impossible. In the prototype the length bounds both.
pub(crate) const RULE1: Param = param!("rule1": Choice(&["cycle", "buffer"]) = "cycle",
    "target zones are together no larger than the cycle is long (prototype), or than the buffer (SAC \
     §4.2, rule 1); the same unless cycle is set");

/// See [`CYCLE`].
pub(crate) const RULE2: Param = param!("rule2": Switch = "on",
    "a cycle ends when its length has been written (paper); off in the prototype");

/// See [`CYCLE`].
pub(crate) const RULE4: Param = param!("rule4": Choice(&["destaged", "exact", "skip"]) = "destaged",
    "a zone waits until a buffer of blocks was destaged after its cycle, until the drive has cleaned it \
     (simulator only), or one cycle (prototype)");

/// When a zone may be chosen again (rule 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule4 {
    /// When one buffer of blocks has been destaged after the cycle, or (exact) the drive has
    /// cleaned it.
    Horizon { exact: bool },
    /// After one cycle.
    Skip,
}

#[derive(Clone, Copy, Debug, Default)]
struct ZoneState {
    /// Its dirty blocks in LRU order.
    dirty: List,
    /// Number of them that are cold.
    cold: u32,
    /// Whether it is a target of the current cycle.
    target: bool,
    /// Whether it is in the queue of targets.
    queued: bool,
    /// Whether it was chosen at least once.
    chosen: bool,
    /// With [`Rule4::Horizon`]: blocks destaged when its last cycle ended. With [`Rule4::Skip`]:
    /// cycles completed when it was chosen last.
    mark: u64,
}

impl ZoneState {
    /// Its score; `None` without dirty blocks.
    #[inline]
    fn score<T: Target>(&self) -> Option<u32> {
        (!self.dirty.is_empty()).then(|| T::score(self.cold, self.dirty.len()))
    }
}

/// The dirty blocks, written back in cycles.
#[derive(Clone, Debug)]
pub struct Cycles<T> {
    zones: ByZone<ZoneState>,
    /// Zones that hold dirty blocks, by the score of `T`.
    by_score: Buckets,
    targets: Vec<ZoneIndex>,
    /// Target zones with dirty blocks, by the stamp of their coldest block. A stamp may be
    /// outdated, but never too high.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    skipped: Vec<Reverse<(u64, u32)>>,
    written: u64,
    cycles_done: u64,
    targets_max: usize,
    cycle_blocks: u64,
    rule2: bool,
    rule4: Rule4,
    /// Whether zones leave whole instead of block by block.
    whole_zones: bool,
    target: PhantomData<T>,
}

impl<T: Target> Cycles<T> {
    pub(crate) fn new(params: &Params, slots: &Slots) -> Self {
        let zones = slots.zones();
        let zone_blocks = zones.largest();
        let buffer = slots.drive().buffer_blocks.max(1);
        let cycle_blocks = params.part_of("cycle", buffer).max(1);
        // Each target has at least one dirty block in the cache.
        let together = if params.choice("rule1") == "buffer" { buffer } else { cycle_blocks };
        let targets_max = (together / zone_blocks).clamp(1, u64::from(slots.capacity()).max(1));
        let targets_max = targets_max.min(zones.count() as u64) as usize;
        let dirty_max = zone_blocks.min(u64::from(slots.capacity())) as u32;
        Cycles {
            zones: ByZone::new(),
            by_score: Buckets::new(0, T::score_max(dirty_max)),
            targets: Vec::with_capacity(targets_max),
            queue: BinaryHeap::with_capacity(targets_max + 1),
            skipped: Vec::with_capacity(targets_max + 1),
            written: 0,
            cycles_done: 0,
            targets_max,
            cycle_blocks,
            rule2: params.switch("rule2"),
            rule4: match params.choice("rule4") {
                "skip" => Rule4::Skip,
                choice => Rule4::Horizon { exact: choice == "exact" },
            },
            whole_zones: false,
            target: PhantomData,
        }
    }

    /// Makes zones leave whole, one after the other, so that each can be written in order.
    pub(crate) fn of_whole_zones(self) -> Self {
        Cycles { whole_zones: true, ..self }
    }

    fn eligible(&self, zone: ZoneIndex, slots: &Slots) -> bool {
        let state = &self.zones[zone];
        !state.chosen
            || match self.rule4 {
                Rule4::Horizon { .. } => state.mark <= slots.horizon(),
                Rule4::Skip => self.cycles_done >= state.mark + 2,
            }
    }

    /// Applies rule 4 to the zones just chosen.
    fn mark_targets(&mut self) {
        for &zone in &self.targets {
            let state = &mut self.zones[zone];
            state.chosen = true;
            state.mark = match self.rule4 {
                Rule4::Horizon { .. } => u64::MAX, // until the end of the cycle is known
                Rule4::Skip => self.cycles_done,
            };
        }
    }

    fn enqueue(&mut self, zone: ZoneIndex, shared: &Shared) {
        let state = &mut self.zones[zone];
        if let Some(tail) = state.dirty.tail()
            && !state.queued
        {
            state.queued = true;
            self.queue.push(Reverse((shared.recency.stamp(Slot(tail)), zone.0)));
        }
    }

    /// Returns the target zone with the coldest block of all: the top of the queue, once its stamp
    /// is up to date.
    fn coldest_target(&mut self, shared: &Shared) -> Option<ZoneIndex> {
        while let Some(mut top) = self.queue.peek_mut() {
            let Reverse((stamp, zone)) = *top;
            let state = &mut self.zones[ZoneIndex(zone)];
            match state.dirty.tail().map(|tail| shared.recency.stamp(Slot(tail))) {
                Some(now) if now == stamp => return Some(ZoneIndex(zone)),
                Some(now) => *top = Reverse((now, zone)),
                None => {
                    state.queued = false;
                    PeekMut::pop(top);
                }
            }
        }
        None
    }

    /// Changes the blocks of `zone`, adds `colder` to the cold ones, and updates its score. Returns whether it is
    /// a target.
    #[inline]
    fn change(&mut self, zone: ZoneIndex, colder: i32, change: impl FnOnce(&mut List)) -> bool {
        let state = &mut self.zones[zone];
        let before = state.score::<T>();
        change(&mut state.dirty);
        state.cold = state.cold.checked_add_signed(colder).expect("fewer than no cold blocks");
        let (score, target) = (state.score::<T>(), state.target);
        if score != before {
            match score {
                Some(score) => self.by_score.set(zone.0, score),
                None => self.by_score.remove(zone.0),
            }
        }
        target
    }

    /// Names up to `want` blocks of `zone`, coldest first.
    fn evict_from(
        &mut self,
        zone: ZoneIndex,
        want: u32,
        shared: &mut Shared,
        out: &mut Victims,
    ) -> u64 {
        let (mut next, mut named) = (self.zones[zone].dirty.tail(), 0);
        while let Some(slot) = next.map(Slot)
            && named < want
        {
            out.prefetch(named, want, slot, &shared.links);
            next = shared.links.towards_head(slot.0);
            if out.slots().evictable(slot) {
                self.remove(slot, shared.recency.cold(slot), shared, out.slots());
                shared.recency.forget(slot);
                out.push(slot);
                named += 1;
            }
        }
        named.into()
    }

    fn end_cycle(&mut self, destaged: u64) {
        for zone in self.targets.drain(..) {
            let state = &mut self.zones[zone];
            (state.target, state.queued) = (false, false);
            if matches!(self.rule4, Rule4::Horizon { .. }) {
                state.mark = destaged;
            }
        }
        self.queue.clear();
        self.written = 0;
        self.cycles_done += 1;
    }
}

impl<T: Target> Side for Cycles<T> {
    #[inline]
    fn insert(&mut self, slot: Slot, cold: bool, _: &Access, shared: &mut Shared, slots: &Slots) {
        let (zone, links) = (slots.zone_index(slot), &mut shared.links);
        if self.change(zone, i32::from(cold), |dirty| dirty.push_head(links, slot.0)) {
            self.enqueue(zone, shared);
        }
    }

    #[inline]
    fn touch(
        &mut self,
        slot: Slot,
        was_cold: bool,
        _: &Access,
        shared: &mut Shared,
        slots: &Slots,
    ) {
        let zone = slots.zone_index(slot);
        self.zones[zone].dirty.to_head(&mut shared.links, slot.0);
        if was_cold {
            self.change(zone, -1, |_| {});
        }
    }

    #[inline]
    fn prefetch_insert(&self, zone: ZoneIndex, shared: &Shared, step: PrefetchStep) {
        match step {
            PrefetchStep::First => {
                self.zones.prefetch(zone);
                self.by_score.prefetch(zone.0);
            }
            _ => self.zones[zone].dirty.prefetch_push(&shared.links),
        }
    }

    fn remove(&mut self, slot: Slot, was_cold: bool, shared: &mut Shared, slots: &Slots) {
        let links = &mut shared.links;
        let colder = -i32::from(was_cold);
        self.change(slots.zone_index(slot), colder, |dirty| dirty.unlink(links, slot.0));
    }

    fn turned_cold(&mut self, slot: Slot, _: &mut Shared, slots: &Slots) {
        self.change(slots.zone_index(slot), 1, |_| {});
    }

    fn offer(
        &mut self,
        forced: bool,
        costs: &Costs,
        _: &mut Shared,
        slots: &Slots,
    ) -> Option<Offer> {
        self.targets.clear();
        self.by_score.settle();
        // Zones that are skipped belong to active cycles, whose number the rules bound.
        for zone in self.by_score.descending().map(ZoneIndex) {
            if self.targets.len() == self.targets_max {
                break;
            }
            if self.eligible(zone, slots) {
                self.targets.push(zone);
            }
        }
        if self.targets.is_empty() && forced {
            self.targets.extend(self.by_score.highest().map(ZoneIndex));
        }
        if self.targets.is_empty() {
            return None;
        }
        let (mut time, mut cold_blocks) = (0, 0);
        for &zone in &self.targets {
            let state = &self.zones[zone];
            time += costs.rmw(u64::from(state.dirty.len())).0;
            cold_blocks += u64::from(state.cold);
        }
        Some(Offer { time: Nanos(time), cold_blocks })
    }

    fn begin(&mut self, shared: &Shared, _: &Slots) {
        self.mark_targets();
        for at in 0..self.targets.len() {
            let zone = self.targets[at];
            self.zones[zone].target = true;
            self.enqueue(zone, shared);
        }
    }

    fn evict(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) -> bool {
        let want = if self.whole_zones { u32::MAX } else { want };
        let mut named = 0;
        while let Some(zone) = self.coldest_target(shared) {
            named = self.evict_from(zone, want, shared, out);
            if named > 0 {
                break;
            }
            // Every block of the zone has I/O in flight: without this it would be examined again at
            // once.
            self.skipped.extend(self.queue.pop());
        }
        if !self.skipped.is_empty() {
            self.queue.extend(self.skipped.drain(..));
        }
        self.written += named;
        let exhausted = self.coldest_target(shared).is_none();
        let over = exhausted || named == 0 || self.rule2 && self.written >= self.cycle_blocks;
        if over {
            self.end_cycle(out.slots().destaged());
        }
        !over
    }

    fn destage(&mut self, want: u32, shared: &mut Shared, out: &mut Victims) {
        while out.len() < want
            && let Some(zone) = self.coldest_target(shared)
        {
            out.push_dirty(self.zones[zone].dirty.from_tail(&shared.links).map(Slot));
            self.skipped.extend(self.queue.pop());
        }
        self.queue.extend(self.skipped.drain(..));
        self.by_score.settle();
        // Blocks that are skipped are being written.
        for zone in self.by_score.descending().map(ZoneIndex) {
            if out.len() >= want {
                return;
            }
            out.push_dirty(self.zones[zone].dirty.from_tail(&shared.links).map(Slot));
        }
    }

    /// A cycle has at least one target. If that zone alone exceeds the bound of rule 1, the rule
    /// cannot hold.
    fn remark(&self, _: u32, slots: &Slots) -> Option<String> {
        let (buffer, zone) = (slots.drive().buffer_blocks, slots.zones().largest());
        (0 < buffer && buffer < zone && !self.whole_zones).then(|| {
            format!(
                "a zone of {} is larger than the drive's buffer of {}, so that SAC's rule 1 (the zones of a \
                 cycle fit into the buffer) cannot hold",
                show_bytes(zone * BLOCK_BYTES),
                show_bytes(buffer * BLOCK_BYTES),
            )
        })
    }

    /// The coldest block of each target zone: to know which zone is next would take a search.
    #[inline]
    fn next_victims(&self, _: &Shared, out: &mut [Slot]) -> usize {
        let next = self
            .queue
            .iter()
            .filter_map(|Reverse((_, zone))| self.zones[ZoneIndex(*zone)].dirty.tail());
        next_victims(next, out)
    }

    fn wants_horizon(&self) -> bool {
        self.rule4 == Rule4::Horizon { exact: true }
    }

    fn memory(&self) -> Memory {
        let states = self.zones.bytes();
        Memory { by_slots: 0, by_zones: states + self.by_score.bytes() }
    }

    fn check(&self, shared: &Shared, slots: &Slots) {
        self.by_score.check();
        for (zone, state) in self.zones.iter() {
            state.dirty.check(&shared.links);
            let mut cold = 0;
            for slot in state.dirty.from_tail(&shared.links).map(Slot) {
                assert!(slots.dirty(slot) && slots.zone_index(slot) == zone);
                cold += u32::from(shared.recency.cold(slot));
            }
            assert_eq!(cold, state.cold, "cold blocks of a zone were miscounted");
            assert_eq!(self.by_score.score(zone.0), state.score::<T>());
        }
        let length: u64 = if self.rule2 { self.cycle_blocks } else { u64::MAX };
        assert!(self.written < length, "rule 2: a cycle is over when its length is written");
        assert!(self.targets.len() <= self.targets_max, "rule 1: too many target zones");
    }
}
