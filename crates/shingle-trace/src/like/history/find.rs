//! Finds the request of a move: the other way round than [`History::locate`].

use shingle_core::units::Op;

use super::{ALL, History, Place, Stream, Which};
use crate::like::moves::Sort;
use crate::zones::ZONE_BLOCKS;

impl History {
    /// A stream that goes on: the last request's, or one by its rank among those of an operation.
    pub(in crate::like) fn last_stream(&self) -> Option<Stream> {
        self.streams.last().filter(|_| self.open).copied()
    }

    pub(in crate::like) fn stream(&self, op: Op, rank: u64) -> Option<Stream> {
        let mut streams = self.streams.iter().rev().filter(|stream| stream.op == op);
        streams.nth(usize::try_from(rank).ok()?).copied()
    }

    /// Where one of the last jumps went to.
    pub(in crate::like) fn jump(&self, rank: u64) -> Option<u64> {
        self.jumps.iter().rev().nth(usize::try_from(rank).ok()?).copied()
    }

    /// Where the last jump went on to the time before.
    pub(in crate::like) fn candidate(&self) -> Option<Place> {
        self.places.get(&self.candidate?).copied()
    }

    /// The zone of this distance, or the coldest of its class; as an index.
    fn zone_at(&self, stack: usize, which: Which) -> Option<usize> {
        match which {
            Which::Same => self.head_zone(),
            Which::Of { class, rank } => {
                at(&self.recent.get(class)?[stack], rank).map(|&zone| zone as usize)
            }
        }
    }

    pub(in crate::like) fn class_of(&self, stack: usize, which: Which) -> Option<usize> {
        let zone = &self.zones[self.zone_at(stack, which)?];
        let some = stack == ALL || !zone.places[stack].is_empty();
        some.then_some(zone.class)
    }

    /// The place at these distances, or the coldest if they reach too far.
    pub(in crate::like) fn place_at(&self, sort: Sort, which: Which, place: u64) -> Option<Place> {
        let zone = &self.zones[self.zone_at(sort.number(), which)?];
        let within = at(&zone.places[sort.number()], place)?;
        self.places.get(&(zone.number * ZONE_BLOCKS + u64::from(*within))).copied()
    }

    /// The place of a zone that was used longest ago, as far as stacks of sorts tell.
    pub(in crate::like) fn coldest_in(&self, which: Which) -> Option<Place> {
        let zone = &self.zones[self.zone_at(ALL, which)?];
        let within = zone.places.iter().find_map(|places| places.first())?;
        self.places.get(&(zone.number * ZONE_BLOCKS + u64::from(*within))).copied()
    }

    /// An untouched block of the zone of this rank, `blocks` from its last place or behind that; `None`
    /// if all are touched.
    pub(in crate::like) fn untouched(&self, which: Which, blocks: i64, room: u64) -> Option<u64> {
        let zone = self.zone_at(ALL, which)?;
        let first = self.zones[zone].number * ZONE_BLOCKS;
        let wanted =
            (i64::from(self.zones[zone].last) + blocks).rem_euclid(ZONE_BLOCKS.cast_signed());
        let wanted = wanted.cast_unsigned();
        let (mut widest, mut found) = (0, None);
        let mut at = wanted;
        // Twice round at most: from the wanted block to the end, and from the beginning.
        for end in [ZONE_BLOCKS, wanted] {
            while at < end {
                let here = self.room(first + at);
                if here >= room {
                    return Some(first + at);
                }
                if here > widest {
                    (widest, found) = (here, Some(first + at));
                }
                at += here + 1;
            }
            at = 0;
        }
        found
    }
}

/// The item of a rank, or the one used longest ago.
fn at<T>(stack: &[T], rank: u64) -> Option<&T> {
    let last = stack.len().checked_sub(1)?;
    Some(&stack[last - usize::try_from(rank).unwrap_or(last).min(last)])
}
