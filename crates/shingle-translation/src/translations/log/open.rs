//! Restores the log from a saved map.

use super::Log;
use crate::parts::{in_one, misplaced};
use crate::translation::{Layout, Place, SavedMap, refusal};
use shingle_core::units::Block;

impl Log {
    /// Restores the log, which is empty so far, from a map.
    ///
    /// The group of an open zone is not saved: zones with room stay open, one for each group, the
    /// one with most room for the host's writes; if fewer than two zones are free, for cleaning.
    /// Times are not saved either: all blocks count as written at the same time, as long ago as
    /// blocks have been written, and for the first time. So `cost-benefit` and `price` behave as
    /// `greedy` among them, and `sepbit` learns anew. A zone that was being cleaned is treated like
    /// the others. If no zone is free one is cleaned before the host writes.
    pub(super) fn opened(mut self, layout: Layout, saved: &dyn SavedMap) -> Result<Self, String> {
        const NAME: &str = <Log as crate::translation::Make>::NAME;
        saved.check(NAME, layout, self.blocks)?;
        let group = self.grouping.written(None).min(self.groups - 1);
        self.zones.set_pointers(saved.pointers(), group);
        for (first, piece) in saved.runs() {
            let Place::Native(start) = piece.place else {
                let why = "this translation has no buffer";
                return Err(misplaced(NAME, layout, first, piece.place, why));
            };
            for (ahead, place, count) in self.zones.parts(start, piece.count) {
                self.zones.put(place, first.0 + ahead, count).map_err(|(other, at)| {
                    let (place, block) = (Place::Native(place + at), first.after(ahead + at));
                    in_one(NAME, layout, place, block, Block(other))
                })?;
            }
            self.map.set(first.0, piece.count, start);
        }
        self.now = saved.pointers().iter().sum();
        let open = self.zones.settle(self.groups.into());
        let (few, last) = (self.zones.free() < 2, self.groups - 1);
        let groups = (0..=last).cycle().skip(if few { last.into() } else { 0 });
        for (&zone, group) in open.iter().zip(groups) {
            self.zones.go_on(zone, group);
            self.open[usize::from(group)] = Some(zone);
        }
        self.cleans_first = self.zones.free() == 0;
        if !self.has_room_to_clean() {
            let why = "no zone is free, nor room for what is live in any other";
            return Err(refusal(NAME, why));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translation::{Make, Piece, Saved};
    use shingle_core::params::Params;

    #[test]
    fn zones_go_on_for_groups_that_there_are() {
        // Zone 0 is full, zones 1 and 2 have room, the last most.
        let layout = Layout { zone_blocks: 4, buffer_blocks: 1, zones: 12 };
        let run = |block, at| (Block(block), Piece { place: Place::Native(at), count: 1 });
        let runs = vec![run(0, 0), run(4, 4), run(8, 8)];
        let saved = Saved { runs, pointers: [&[4, 3, 1][..], &[0; 9]].concat() };
        // A block of which it is not known how long it lived is of the second group of six, or of the last there is.
        for (open, groups) in [("6", [1, 1, 0]), ("2", [1, 1, 0]), ("1", [0, 0, 0])] {
            let mut params = Params::new(Log::PARAMS);
            params.set("group", "sepbit").expect("valid");
            params.set("open", open).expect("valid");
            let opened = Log::open(&params, layout, &saved).expect("a map");
            assert_eq!([0, 1, 2].map(|zone| opened.zones.group(zone)), groups, "{open} open");
            assert_eq!(opened.open[0], Some(2));
            assert_eq!(opened.open[1], (open != "1").then_some(1));
            assert_eq!(opened.now, 8);
        }
    }
}
