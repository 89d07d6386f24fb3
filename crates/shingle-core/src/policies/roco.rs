//! ROCO (Liu et al., JCST 34(1), 2019): an SSD cache before a host-aware drive, whose zones and write
//! pointers it knows. The replacement algorithm is CREA (Algorithm 1): of the zones in the cache,
//! from the coldest to the hottest, the first leaves that the drive can take in sequence; if there is
//! none, the first of which so much is cached that the host can read the rest and write the zone
//! back; if there is none either, the coldest, by way of the drive's own disk cache.
//!
//! ```text
//! sequential   the lowest cached block of the zone is at its write pointer: the blocks from there on
//!              to the first gap leave. Or all of the zone is cached: it is reset and rewritten
//! host RMW     at least 80 % of the zone is cached (the text has "exceeds", Algorithm 1 has ≥)
//! rest         all cached blocks of the coldest zone, by address
//! ```
//!
//! A zone's heat is the mean number of accesses of its cached blocks (equation 1); of two alike, the
//! one cached longer is colder (the paper does not say). A conventional zone, which the algorithm
//! does not speak of, is taken in sequence whatever is cached of it. Only writes enter the cache;
//! that reads never do is a decision: §3.2 tells of writes alone.
//!
//! Sorting all zones at each eviction, as Algorithm 1 has it, is not needed to find the coldest of a
//! kind: three tournaments know it ([`Tournament`]), and a zone that has changed plays again when it
//! next matters.

use crate::list::{Links, List};
use crate::params::{Kind, Param, Params};
use crate::plan::{Manner, WriteOrder};
use crate::policy::{Access, Admission, Memory, Policy, Victims, Zoning};
use crate::slots::Slots;
use crate::tournament::Tournament;
use crate::units::{Op, Slot, Zone};

/// What is cached of a zone.
#[derive(Clone, Copy, Default, Debug)]
struct Cached {
    blocks: List,
    /// Blocks below the write pointer.
    below: u32,
    /// Its tournaments are to be played again.
    changed: bool,
    /// Accesses of its blocks (zone_access_count).
    accesses: u64,
    /// When the zone entered the cache, counted in zones.
    since: u64,
}

impl Cached {
    /// Whether it is colder than `other`: by the quotient of accesses and blocks, without dividing.
    fn colder(&self, other: &Cached) -> bool {
        let product = |a: &Cached, b: &Cached| u128::from(a.accesses) * u128::from(b.blocks.len());
        (product(self, other), self.since) < (product(other, self), other.since)
    }
}

/// How a zone can leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Sequential,
    HostRmw,
    NonSequential,
}

const WAYS: [Way; 3] = [Way::Sequential, Way::HostRmw, Way::NonSequential];

/// See the module.
#[derive(Clone, Debug)]
pub struct Roco {
    members: Links,
    /// Accesses of each block since it was cached; 0 if the slot is not the policy's.
    accesses: Vec<u32>,
    zones: Vec<Cached>,
    /// One for each of [`WAYS`].
    coldest: [Tournament; 3],
    /// Zones whose tournaments are to be played again.
    changed: Vec<Zone>,
    /// Zones that could not leave because of I/O under way, during an eviction.
    held_up: Vec<Zone>,
    entered: u64,
    host_rmw_thousandths: u64,
    counts_reads: bool,
}

impl Roco {
    fn change(&mut self, zone: Zone) {
        let cached = &mut self.zones[zone.index()];
        if !core::mem::replace(&mut cached.changed, true) {
            self.changed.push(zone);
        }
    }

    /// Whether `slot` lies before the write pointer of `zone`.
    fn is_below(slot: Slot, zone: Zone, slots: &Slots) -> bool {
        let offset = slots.block(slot).0 - slots.zones().first_block(zone).0;
        slots.write_pointer(zone).is_some_and(|pointer| offset < pointer)
    }

    fn forget(&mut self, slot: Slot, slots: &Slots) {
        let zone = slots.zone(slot);
        let cached = &mut self.zones[zone.index()];
        cached.blocks.unlink(&mut self.members, slot.0);
        cached.below -= u32::from(Roco::is_below(slot, zone, slots));
        cached.accesses -= u64::from(core::mem::take(&mut self.accesses[slot.index()]));
        self.change(zone);
    }

    /// The cached block `offset` blocks into `zone`, if it goes that far.
    fn cached_at(&self, zone: Zone, offset: u64, slots: &Slots) -> Option<Slot> {
        let zones = slots.zones();
        let block = zones.first_block(zone).after(offset);
        let slot = (offset < zones.blocks(zone)).then(|| slots.find(block)).flatten();
        slot.filter(|slot| self.accesses[slot.index()] > 0)
    }

    /// Whether a zone with something cached can leave that way (Algorithm 1, lines 16, 21, 30).
    fn can_leave(&self, zone: Zone, way: Way, slots: &Slots) -> bool {
        let cached = &self.zones[zone.index()];
        let (count, all) = (u64::from(cached.blocks.len()), slots.zones().blocks(zone));
        match way {
            Way::Sequential => match slots.write_pointer(zone) {
                None => true,
                Some(_) if count == all => true,
                Some(pointer) => {
                    cached.below == 0 && self.cached_at(zone, pointer, slots).is_some()
                }
            },
            Way::HostRmw => {
                slots.write_pointer(zone).is_some()
                    && count * 1000 >= all * self.host_rmw_thousandths
            }
            Way::NonSequential => true,
        }
    }

    /// Plays the tournaments of zones that have changed.
    fn settle(&mut self, slots: &Slots) {
        while let Some(zone) = self.changed.pop() {
            self.zones[zone.index()].changed = false;
            let empty = self.zones[zone.index()].blocks.is_empty();
            let can = WAYS.map(|way| !empty && self.can_leave(zone, way, slots));
            self.play(zone, can);
        }
    }

    fn play(&mut self, zone: Zone, takes_part: [bool; 3]) {
        let zones = &self.zones;
        let colder = |a: u32, b: u32| zones[a as usize].colder(&zones[b as usize]);
        for (tournament, takes_part) in self.coldest.iter_mut().zip(takes_part) {
            tournament.update(zone.0, takes_part, colder);
        }
    }

    /// Names what of `zone` leaves that way; nothing, if I/O on it is under way.
    fn leave(&mut self, zone: Zone, way: Way, out: &mut Victims) {
        let slots = out.slots();
        let (count, all) = (self.zones[zone.index()].blocks.len(), slots.zones().blocks(zone));
        let pointer = slots.write_pointer(zone);
        let run = pointer.filter(|_| way == Way::Sequential && u64::from(count) < all);
        if let Some(pointer) = run {
            return self.leave_run(zone, pointer, out);
        }
        let manner = match way {
            Way::Sequential if pointer.is_some_and(|pointer| pointer > 0) => Manner::Rewrite(zone),
            Way::HostRmw => Manner::HostRmw(zone),
            _ => Manner::Write(WriteOrder::ByAddress),
        };
        if matches!(manner, Manner::Write(_)) || self.all_evictable(zone, slots) {
            self.leave_all(zone, manner, out);
        }
    }

    /// The blocks from the write pointer on, up to the first gap.
    fn leave_run(&mut self, zone: Zone, pointer: u64, out: &mut Victims) {
        let mut offset = pointer;
        while let Some(slot) = self.cached_at(zone, offset, out.slots()) {
            if !out.slots().evictable(slot) {
                break;
            }
            self.forget(slot, out.slots());
            out.push(slot);
            offset += 1;
        }
        out.end_group(Manner::Write(WriteOrder::ByAddress));
    }

    fn all_evictable(&self, zone: Zone, slots: &Slots) -> bool {
        let blocks = &self.zones[zone.index()].blocks;
        blocks.from_tail(&self.members).all(|slot| slots.evictable(Slot(slot)))
    }

    /// All blocks of the zone that can leave.
    fn leave_all(&mut self, zone: Zone, manner: Manner, out: &mut Victims) {
        let mut next = self.zones[zone.index()].blocks.tail();
        while let Some(slot) = next.map(Slot) {
            next = self.members.towards_head(slot.0);
            if out.slots().evictable(slot) {
                self.forget(slot, out.slots());
                out.push(slot);
            }
        }
        out.end_group(manner);
    }

    /// The zone that leaves next, and how.
    fn choose(&self) -> Option<(Zone, Way)> {
        let winners = self.coldest.iter().zip(WAYS);
        winners.filter_map(|(coldest, way)| Some((Zone(coldest.winner()?), way))).next()
    }
}

impl Policy for Roco {
    const NAME: &'static str = "roco";
    const ABOUT: &'static str = "the coldest zone that can be written in sequence leaves (ROCO)";
    const ZONING: Zoning = Zoning::Exposed;
    const PARAMS: &'static [Param] = &[
        Param {
            name: "host-rmw",
            kind: Kind::Ratio,
            default: "0.8",
            about: "cached part of a zone from which on the host reads the rest and rewrites it \
                    (§2.2: such as 80 %); above 1: never",
        },
        Param {
            name: "heat",
            kind: Kind::Choice(&["writes", "accesses"]),
            default: "writes",
            about: "what counts towards the heat of a zone: blocks written (§3.2: data that arrive), \
                    or read hits too",
        },
    ];

    fn new(params: &Params, slots: &Slots) -> Self {
        let (capacity, zones) = (slots.capacity() as usize, slots.zones().count());
        Roco {
            members: Links::new(capacity),
            accesses: vec![0; capacity],
            zones: vec![Cached::default(); zones],
            coldest: WAYS.map(|_| Tournament::new(zones)),
            changed: Vec::with_capacity(zones),
            held_up: Vec::with_capacity(zones),
            entered: 0,
            host_rmw_thousandths: params.thousandths("host-rmw"),
            counts_reads: params.choice("heat") == "accesses",
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
            let zone = slots.zone(slot);
            self.accesses[slot.index()] += 1; // a run has less than 2^32 requests for a block
            self.zones[zone.index()].accesses += 1;
            self.change(zone);
        }
    }

    fn on_insert(&mut self, slot: Slot, _: &Access, slots: &Slots) {
        let zone = slots.zone(slot);
        let cached = &mut self.zones[zone.index()];
        if cached.blocks.is_empty() {
            self.entered += 1;
            cached.since = self.entered;
        }
        cached.blocks.push_head(&mut self.members, slot.0);
        cached.below += u32::from(Roco::is_below(slot, zone, slots));
        cached.accesses += 1;
        self.accesses[slot.index()] = 1;
        self.change(zone);
    }

    fn on_remove(&mut self, slot: Slot, slots: &Slots) {
        self.forget(slot, slots);
    }

    fn on_write_pointer(&mut self, zone: Zone, before: u64, slots: &Slots) {
        let blocks = self.zones[zone.index()].blocks;
        if blocks.is_empty() {
            return;
        }
        let pointer = slots.write_pointer(zone).unwrap_or(0);
        // Looks at the blocks that were passed, or at those that are cached, whichever are fewer.
        let passed = pointer.saturating_sub(before);
        let below = if before < pointer && passed < u64::from(blocks.len()) {
            let cached = |&offset: &u64| self.cached_at(zone, offset, slots).is_some();
            self.zones[zone.index()].below + (before..pointer).filter(cached).count() as u32
        } else {
            let below = |&slot: &u32| Roco::is_below(Slot(slot), zone, slots);
            blocks.from_tail(&self.members).filter(below).count() as u32
        };
        self.zones[zone.index()].below = below;
        self.change(zone);
    }

    fn evict(&mut self, _: Option<&Access>, want: u32, out: &mut Victims) {
        while out.len() < want {
            self.settle(out.slots());
            let Some((zone, way)) = self.choose() else { break };
            let named = out.len();
            self.leave(zone, way, out);
            if out.len() == named {
                self.play(zone, [false; 3]);
                self.held_up.push(zone);
            }
        }
        // Zones with I/O under way come last, and then whatever of them can leave.
        while let Some(zone) = self.held_up.pop() {
            if out.is_empty() {
                self.leave_all(zone, Manner::Write(WriteOrder::ByAddress), out);
            }
            self.change(zone);
        }
    }

    #[inline]
    fn expect(&self, slot: Slot) {
        self.members.expect(slot.0);
    }

    fn memory(&self) -> Memory {
        let tournaments: usize = self.coldest.iter().map(Tournament::bytes).sum();
        let lists = (self.changed.capacity() + self.held_up.capacity()) * size_of::<Zone>();
        Memory {
            by_slots: self.members.bytes() + self.accesses.capacity() * size_of::<u32>(),
            by_zones: self.zones.capacity() * size_of::<Cached>() + tournaments + lists,
        }
    }

    fn check(&self, slots: &Slots) {
        for (at, cached) in self.zones.iter().enumerate() {
            let zone = Zone(at as u32);
            cached.blocks.check(&self.members);
            let members = || cached.blocks.from_tail(&self.members).map(Slot);
            assert!(members().all(|slot| slots.zone(slot) == zone));
            let accesses: u64 = members().map(|slot| u64::from(self.accesses[slot.index()])).sum();
            assert_eq!(accesses, cached.accesses, "zone_access_count");
            let below = members().filter(|&slot| Roco::is_below(slot, zone, slots)).count();
            assert_eq!(below, cached.below as usize, "blocks below the write pointer");
            assert_eq!(cached.changed, self.changed.contains(&zone));
        }
        assert!(self.held_up.is_empty());
    }
}
