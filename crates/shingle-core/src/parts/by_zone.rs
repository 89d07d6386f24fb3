//! Per-zone state, for the zones that the cache has met.
//!
//! A disk may have thousands of millions of zones, of which a run touches few. So a zone gets an
//! index when a block of it first enters the cache, dense from 0 ([`ZoneIndex`]). A policy keeps
//! its per-zone state in [`ByZone`], which grows as indices appear. Memory grows with the zones
//! touched, and once all of them have been met, nothing allocates.

use core::ops::{Index, IndexMut};

use prefetch_index::prefetch_index;

use crate::units::Zone;

/// Index of a zone, in the order in which the cache first met the zones of the disk: dense from 0,
/// as slots are. [`Slots::zone_of`](crate::slots::Slots::zone_of) returns the zone of the disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ZoneIndex(pub u32);

impl ZoneIndex {
    /// The index of a slot that holds no block.
    pub(crate) const NONE: ZoneIndex = ZoneIndex(u32::MAX);

    /// Returns the index into a vector.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One `T` for each zone the cache has met. A zone that was never written to has `T::default()`,
/// and needs no memory if it lies behind the last zone that was written to.
#[derive(Clone, Debug, Default)]
pub struct ByZone<T> {
    values: Vec<T>,
    untouched: T,
}

impl<T: Clone + Default> ByZone<T> {
    /// Creates it with every zone at `T::default()`.
    #[must_use]
    pub fn new() -> ByZone<T> {
        ByZone::default()
    }

    /// Returns the values of the zones up to the last that was written to.
    pub fn iter(&self) -> impl Iterator<Item = (ZoneIndex, &T)> {
        (0u32..).map(ZoneIndex).zip(&self.values)
    }

    /// Prefetches the value of `zone`.
    #[inline]
    pub fn prefetch(&self, zone: ZoneIndex) {
        prefetch_index(&self.values, zone.index());
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<T>()
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, zone: ZoneIndex) {
        zone.assert_known();
        self.values.resize(zone.index() + 1, T::default());
    }
}

impl ZoneIndex {
    #[cold]
    #[inline(never)]
    fn assert_known(self) {
        assert!(
            self != ZoneIndex::NONE,
            "it asked for the zone of a slot that holds no block: a clean slot holds none once it was \
             named, so forget it before Victims::push"
        );
    }
}

impl<T: Clone + Default> Index<ZoneIndex> for ByZone<T> {
    type Output = T;

    #[inline]
    fn index(&self, zone: ZoneIndex) -> &T {
        match self.values.get(zone.index()) {
            Some(value) => value,
            None => {
                zone.assert_known();
                &self.untouched
            }
        }
    }
}

impl<T: Clone + Default> IndexMut<ZoneIndex> for ByZone<T> {
    #[inline]
    fn index_mut(&mut self, zone: ZoneIndex) -> &mut T {
        if zone.index() >= self.values.len() {
            self.grow(zone);
        }
        &mut self.values[zone.index()]
    }
}

/// The zones of the disk that the cache has met, and their indices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Met {
    zones: Vec<Zone>,
    /// Open addressing, at most half full: a zone is at its hash, or behind it. Places with
    /// [`ZoneIndex::NONE`] are free.
    table: Vec<(Zone, ZoneIndex)>,
    /// The zone looked up last: blocks of a request are mostly in one zone.
    last: (Zone, ZoneIndex),
}

impl Met {
    /// Returns the index of `zone`, a new one if it is met for the first time.
    #[inline]
    pub(crate) fn meet(&mut self, zone: Zone) -> ZoneIndex {
        if self.last.0 != zone || self.zones.is_empty() {
            let index = self.find(zone).unwrap_or_else(|| self.add(zone));
            self.last = (zone, index);
        }
        self.last.1
    }

    /// Returns the index of `zone`, if it has been met.
    #[inline]
    pub(crate) fn find(&self, zone: Zone) -> Option<ZoneIndex> {
        if self.table.is_empty() {
            return None;
        }
        let (_, index) = self.table[self.place(zone)];
        (index != ZoneIndex::NONE).then_some(index)
    }

    /// Returns the place of `zone` in the table, which is not empty, or the free place for it.
    #[inline]
    fn place(&self, zone: Zone) -> usize {
        let mask = self.table.len() - 1;
        let mut at = hash(zone) & mask;
        loop {
            let (there, index) = self.table[at];
            if there == zone || index == ZoneIndex::NONE {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Prefetches what [`Met::find`] of `zone` reads.
    #[inline]
    pub(crate) fn prefetch(&self, zone: Zone) {
        prefetch_index(&self.table, hash(zone) & self.table.len().wrapping_sub(1));
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, zone: Zone) -> ZoneIndex {
        self.zones.push(zone);
        if 2 * self.zones.len() > self.table.len() {
            let places = (2 * self.table.len()).max(16);
            self.table.clear();
            self.table.resize(places, (Zone::default(), ZoneIndex::NONE));
            (0..self.zones.len()).for_each(|at| self.note(at));
        } else {
            self.note(self.zones.len() - 1);
        }
        ZoneIndex(self.zones.len() as u32 - 1)
    }

    /// Notes the zone of this index in the table, in which it is not.
    fn note(&mut self, index: usize) {
        let zone = self.zones[index];
        let place = self.place(zone);
        self.table[place] = (zone, ZoneIndex(index as u32));
    }

    #[inline]
    pub(crate) fn zone(&self, index: ZoneIndex) -> Zone {
        match self.zones.get(index.index()) {
            Some(&zone) => zone,
            None => {
                index.assert_known();
                Zone::default() // of a cache whose policy needs no zones
            }
        }
    }

    /// Returns the bytes of memory used.
    pub(crate) fn bytes(&self) -> usize {
        self.zones.capacity() * size_of::<Zone>()
            + self.table.capacity() * size_of::<(Zone, ZoneIndex)>()
    }
}

/// Returns the high half of a product: the low half depends on low bits only.
#[inline]
fn hash(zone: Zone) -> usize {
    (u64::from(zone.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_with_the_zones_met() {
        let (mut met, mut known) = (Met::default(), ByZone::<u64>::new());
        for turn in 0..3u64 {
            for zone in (0..1000).map(|zone| Zone(zone * 4_000_000)) {
                let index = met.meet(zone);
                assert_eq!((met.zone(index), met.find(zone)), (zone, Some(index)));
                assert_eq!(known[index], turn);
                known[index] += 1;
            }
        }
        assert_eq!(met.find(Zone(1)), None);
        assert_eq!(known.iter().count(), 1000);
        assert!(known.bytes() <= 2 * 1000 * 8 && met.bytes() < 100_000);
    }

    #[test]
    #[should_panic(expected = "forget it before Victims::push")]
    fn a_slot_that_holds_nothing_has_no_zone() {
        ByZone::<u32>::new()[ZoneIndex::NONE] += 1;
    }
}
