//! The flash translation layer: the place of each logical page, and garbage collection.
//!
//! Mapped page by page. Logical page `l` belongs to unit `l mod units`, so that neighbours are
//! served side by side and every unit has the same share of spare pages, whatever is written. The
//! DiskSim SSD extension places pages like this too. Within its unit a page goes wherever the next
//! one is free.
//!
//! A write that opens an erase block and leaves fewer than `min_free` erased ones collects one: of
//! the full blocks of the unit the one with most invalid pages (greedy), of several the one that came
//! to that number first. Its valid pages are copied into the block just opened, and there is room
//! for the write too, as at least one page is not copied. So a write never collects twice. What it
//! overwrites stays valid until it is programmed, and may be copied just before.
//!
//! Left out: wear levelling but for the turn in which erased blocks are used, data of one age kept
//! apart, collection in idle time, the map's own traffic.

use super::nand::{EraseBlock, Geometry, Nand, Page};
use crate::io::Stamp;
use shingle_core::parts::{Buckets, Links, List};

/// Place of a logical page that was never written, or trimmed.
const NOWHERE: u32 = u32::MAX;

/// The translation layer; see the module.
#[derive(Clone, Debug)]
pub(crate) struct Ftl {
    nand: Nand,
    /// The page that holds each logical page.
    places: Vec<u32>,
    units: Vec<Unit>,
    /// Least number of erased blocks in a unit.
    min_free: u32,
}

/// A unit and its erase blocks; its lists count them from its first.
#[derive(Clone, Debug)]
struct Unit {
    first: u32,
    /// Takes the next page.
    open: u32,
    /// Erased: those erased last at the head.
    free: List,
    links: Links,
    /// The other blocks, all full, by their number of invalid pages.
    full: Buckets,
}

impl Unit {
    fn block(&self, number: u32) -> EraseBlock {
        EraseBlock(self.first + number)
    }
}

/// Garbage collection that a write had to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Collected {
    /// Valid pages copied out of the block that was erased.
    pub(crate) copied: u32,
}

impl Ftl {
    /// Creates it with `logical_pages`, none written. At least `min_free` erase blocks of each unit
    /// are kept erased. `None` if that leaves too few pages to collect any.
    pub(crate) fn new(geometry: Geometry, logical_pages: u32, min_free: u32) -> Option<Ftl> {
        let min_free = min_free.max(1);
        // When a block is collected, all blocks but these and the one just opened are full.
        let full = geometry.blocks_per_unit.checked_sub(min_free)?;
        let share = logical_pages.div_ceil(geometry.units);
        if share >= full * geometry.pages_per_block {
            return None;
        }
        let blocks = geometry.blocks_per_unit as usize;
        let unit = |number: u32| {
            let (mut free, mut links) = (List::default(), Links::new(blocks));
            (1..geometry.blocks_per_unit).for_each(|block| free.push_head(&mut links, block));
            let first = number * geometry.blocks_per_unit;
            let full = Buckets::new(blocks, geometry.pages_per_block);
            Unit { first, open: 0, free, links, full }
        };
        Some(Ftl {
            nand: Nand::new(geometry),
            places: vec![NOWHERE; logical_pages as usize],
            units: (0..geometry.units).map(unit).collect(),
            min_free,
        })
    }

    /// Makes it keep stamps from now on.
    pub(crate) fn keep_stamps(&mut self) {
        self.nand.keep_stamps();
    }

    /// Returns the stamp of a logical page; `None` if it is not mapped.
    pub(crate) fn read(&self, logical: u32) -> Option<Stamp> {
        self.place(logical).map(|page| self.nand.stamp(page))
    }

    /// Writes a logical page, and returns what had to be collected first.
    pub(crate) fn write(&mut self, logical: u32, stamp: Stamp) -> Option<Collected> {
        let Ftl { nand, places, units, min_free } = self;
        let unit = &mut units[(logical % nand.geometry().units) as usize];
        let mut collected = None;
        if nand.programmed(unit.block(unit.open)) == nand.geometry().pages_per_block {
            unit.open_next(nand);
            collected = (unit.free.len() < *min_free).then(|| unit.collect(nand, places));
        }
        let page = nand.program(unit.block(unit.open), logical, stamp);
        self.trim(logical);
        self.places[logical as usize] = page.0;
        collected
    }

    /// Unmaps a logical page.
    pub(crate) fn trim(&mut self, logical: u32) {
        let Some(page) = self.place(logical) else { return };
        self.places[logical as usize] = NOWHERE;
        self.nand.invalidate(page);
        let unit = &mut self.units[(logical % self.nand.geometry().units) as usize];
        let block = self.nand.geometry().block_of(page);
        if block != unit.block(unit.open) {
            unit.full.set(block.0 - unit.first, self.nand.invalid(block));
        }
    }

    fn place(&self, logical: u32) -> Option<Page> {
        let page = self.places[logical as usize];
        (page != NOWHERE).then_some(Page(page))
    }

    pub(crate) fn erase_counts(&self) -> &[u32] {
        self.nand.erase_counts()
    }

    /// Panics unless the maps are each other's inverse and every erase block is where it should be.
    pub(crate) fn check(&self) {
        self.nand.check();
        let geometry = self.nand.geometry();
        let mut placed = 0;
        for (logical, page) in (0..).map_while(|l| Some((l, *self.places.get(l as usize)?))) {
            if page != NOWHERE {
                assert_eq!(self.nand.owner(Page(page)), Some(logical), "the maps differ");
                let unit = geometry.block_of(Page(page)).0 / geometry.blocks_per_unit;
                assert_eq!(unit, logical % geometry.units, "a page left its unit");
                placed += 1;
            }
        }
        let valid: u32 = (0..geometry.blocks()).map(|b| self.nand.valid(EraseBlock(b))).sum();
        assert_eq!(placed, valid, "a valid page has no owner");
        for unit in &self.units {
            assert!(unit.free.len() >= self.min_free, "too few blocks are erased");
            unit.check(&self.nand);
        }
    }
}

impl Unit {
    /// Opens the block that was erased first, as the open one is full.
    fn open_next(&mut self, nand: &Nand) {
        let filled = self.open;
        self.open = self.free.pop_tail(&mut self.links).expect("some blocks are kept erased");
        self.full.set(filled, nand.invalid(self.block(filled)));
    }

    /// Erases the full block with most invalid pages, after its valid ones were copied to the open
    /// block.
    fn collect(&mut self, nand: &mut Nand, places: &mut [u32]) -> Collected {
        let victim = self.full.highest().expect("most blocks are full");
        self.full.remove(victim);
        let block = self.block(victim);
        let copied = nand.valid(block);
        assert!(copied < nand.geometry().pages_per_block, "garbage collection gains nothing");
        for page in nand.pages(block).map(Page) {
            if let Some(owner) = nand.owner(page) {
                // The copy exists before the original is invalidated.
                let copy = nand.program(self.block(self.open), owner, nand.stamp(page));
                nand.invalidate(page);
                places[owner as usize] = copy.0;
            }
        }
        nand.erase(block);
        self.free.push_head(&mut self.links, victim);
        Collected { copied }
    }

    fn check(&self, nand: &Nand) {
        self.full.check();
        self.free.check(&self.links);
        let geometry = nand.geometry();
        for number in 0..geometry.blocks_per_unit {
            let block = self.block(number);
            let listed = self.free.from_tail(&self.links).any(|free| free == number);
            match (number == self.open, listed, self.full.score(number)) {
                (true, false, None) => {}
                (false, true, None) => assert_eq!(nand.programmed(block), 0, "is not erased"),
                (false, false, Some(invalid)) => {
                    assert_eq!(nand.programmed(block), geometry.pages_per_block, "is not full");
                    assert_eq!(invalid, nand.invalid(block), "{block:?} has lost count");
                }
                places => panic!("{block:?} is in {places:?} of open, free, full"),
            }
        }
    }
}
