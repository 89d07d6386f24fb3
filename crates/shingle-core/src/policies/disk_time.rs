//! One price for every slot: the disk time that it saves. A policy of this project; no paper has it.
//!
//! What a slot is good for is counted in one unit, nanoseconds of disk time for each slot and access, whether its block is
//! clean or dirty. The slot that saves least is given up. So nothing has to say how much of the cache is for reads.
//!
//! - A **clean** block saves the read that comes if it is used again. What became of others like it says how
//!   likely that is ([`Worth`]). Alike are blocks by how often they were used, by the size of the requests that used
//!   them, and by whether the last was a write.
//! - **Dirty** blocks leave by zones, as one cleaning takes all of a zone. With `n` dirty blocks that come at a rate of
//!   `λ` an access, a zone that is written each time it has `n` costs `K/T + μ·λT/2` an access, `T = n/λ`: `K` for
//!   writing it, and `μ` for each slot. The price `μ` at which that `T` is the cheapest is `2Kλ/n²`. That is what the
//!   zone's slots save: the zone with the largest `n²/λ` is the first to go. The rate is that of all writes to the zone, so
//!   that blocks which would be back at once are not written.
//! - A dirty block that is written with its zone stays if a read of it is worth more than what slots go for.
//! - A read that misses enters if it is worth about that much.
//! - Where the disk lets the host write a whole band in order ([`InOrder`](crate::slots::InOrder), and zones that are the
//!   bands), a zone leaves so if it takes less: unless it will be sent again and again before the disk cleans it, for which
//!   [`SentZones`] keeps count of the disk's buffer.
//!
//! No parameter depends on a trace. When not to use it: where the same few zones are written in a circle, as a database log
//! is, and on writes alone in long runs, MOST takes as long or less. In idle time zones are written in the
//! order in which they would leave.
//!
//! - A zone of which the disk's buffer holds something is cleaned anyway: to send more of it takes an eighth.
//! - When the buffer is about to be full, what is dirty of the zone that is cleaned next goes there before ("last call").
//!
//! Tried, and left out: sending only the long runs of a zone to the buffer, and writing its band whole when it has none. What is
//! not cached of a band has to be read, in part from the log, which takes two to four times what writing it takes:
//! `synth:msr-hm_0` took a quarter longer.

mod zones;

use crate::params::{Kind, Param, Params};
use crate::parts::{Bits, Ghosts, Links, List, SentZones, Worth, ZoneIndex};
use crate::plan::{Manner, WriteOrder};
use crate::policy::{Access, Admission, Idle, Memory, Policy, Victims, ZONE, Zoning};
use crate::slots::Slots;
use crate::units::{Block, Nanos, Op, Slot};

use zones::DirtyZones;

/// Kinds of blocks: used once, twice, more often; four sizes of requests; last read or written.
const KINDS: usize = 3 * 4 * 2;
/// Largest I/O in which neighbours are written: 512 KiB.
const RUN_BLOCKS_MAX: u32 = 128;
/// Streams of requests that are remembered by their end.
const STREAMS: usize = 8;
/// A read that goes on where one ended before saves so small a part of a random read.
const IN_ORDER: f32 = 32.0;
/// `R(x)` was measured with blocks written one by one. Sent as one zone they lie side by side in the log, and each adds so
/// much of that.
const SENT_TOGETHER: f32 = 1.0 / 8.0;
/// What it takes to send more of a zone of which the buffer holds something, as a part of what it takes to clean a
/// zone: it is cleaned anyway, and what is left is the room that this takes.
const CLEANED_ANYWAY: f32 = 1.0 / 8.0;
/// With less room in the buffer, in runs and in blocks, it is too late for a last call.
const LAST_CALL_MIN: u64 = 8;

/// The policy.
#[derive(Clone, Debug)]
pub struct DiskTime {
    /// Accesses so far.
    now: u32,
    /// Slots, and behind them ghosts: clean ones by kind, dirty ones by zone.
    links: Links,
    stamps: Vec<u32>,
    kinds: Vec<u8>,
    /// Clean slots of each kind, the one used last at the head.
    clean: [List; KINDS],
    zones: DirtyZones,
    /// Dirty slots that are being written and stay.
    under_way: Bits,
    ghosts: Ghosts,
    /// Ghosts, the one that left last at the head.
    left: List,
    ghost_stamps: Vec<u32>,
    worth: Worth,
    /// What slots go for.
    price: f32,
    request: Asked,
    streams: [u64; STREAMS],
    next_stream: usize,
    /// The block that asked to enter, and its kind.
    coming: Option<(Block, u8)>,
    sent: SentZones,
    costs: Planned,
    admits_all: bool,
    stay: bool,
    /// Bands are written whole even where it seems to take longer.
    always_whole: bool,
    /// Blocks of the zone that is being written, sorted.
    scratch: Vec<u64>,
}

/// What a block of the request under way is like.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    number: u64,
    /// 0 for a single block, up to 3 for long requests and those in order.
    size: u8,
    /// What a read saves for each of its blocks if all of them are cached.
    saved_ns: f32,
}

/// What I/O takes, as the host may know it.
#[derive(Clone, Copy, Debug)]
struct Planned {
    read_ns: f32,
    zone_ns: f32,
    block_ns: f32,
    /// Going over a whole band once, if bands may be written so.
    band_pass_ns: Option<f32>,
}

impl Planned {
    fn new(slots: &Slots, whole_bands: bool) -> Planned {
        let view = slots.drive();
        let ns = |span: Nanos| span.0 as f32;
        Planned {
            read_ns: ns(view.costs.read),
            zone_ns: ns(view.costs.rmw_base),
            block_ns: ns(view.costs.rmw_per_block) * SENT_TOGETHER,
            band_pass_ns: view.in_order.band_pass.filter(|_| whole_bands).map(ns),
        }
    }

    /// What writing a zone with so many dirty blocks takes.
    fn zone(&self, dirty: u32) -> f32 {
        let sent = self.zone_ns + self.block_ns * dirty as f32;
        self.band_pass_ns.map_or(sent, |pass| sent.min(2.0 * pass))
    }
}

impl DiskTime {
    #[inline]
    fn age(&self, stamp: u32) -> u32 {
        self.now.wrapping_sub(stamp)
    }

    /// Looks at the request that `access` belongs to, if it is another one.
    #[inline]
    fn look_at(&mut self, access: &Access) {
        if access.place > 0 && access.number == self.request.number {
            return;
        }
        let (first, blocks) = (access.request.first().0, access.request.blocks());
        let goes_on = self.streams.iter().position(|&end| end == first);
        let stream = goes_on.unwrap_or(self.next_stream);
        if goes_on.is_none() {
            self.next_stream = (self.next_stream + 1) % STREAMS;
        }
        self.streams[stream] = first + blocks;
        let size = match blocks {
            _ if goes_on.is_some() => 3,
            0..=1 => 0,
            2..=8 => 1,
            9..=32 => 2,
            _ => 3,
        };
        let part =
            if goes_on.is_some() { IN_ORDER.max(blocks as f32) } else { blocks.max(1) as f32 };
        let saved_ns = self.costs.read_ns / part;
        self.request = Asked { number: access.number, size, saved_ns };
    }

    /// The kind that a block becomes by `access`; `before` it was of another, or is not known.
    fn kind(&self, before: Option<u8>, access: &Access) -> u8 {
        let times = before.map_or(0, |kind| (kind / 8 + 1).min(2));
        times * 8 + self.request.size * 2 + u8::from(access.op == Op::Write)
    }

    /// A block was used that was of kind `before` and last used at `stamp`, or is not known. Returns its kind now.
    fn used(&mut self, before: Option<(u8, u32)>, access: &Access) -> u8 {
        if let Some((kind, stamp)) = before {
            let saved = if access.op == Op::Read { self.request.saved_ns } else { 0.0 };
            self.worth.used(kind, self.age(stamp), saved);
        }
        let kind = self.kind(before.map(|(kind, _)| kind), access);
        self.worth.begin(kind);
        self.worth.settle();
        kind
    }

    /// A block that is remembered comes back.
    fn take_ghost(&mut self, block: Block) -> Option<(u8, u32)> {
        let ghost = self.ghosts.find(block)?;
        let at = (ghost - self.stamps.len() as u32) as usize;
        let known = (self.ghosts.tag(ghost) as u8, self.ghost_stamps[at]);
        self.left.unlink(&mut self.links, ghost);
        self.ghosts.remove(ghost);
        Some(known)
    }

    /// `block`, which is no ghost, is remembered.
    fn remember(&mut self, block: Block, kind: u8, stamp: u32) {
        if self.ghosts.is_full() {
            let Some(oldest) = self.left.pop_tail(&mut self.links) else { return };
            self.ghosts.remove(oldest);
        }
        let ghost = self.ghosts.add(block, u16::from(kind));
        self.ghost_stamps[(ghost - self.stamps.len() as u32) as usize] = stamp;
        self.left.push_head(&mut self.links, ghost);
    }

    fn keep(&mut self, slot: Slot, slots: &Slots) {
        match slots.dirty(slot) {
            true => {
                self.sent.meet(slots.zone_index(slot));
                self.zones.insert(slot, &mut self.links, slots);
            }
            false => {
                let kind = usize::from(self.kinds[slot.index()]);
                self.clean[kind].push_head(&mut self.links, slot.0);
            }
        }
    }

    /// What is written of `slot` and stays does not count as dirty any more, or counts again.
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

    /// Names `slot`: it leaves, and is remembered.
    fn leave(&mut self, slot: Slot, out: &mut Victims) {
        let block = out.slots().block(slot);
        self.forget(slot, out.slots());
        // (A block whose destage was taken back may have been remembered.)
        self.take_ghost(block);
        self.remember(block, self.kinds[slot.index()], self.stamps[slot.index()]);
        out.push(slot);
    }

    /// A slot goes for so much.
    fn pay(&mut self, price: f32) {
        self.price = match self.price {
            0.0 => price,
            before => before + (price - before) / 20.0,
        };
    }

    fn worth_of(&self, slot: Slot) -> f32 {
        self.worth.of(self.kinds[slot.index()], self.age(self.stamps[slot.index()]))
    }

    /// The clean block that saves least. Of each kind the one used longest ago and the one used last are
    /// looked at: of blocks that come back after a pause, as those of a scan do, the latter is worth less.
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

    fn cheapest_zone(&mut self, slots: &Slots) -> Option<(f32, ZoneIndex)> {
        let (sent, costs) = (&self.sent, &self.costs);
        let cost = |zone, dirty| {
            let part = if sent.holds(zone) { CLEANED_ANYWAY } else { 1.0 };
            part * costs.zone(dirty)
        };
        self.zones.cheapest(self.now, cost, &self.links, slots)
    }

    /// Notes the dirty blocks of `zone` that may be written, sorted. Returns how many runs and blocks the disk would get.
    fn note(&mut self, zone: ZoneIndex, slots: &Slots) -> (u32, u32) {
        self.scratch.clear();
        let blocks = self.zones.members(zone, &self.links).filter(|&slot| slots.evictable(slot));
        self.scratch.extend(blocks.map(|slot| slots.block(slot).0));
        self.scratch.sort_unstable();
        extent(&self.scratch)
    }

    /// Names the noted blocks of `zone`. Returns how many leave.
    fn flush(&mut self, zone: ZoneIndex, out: &mut Victims) -> u32 {
        let (mut next, mut leave) = (self.zones.coldest(zone), 0);
        while let Some(slot) = next {
            next = self.links.towards_head(slot.0).map(Slot);
            let block = out.slots().block(slot).0;
            if !out.slots().evictable(slot) || self.scratch.binary_search(&block).is_err() {
                continue;
            }
            // The coldest makes room, whatever it is worth.
            let stays = self.stay && leave > 0 && self.worth_of(slot) > self.price;
            if out.is_idle() || stays {
                self.write(slot, out);
            } else {
                self.leave(slot, out);
                leave += 1;
            }
        }
        leave
    }

    /// Writes all of `zone`: through the disk's buffer or, where that takes less, whole past it. Returns how many leave.
    fn write_zone(&mut self, zone: ZoneIndex, out: &mut Victims) -> u32 {
        let (runs, blocks) = self.note(zone, out.slots());
        if self.goes_whole(zone, runs) {
            let leave = self.flush(zone, out);
            out.end_group(Manner::WholeBand(out.slots().zone_of(zone)));
            self.sent.clean(zone);
            return leave;
        }
        // (Idle time names zone by zone.)
        if !out.is_idle() && self.last_call(zone, runs, blocks, out) {
            self.note(zone, out.slots());
        }
        let leave = self.flush(zone, out);
        out.end_group(Manner::Write(WriteOrder::ByAddress));
        self.sent.send(zone, runs, blocks, self.now);
        leave
    }

    /// Before so much is sent of `zone`: of the zone that the disk would have to clean for it goes what is dirty, as far
    /// as there is room. So it is cleaned with the rest, and not once more for that. Returns whether another zone may be noted now.
    fn last_call(&mut self, zone: ZoneIndex, runs: u32, blocks: u32, out: &mut Victims) -> bool {
        let Some(oldest) = self.sent.oldest().filter(|&oldest| oldest != zone) else {
            return false;
        };
        let (free_runs, free_blocks) = self.sent.free();
        if free_runs.min(free_blocks) < LAST_CALL_MIN {
            return false;
        }
        let (last_runs, last_blocks) = self.note(oldest, out.slots());
        // Runs that are written again in the buffer count twice here. Where zones are the bands that is taken for
        // scarcity too often.
        let few_runs =
            self.costs.band_pass_ns.is_none() && free_runs < u64::from(runs) + u64::from(last_runs);
        if last_blocks == 0
            || !few_runs && free_blocks >= u64::from(blocks) + u64::from(last_blocks)
        {
            return true;
        }
        self.scratch.truncate(usize::try_from(free_blocks).unwrap_or(usize::MAX));
        while u64::from(extent(&self.scratch).0) > free_runs {
            let fewer = self.scratch.len() - self.scratch.len().div_ceil(8);
            self.scratch.truncate(fewer);
        }
        let (runs, blocks) = extent(&self.scratch);
        self.flush(oldest, out);
        out.end_group(Manner::Write(WriteOrder::ByAddress));
        self.sent.send(oldest, runs, blocks, self.now);
        true
    }

    /// Whether it takes less to write the band that is `zone` whole, each time, than to send it to the buffer for as
    /// long as that holds it, and have the disk clean it once.
    fn goes_whole(&self, zone: ZoneIndex, runs: u32) -> bool {
        let Some(pass) = self.costs.band_pass_ns else { return false };
        let times = (self.sent.stay(self.now) / self.zones.fills_in(zone, self.now)).max(1.0);
        let sent = self.costs.zone_ns + times * self.costs.block_ns * runs as f32;
        self.always_whole || times * 2.0 * pass < sent
    }
}

/// Runs of neighbours, as far as one I/O goes, and blocks, in sorted `blocks`.
fn extent(blocks: &[u64]) -> (u32, u32) {
    let (mut runs, mut room, mut expected) = (0, 0, u64::MAX);
    for &block in blocks {
        if block != expected || room == 0 {
            (runs, room) = (runs + 1, RUN_BLOCKS_MAX);
        }
        (expected, room) = (block + 1, room - 1);
    }
    (runs, blocks.len() as u32)
}

impl Policy for DiskTime {
    const NAME: &'static str = "disk-time";
    const ABOUT: &'static str = "the slot that saves the least disk time is given up, clean or dirty \
                                 (this project)";
    const ZONING: Zoning = Zoning::Fixed;
    const IDLE: Idle = Idle::Names;
    const PARAMS: &'static [Param] = &[
        ZONE,
        Param {
            name: "whole_bands",
            kind: Kind::Choice(&["auto", "always", "never"]),
            default: "auto",
            about: "write bands whole where the disk takes them past its buffer, and zones are its bands: \
                    where that takes less than its buffer and cleaning, always, or never",
        },
        Param {
            name: "stay",
            kind: Kind::Switch,
            default: "on",
            about: "what is written stays if a read of it is worth it",
        },
        Param {
            name: "admit",
            kind: Kind::Choice(&["worth", "all"]),
            default: "worth",
            about: "which reads that miss enter: those worth what slots go for, or all",
        },
        Param {
            name: "half_life",
            kind: Kind::Ratio,
            default: "2",
            about: "accesses, in cache sizes, in which half of a zone's writes are forgotten",
        },
    ];

    fn new(params: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity();
        let ghosts = Ghosts::capacity_for(capacity, capacity.into());
        let view = slots.drive();
        let bands = params.zones("zone").is_none() && params.choice("whole_bands") != "never";
        let costs = Planned::new(slots, bands);
        DiskTime {
            now: 0,
            links: Links::new((capacity + ghosts) as usize),
            stamps: vec![0; capacity as usize],
            kinds: vec![0; capacity as usize],
            clean: [List::default(); KINDS],
            zones: DirtyZones::new(params.part_of("half_life", capacity)),
            under_way: Bits::new(capacity as usize),
            ghosts: Ghosts::new(capacity, ghosts),
            left: List::default(),
            ghost_stamps: vec![0; ghosts as usize],
            worth: Worth::new(KINDS, (capacity / 4).max(8192), costs.read_ns),
            price: 0.0,
            request: Asked { number: u64::MAX, size: 0, saved_ns: costs.read_ns },
            streams: [u64::MAX; STREAMS],
            next_stream: 0,
            coming: None,
            sent: SentZones::new(
                view.buffer_blocks,
                view.in_order.log_blocks.max(view.buffer_blocks),
            ),
            costs,
            admits_all: params.choice("admit") == "all",
            always_whole: params.choice("whole_bands") == "always",
            stay: params.switch("stay"),
            scratch: Vec::with_capacity(slots.zones().largest().min(u64::from(capacity)) as usize),
        }
    }

    fn admit(&mut self, access: &Access, slots: &Slots) -> Admission {
        self.now = self.now.wrapping_add(1);
        self.look_at(access);
        let ghost = self.take_ghost(access.block);
        let kind = self.used(ghost, access);
        let enters = access.op == Op::Write
            || self.admits_all
            || !slots.full()
            || self.worth.of(kind, 1) >= 0.9 * self.price;
        if enters {
            self.coming = Some((access.block, kind));
            return Admission::Fill;
        }
        self.remember(access.block, kind, self.now);
        Admission::Bypass
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        self.now = self.now.wrapping_add(1);
        self.look_at(access);
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
            // What is being written of it is out of date.
            self.is_over(slot, slots);
            self.zones.written(slots.zone_index(slot), self.now);
        }
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        let known = self.coming.take().filter(|&(block, _)| block == access.block);
        let kind = match known {
            Some((_, kind)) => kind,
            // It comes back, or was found at the start.
            None => match self.take_ghost(access.block) {
                Some((kind, _)) => kind,
                None => self.kind(None, access),
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

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        let mut leave = 0;
        while leave < want {
            let clean = self.cheapest_clean(out.slots());
            let zone = self.cheapest_zone(out.slots());
            let least = clean.map_or(f32::MAX, |(worth, _)| worth);
            leave += match (clean, zone) {
                (_, Some((price, zone))) if price < least => {
                    self.pay(price);
                    self.write_zone(zone, out)
                }
                (Some((worth, slot)), _) => {
                    self.pay(worth);
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
    fn expect(&self, slot: Slot) {
        self.links.expect(slot.0);
    }

    fn memory(&self) -> Memory {
        let by_slots = self.links.bytes()
            + self.stamps.capacity() * 4
            + self.kinds.capacity()
            + self.ghosts.bytes()
            + self.under_way.bytes()
            + self.ghost_stamps.capacity() * 4
            + self.worth.bytes()
            + self.scratch.capacity() * 8;
        Memory { by_slots, by_zones: self.zones.bytes() + self.sent.bytes() }
    }

    fn check(&self, slots: &Slots) {
        for (kind, list) in self.clean.iter().enumerate() {
            list.check(&self.links);
            for slot in list.from_tail(&self.links).map(Slot) {
                assert!(!slots.dirty(slot), "a clean block is in its zone");
                assert_eq!(usize::from(self.kinds[slot.index()]), kind);
            }
        }
        self.zones.check(&self.links, slots);
        self.left.check(&self.links);
        assert_eq!(self.left.len(), self.ghosts.len());
        self.sent.check();
    }
}
