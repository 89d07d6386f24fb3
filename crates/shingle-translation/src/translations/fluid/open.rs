//! Restores the log from a saved map.

use super::Fluid;
use crate::parts::{InBuffer, behind_most_free, in_buffer};
use crate::translation::{Layout, SavedMap};

impl<const LOOP: bool> Fluid<LOOP> {
    /// Restores the log, which is empty so far, from a map.
    ///
    /// Its start is not saved: the tail is assumed to be after the longest run of holes, and blocks
    /// to have been appended from there on in order. So the number of holes between tail and head
    /// may change. The number of writes to a zone is assumed to be its number of blocks in the log,
    /// and no block to be re-queued.
    pub(super) fn open_log(
        mut self,
        name: &str,
        layout: Layout,
        saved: &dyn SavedMap,
    ) -> Result<Self, String> {
        saved.check(name, layout, self.native.blocks())?;
        self.native.open(name, layout, saved)?;
        let mut runs = in_buffer(name, layout, saved)?;
        let (oldest, free) = behind_most_free(&runs, layout.buffer_blocks);
        runs.rotate_left(oldest);
        self.tail = runs.first().map_or(0, |run| run.at as u32);
        self.used = (layout.buffer_blocks - free) as u32;
        for (at, block) in runs.into_iter().flat_map(InBuffer::each) {
            let zone = self.native.zone(block);
            self.buffered.fill(at as u32, block, zone);
            if let Some(requeue) = &mut self.requeue {
                if self.buffered.live_of(zone) == 1 {
                    requeue.heat.enter(zone);
                }
                requeue.heat.write(zone);
            }
        }
        self.opened = self.buffered.live();
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translation::{Make, Piece, Place, Saved};
    use shingle_core::params::Params;
    use shingle_core::units::{Block, Zone};

    #[test]
    fn zones_are_taken_to_have_been_written_as_often_as_they_have_blocks() {
        let layout = Layout { zone_blocks: 4, buffer_blocks: 16, zones: 8 };
        let run = |block, at, count| (Block(block), Piece { place: Place::Buffer(at), count });
        // Three blocks of zone 0, and one each of two others: the mean is 5/3, and three is more than a deviation above it.
        let runs = vec![run(0, 2, 3), run(4, 1, 1), run(9, 6, 1)];
        let saved = Saved { runs, pointers: vec![0; 8] };
        let params = Params::new(<Fluid<true> as Make>::PARAMS);
        let opened = <Fluid<true> as Make>::open(&params, layout, &saved).expect("a map");
        let heat = &opened.requeue.as_ref().expect("it re-queues").heat;
        assert_eq!([0, 1, 2].map(|zone| heat.is_hot(Zone(zone))), [true, false, false]);
    }
}
