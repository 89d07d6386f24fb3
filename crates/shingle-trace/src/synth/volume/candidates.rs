//! The extents that a reuse may access, and the best of them.

use super::plan::{Part, Plan};
use super::recency::{Near, Recency};

/// The most extents at about the same distance to choose from.
const CANDIDATES_MAX: usize = 6;

/// The extents that a reuse may access, by their position in `recency`.
#[derive(Clone, Copy)]
pub(super) struct Candidates<'a> {
    pub(super) plan: &'a Plan,
    pub(super) part: &'a Part,
    pub(super) recency: &'a Recency,
    pub(super) write: bool,
    /// It accesses an extent that is written, not one that is only read.
    pub(super) to_written: bool,
    /// A long extent is preferred, not a short one.
    pub(super) long: bool,
}

impl<'a> Candidates<'a> {
    /// Returns the zone of an extent, which is also the list that it is in.
    pub(super) fn zone(&self, position: usize) -> u32 {
        self.plan.list(self.extent(position))
    }

    /// Returns the number of blocks that are used in the zone of an extent.
    pub(super) fn zone_blocks(&self, position: usize) -> u64 {
        let zone = self.plan.extent(self.extent(position)).zone;
        u64::from(self.part.layout.zones[zone as usize].blocks)
    }

    /// Returns `position` if its extent is written or only read, as wanted, and may be accessed.
    pub(super) fn fits(&self, position: usize, written: bool) -> Option<usize> {
        let extent = self.recency.extent(position)?;
        let fits =
            self.plan.is_written(extent) == written && !self.is_barred(self.plan.list(extent));
        fits.then_some(position)
    }

    /// Returns the extents at about a distance that are written or only read, the nearest first.
    pub(super) fn at(self, near: Near, written: bool) -> impl Iterator<Item = usize> + 'a {
        near.nearest_first().filter_map(move |position| self.fits(position, written))
    }

    /// Returns the best of the first few of `some`.
    pub(super) fn best(&self, some: impl Iterator<Item = usize>) -> Option<usize> {
        self.most_suitable(some.take(CANDIDATES_MAX))
    }

    /// Returns the best extent of a zone at about a distance, unless it is longer than the mean and
    /// is to be short.
    pub(super) fn in_zone(&self, zone: u32, near: Near) -> Option<usize> {
        if self.is_barred(zone) {
            return None;
        }
        let mean = self.part.side.blocks.div_ceil(self.part.side.requests);
        let some = self.recency.near_in_list(zone, near);
        self.most_suitable(some.iter().map(|position| *position as usize))
            .filter(|position| self.long || u64::from(self.blocks(*position)) <= mean)
    }

    /// Returns an extent at any distance, as near to `near` as there is one.
    pub(super) fn anywhere(&self, near: Near) -> Option<usize> {
        let mut zones = self.part.lists().filter(|zone| !self.is_barred(*zone));
        zones.find_map(|zone| self.recency.nearest(zone, near))
    }

    fn most_suitable(&self, some: impl Iterator<Item = usize>) -> Option<usize> {
        if self.long {
            some.max_by_key(|at| self.blocks(*at))
        } else {
            some.min_by_key(|at| self.blocks(*at))
        }
    }

    fn is_barred(&self, zone: u32) -> bool {
        self.write && self.plan.is_written_once(zone)
    }

    fn extent(&self, position: usize) -> u32 {
        self.recency.extent(position).expect("what is there was accessed")
    }

    fn blocks(&self, position: usize) -> u16 {
        self.plan.extent(self.extent(position)).blocks
    }
}
