//! The open region: the records of each zone, and which zones are open.

use core::cmp::Ordering;

use crate::parts::{ByZone, ZoneIndex};
use crate::slots::Slots;
use crate::units::Zone;

/// What a scheme ranks a zone by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Accesses to dirty blocks of the zone.
    pub uses: u64,
    /// Dirty blocks in the record, at least one: those in the cache, and, with a history that
    /// remembers them, some that have left.
    pub blocks: u64,
    /// Blocks in the zone.
    pub size: u64,
}

/// A zone that may be opened.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The zone.
    pub zone: Zone,
    /// Its dirty blocks in the cache.
    pub dirty: u64,
    /// What it is ranked by.
    pub record: Record,
}

#[derive(Clone, Copy, Debug, Default)]
struct ZoneState {
    uses: u64,
    /// Value of `begun` for which `uses` is valid; for any other, `uses` counts as 0.
    since: u32,
    blocks: u32,
    dirty: u32,
    /// Number of the division that opened the zone last; 0 if none did.
    opened: u32,
    /// Index among the candidates.
    place: u32,
}

/// All zones, and those that have a record.
#[derive(Clone, Debug)]
pub struct Region {
    zones: ByZone<ZoneState>,
    /// Zones whose record has blocks. After a division the opened ones come first.
    candidates: Vec<ZoneIndex>,
    /// Number of candidates that the last division opened.
    opened: usize,
    divisions: u32,
    all_open: bool,
    begun: u32,
}

impl Default for Region {
    /// All zones are open.
    fn default() -> Region {
        Region {
            zones: ByZone::new(),
            candidates: Vec::new(),
            opened: 0,
            divisions: 0,
            all_open: true,
            begun: 0,
        }
    }
}

impl Region {
    /// Returns whether dirty blocks of `zone` may leave.
    #[must_use]
    #[inline]
    pub fn is_open(&self, zone: ZoneIndex) -> bool {
        self.all_open || self.zones[zone].opened == self.divisions
    }

    /// Returns whether no zone is forbidden.
    #[must_use]
    pub fn all_open(&self) -> bool {
        self.all_open
    }

    /// Returns whether there has been a division.
    #[must_use]
    pub fn divided(&self) -> bool {
        self.divisions > 0
    }

    /// Counts a block of `zone` that has become dirty.
    pub fn add_dirty(&mut self, zone: ZoneIndex) {
        self.zones[zone].dirty += 1;
    }

    /// Uncounts a dirty block of `zone` that has left or turned clean.
    pub fn remove_dirty(&mut self, zone: ZoneIndex) {
        self.zones[zone].dirty -= 1;
    }

    /// Adds one block with `uses` accesses to the record of `zone`.
    pub fn add_record(&mut self, zone: ZoneIndex, uses: u64) {
        let state = &mut self.zones[zone];
        state.uses += uses;
        state.blocks += 1;
        if state.blocks == 1 {
            state.place = self.candidates.len() as u32;
            self.candidates.push(zone);
        }
    }

    /// Removes one block with `uses` accesses from the record of `zone`.
    pub fn remove_record(&mut self, zone: ZoneIndex, uses: u64) {
        let state = &mut self.zones[zone];
        state.uses -= uses;
        state.blocks -= 1;
        if state.blocks == 0 {
            let place = state.place as usize;
            self.candidates.swap_remove(place);
            if let Some(&moved) = self.candidates.get(place) {
                self.zones[moved].place = place as u32;
            }
        }
    }

    /// Counts an access of a dirty block of `zone`.
    #[inline]
    pub fn used(&mut self, zone: ZoneIndex) {
        let state = &mut self.zones[zone];
        if state.since != self.begun {
            (state.since, state.uses) = (self.begun, 0);
        }
        state.uses += 1;
    }

    /// Resets the access counts.
    pub fn begin_records(&mut self) {
        self.begun += 1;
    }

    /// Opens zones in `order` until their dirty blocks in the cache make up `period_blocks`, and
    /// closes the others. Sorts the candidates, once a period.
    pub fn divide(
        &mut self,
        period_blocks: u64,
        slots: &Slots,
        order: impl Fn(&Candidate, &Candidate) -> Ordering,
    ) {
        let (zones, begun, map) = (&self.zones, self.begun, slots.zones());
        let candidate = |at: ZoneIndex| {
            let (state, zone) = (&zones[at], slots.zone_of(at));
            let uses = if state.since == begun { state.uses } else { 0 };
            let (blocks, size) = (u64::from(state.blocks), map.blocks(zone));
            Candidate { zone, dirty: u64::from(state.dirty), record: Record { uses, blocks, size } }
        };
        self.candidates.sort_unstable_by(|&a, &b| order(&candidate(a), &candidate(b)));
        self.divisions += 1;
        (self.opened, self.all_open) = (0, false);
        let mut total = 0;
        for (place, &zone) in self.candidates.iter().enumerate() {
            let state = &mut self.zones[zone];
            state.place = place as u32;
            if total < period_blocks {
                total += u64::from(state.dirty);
                state.opened = self.divisions;
                self.opened += 1;
            }
        }
    }

    /// Returns the zones that were opened last, by [`Region::divide`] or [`Region::open_all`].
    pub fn opened(&self) -> impl Iterator<Item = ZoneIndex> + '_ {
        self.candidates[..self.opened].iter().copied()
    }

    /// Opens every zone until the next division.
    pub fn open_all(&mut self) {
        self.all_open = true;
        self.opened = self.candidates.len();
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.zones.bytes() + self.candidates.capacity() * size_of::<ZoneIndex>()
    }

    /// Panics if an invariant is broken. With `remembers`, records may hold blocks that left.
    pub fn check(&self, remembers: bool) {
        for (place, &zone) in self.candidates.iter().enumerate() {
            assert_eq!(self.zones[zone].place as usize, place);
        }
        let recorded = self.zones.iter().filter(|(_, state)| state.blocks > 0).count();
        assert_eq!(recorded, self.candidates.len());
        for (_, state) in self.zones.iter() {
            assert!(state.blocks == state.dirty || remembers && state.blocks > state.dirty);
        }
    }
}
