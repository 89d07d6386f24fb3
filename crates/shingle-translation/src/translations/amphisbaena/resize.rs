//! Reallocation between HFB and LFB after each period (Amphisbaena §5.2.3).

use super::Amphisbaena;

/// Least share of the HFB in the buffer, in thousandths (§5.2.3).
pub(super) const HOT_MIN: u64 = 250;
/// Greatest share.
pub(super) const HOT_MAX: u64 = 750;

/// Returns how many chunks the HFB gets for the ghost hits of a period: none unless they are more
/// than a chunk holds; then as many as hold them, rounded to the nearest.
fn chunks_for(ghost_hits: u64, chunk_blocks: u64) -> u64 {
    if ghost_hits > chunk_blocks { (ghost_hits + chunk_blocks / 2) / chunk_blocks } else { 0 }
}

impl Amphisbaena {
    /// Counts a completed write request. At the end of a period decides how the border moves.
    pub(super) fn count_write(&mut self) {
        self.writes += 1;
        if self.settings.period == 0 || self.writes < self.settings.period {
            return;
        }
        let wanted = chunks_for(self.ghost_hits, self.settings.geometry.chunk_blocks.into());
        let geometry = self.settings.geometry;
        let frames = wanted * u64::from(geometry.chunk_blocks / geometry.frame_blocks);
        self.growing = frames.min(self.settings.hot_max.into()) as u32;
        self.shrinking = wanted == 0;
        (self.writes, self.ghost_hits) = (0, 0);
    }

    /// Moves the border by a chunk, or makes room for that. Returns whether it must be called
    /// again.
    pub(super) fn resize(&mut self) -> bool {
        if self.growing > 0 {
            self.grow();
        } else if self.shrinking {
            self.shrink();
        }
        self.growing > 0 || self.shrinking
    }

    /// Moves a chunk from the LFB to the HFB.
    fn grow(&mut self) {
        if self.hot.is_full() {
            self.growing = 0;
        } else if self.has_free_frame()
            && let Some(frame) = self.cold.take()
        {
            self.hot.add(frame, true).for_each(|slot| self.roles.add_slot(slot));
            self.growing -= 1;
            self.counters.chunks_to_hot += 1;
            self.roles.set_sup_max(self.settings.sup_max(self.hot.blocks()));
        }
        self.end_resize();
    }

    /// Returns an obtained chunk to the LFB in which not all blocks were updated in this period, or
    /// none was ([`super::hot::Returns`]). Blocks still in it move to their chunks.
    fn shrink(&mut self) {
        let roles = &self.roles;
        let is_resident = |slot| roles.resident(slot).is_some();
        let Some(mut slots) = self.hot.returning(self.settings.returns, is_resident) else {
            self.shrinking = false;
            return self.end_resize();
        };
        if let Some(slot) = slots.clone().find(|&slot| self.roles.resident(slot).is_some()) {
            self.move_to_chunk(slot);
            return;
        }
        let first = slots.start;
        slots.by_ref().for_each(|slot| self.roles.remove_slot(slot));
        self.cold.give(self.hot.remove(first));
        self.counters.chunks_to_cold += 1;
        self.roles.set_sup_max(self.settings.sup_max(self.hot.blocks()));
    }

    /// Begins the next period once the border stays.
    fn end_resize(&mut self) {
        if self.growing == 0 && !self.shrinking {
            self.hot.begin_period();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::chunks_for;

    #[test]
    fn sixty_ghosts_of_chunks_of_sixteen_are_four_chunks() {
        assert_eq!(chunks_for(60, 16), 4, "the paper's example");
        // Not more than a chunk: none. Rounded to the nearest.
        let chunks = [0, 16, 17, 23, 24, 39, 40].map(|hits| chunks_for(hits, 16));
        assert_eq!(chunks, [0, 0, 1, 1, 2, 2, 3]);
    }
}
