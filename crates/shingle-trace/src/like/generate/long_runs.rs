//! The long runs that a description lists one by one, among the other requests.

use std::sync::Arc;

use super::super::history::{CLASSES_MAX, in_sector};
use super::super::long::{Long, Start};
use super::super::moves::side;
use super::super::statistics::Of;
use super::{Like, PLACES};
use crate::source::DISK_BYTES_MAX;
use crate::synth::Access;
use crate::zones::ZONE_BLOCKS;

impl Like {
    /// The next request of the long run that is most behind, if one is.
    pub(super) fn next_long(&mut self) -> Option<Access> {
        let description = Arc::clone(&self.description);
        while let Some(long) = description.long.get(self.long).filter(|long| long.at < self.made) {
            if self.long == self.long_places.len() {
                let place = match long.start {
                    Start::Behind(older, bytes) => self.long_places[older] + bytes,
                    Start::Free(class) => self.free(class, long),
                };
                self.long_places.push(place);
            }
            self.going.push((self.long, 0));
            self.long += 1;
        }
        let behind = |&(number, done): &(usize, u64)| {
            let long = &description.long[number];
            long.due(self.made - 1).saturating_sub(done)
        };
        let at = (0..self.going.len()).max_by_key(|&at| behind(&self.going[at]))?;
        if behind(&self.going[at]) == 0 {
            return None;
        }
        let (number, done) = &mut self.going[at];
        let (long, offset) = (&description.long[*number], self.long_places[*number] + *done);
        let bytes = long.each.min(long.bytes - *done);
        *done += bytes;
        if *done == long.bytes {
            self.going.remove(at);
        }
        if offset + bytes > DISK_BYTES_MAX {
            return None;
        }
        self.touch(offset, bytes);
        self.history.record_long(offset, bytes, long.op, long.bytes);
        Some(Access { offset, bytes, op: long.op })
    }

    /// Where a long run meets the fewest touched blocks, of some places.
    fn free(&mut self, class: usize, long: &Long) -> u64 {
        let sector = self.description.phases[self.phase].table(Of::Sectors);
        let sector = sector.draw(side(long.op), &mut self.rng).unwrap_or(0);
        let classes = (class..CLASSES_MAX).chain(0..class);
        let class = classes.into_iter().find(|&class| !self.members[class].is_empty());
        let zones = &self.members[class.expect("there is a zone")];
        let mut best = None;
        for _ in 0..PLACES {
            let zone = zones[self.rng.below(zones.len() as u64) as usize];
            let block = zone * ZONE_BLOCKS + self.rng.below(ZONE_BLOCKS);
            let offset = in_sector(block, sector);
            let fresh = self.history.fresh(offset, long.bytes.min(1 << 32));
            if best.is_none_or(|(most, _): (u64, u64)| fresh > most) {
                best = Some((fresh, offset));
            }
        }
        best.map_or(0, |(_, offset)| offset)
    }
}
