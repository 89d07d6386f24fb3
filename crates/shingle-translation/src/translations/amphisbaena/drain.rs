//! Empties the buffer: each zone is written back once, with its blocks of both buffers.

use super::{Amphisbaena, Job};
use shingle_core::units::{Block, Zone};

/// The zones and blocks still to be drained.
#[derive(Clone, Debug)]
pub(super) struct Draining {
    /// Zones with blocks in the buffer, in reverse order.
    zones: Vec<u32>,
    /// Their blocks in the HFB, in reverse order.
    hot: Vec<Block>,
}

impl Draining {
    /// Returns the next hot block if it is one of the `count` blocks from `start` on.
    pub(super) fn next_hot(&mut self, start: Block, count: u64) -> Option<Block> {
        self.hot.pop_if(|block| *block < start.after(count))
    }
}

impl Amphisbaena {
    pub(super) fn plan_drain(&self) -> Draining {
        let held = self.zones.iter().filter(|zone| zone.hot + zone.cold > 0);
        let mut zones: Vec<u32> = held.map(|zone| zone.zone).collect();
        let slots = 0..self.settings.roles.slots;
        let mut hot: Vec<Block> =
            slots.filter_map(|slot| self.roles.resident(slot)).map(|(block, _)| block).collect();
        zones.sort_unstable_by(|a, b| b.cmp(a));
        hot.sort_unstable_by(|a, b| b.cmp(a));
        Draining { zones, hot }
    }

    /// Begins to write the next zone back. Returns whether there was one.
    pub(super) fn drain(&mut self) -> bool {
        let Job::Drain(draining) = &mut self.job else { return false };
        let Some(zone) = draining.zones.pop() else { return false };
        let lowest = draining.hot.last().copied();
        let lowest = lowest.filter(|&block| self.native.zone(block) == Zone(zone));
        let number = self.zones.touch(zone);
        self.begin_collection(number, lowest);
        true
    }
}
