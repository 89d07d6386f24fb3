//! Evicts blocks from the HFB to the LFB (Amphisbaena §5.3, "The HFB cleanup"): they leave the HFB
//! only this way.

use super::Amphisbaena;
use super::record::Role;

impl Amphisbaena {
    /// Frees at least one slot of the HFB, or makes room in the LFB for that.
    pub(super) fn evict(&mut self) {
        let slot = self.roles.victim().expect("an HFB without free slots holds no block");
        self.move_to_chunk(slot);
    }

    /// Moves the block in `slot` to its chunk. If its chunk is not mapped, a frame is allocated,
    /// and the other blocks of the filter list that fit into it move too. Returns `false` if a
    /// frame must be freed first.
    pub(super) fn move_to_chunk(&mut self, slot: u32) -> bool {
        let geometry = self.settings.geometry;
        let (block, _) = self.roles.resident(slot).expect("an empty slot is evicted");
        let at = geometry.address(block);
        let zone = self.touch(at.zone);
        self.moving.clear();
        let frame = match self.cold.frame(at.part) {
            Some(frame) => {
                self.moving.push(slot);
                frame
            }
            None if !self.has_free_frame() => return false,
            None => {
                let first = geometry.first(at.part);
                let end = (at.offset - at.within + geometry.frame_blocks).min(geometry.zone_blocks);
                for ahead in 0..end - (at.offset - at.within) {
                    if let Some(other) = self.roles.slot(first.after(ahead.into()))
                        && (other == slot
                            || self.roles.resident(other).is_some_and(|(_, r)| r == Role::Lup))
                    {
                        self.moving.push(other);
                    }
                }
                self.cold.map(at.part, zone, &mut self.zones)
            }
        };
        // Sorted by address: all are read, then written in as few runs as possible.
        for &slot in &self.moving {
            let (block, _) = self.roles.resident(slot).expect("it was found there");
            self.steps.read(block, 1, self.hot.place(slot));
        }
        for &slot in &self.moving {
            let (block, _) = self.roles.resident(slot).expect("it was found there");
            let at = geometry.address(block);
            self.steps.write(block, self.cold.place(frame, at.within));
            self.cold.add(frame, at, zone, &mut self.zones);
            self.zones.count_hot(zone, false);
            self.roles.evict(slot);
        }
        self.steps.finish_run();
        self.steps.place_freed();
        self.counters.moved_blocks += self.moving.len() as u64;
        self.counters.cleanings += 1;
        true
    }
}
