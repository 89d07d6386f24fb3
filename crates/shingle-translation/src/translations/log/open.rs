//! Opening the log from a saved map.

use super::Log;
use super::victim::Victim;
use crate::parts::{in_one, misplaced};
use crate::translation::{Layout, Place, Saved, refusal};
use shingle_core::units::Block;

impl Log {
    /// The log, empty so far, as a map has it.
    ///
    /// Which zone was open for which group is not saved: those with room are gone on with, one for each group, the
    /// roomiest for what the host writes; if fewer than two zones are free, for what cleaning moves. Times are not
    /// saved either: all blocks count as written together, as long ago as blocks have been written, and for the first
    /// time. So `cost-benefit` is `greedy` among them, and `sepbit` learns anew. A zone that was being cleaned is one
    /// like the others. If no zone is free one is cleaned before the host writes.
    pub(super) fn opened(mut self, layout: Layout, saved: &Saved) -> Result<Self, String> {
        const NAME: &str = <Log as crate::translation::Make>::NAME;
        saved.check(NAME, layout, self.map.blocks())?;
        let group = self.grouping.written(None).min(self.groups - 1);
        self.zones.set_pointers(&saved.pointers, group);
        for &(first, piece) in &saved.runs {
            let Place::Native(start) = piece.place else {
                let why = "this translation has no buffer";
                return Err(misplaced(NAME, layout, first, piece.place, why));
            };
            for ahead in 0..piece.count {
                let (block, at) = (first.after(ahead), start + ahead);
                self.zones.put(at, block.0).map_err(|other| {
                    in_one(NAME, layout, Place::Native(at), block, Block(other))
                })?;
                self.map.set(block.0, at);
            }
        }
        self.now = saved.pointers.iter().sum();
        let open = self.zones.settle(self.groups.into());
        let (few, last) = (self.zones.free() < 2, self.groups - 1);
        let groups = (0..=last).cycle().skip(if few { last.into() } else { 0 });
        for (&zone, group) in open.iter().zip(groups) {
            self.zones.go_on(zone, group);
            self.open[usize::from(group)] = Some(zone);
        }
        self.cleans_first = self.zones.free() == 0;
        let room = open.iter().map(|&zone| self.zones.room(zone)).sum();
        let least = self.zones.victim(Victim::Greedy, self.now).map(|zone| self.zones.live(zone));
        if self.cleans_first && least.is_none_or(|live| live > room) {
            let why = "no zone is free, nor room for what is live in any other";
            return Err(refusal(NAME, why));
        }
        Ok(self)
    }
}
