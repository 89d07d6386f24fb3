//! One price for every slot: the disk time that it saves. A policy of this project; it is in no
//! paper.
//!
//! The value of a slot is counted in one unit, nanoseconds of disk time per slot and access,
//! whether its block is clean or dirty. The slot that saves least is evicted. So no parameter has
//! to divide the cache between reads and writes.
//!
//! - A **clean** block saves the read when it is used again, and the read of its rest when it is
//!   written in part. How likely that is, is learned from similar blocks ([`Worth`]). Similar
//!   blocks were used as often, by requests of a similar size, and last by the same operation.
//! - **Dirty** blocks leave by zones, as one cleaning takes all of a zone. Take a zone with `n`
//!   dirty blocks that arrive at a rate of `λ` per access. Writing it each time it has `n` costs
//!   `K/T + μ·λT/2` per access, `T = n/λ`: `K` for writing it, and `μ` for each slot. The price `μ`
//!   at which this `T` is the cheapest is `2Kλ/n²`. That is what the slots of the zone save: the
//!   zone with the largest `n²/λ` leaves first. The rate is that of all writes to the zone, so that
//!   blocks which would return at once are not written.
//! - A disk's buffer in which each block takes a place holds a zone for a while after it was sent.
//!   What is written to the zone meanwhile can be sent along. If that lasts for `S` accesses, a
//!   cleaning serves `T + S` of them: `μ = 2Kλ/(n² + 2nλS)`. (Where the map of the buffer fills
//!   first, this was no better.)
//! - A dirty block that is written with its zone stays if a read of it is worth more than the
//!   current price of a slot.
//! - A read that misses enters if it is worth about that price.
//! - A read does not wait for a zone. It takes the slot of a clean block; if none is evictable, it
//!   does not enter, and the next write waits. The loss is counted, and when it reaches the time of
//!   writing a zone, a read waits (`reads_first`).
//! - Where the disk lets the host write a whole band in order
//!   ([`InOrder`](crate::drive_view::InOrder), and zones that are the bands), a zone is written
//!   this way if it takes less time, unless it will be sent several times before the disk cleans
//!   it. [`SentZones`] estimates the disk's buffer for this.
//! - Such a disk takes bands in order even if the host does not know where they are, if
//!   neighbouring zones are written one after the other. So a zone that is all dirty and begins
//!   where the last zone sent ended costs one pass over it, and no cleaning.
//! - Where zones have write pointers (host-aware disks), a zone whose dirty blocks all lie behind
//!   its pointer is appended to, and another is rewritten by the host, if that takes less time than
//!   the disk's buffer and cleaning.
//! - Of a zone with more blocks than a quarter of a buffer in which each block takes a place, only
//!   the coldest are sent at a time.
//! - A zone of which the disk's buffer holds data will be cleaned anyway: to send more of it costs
//!   a random access.
//! - A read of a block in the disk's log costs a way there and one back. Reads of a zone that miss
//!   are counted. The part of them that is of what is sent of the zone now, for as long as the
//!   buffer holds it, is added to the cost of sending it. So zones that are read much leave later,
//!   and are written past the buffer sooner.
//! - Where bands are not known, a zone is taken to share one band with the zone before it and one
//!   with that behind it: each of these two of which the buffer holds data saves half of a cleaning.
//! - When the buffer is almost full, the dirty blocks of the zone that is cleaned next are sent
//!   first ("last call"): two zones ahead on disks that clean two bands at a time.
//!
//! No parameter depends on a trace. When not to use it: where the same few zones are written in a
//! circle, as a database log is, and on writes alone in long runs, MOST takes as long or less. In
//! idle time zones are written in the order in which they would leave.
//!
//! Tried, and left out:
//!
//! - Over host-aware disks, counting one seek to the buffer and one back for each run of blocks: 1
//!   to 3 % less time where runs are short, a fifth more on `synth:msr-src2_2`.
//! - Sending only the long runs of a zone to the buffer, and writing its band whole when it has
//!   none. What is not cached of a band has to be read, in part from the log, which takes two to
//!   four times as long as writing it: `synth:msr-hm_0` took a quarter longer.
//! - On disks whose map limits their buffer: reading the short gaps between a zone's dirty blocks,
//!   and writing all in one run. The reads took longer than the saved map entries were worth.
//! - Taking the time that a read saves from what reads of similar blocks took: no better, and
//!   longer on `synth:msr-hm_0`.
//! - Zones of 40 MB where bands are not known: less time on `synth:uniform`, much the same on the
//!   other tuning traces, more on recorded ones.
//! - Leaving the time after its blocks were forgotten out of a kind's figures, and counting the
//!   reads that dirty blocks serve: much the same.

mod asked;
mod left;
mod planned;
mod reads;
mod writing;
mod zones;

use prefetch_index::prefetch_index;

use crate::param;
use crate::params::{Param, Params};
use crate::parts::{Bits, Links, List, SentZones, Worth, ZoneIndex};
use crate::policy::{Access, Admission, Idle, LOG_ZONE, Memory, Policy, Victims, ZONE, Zoning};
use crate::slots::Slots;
use crate::units::{Block, Op, Slot, Zone};

use asked::{Asked, KINDS};
use left::Left;
use planned::Planned;
use reads::ReadsFirst;
use zones::{DirtyZones, Now};

/// Of the reads of a zone at most this part (1/64) is taken to be of what is sent of it. Between 1/200
/// and 1/50 results on the tuning traces are much the same; without a limit zones that are read and
/// written much stay too long.
const READ_AGAIN_MAX: f32 = 1.0 / 64.0;

/// The policy.
#[derive(Clone, Debug)]
pub struct DiskTime {
    /// Number of accesses so far.
    now: u32,
    /// Links of slots, then of ghosts: clean slots by kind, dirty ones by zone.
    links: Links,
    stamps: Vec<u32>,
    kinds: Vec<u8>,
    /// Clean slots of each kind, the last used at the head.
    clean: [List; KINDS],
    zones: DirtyZones,
    /// Dirty slots that are being written and stay.
    under_way: Bits,
    left: Left,
    worth: Worth,
    /// Current price of a slot: a moving average of what evicted slots saved.
    price: f32,
    asked: Asked,
    /// The block that was admitted last, and its kind.
    coming: Option<(Block, u8)>,
    sent: SentZones,
    /// The zone that begins where the last zone sent ended.
    next: Option<ZoneIndex>,
    costs: Planned,
    admits_all: bool,
    stay: bool,
    /// Whether bands are written whole even where it seems to take longer.
    always_whole: bool,
    reads_first: ReadsFirst,
    /// Blocks of the zone that is being written, sorted.
    scratch: Vec<u64>,
}

impl DiskTime {
    #[inline]
    fn age(&self, stamp: u32) -> u32 {
        self.now.wrapping_sub(stamp)
    }

    /// Notes a use of a block. `before` is its kind and the stamp of its last use, if known.
    /// Returns its kind now.
    fn used(&mut self, before: Option<(u8, u32)>, access: &Access) -> u8 {
        if let Some((kind, stamp)) = before {
            self.worth.used(kind, self.age(stamp), self.asked.saved_ns(access));
        }
        let kind = self.asked.kind(before.map(|(kind, _)| kind), access);
        self.worth.begin(kind);
        kind
    }

    fn keep(&mut self, slot: Slot, slots: &Slots) {
        match slots.dirty(slot) {
            true => {
                if self.zones.insert(slot, &mut self.links, slots) {
                    self.meet(slots.zone_index(slot), slots);
                }
            }
            false => {
                let kind = usize::from(self.kinds[slot.index()]);
                self.clean[kind].push_head(&mut self.links, slot.0);
            }
        }
    }

    /// Prepares for what is sent of `zone`.
    fn meet(&mut self, zone: ZoneIndex, slots: &Slots) {
        self.sent.reserve(zone);
        if self.costs.shares_bands {
            let number = slots.zone_of(zone).0;
            let before = number.checked_sub(1).and_then(|before| slots.find_zone(Zone(before)));
            self.sent.meet(zone, before, slots.find_zone(Zone(number + 1)));
        }
    }

    /// Ends the write of `slot`, which stays: it turned clean, or was written again.
    fn is_over(&mut self, slot: Slot, slots: &Slots) {
        if self.under_way.contains(slot.0) {
            self.under_way.remove(slot.0);
            self.zones.is_over(slots.zone_index(slot));
        }
    }

    /// Names `slot` to be written and to stay.
    fn write(&mut self, slot: Slot, out: &mut Victims) {
        if !self.under_way.contains(slot.0) {
            self.under_way.insert(slot.0);
            self.zones.begins(out.slots().zone_index(slot));
        }
        out.keep(slot);
    }

    fn forget(&mut self, slot: Slot, slots: &Slots) {
        match slots.dirty(slot) {
            true => {
                self.is_over(slot, slots);
                self.zones.remove(slot, &mut self.links, slots);
            }
            false => {
                let kind = usize::from(self.kinds[slot.index()]);
                self.clean[kind].unlink(&mut self.links, slot.0);
            }
        }
    }

    /// Names `slot` to leave, and keeps a ghost of it.
    fn leave(&mut self, slot: Slot, out: &mut Victims) {
        let block = out.slots().block(slot);
        self.forget(slot, out.slots());
        let (kind, stamp) = (self.kinds[slot.index()], self.stamps[slot.index()]);
        self.left.remember(block, kind, stamp, &mut self.links);
        out.push(slot);
    }

    /// Updates the price with that of an evicted slot.
    fn pay(&mut self, price: f32) {
        self.price = match self.price {
            0.0 => price,
            before => before + (price - before) / 20.0,
        };
    }

    fn worth_of(&self, slot: Slot) -> f32 {
        self.worth.of(self.kinds[slot.index()], self.age(self.stamps[slot.index()]))
    }

    /// Returns the clean block that saves least. Of each kind the least and the most recently used
    /// one are examined: of blocks that return after a pause, such as those of a scan, the latter
    /// is worth less.
    fn cheapest_clean(&self, slots: &Slots) -> Option<(f32, Slot)> {
        let mut cheapest: Option<(f32, Slot)> = None;
        for list in self.clean.iter().filter(|list| !list.is_empty()) {
            let ends = [slots.coldest(list, &self.links), list.head().map(Slot)];
            for slot in ends.into_iter().flatten().filter(|&slot| slots.evictable(slot)) {
                let worth = self.worth_of(slot);
                if cheapest.is_none_or(|(least, _)| worth < least) {
                    cheapest = Some((worth, slot));
                }
            }
        }
        cheapest
    }

    /// Returns whether a read bypasses the cache because it would have to wait for a zone.
    fn goes_past(&mut self, worth: f32, access: &Access, slots: &Slots) -> bool {
        // Clean blocks of this read make no room.
        let may = access.op == Op::Read && slots.full() && self.reads_first.may(self.now);
        let past = may && self.cheapest_clean(slots).is_none();
        if past {
            self.reads_first.take(worth - self.price);
        }
        past
    }

    fn cheapest_zone(&mut self, slots: &Slots) -> Option<(f32, ZoneIndex)> {
        let (sent, costs) = (&self.sent, &self.costs);
        let stay = sent.expected_stay(self.now);
        let (along, zone_blocks) = (costs.along(stay), slots.zones().largest() as f32);
        let saves = |Now { zone, dirty, writes, reads }| {
            let write = match sent.holds(zone) {
                true => costs.more_of_zone(dirty),
                false => costs.zone_beside(dirty, sent.held_beside(zone)),
            };
            let part = (dirty / zone_blocks).min(READ_AGAIN_MAX);
            let cost = write + costs.reads_of_log(reads * part, stay);
            2.0 * cost * writes / (dirty * (dirty + 2.0 * writes * along))
        };
        let cheapest = self.zones.cheapest(self.now, saves, &self.links, slots);
        match self.next_in_order(slots) {
            Some(next) if cheapest.is_none_or(|cheapest| next.0 < cheapest.0) => Some(next),
            _ => cheapest,
        }
    }

    /// Returns the zone that begins where the last zone sent ended, if all of it is dirty, and what
    /// each of its slots saves: it needs no cleaning.
    fn next_in_order(&self, slots: &Slots) -> Option<(f32, ZoneIndex)> {
        let (next, pass) = (self.next?, self.costs.next_pass_ns?);
        let saves = |Now { dirty, writes, .. }| 2.0 * pass * writes / (dirty * dirty);
        let blocks = slots.zones().blocks(slots.zone_of(next));
        let saved = self.zones.of_whole(next, blocks, self.now, saves, &self.links, slots)?;
        Some((saved, next))
    }
}

impl Policy for DiskTime {
    const NAME: &'static str = "disk-time";
    const ABOUT: &'static str = "the slot that saves the least disk time is given up, clean or dirty \
                                 (this project)";
    const ZONING: Zoning = Zoning::ExposedOrFixed;
    const IDLE: Idle = Idle::Names;
    const PARAMS: &'static [Param] = &[
        ZONE,
        LOG_ZONE,
        param!("whole_bands": Choice(&["auto", "always", "never"]) = "auto",
            "write bands whole where the disk takes them past its buffer, and zones are its bands or \
             have write pointers: where that takes less than its buffer and cleaning, always, or never"),
        param!("stay": Switch = "on", "what is written stays if a read of it is worth it"),
        param!("admit": Choice(&["worth", "all"]) = "worth",
            "which reads that miss enter: those worth what slots go for, or all"),
        param!("half_life": Ratio = "2",
            "accesses, in cache sizes, in which half of a zone's writes are forgotten"),
        param!("reads_first": Ratio = "1",
            "reads do not wait for a zone that is written until so much is lost by it, in times that \
             writing a zone takes; 0: they wait"),
    ];

    fn new(params: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity();
        let ghosts = Left::capacity_for(capacity);
        let view = slots.drive();
        let known = params.zones("zone").is_none() || !view.write_pointers.is_empty();
        let bands = known && params.choice("whole_bands") != "never";
        let costs = Planned::new(slots, bands, known);
        // Where the map of the buffer fills first, the disk is a drive-managed one.
        let buffer =
            SentZones::new(view.buffer_blocks, view.in_order.log_blocks.max(view.buffer_blocks));
        let sent = if view.in_order.log_blocks > 0 { buffer.cleans_two() } else { buffer };
        let first = params.thousandths("reads_first") as f32 / 1000.0;
        let zone_blocks = (!known).then(|| slots.zones().largest());
        DiskTime {
            now: 0,
            links: Links::new((capacity + ghosts) as usize),
            stamps: vec![0; capacity as usize],
            kinds: vec![0; capacity as usize],
            clean: [List::default(); KINDS],
            zones: DirtyZones::new(params.part_of("half_life", capacity), zone_blocks),
            under_way: Bits::new(capacity as usize),
            left: Left::new(capacity),
            worth: Worth::new(KINDS, (capacity / 4).max(8192), costs.read_ns),
            price: 0.0,
            asked: Asked::new(costs.read_ns),
            coming: None,
            sent,
            next: None,
            costs,
            admits_all: params.choice("admit") == "all",
            always_whole: params.choice("whole_bands") == "always",
            stay: params.switch("stay"),
            reads_first: ReadsFirst::new(first * costs.zone(0.0)),
            scratch: Vec::with_capacity(slots.zones().largest().min(u64::from(capacity)) as usize),
        }
    }

    fn admit(&mut self, access: &Access, slots: &Slots) -> Admission {
        self.now = self.now.wrapping_add(1);
        self.asked.look_at(access);
        if access.op == Op::Read && self.costs.log_read_ns > 0.0 {
            let zone = slots.find_zone(slots.zones().zone(access.block));
            zone.into_iter().for_each(|zone| self.zones.read(zone, self.now));
        }
        let ghost = self.left.take(access.block, &mut self.links);
        let kind = self.used(ghost, access);
        let worth = self.worth.of(kind, 1);
        let enters =
            access.op == Op::Write || self.admits_all || !slots.full() || worth >= 0.9 * self.price;
        if enters && (self.admits_all || !self.goes_past(worth, access, slots)) {
            self.coming = Some((access.block, kind));
            return Admission::Fill;
        }
        self.left.remember(access.block, kind, self.now, &mut self.links);
        // One ghost per block: if the block enters after all, with another access that waits for
        // room, its ghost is looked up.
        self.coming = self.coming.filter(|&(block, _)| block != access.block);
        Admission::Bypass
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        self.now = self.now.wrapping_add(1);
        self.asked.look_at(access);
        let before = (self.kinds[slot.index()], self.stamps[slot.index()]);
        let kind = self.used(Some(before), access);
        if slots.dirty(slot) {
            self.zones.touched(slot, &mut self.links, slots);
        } else {
            self.clean[usize::from(before.0)].unlink(&mut self.links, slot.0);
            self.clean[usize::from(kind)].push_head(&mut self.links, slot.0);
        }
        (self.kinds[slot.index()], self.stamps[slot.index()]) = (kind, self.now);
        if access.op == Op::Write {
            // The data in flight is outdated.
            self.is_over(slot, slots);
            self.zones.written(slots.zone_index(slot), self.now);
        }
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        let known = self.coming.take().filter(|&(block, _)| block == access.block);
        let kind = match known {
            Some((_, kind)) => kind,
            // It returns, or was restored at start.
            None => match self.left.take(access.block, &mut self.links) {
                Some((kind, _)) => kind,
                None => self.asked.kind(None, access),
            },
        };
        (self.kinds[slot.index()], self.stamps[slot.index()]) = (kind, self.now);
        self.keep(slot, slots);
        if access.op == Op::Write {
            self.zones.written(slots.zone_index(slot), self.now);
        }
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        self.forget(slot, slots);
    }

    fn on_dirty(&mut self, slot: Slot, slots: &Slots) {
        self.clean[usize::from(self.kinds[slot.index()])].unlink(&mut self.links, slot.0);
        self.keep(slot, slots);
    }

    fn on_clean(&mut self, slot: Slot, slots: &Slots) {
        self.is_over(slot, slots);
        self.zones.remove(slot, &mut self.links, slots);
        self.keep(slot, slots);
    }

    fn evict(&mut self, access: Option<&Access>, want: u32, out: &mut Victims) {
        let reads = access.is_some_and(|access| access.op == Op::Read);
        let mut leave = 0;
        while leave < want {
            let clean = self.cheapest_clean(out.slots());
            let zone = self.cheapest_zone(out.slots());
            let least = clean.map_or(f32::MAX, |(worth, _)| worth);
            let first = reads && clean.is_some() && self.reads_first.may(self.now);
            leave += match (clean, zone) {
                (_, Some((price, zone))) if price < least && !first => {
                    self.pay(price);
                    self.reads_first.zone_leaves();
                    self.write_zone(zone, out)
                }
                (Some((worth, slot)), zone) => {
                    let price = zone.map_or(worth, |(price, _)| price.min(worth));
                    self.reads_first.take(worth - price);
                    self.pay(price);
                    self.leave(slot, out);
                    1
                }
                _ => return,
            };
        }
    }

    fn destage(&mut self, want: u32, out: &mut Victims) {
        while out.len() < want {
            let Some((_, zone)) = self.cheapest_zone(out.slots()) else { return };
            self.write_zone(zone, out);
        }
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.links.prefetch(slot.0);
        prefetch_index(&self.stamps, slot.index());
        prefetch_index(&self.kinds, slot.index());
    }

    #[inline]
    fn prefetch_blocks(&self, next: &[Block], soon: &[Block], _: &Slots) {
        self.left.prefetch(next, soon);
    }

    fn memory(&self) -> Memory {
        let by_slots = self.links.bytes()
            + self.stamps.capacity() * 4
            + self.kinds.capacity()
            + self.left.bytes()
            + self.under_way.bytes()
            + self.worth.bytes()
            + self.scratch.capacity() * 8;
        Memory { by_slots, by_zones: self.zones.bytes() + self.sent.bytes() }
    }

    fn check(&self, slots: &Slots) {
        for (kind, list) in self.clean.iter().enumerate() {
            list.check(&self.links);
            for slot in list.from_tail(&self.links).map(Slot) {
                assert!(!slots.dirty(slot), "a clean block is in its zone");
                assert!(!self.left.holds(slots.block(slot)), "a ghost is in the cache");
                assert_eq!(usize::from(self.kinds[slot.index()]), kind);
            }
        }
        self.zones.check(&self.links, slots);
        self.left.check(&self.links);
        self.sent.check();
    }
}
