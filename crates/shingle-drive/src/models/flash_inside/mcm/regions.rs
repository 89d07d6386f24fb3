//! Free blocks for the regions (MCM §III-C, Algorithm 1, of which only the text is left).
//!
//! A region that needs a block takes a free one of its own, else borrows one of the other region. If
//! both have none, erase blocks that hold nothing valid are erased (`mcm_erases_dead`: the paper does
//! not speak of them, and by its temperature they would be the last to leave). Else the coldest block
//! is migrated to RBR: its valid pages are copied there, it is erased, and a free block of RBR takes
//! its place in the region, while it becomes one of RBR's. If RBR is full too, garbage is collected
//! there (`gc.rs`).

use super::{Mcm, RBR, RDR, SHR};
use crate::models::flash_inside::step::{Step, Steps};
use crate::parts::flash::EraseBlock;

/// Free blocks of RBR that a migration needs: one for the pages of a block, and one to give.
const MIGRATION: u32 = 2;

/// Returns the region that lends blocks to `region`.
fn other(region: usize) -> usize {
    if region == SHR { RDR } else { SHR }
}

impl Mcm {
    /// Returns the number of free blocks for host writes.
    pub(super) fn free(&self) -> u32 {
        self.space.free(SHR).saturating_sub(self.reserve) + self.space.free(RDR)
    }

    /// Returns the block that takes the next page of `region`, SHR or RDR, for the host.
    pub(super) fn room(&mut self, region: usize, steps: &mut dyn Steps) -> EraseBlock {
        if self.marks.background {
            self.gaining |= self.free() < self.marks.low;
        }
        self.returns = (self.returns + 1).min(self.returns_max());
        let kept = |pool| if pool == SHR { self.reserve } else { 0 };
        let pools = [region, other(region)].map(|pool| (pool, kept(pool)));
        // Terminates: each turn frees a block, or moves pages to RBR or to the disk, and no more
        // than `returns` come back from there until the next host write.
        loop {
            if let Some(block) = self.space.next(&mut self.fronts[region], region, &pools) {
                return block;
            }
            self.gain(region, steps);
        }
    }

    /// Does a step towards a free block in SHR or RDR, preferably in `region`.
    pub(super) fn gain(&mut self, region: usize, steps: &mut dyn Steps) {
        let regions = [region, other(region)];
        if self.erases_dead {
            let space = &mut self.space;
            let dead = regions.iter().find_map(|&region| {
                space.most_invalid(region).filter(|&block| space.valid(block) == 0)
            });
            if let Some(block) = dead {
                return self.space.erase(block, steps);
            }
        }
        if self.space.free(RBR) < MIGRATION {
            return self.collect_garbage(steps);
        }
        let coldest = regions.iter().find_map(|&region| self.space.coldest(region));
        self.migrate(coldest.expect("regions without free blocks have full ones"), steps);
    }

    /// Moves the valid pages of a block to RBR, and the block itself: one of RBR's takes its place.
    fn migrate(&mut self, block: EraseBlock, steps: &mut dyn Steps) {
        let mut at = 0;
        while let Some((from, _)) = self.space.next_valid(block, at) {
            at = self.space.after(from);
            let to = self.space.next(&mut self.fronts[RBR], RBR, &[(RBR, 1)]);
            let to = self.space.copy(from, to.expect("RBR has room for a block's pages"));
            steps.step(Step::Copy { from, to });
            self.space.tally.migrated_pages += 1;
        }
        self.space.tally.migrated_blocks += 1;
        self.space.erase(block, steps);
        if self.wear_levelling {
            self.space.swap_homes(block, RBR);
        }
    }
}
