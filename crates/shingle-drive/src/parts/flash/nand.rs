//! NAND flash: pages that are programmed once, in erase blocks that are erased as a whole.
//!
//! State only, no time and no policy. The rules of NAND are enforced here, in release builds too:
//! the pages of an erase block are programmed in order, none twice without an erase in between, and
//! an erase block is erased only when it holds no valid page. The user of the flash decides where
//! to program, and what to erase and when.
//!
//! Left out: bad blocks, the spare area, disturbance of neighbouring pages, the end of life.

use crate::io::Stamp;
use std::ops::Range;

/// A physical page of 4 KiB. Those of an erase block lie next to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Page(pub(crate) u32);

/// An erase block. Those of a unit lie next to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EraseBlock(pub(crate) u32);

impl EraseBlock {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Sizes of the flash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    /// Units that work side by side (elements, dies).
    pub(crate) units: u32,
    pub(crate) blocks_per_unit: u32,
    pub(crate) pages_per_block: u32,
}

impl Geometry {
    pub(crate) fn blocks(&self) -> u32 {
        self.units * self.blocks_per_unit
    }

    pub(crate) fn pages(&self) -> u32 {
        self.blocks() * self.pages_per_block
    }

    pub(crate) fn block_of(&self, page: Page) -> EraseBlock {
        EraseBlock(page.0 / self.pages_per_block)
    }
}

/// Owner of a page that is not valid.
const NO_OWNER: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Nand {
    geometry: Geometry,
    /// The logical page that each page holds, if it is valid.
    owners: Vec<u32>,
    /// Pages of each erase block programmed since its last erase: the next one is free.
    programmed: Vec<u32>,
    /// Valid pages of each erase block.
    valid: Vec<u32>,
    erases: Vec<u32>,
    /// What each page holds, in checking runs; else empty.
    stamps: Vec<Stamp>,
}

impl Nand {
    /// Creates it with everything erased.
    pub(crate) fn new(geometry: Geometry) -> Nand {
        let blocks = geometry.blocks() as usize;
        Nand {
            geometry,
            owners: vec![NO_OWNER; geometry.pages() as usize],
            programmed: vec![0; blocks],
            valid: vec![0; blocks],
            erases: vec![0; blocks],
            stamps: Vec::new(),
        }
    }

    /// Makes it keep stamps from now on: a wrong move shows as a wrong read.
    pub(crate) fn keep_stamps(&mut self) {
        self.stamps.resize(self.owners.len(), 0);
    }

    /// Programs the next page of `block`; it is valid and holds the logical page `owner`.
    ///
    /// # Panics
    /// If `block` has no page left.
    pub(crate) fn program(&mut self, block: EraseBlock, owner: u32, stamp: Stamp) -> Page {
        let next = &mut self.programmed[block.index()];
        assert!(*next < self.geometry.pages_per_block, "a page is programmed twice");
        let page = Page(block.0 * self.geometry.pages_per_block + *next);
        *next += 1;
        self.valid[block.index()] += 1;
        self.owners[page.0 as usize] = owner;
        if let Some(kept) = self.stamps.get_mut(page.0 as usize) {
            *kept = stamp;
        }
        page
    }

    /// Invalidates `page`.
    ///
    /// # Panics
    /// If it was not valid.
    pub(crate) fn invalidate(&mut self, page: Page) {
        let owner = &mut self.owners[page.0 as usize];
        assert!(*owner != NO_OWNER, "a page is invalidated twice");
        *owner = NO_OWNER;
        self.valid[self.geometry.block_of(page).index()] -= 1;
    }

    /// Erases `block`.
    ///
    /// # Panics
    /// If it holds a valid page.
    pub(crate) fn erase(&mut self, block: EraseBlock) {
        assert!(self.valid[block.index()] == 0, "a valid page is erased");
        self.programmed[block.index()] = 0;
        self.erases[block.index()] += 1;
        let pages = self.pages(block);
        if let Some(kept) = self.stamps.get_mut(pages.start as usize..pages.end as usize) {
            kept.fill(0);
        }
    }

    /// The logical page that `page` holds, if it is valid.
    pub(crate) fn owner(&self, page: Page) -> Option<u32> {
        let owner = self.owners[page.0 as usize];
        (owner != NO_OWNER).then_some(owner)
    }

    /// Returns the stamp of `page`; 0 unless stamps are kept.
    pub(crate) fn stamp(&self, page: Page) -> Stamp {
        self.stamps.get(page.0 as usize).copied().unwrap_or(0)
    }

    pub(crate) fn valid(&self, block: EraseBlock) -> u32 {
        self.valid[block.index()]
    }

    /// Pages of `block` that were programmed and are not valid.
    pub(crate) fn invalid(&self, block: EraseBlock) -> u32 {
        self.programmed[block.index()] - self.valid[block.index()]
    }

    /// Pages of `block` programmed since the last erase.
    pub(crate) fn programmed(&self, block: EraseBlock) -> u32 {
        self.programmed[block.index()]
    }

    pub(crate) fn pages(&self, block: EraseBlock) -> Range<u32> {
        let each = self.geometry.pages_per_block;
        block.0 * each..(block.0 + 1) * each
    }

    /// How often each erase block was erased.
    pub(crate) fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Panics unless counts and pages agree.
    pub(crate) fn check(&self) {
        for block in (0..self.geometry.blocks()).map(EraseBlock) {
            let owned = |page: &u32| self.owner(Page(*page)).is_some();
            let valid = self.pages(block).filter(owned).count();
            assert_eq!(self.valid(block) as usize, valid, "{block:?} has lost count");
            let free = self.pages(block).skip(self.programmed(block) as usize);
            assert_eq!(free.filter(owned).count(), 0, "a page of {block:?} is valid and free");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nand() -> Nand {
        Nand::new(Geometry { units: 1, blocks_per_unit: 2, pages_per_block: 2 })
    }

    #[test]
    fn pages_are_programmed_in_order_and_again_after_an_erase() {
        let mut nand = nand();
        nand.keep_stamps();
        let block = EraseBlock(1);
        assert_eq!([nand.program(block, 7, 70), nand.program(block, 8, 80)], [Page(2), Page(3)]);
        assert_eq!((nand.owner(Page(3)), nand.stamp(Page(3)), nand.valid(block)), (Some(8), 80, 2));
        nand.invalidate(Page(2));
        assert_eq!((nand.owner(Page(2)), nand.valid(block)), (None, 1));
        nand.invalidate(Page(3));
        nand.erase(block);
        assert_eq!((nand.erase_counts(), nand.stamp(Page(3))), (&[0, 1][..], 0));
        assert_eq!(nand.program(block, 9, 90), Page(2));
        nand.check();
    }

    #[test]
    #[should_panic(expected = "programmed twice")]
    fn no_page_is_programmed_twice() {
        let mut nand = nand();
        (0..3).for_each(|owner| _ = nand.program(EraseBlock(0), owner, 0));
    }

    #[test]
    #[should_panic(expected = "valid page is erased")]
    fn no_valid_page_is_erased() {
        let mut nand = nand();
        nand.program(EraseBlock(0), 1, 0);
        nand.erase(EraseBlock(0));
    }

    #[test]
    #[should_panic(expected = "invalidated twice")]
    fn no_page_is_invalidated_twice() {
        let mut nand = nand();
        let page = nand.program(EraseBlock(0), 1, 0);
        nand.invalidate(page);
        nand.invalidate(page);
    }
}
