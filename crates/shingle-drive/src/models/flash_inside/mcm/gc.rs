//! Garbage collection in RBR (MCM §III-C, Algorithm 1, lines 4 to 9, and Figure 7).
//!
//! Once all regions are full "the valid data in the RBR is written back": of all of it, or of how many
//! blocks, the paper does not say (Figure 7 has two). Here one is collected whenever a free block is
//! wanted, the full block of RBR with most invalid pages, of several the one that came to that number
//! first (the paper does not say that either). Valid pages of bands that are hot now go back to SHR, the
//! others to the disk, by address, through its persistent cache; then the block is erased. SHR keeps
//! a few blocks free for the pages that come back.
//!
//! If all bands are hot, pages would go from RBR to SHR, from there to RBR again, and so on without an
//! end; the paper does not see this. So no more pages come back than the host writes, and no more at a
//! time than the reserve of SHR holds. Beyond that hot pages go to the disk too; with `mcm_returns` off
//! all do.

use super::{Mcm, RBR, SHR};
use crate::models::flash_inside::step::{Step, Steps};

impl Mcm {
    /// Returns the most pages that may go back to SHR at a time; 0 if none may.
    pub(super) fn returns_max(&self) -> u32 {
        u32::from(self.pages_return) * self.reserve * self.space.geometry().pages_per_block
    }

    pub(super) fn collect_garbage(&mut self, steps: &mut dyn Steps) {
        let victim = self.space.most_invalid(RBR).expect("RBR is full");
        let mut at = 0;
        while let Some((page, block)) = self.space.next_valid(victim, at) {
            at = self.space.after(page);
            let hot = self.returns > 0 && self.filter.hot(self.space.band(block).0);
            let to =
                if hot { self.space.next(&mut self.fronts[SHR], SHR, &[(SHR, 0)]) } else { None };
            match to {
                Some(to) => {
                    self.returns -= 1;
                    let to = self.space.copy(page, to);
                    steps.step(Step::Copy { from: page, to });
                }
                None => self.space.load(page),
            }
        }
        self.space.write_back(self.rewrites, steps);
        self.space.erase(victim, steps);
    }
}
