//! Dirty blocks by zone, and the zone whose slots save least.
//!
//! What the slots of a zone save changes with every write and with time, so no order of zones is
//! kept. Now and then all zones are examined and the best are noted; each noted zone is examined
//! again before it is named.

use crate::parts::{ByZone, Links, List, ZoneIndex, halved};
use crate::slots::Slots;
use crate::units::Slot;

/// All zones are examined once per this many slots that leave, at least. Counting zones that leave
/// would be too late: the cache may have been filled several times over by then.
const LOOK_EVERY: usize = 64;
/// One of this many zones is noted.
const NOTED_PART: usize = 16;
/// Writes per half-life added to those counted for each zone of 5,000 blocks: otherwise it would
/// seem to cost almost nothing to write a quiet zone for a few blocks. With 0.2 up to 5 % more bands
/// were written on the tuning traces. For smaller zones it is less in proportion.
const WRITES_MIN: f32 = 20.0;
/// Blocks of a zone that [`WRITES_MIN`] is of.
const WRITES_MIN_BLOCKS: f32 = 5000.0;
/// ln 2: converts a count that is halved each half-life to a rate.
const LN_2: f32 = core::f32::consts::LN_2;

/// A zone as it is now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) zone: ZoneIndex,
    /// Number of dirty blocks.
    pub(super) dirty: f32,
    /// Writes per access.
    pub(super) writes: f32,
    /// Reads that miss the cache, per access.
    pub(super) reads: f32,
}

/// Returns what each slot of a zone saves per access.
pub(super) trait Saves: Fn(Now) -> f32 + Copy {}

impl<F: Fn(Now) -> f32 + Copy> Saves for F {}

/// A number of events, halved each half-life, as of access `at`.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    number: f32,
    at: u32,
}

impl Count {
    #[inline]
    fn of(self, now: u32, half_life: f32) -> f32 {
        halved(self.number, now.wrapping_sub(self.at).into(), half_life)
    }

    #[inline]
    fn add(&mut self, now: u32, half_life: f32) {
        *self = Count { number: self.of(now, half_life) + 1.0, at: now };
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Zone {
    /// Dirty blocks, the last used at the head.
    dirty: List,
    writes: Count,
    /// Reads that miss the cache.
    reads: Count,
    /// Index among the dirty zones.
    place: u32,
    /// Number of dirty blocks that are being written and stay. They may be for long, and count as
    /// clean.
    under_way: u32,
}

impl Zone {
    fn count(&self) -> u32 {
        self.dirty.len() - self.under_way
    }
}

/// All zones with dirty blocks.
#[derive(Clone, Debug)]
pub(super) struct DirtyZones {
    zones: ByZone<Zone>,
    dirty: Vec<ZoneIndex>,
    /// Zones whose slots save least, the best at the end, with what they saved when noted.
    noted: Vec<(f32, ZoneIndex)>,
    /// Slots that may leave until all zones are examined again.
    due: usize,
    half_life: f32,
    /// Writes per half-life added to those counted for each zone.
    writes_min: f32,
    /// Whether enough half-lives have passed that the start of the run no longer matters. Needed
    /// because the count of accesses wraps after 2^32.
    grown: bool,
}

impl DirtyZones {
    /// Creates it; the writes to a zone are halved every `half_life` accesses. Zones have `blocks`
    /// blocks; `None` if they are bands.
    pub(super) fn new(half_life: u64, blocks: Option<u64>) -> DirtyZones {
        let blocks = blocks.map_or(WRITES_MIN_BLOCKS, |blocks| blocks as f32);
        DirtyZones {
            zones: ByZone::new(),
            dirty: Vec::new(),
            noted: Vec::new(),
            due: 0,
            half_life: half_life.max(1) as f32,
            writes_min: WRITES_MIN * blocks / WRITES_MIN_BLOCKS,
            grown: false,
        }
    }

    /// Adds a dirty block. Returns whether it is the only one of its zone.
    pub(super) fn insert(&mut self, slot: Slot, links: &mut Links, slots: &Slots) -> bool {
        let index = slots.zone_index(slot);
        let zone = &mut self.zones[index];
        // Allocates for a zone when it is met, not when many zones are dirty at a time.
        let met = index.index() + 1;
        if self.dirty.capacity() < met {
            self.dirty.reserve((2 * met).saturating_sub(self.dirty.len()));
        }
        if self.noted.capacity() < met {
            self.noted.reserve((2 * met).saturating_sub(self.noted.len()));
        }
        let only = zone.dirty.is_empty();
        if only {
            zone.place = self.dirty.len() as u32;
            self.dirty.push(index);
        }
        zone.dirty.push_head(links, slot.0);
        only
    }

    pub(super) fn remove(&mut self, slot: Slot, links: &mut Links, slots: &Slots) {
        let index = slots.zone_index(slot);
        let zone = &mut self.zones[index];
        zone.dirty.unlink(links, slot.0);
        self.due = self.due.saturating_sub(1);
        if zone.dirty.is_empty() {
            let place = zone.place;
            self.dirty.swap_remove(place as usize);
            if let Some(&moved) = self.dirty.get(place as usize) {
                self.zones[moved].place = place;
            }
        }
    }

    /// Notes that the write of a dirty block began, and that the block stays.
    pub(super) fn begins(&mut self, zone: ZoneIndex) {
        self.zones[zone].under_way += 1;
    }

    /// Notes that this write is over: the block is clean, or has to be written again.
    pub(super) fn is_over(&mut self, zone: ZoneIndex) {
        self.zones[zone].under_way -= 1;
    }

    #[inline]
    pub(super) fn touched(&mut self, slot: Slot, links: &mut Links, slots: &Slots) {
        self.zones[slots.zone_index(slot)].dirty.to_head(links, slot.0);
    }

    #[inline]
    pub(super) fn written(&mut self, zone: ZoneIndex, now: u32) {
        self.zones[zone].writes.add(now, self.half_life);
    }

    /// Notes a read of a block of `zone` that misses the cache.
    pub(super) fn read(&mut self, zone: ZoneIndex, now: u32) {
        self.zones[zone].reads.add(now, self.half_life);
    }

    /// Returns its dirty blocks, the coldest first.
    pub(super) fn members<'a>(
        &self,
        zone: ZoneIndex,
        links: &'a Links,
    ) -> impl Iterator<Item = Slot> + 'a {
        self.zones[zone].dirty.from_tail(links).map(Slot)
    }

    /// Returns in about how many accesses as many blocks of `zone` become dirty as are now.
    pub(super) fn fills_in(&self, zone: ZoneIndex, now: u32) -> f32 {
        let zone = &self.zones[zone];
        zone.count().max(1) as f32 / self.writes(zone, now)
    }

    /// Returns the reads of `zone` that miss the cache, per access.
    #[inline]
    pub(super) fn reads(&self, zone: ZoneIndex, now: u32) -> f32 {
        match self.zones[zone].reads {
            // As where reads are not counted: nothing to compute for each zone that is examined.
            Count { number: 0.0, .. } => 0.0,
            reads => self.rate(reads.of(now, self.half_life), now),
        }
    }

    /// Returns the writes to `zone` per access.
    fn writes(&self, zone: &Zone, now: u32) -> f32 {
        self.rate(zone.writes.of(now, self.half_life) + self.writes_min, now)
    }

    /// Returns the rate, per access, of events of which this number is left.
    fn rate(&self, number: f32, now: u32) -> f32 {
        // Early in a run less than a half-life of them has come.
        let young = if self.grown { 1.0 } else { 1.0 - halved(1.0, now.into(), self.half_life) };
        number * LN_2 / self.half_life / young.max(0.01)
    }

    pub(super) fn coldest(&self, zone: ZoneIndex) -> Option<Slot> {
        self.zones[zone].dirty.tail().map(Slot)
    }

    fn saves(&self, zone: ZoneIndex, now: u32, saves: impl Saves) -> f32 {
        let of = &self.zones[zone];
        // At least 1: if the disk fails the writes in flight, the blocks have to be written again.
        let dirty = of.count().max(1) as f32;
        saves(Now { zone, dirty, writes: self.writes(of, now), reads: self.reads(zone, now) })
    }

    /// Returns the zone with an evictable block whose slots save least, and what each of them
    /// saves.
    pub(super) fn cheapest(
        &mut self,
        now: u32,
        saves: impl Saves,
        links: &Links,
        slots: &Slots,
    ) -> Option<(f32, ZoneIndex)> {
        let may = |zone: &Zone| slots.coldest(&zone.dirty, links).is_some();
        if self.due == 0 {
            self.look(now, saves, may);
        }
        // A clean block may leave instead.
        self.due = self.due.saturating_sub(1);
        if let Some(best) = self.best_noted(now, saves, may) {
            return Some(best);
        }
        self.look(now, saves, may);
        self.best_noted(now, saves, may)
    }

    /// Returns what each slot of `zone` saves, if all its `blocks` blocks are dirty and at least
    /// one is evictable.
    pub(super) fn of_whole(
        &self,
        zone: ZoneIndex,
        blocks: u64,
        now: u32,
        saves: impl Saves,
        links: &Links,
        slots: &Slots,
    ) -> Option<f32> {
        let of = &self.zones[zone];
        let whole = u64::from(of.count()) == blocks && slots.coldest(&of.dirty, links).is_some();
        whole.then(|| self.saves(zone, now, saves))
    }

    fn best_noted(
        &mut self,
        now: u32,
        saves: impl Saves,
        may: impl Fn(&Zone) -> bool,
    ) -> Option<(f32, ZoneIndex)> {
        while let Some(&(noted, index)) = self.noted.last() {
            if may(&self.zones[index]) {
                let saved = self.saves(index, now, saves);
                if saved <= 2.0 * noted {
                    return Some((saved, index));
                }
            }
            self.noted.pop();
        }
        None
    }

    /// Examines all zones and notes the best.
    fn look(&mut self, now: u32, saves: impl Saves, may: impl Fn(&Zone) -> bool) {
        self.grown |= halved(1.0, now.into(), self.half_life) == 0.0;
        let mut noted = core::mem::take(&mut self.noted);
        noted.clear();
        let able = self.dirty.iter().filter(|&&index| may(&self.zones[index]));
        noted.extend(able.map(|&index| (self.saves(index, now, saves), index)));
        // Best at the end; equal ones by zone, so that the result does not depend on their history.
        let worse =
            |a: &(f32, ZoneIndex), b: &(f32, ZoneIndex)| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1));
        let kept = (noted.len() / NOTED_PART).max(NOTED_PART).min(noted.len());
        let others = noted.len() - kept;
        if others > 0 {
            noted.select_nth_unstable_by(others, worse);
            noted.drain(..others);
        }
        noted.sort_unstable_by(worse);
        self.noted = noted;
        self.due = LOOK_EVERY.max(self.dirty.len() / 8);
    }

    pub(super) fn bytes(&self) -> usize {
        self.zones.bytes()
            + self.dirty.capacity() * size_of::<ZoneIndex>()
            + self.noted.capacity() * size_of::<(f32, ZoneIndex)>()
    }

    pub(super) fn check(&self, links: &Links, slots: &Slots) {
        let mut dirty = 0;
        for (index, zone) in self.zones.iter().filter(|(_, zone)| !zone.dirty.is_empty()) {
            zone.dirty.check(links);
            assert_eq!(self.dirty[zone.place as usize], index);
            dirty += 1;
            assert!(zone.under_way <= zone.dirty.len());
            for slot in zone.dirty.from_tail(links).map(Slot) {
                assert!(slots.dirty(slot) && slots.zone_index(slot) == index);
            }
        }
        assert_eq!(dirty, self.dirty.len(), "a zone without dirty blocks is among those with some");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_accesses_that_wraps_does_not_begin_anew() {
        let zone = ZoneIndex(0);
        let mut zones = DirtyZones::new(10, None);
        let mut filled_after = |now: u32| {
            zones.written(zone, now);
            zones.look(now, |_| 1.0, |_| true);
            zones.fills_in(zone, now)
        };
        let before: Vec<f32> = (0..50).map(|n| filled_after(u32::MAX - 990 + 20 * n)).collect();
        // (20 accesses after the last one.)
        let after = filled_after(9);
        assert!((after / before[49] - 1.0).abs() < 1e-3, "{after} {}", before[49]);
    }
}
