//! Opening the log from a saved map.

use super::Fluid;
use crate::parts::{InBuffer, behind_most_free, in_buffer};
use crate::translation::{Layout, Saved};

impl<const LOOP: bool> Fluid<LOOP> {
    /// The log, empty so far, as a map has it.
    ///
    /// Nobody saved where it begins: its tail is taken to lie behind the longest run of holes, and its blocks to have
    /// been appended from there on in order. Between tail and head may so be more holes than there were, or fewer. A zone
    /// is taken to have been written as many blocks as the log has of it; none to have been re-queued.
    pub(super) fn open_log(
        mut self,
        name: &str,
        layout: Layout,
        saved: &Saved,
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
