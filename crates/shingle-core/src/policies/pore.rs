//! PORE (Wang et al., MSST 2017, §IV): any order, of whose dirty blocks only those in open zones
//! may leave. Clean blocks may always leave. With fewer zones at a time a cleaning finds more
//! blocks of its band in the buffer. Within the open zones the coldest blocks still leave first.
//!
//! The zones are divided into open and forbidden ones when the cache is first full (before that all
//! are open), and again whenever one period of dirty blocks has been written into the cache
//! (§IV-B.3). Zones open in the order of a scheme until their dirty blocks in the cache make up a
//! period (§IV-C.1). The schemes (§IV-C.3): coverage first, popularity first, and both in balance.
//!
//! What the paper leaves open: "a dirty block written into the cache" counts one that was not dirty
//! there before. A period that is over ends at the next eviction, the first one that needs open
//! zones: the division then knows all accesses until there. If no block may leave, zones are divided
//! at once. Of zones with equal rank the fuller one opens first, then by address. On a disk without
//! a buffer a period is the blocks of one zone.
//!
//! | option | paper | prototype |
//! |---|---|---|
//! | `history` | accesses of each block (`cached`), in the last period (`period`): see below | `forever`: see `history.rs` |
//! | `division` | ranks are compared exactly; the coldest of the open blocks leave first | ranks are whole thousandths, of equal ones the higher address first; blocks that are open when a period begins leave hottest first, because it rebuilds its list backwards |
//!
//! The popularity of a zone is its "average block access count" (§IV-C.3), "according to the access
//! records of all the zones in the last period" (§IV-B.3). With `period`, accesses are counted from
//! the last division on. Then a zone that was not accessed since has a popularity of 0, and BL,
//! popularity ÷ coverage, ranks it before every other, however little of it is cached: coverage has
//! no effect, although by §IV-C.3 both "determine the result together". With a cache of five
//! periods, as in the paper, most zones are like this. So by default (`cached`) an access counts as
//! long as its block is dirty in the cache: each block has at least the write that made it dirty.
//! Accesses while it was clean do not count.
//!
//! The paper says nothing of idle time. Here the coldest dirty blocks of the open zones are
//! written. When none of the coldest is dirty, whole zones are written one after the other, open
//! ones before forbidden ones as far as that is known without a search, so the disk still gets few
//! zones at a time. Idle time does not divide the zones, which would reset their access counts.
//!
//! Not for caches smaller than a few periods: then all of the cache is open, and PORE is its base.

pub mod history;
pub mod region;
pub mod scheme;

use core::marker::PhantomData;

use crate::gated::Gated;
use crate::idle::{Round, SLOTS_EXAMINED};
use crate::order::Order;
use crate::param;
use crate::params::{Param, Params};
use crate::parts::ZoneIndex;
use crate::policies::{AnyOrder, BASE};
use crate::policy::{Access, Admission, Idle, Memory, Policy, Victims, ZONE, Zoning};
use crate::size::show_bytes;
use crate::slots::Slots;
use crate::units::{BLOCK_BYTES, Slot};

use history::History;
use region::Region;
use scheme::{Balanced, CoverageFirst, PopularityFirst, Scheme};

/// PORE as the paper prefers it: balanced.
pub type PoreBl = Pore<Balanced>;
/// PORE, coverage first.
pub type PoreCf = Pore<CoverageFirst>;
/// PORE, popularity first.
pub type PorePf = Pore<PopularityFirst>;

/// Which accesses make a zone popular.
#[derive(Clone, Debug)]
enum Records {
    /// Accesses since the last division, which the region counts.
    Period,
    /// Accesses of the dirty blocks in the cache since they became dirty, by slot.
    Cached(Vec<u32>),
    /// The records of the prototype.
    Forever(History),
}

/// An order behind a gate, and the region of open zones.
#[derive(Clone, Debug)]
pub struct Pore<S, O = AnyOrder> {
    order: Gated<O>,
    region: Region,
    records: Records,
    /// With `division=prototype`: when each slot was used last. Otherwise empty.
    used_at: Vec<u64>,
    now: u64,
    period_blocks: u64,
    /// Dirty blocks written into the cache since the last division.
    written: u64,
    /// Whether a block was inserted, cleaned or removed since the last division.
    moved: bool,
    round: Round,
    scheme: PhantomData<S>,
}

impl<S: Scheme, O: Order> Pore<S, O> {
    /// Counts `slot`, which has become dirty.
    fn joined(&mut self, slot: Slot, slots: &Slots) {
        let zone = slots.zone_index(slot);
        self.region.add_dirty(zone);
        match &mut self.records {
            Records::Period => self.region.add_record(zone, 0),
            Records::Cached(uses) => {
                uses[slot.index()] = 0;
                self.region.add_record(zone, 0);
            }
            Records::Forever(history) => {
                if let Some(uses) = history.entered(slot, slots.block(slot)) {
                    self.region.add_record(zone, uses);
                }
            }
        }
    }

    /// Uncounts the dirty `slot`, which turns clean or is trimmed.
    fn parted(&mut self, slot: Slot, slots: &Slots) {
        let zone = slots.zone_index(slot);
        self.region.remove_dirty(zone);
        let uses = match &mut self.records {
            Records::Period => 0,
            Records::Cached(uses) => u64::from(uses[slot.index()]),
            Records::Forever(history) => history.forget(slot),
        };
        self.region.remove_record(zone, uses);
    }

    /// Uncounts the dirty `slot`, which leaves the cache.
    fn evicted(&mut self, slot: Slot, slots: &Slots) {
        let zone = slots.zone_index(slot);
        self.region.remove_dirty(zone);
        let forgotten = match &mut self.records {
            Records::Period => Some(0),
            Records::Cached(uses) => Some(u64::from(uses[slot.index()])),
            Records::Forever(history) => history.left(slot, slots.block(slot), zone),
        };
        if let Some(uses) = forgotten {
            self.region.remove_record(zone, uses);
        }
    }

    fn used(&mut self, slot: Slot, slots: &Slots) {
        self.now += 1;
        if let Some(at) = self.used_at.get_mut(slot.index()) {
            *at = self.now;
        }
        if slots.dirty(slot) {
            self.region.used(slots.zone_index(slot));
            match &mut self.records {
                Records::Period => {}
                Records::Cached(uses) => uses[slot.index()] += 1, // fewer than 2^32 for a block
                Records::Forever(history) => history.used(slot, self.now),
            }
        }
    }

    /// Divides the zones and begins a period (§IV-C.1).
    fn divide(&mut self, slots: &Slots) {
        (self.written, self.moved) = (0, false);
        if self.used_at.is_empty() {
            self.region.divide(self.period_blocks, slots, |a, b| {
                let fuller = b.dirty.cmp(&a.dirty);
                S::compare(&a.record, &b.record).then(fuller).then(a.zone.cmp(&b.zone))
            });
        } else {
            self.region.divide(self.period_blocks, slots, |a, b| {
                let ranks = S::thousandths(&a.record).cmp(&S::thousandths(&b.record));
                ranks.then(b.zone.cmp(&a.zone))
            });
        }
        self.opened(slots);
        let region = &mut self.region;
        match &mut self.records {
            Records::Period => region.begin_records(),
            Records::Cached(_) => {}
            Records::Forever(history) => {
                history.drop_gone(|zone, uses| region.remove_record(zone, uses));
            }
        }
    }

    /// Tells the gate which zones have been opened.
    fn opened(&mut self, slots: &Slots) {
        let Pore { order, region, used_at, .. } = self;
        if used_at.is_empty() {
            order.open(region.opened(), slots);
        } else {
            let passes = |slot| passes(slot, region, slots);
            order.open_ranked(region.opened(), passes, |slot| used_at[slot.index()], slots);
        }
    }

    /// Returns the coldest slot that may leave. If there is none, zones are divided at once. If all
    /// that is open then has I/O in flight, everything opens until the next division.
    fn pop(&mut self, slots: &Slots) -> Option<Slot> {
        let mut slot = self.pop_open(slots);
        if slot.is_none() && self.moved && !self.region.all_open() {
            self.divide(slots);
            slot = self.pop_open(slots);
        }
        if slot.is_none() && !self.region.all_open() {
            self.region.open_all();
            self.opened(slots);
            slot = self.pop_open(slots);
        }
        slot
    }

    /// Returns the next zone to write in idle time: among the next few dirty blocks, the zone of
    /// the first one in an open zone, or else of the first one.
    fn next_zone(&mut self, slots: &Slots) -> Option<ZoneIndex> {
        let mut ahead = self.round;
        let zones = (0..SLOTS_EXAMINED).map_while(|_| ahead.next(slots));
        let open = zones.map(|slot| slots.zone_index(slot)).find(|&zone| self.region.is_open(zone));
        open.or_else(|| self.round.next(slots).map(|slot| slots.zone_index(slot)))
    }

    fn pop_open(&mut self, slots: &Slots) -> Option<Slot> {
        let Pore { order, region, .. } = self;
        order.pop(slots, |slot| passes(slot, region, slots))
    }
}

/// Returns whether `slot` may leave (§IV-B.1).
fn passes(slot: Slot, region: &Region, slots: &Slots) -> bool {
    !slots.dirty(slot) || region.is_open(slots.zone_index(slot))
}

/// Names the dirty blocks of a zone, which stay. Walks the blocks of the zone or all dirty blocks,
/// whichever are fewer.
fn write_zone(zone: ZoneIndex, out: &mut Victims) {
    let (slots, disk_zone) = (out.slots(), out.slots().zone_of(zone));
    let (first, blocks) = (slots.zones().first_block(disk_zone), slots.zones().blocks(disk_zone));
    if blocks <= u64::from(slots.dirty_blocks()) {
        for block in (0..blocks).map(|offset| first.after(offset)) {
            let slot = out.slots().find(block);
            out.push_dirty(slot);
        }
    } else {
        let mut next = out.slots().next_dirty(Slot(0));
        while let Some(slot) = next {
            next = out.slots().next_dirty(Slot(slot.0 + 1));
            if out.slots().zone_index(slot) == zone {
                out.push_dirty([slot]);
            }
        }
    }
}

impl<S: Scheme, O: Order> Policy for Pore<S, O> {
    const NAME: &'static str = S::NAME;
    const ABOUT: &'static str = S::ABOUT;
    const ZONING: Zoning = Zoning::Fixed;
    const IDLE: Idle = Idle::Names;
    const PARAMS: &'static [Param] = &[
        BASE,
        Param { default: "20MiB", about: "size of a zone (PORE §V-E: 20 MB), or bands", ..ZONE },
        param!("period": Ratio = "1",
            "dirty blocks written into the cache between two divisions, in buffer sizes (PORE §IV-B.3)"),
        param!("history": Choice(&["cached", "period", "forever"]) = "cached",
            "accesses that make a zone popular: those of each dirty block in the cache, those since the last \
             division, or of each block for as long as the prototype remembers it"),
        param!("division": Choice(&["paper", "prototype"]) = "paper",
            "exact ranks, coldest open blocks first (paper), or ranks in whole thousandths, and hottest first \
             of those open when the period begins (prototype)"),
    ];

    fn new(params: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity() as usize;
        let buffer = match slots.drive().buffer_blocks {
            0 => slots.zones().largest(),
            blocks => blocks,
        };
        let period_blocks = params.part_of("period", buffer).max(1);
        let prototype = params.choice("division") == "prototype";
        Pore {
            order: Gated::new(params, slots),
            region: Region::default(),
            records: match params.choice("history") {
                "period" => Records::Period,
                "forever" => Records::Forever(History::new(capacity, period_blocks)),
                _ => Records::Cached(vec![0; capacity]),
            },
            used_at: vec![0; if prototype { capacity } else { 0 }],
            now: 0,
            period_blocks,
            written: 0,
            moved: true,
            round: Round::default(),
            scheme: PhantomData,
        }
    }

    fn remark(&self, cache_blocks: u32, _: &Slots) -> Option<String> {
        (u64::from(cache_blocks) < 2 * self.period_blocks).then(|| {
            format!(
                "the cache is smaller than two of its periods of {}, so that nearly all zones are open, and it \
                 evicts as its base policy does",
                show_bytes(self.period_blocks * BLOCK_BYTES),
            )
        })
    }

    #[inline]
    fn admit(&mut self, access: &Access, slots: &Slots) -> Admission {
        self.order.miss(access, slots);
        Admission::Fill
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        self.used(slot, slots);
        self.order.touch(slot, access, slots);
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        self.moved = true;
        if slots.dirty(slot) {
            self.joined(slot, slots);
            // A block that was dirty before returns because its eviction was cancelled.
            self.written += u64::from(!access.was_dirty);
        }
        self.used(slot, slots);
        self.order.insert(slot, access, slots);
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        self.moved = true;
        if slots.dirty(slot) {
            self.parted(slot, slots);
        }
        self.order.remove(slot, slots);
    }

    fn on_dirty(&mut self, slot: Slot, slots: &Slots) {
        self.moved = true;
        self.written += 1;
        self.joined(slot, slots);
    }

    fn on_clean(&mut self, slot: Slot, slots: &Slots) {
        self.moved = true;
        self.parted(slot, slots);
        self.order.release(slot, slots);
    }

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        let slots = out.slots();
        let full = slots.dirty_blocks() + slots.clean_blocks() == slots.capacity();
        let due = if self.region.divided() { self.written >= self.period_blocks } else { full };
        if due {
            self.divide(slots);
        }
        for _ in 0..want {
            let slot =
                if out.is_empty() { self.pop(out.slots()) } else { self.pop_open(out.slots()) };
            let Some(slot) = slot else { return };
            self.moved = true;
            if out.slots().dirty(slot) {
                self.evicted(slot, out.slots());
            }
            out.push(slot);
        }
    }

    fn destage(&mut self, want: u32, out: &mut Victims) {
        for slot in self.order.coldest().take(SLOTS_EXAMINED.saturating_mul(want as usize)) {
            if out.len() == want {
                return;
            }
            if self.region.is_open(out.slots().zone_index(slot)) {
                out.push_dirty([slot]);
            }
        }
        if !out.is_empty() {
            return;
        }
        while out.len() < want
            && let Some(zone) = self.next_zone(out.slots())
        {
            write_zone(zone, out);
        }
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.order.prefetch(slot);
    }

    fn memory(&self) -> Memory {
        let records = match &self.records {
            Records::Period => 0,
            Records::Cached(uses) => uses.capacity() * size_of::<u32>(),
            Records::Forever(history) => history.bytes(),
        };
        let by_slots = records + self.used_at.capacity() * size_of::<u64>();
        self.order.memory() + Memory { by_slots, by_zones: self.region.bytes() }
    }

    fn check(&self, slots: &Slots) {
        self.order.check(slots);
        self.region.check(matches!(self.records, Records::Forever(_)));
    }
}
