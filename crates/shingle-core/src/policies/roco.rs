//! ROCO (Liu et al., JCST 34(1), 2019): an SSD cache before a host-aware drive, whose zones and
//! write pointers it knows. The replacement algorithm is CREA (Algorithm 1). It looks at the cached
//! zones from the coldest to the hottest and evicts the first that can be written in sequence. If
//! there is none, it evicts the first of which so much is cached that the host can read the rest
//! and write the zone back. If there is none either, it evicts the coldest zone through the drive's
//! own disk cache.
//!
//! ```text
//! sequential   the lowest cached block of the zone is at its write pointer: the blocks from there
//! on
//!              to the first gap leave. Or all of the zone is cached: it is reset and rewritten
//! host RMW     at least 80 % of the zone is cached (the text has "exceeds", Algorithm 1 has ≥)
//! rest         all cached blocks of the coldest zone, by address
//! ```
//!
//! The heat of a zone is the mean number of accesses of its cached blocks (equation 1). Recent
//! accesses count more, as heat is to be a frequency (§3.2); `heat=count` is the equation to the
//! letter (`heat.rs`). Of two zones of equal heat, the one cached longer is colder (the paper does
//! not say). The algorithm does not mention conventional zones; they count as sequential whatever
//! is cached of them. Only writes enter the cache. That reads never do is a decision: §3.2 mentions
//! only writes.
//!
//! The paper says nothing of idle time. Here the dirty blocks of the zones that would leave next
//! are written, in the same manner, and stay. A block that is clean afterwards need not be written
//! again. So how a zone can leave depends on its dirty blocks. A zone without dirty blocks can
//! always leave; the coldest of these goes before sequential zones that are hotter. In the paper's
//! caches all blocks are dirty.
//!
//! Algorithm 1 sorts all zones at each eviction. Finding the coldest zone of each kind does not
//! need that: a tournament keeps it ([`Tournament`]), and a zone that has changed is played again
//! before its next use.

mod heat;

use crate::param;
use crate::params::{Param, Params};
use crate::parts::{ByZone, Links, List, Tournament, ZoneIndex};
use crate::plan::{DestageMethod, WriteOrder};
use crate::policy::{Access, Admission, Idle, Memory, Policy, Victims, Zoning};
use crate::slots::Slots;
use crate::units::{Op, Slot, Zone};
use heat::Clock;

/// The cached blocks of a zone.
#[derive(Clone, Copy, Default, Debug)]
struct Cached {
    blocks: List,
    dirty: u32,
    /// Dirty blocks below the write pointer.
    below: u32,
    /// Whether its tournaments are to be played again.
    changed: bool,
    /// Weighted accesses of its blocks (zone_access_count).
    accesses: u64,
    /// Sequence number of its entry into the cache.
    since: u64,
}

impl Cached {
    /// Returns whether it is colder than `other`: by accesses ÷ blocks, compared without dividing.
    fn colder(&self, other: &Cached) -> bool {
        let product = |a: &Cached, b: &Cached| u128::from(a.accesses) * u128::from(b.blocks.len());
        (product(self, other), self.since) < (product(other, self), other.since)
    }
}

/// How a zone can leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// No block of it is dirty.
    Clean,
    Sequential,
    HostRmw,
    NonSequential,
}

const WAYS: [Way; 4] = [Way::Clean, Way::Sequential, Way::HostRmw, Way::NonSequential];

/// Whether the named blocks leave, or are written and stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Named {
    Leave,
    Stay,
}

/// The policy; see the module.
#[derive(Clone, Debug)]
pub struct Roco {
    members: Links,
    /// Weighted accesses of each block since it was cached; 0 if the slot is not in the policy.
    accesses: Vec<u64>,
    clock: Clock,
    zones: ByZone<Cached>,
    /// One for each of [`WAYS`].
    coldest: [Tournament; WAYS.len()],
    /// Zones whose tournaments are to be played again.
    changed: Vec<ZoneIndex>,
    /// Zones that could not leave because of I/O in flight, or that idle time has handled; empty
    /// between calls.
    held_up: Vec<ZoneIndex>,
    entered: u64,
    host_rmw_thousandths: u64,
    counts_reads: bool,
}

impl Roco {
    fn change(&mut self, zone: ZoneIndex) {
        let cached = &mut self.zones[zone];
        if !core::mem::replace(&mut cached.changed, true) {
            self.changed.push(zone);
        }
    }

    /// Returns whether `slot` lies before the write pointer of its zone.
    fn is_below(slot: Slot, slots: &Slots) -> bool {
        let zone = slots.zone(slot);
        let offset = slots.block(slot).0 - slots.zones().first_block(zone).0;
        slots.write_pointer(zone).is_some_and(|pointer| offset < pointer)
    }

    fn forget(&mut self, slot: Slot, slots: &Slots) {
        let zone = slots.zone_index(slot);
        if slots.dirty(slot) {
            self.count_dirty(slot, -1, slots);
        }
        let cached = &mut self.zones[zone];
        cached.blocks.unlink(&mut self.members, slot.0);
        cached.accesses -= core::mem::take(&mut self.accesses[slot.index()]);
        self.change(zone);
    }

    /// Counts an access towards the heat of its zone.
    #[inline]
    fn count_access(&mut self, slot: Slot, zone: ZoneIndex) {
        if self.clock.begin_anew_if_due() {
            self.divide_weights();
        }
        let weight = self.clock.weigh();
        self.accesses[slot.index()] += weight;
        self.zones[zone].accesses += weight;
        self.change(zone);
    }

    /// Divides all weights, once in a fixed number of cache sizes of accesses.
    #[cold]
    fn divide_weights(&mut self) {
        let known = self.zones.iter().count() as u32;
        for zone in (0..known).map(ZoneIndex) {
            if self.zones[zone].blocks.is_empty() {
                continue;
            }
            let mut sum = 0;
            for slot in self.zones[zone].blocks.from_tail(&self.members) {
                let weight = &mut self.accesses[slot as usize];
                *weight = Clock::divided(*weight);
                sum += *weight;
            }
            self.zones[zone].accesses = sum;
            self.change(zone);
        }
    }

    /// Updates the counts after `slot` became dirty (`more` = 1) or is no longer dirty (-1).
    fn count_dirty(&mut self, slot: Slot, more: i32, slots: &Slots) {
        let zone = slots.zone_index(slot);
        let cached = &mut self.zones[zone];
        let count = |of: u32| of.checked_add_signed(more).expect("fewer than no dirty blocks");
        cached.dirty = count(cached.dirty);
        if Roco::is_below(slot, slots) {
            cached.below = count(cached.below);
        }
        self.change(zone);
    }

    /// Returns the dirty block `offset` blocks into `zone`; `None` beyond its end.
    fn dirty_at(&self, zone: Zone, offset: u64, slots: &Slots) -> Option<Slot> {
        let zones = slots.zones();
        let block = zones.first_block(zone).after(offset);
        let slot = (offset < zones.blocks(zone)).then(|| slots.find(block)).flatten();
        slot.filter(|slot| self.accesses[slot.index()] > 0 && slots.dirty(*slot))
    }

    /// Returns whether a zone with cached blocks can leave in this way (Algorithm 1, lines 16, 21,
    /// 30).
    fn can_leave(&self, index: ZoneIndex, way: Way, slots: &Slots) -> bool {
        let (cached, zone) = (&self.zones[index], slots.zone_of(index));
        let (count, all) = (u64::from(cached.dirty), slots.zones().blocks(zone));
        match way {
            Way::Clean => count == 0,
            _ if count == 0 => false,
            Way::Sequential => match slots.write_pointer(zone) {
                None => true,
                Some(_) if count == all => true,
                Some(pointer) => cached.below == 0 && self.dirty_at(zone, pointer, slots).is_some(),
            },
            Way::HostRmw => {
                slots.write_pointer(zone).is_some()
                    && count * 1000 >= all.saturating_mul(self.host_rmw_thousandths)
            }
            Way::NonSequential => true,
        }
    }

    /// Plays the tournaments of the zones that have changed.
    fn settle(&mut self, slots: &Slots) {
        while let Some(zone) = self.changed.pop() {
            self.zones[zone].changed = false;
            let empty = self.zones[zone].blocks.is_empty();
            let can = WAYS.map(|way| !empty && self.can_leave(zone, way, slots));
            self.play(zone, can);
        }
    }

    fn play(&mut self, zone: ZoneIndex, takes_part: [bool; WAYS.len()]) {
        let zones = &self.zones;
        let colder = |a: u32, b: u32| zones[ZoneIndex(a)].colder(&zones[ZoneIndex(b)]);
        for (tournament, takes_part) in self.coldest.iter_mut().zip(takes_part) {
            tournament.update(zone.0, takes_part, colder);
        }
    }

    /// Names the blocks of `zone` that leave, or are written, in this way; none if the way needs a
    /// block with I/O in flight.
    fn name(&mut self, index: ZoneIndex, way: Way, named: Named, out: &mut Victims) {
        let (slots, zone) = (out.slots(), out.slots().zone_of(index));
        let (count, all) = (self.zones[index].dirty, slots.zones().blocks(zone));
        let pointer = slots.write_pointer(zone);
        let run = pointer.filter(|_| way == Way::Sequential && u64::from(count) < all);
        if let Some(pointer) = run {
            return self.name_run(zone, pointer, named, out);
        }
        let manner = match way {
            Way::Sequential if pointer.is_some_and(|pointer| pointer > 0) => {
                DestageMethod::Rewrite(zone)
            }
            Way::HostRmw => DestageMethod::HostRmw(zone),
            _ => DestageMethod::Write(WriteOrder::ByAddress),
        };
        if matches!(manner, DestageMethod::Write(_)) || self.all_dirty_evictable(index, slots) {
            self.name_all(index, manner, named, out);
        }
    }

    /// Names the blocks from the write pointer on, up to the first gap.
    fn name_run(&mut self, zone: Zone, pointer: u64, named: Named, out: &mut Victims) {
        let mut offset = pointer;
        while let Some(slot) = self.dirty_at(zone, offset, out.slots())
            && out.slots().evictable(slot)
        {
            self.name_one(slot, named, out);
            offset += 1;
        }
        out.end_group(DestageMethod::Write(WriteOrder::ByAddress));
    }

    fn all_dirty_evictable(&self, zone: ZoneIndex, slots: &Slots) -> bool {
        let mut blocks = self.zones[zone].blocks.from_tail(&self.members).map(Slot);
        blocks.all(|slot| !slots.dirty(slot) || slots.evictable(slot))
    }

    /// Names all evictable blocks of the zone, or only the dirty ones if they stay.
    fn name_all(
        &mut self,
        zone: ZoneIndex,
        manner: DestageMethod,
        named: Named,
        out: &mut Victims,
    ) {
        let mut next = self.zones[zone].blocks.tail();
        while let Some(slot) = next.map(Slot) {
            next = self.members.towards_head(slot.0);
            let wanted = named == Named::Leave || out.slots().dirty(slot);
            if wanted && out.slots().evictable(slot) {
                self.name_one(slot, named, out);
            }
        }
        out.end_group(manner);
    }

    fn name_one(&mut self, slot: Slot, named: Named, out: &mut Victims) {
        if named == Named::Leave {
            self.forget(slot, out.slots());
        }
        out.push(slot);
    }

    /// Takes `zone`, which has been named or could not be, out of the tournaments, so that the next
    /// one is chosen.
    fn set_aside(&mut self, zone: ZoneIndex) {
        self.play(zone, [false; WAYS.len()]);
        self.held_up.push(zone);
    }

    /// Puts the zones set aside back. If nothing was named, names whatever is evictable of them.
    fn take_back(&mut self, named: Named, out: &mut Victims) {
        while let Some(zone) = self.held_up.pop() {
            if out.is_empty() {
                self.name_all(zone, DestageMethod::Write(WriteOrder::ByAddress), named, out);
            }
            self.change(zone);
        }
    }

    /// Returns the zone that leaves next, and how.
    fn choose(&self) -> Option<(ZoneIndex, Way)> {
        let Some(clean) = self.coldest[0].winner().map(ZoneIndex) else {
            return self.choose_dirty();
        };
        match self.choose_dirty() {
            Some((zone, Way::Sequential)) if self.zones[zone].colder(&self.zones[clean]) => {
                Some((zone, Way::Sequential))
            }
            _ => Some((clean, Way::Clean)),
        }
    }

    /// Returns the zone that is written next, and how.
    fn choose_dirty(&self) -> Option<(ZoneIndex, Way)> {
        let mut winners = self.coldest.iter().zip(WAYS).skip(1);
        winners.find_map(|(coldest, way)| Some((ZoneIndex(coldest.winner()?), way)))
    }
}

impl Policy for Roco {
    const NAME: &'static str = "roco";
    const ABOUT: &'static str = "the coldest zone that can be written in sequence leaves (ROCO)";
    const ZONING: Zoning = Zoning::Exposed;
    const IDLE: Idle = Idle::Names;
    const PARAMS: &'static [Param] = &[
        param!("host-rmw": Ratio = "0.8",
            "cached part of a zone from which on the host reads the rest and rewrites it (§2.2: such as 80 %); \
             above 1: never"),
        param!("heat": Choice(&["recent", "count"]) = "recent",
            "heat of a zone: accesses a cached block, half as much for each cache of accesses since (§3.2: the \
             access frequency), or all alike (equation 1 to the letter)"),
        param!("counted": Choice(&["writes", "accesses"]) = "writes",
            "what counts towards the heat of a zone: blocks written (§3.2: data that arrive), or read hits \
             too"),
    ];

    fn new(params: &Params, slots: &Slots) -> Self {
        let capacity = slots.capacity() as usize;
        Roco {
            members: Links::new(capacity),
            accesses: vec![0; capacity],
            zones: ByZone::new(),
            coldest: WAYS.map(|_| Tournament::new()),
            changed: Vec::new(),
            held_up: Vec::new(),
            entered: 0,
            host_rmw_thousandths: params.thousandths("host-rmw"),
            clock: match params.choice("heat") {
                "count" => Clock::counting(),
                _ => Clock::doubling(slots.capacity()),
            },
            counts_reads: params.choice("counted") == "accesses",
        }
    }

    fn admit(&mut self, access: &Access, _: &Slots) -> Admission {
        match access.op {
            Op::Read => Admission::Bypass,
            _ => Admission::Fill,
        }
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, slots: &Slots) {
        if access.op == Op::Write || self.counts_reads {
            self.count_access(slot, slots.zone_index(slot));
        }
    }

    fn on_insert(&mut self, slot: Slot, _: &Access, slots: &Slots) {
        let zone = slots.zone_index(slot);
        let cached = &mut self.zones[zone];
        if cached.blocks.is_empty() {
            self.entered += 1;
            cached.since = self.entered;
        }
        self.count_access(slot, zone);
        self.zones[zone].blocks.push_head(&mut self.members, slot.0);
        if slots.dirty(slot) {
            self.count_dirty(slot, 1, slots);
        }
    }

    fn on_dirty(&mut self, slot: Slot, slots: &Slots) {
        self.count_dirty(slot, 1, slots);
    }

    fn on_clean(&mut self, slot: Slot, slots: &Slots) {
        self.count_dirty(slot, -1, slots);
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        self.forget(slot, slots);
    }

    fn on_write_pointer(&mut self, zone: Zone, before: u64, slots: &Slots) {
        let Some(index) = slots.find_zone(zone) else { return };
        let blocks = self.zones[index].blocks;
        if blocks.is_empty() {
            return;
        }
        let pointer = slots.write_pointer(zone).unwrap_or(0);
        // Examines the blocks that the pointer passed, or the cached blocks, whichever are fewer.
        let passed = pointer.saturating_sub(before);
        let below = if before < pointer && passed < u64::from(blocks.len()) {
            let dirty = |&offset: &u64| self.dirty_at(zone, offset, slots).is_some();
            self.zones[index].below + (before..pointer).filter(dirty).count() as u32
        } else {
            let below = |&slot: &Slot| slots.dirty(slot) && Roco::is_below(slot, slots);
            blocks.from_tail(&self.members).map(Slot).filter(below).count() as u32
        };
        self.zones[index].below = below;
        self.change(index);
    }

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        while out.len() < want {
            self.settle(out.slots());
            let Some((zone, way)) = self.choose() else { break };
            let before = out.len();
            self.name(zone, way, Named::Leave, out);
            if out.len() == before {
                self.set_aside(zone);
            }
        }
        self.take_back(Named::Leave, out);
    }

    /// Writes the zones as if they left, each at most once per call.
    fn destage(&mut self, want: u32, out: &mut Victims) {
        self.settle(out.slots());
        while out.len() < want
            && let Some((zone, way)) = self.choose_dirty()
        {
            self.name(zone, way, Named::Stay, out);
            self.set_aside(zone);
        }
        self.take_back(Named::Stay, out);
    }

    #[inline]
    fn prefetch(&self, slot: Slot) {
        self.members.prefetch(slot.0);
    }

    fn memory(&self) -> Memory {
        let tournaments: usize = self.coldest.iter().map(Tournament::bytes).sum();
        let lists = (self.changed.capacity() + self.held_up.capacity()) * size_of::<ZoneIndex>();
        Memory {
            by_slots: self.members.bytes() + self.accesses.capacity() * size_of::<u64>(),
            by_zones: self.zones.bytes() + tournaments + lists,
        }
    }

    fn check(&self, slots: &Slots) {
        for (zone, cached) in self.zones.iter() {
            cached.blocks.check(&self.members);
            let members = || cached.blocks.from_tail(&self.members).map(Slot);
            assert!(members().all(|slot| slots.zone_index(slot) == zone));
            let accesses: u64 = members().map(|slot| self.accesses[slot.index()]).sum();
            assert_eq!(accesses, cached.accesses, "zone_access_count");
            let dirty = || members().filter(|&slot| slots.dirty(slot));
            assert_eq!(dirty().count(), cached.dirty as usize, "dirty blocks");
            let below = dirty().filter(|&slot| Roco::is_below(slot, slots)).count();
            assert_eq!(below, cached.below as usize, "dirty blocks below the write pointer");
            assert_eq!(cached.changed, self.changed.contains(&zone));
        }
        assert!(self.held_up.is_empty());
    }
}
