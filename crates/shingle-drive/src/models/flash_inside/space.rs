//! The space of the flash: the map of its pages, the free erase blocks, and which block is taken
//! next.
//!
//! Erase blocks have a *home*, the region whose free block they are when erased, and are *used* by a
//! region, perhaps another one that borrowed them. A region fills several open blocks in turn
//! (`Front`), so that the pages of a write lie on different units.

use super::bands::BandRank;
use super::coldest::{Coldest, Key};
use super::scratch::Scratch;
use super::step::{Step, Steps};
use crate::parts::flash::{EraseBlock, Geometry, Nand, Page};
use crate::parts::map::Map;
use crate::parts::runs::Runs;
use shingle_core::parts::{Buckets, Links, List};
use shingle_core::units::Zone;

/// Open blocks that a region fills in turn.
#[derive(Clone, Debug)]
pub(super) struct Front {
    lanes: Vec<Lane>,
    turn: usize,
}

/// An open block and its free pages; no block if there are none.
#[derive(Clone, Copy, Debug)]
struct Lane {
    block: EraseBlock,
    left: u32,
}

impl Front {
    pub(super) fn new(lanes: u32) -> Front {
        Front { lanes: vec![Lane { block: EraseBlock(0), left: 0 }; lanes as usize], turn: 0 }
    }
}

/// Counts of blocks put on the flash. All that were are still there, or counted in one of the
/// others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Written there for the host.
    pub(super) written: u64,
    /// Overwritten there.
    pub(super) hits: u64,
    /// Written back to the disk.
    pub(super) evicted: u64,
    /// Trimmed, or written to the disk by the host.
    pub(super) released: u64,
    /// Erase blocks whose valid pages were copied to another region.
    pub(super) migrated_blocks: u64,
    /// Pages copied by this.
    pub(super) migrated_pages: u64,
}

/// Temperature of erase blocks (MCM, equation 3), for regions that use it.
#[derive(Clone, Debug)]
pub(super) struct Temperature {
    /// Weights of an invalid page and of an erase, in thousandths.
    pub(super) invalid_milli: u64,
    pub(super) erase_milli: u64,
    pub(super) smaller_is_colder: bool,
}

impl Temperature {
    fn key(&self, invalid: u32, erases: u32, age: u64) -> Key {
        let value = self.invalid_milli * u64::from(invalid) + self.erase_milli * u64::from(erases);
        (if self.smaller_is_colder { value } else { u64::MAX / 2 - value }, age)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Space {
    nand: Nand,
    map: Map,
    bands: Runs,
    /// Free blocks of each region, by unit: those freed last at the head.
    free: Vec<Vec<List>>,
    links: Links,
    home: Vec<u8>,
    user: Vec<u8>,
    /// Full erase blocks of each region by invalid pages.
    full: Vec<Buckets>,
    temperature: Option<Temperature>,
    /// Full blocks of each region by temperature.
    coldest: Vec<Coldest>,
    /// Number of blocks filled so far, and the sequence number of each.
    filled: u64,
    age: Vec<u64>,
    pub(super) rank: BandRank,
    pub(super) tally: Tally,
    /// Pages being written back to the disk, with their blocks.
    leaving: Scratch<(u64, u32)>,
}

impl Space {
    /// Creates it with `shares` of the erase blocks for each region; the last gets the rest.
    pub(super) fn new(
        geometry: Geometry,
        bands: &Runs,
        shares: &[u32],
        rank: BandRank,
        temperature: Option<Temperature>,
    ) -> Space {
        let (blocks, regions) = (geometry.blocks(), shares.len());
        let all: u32 = shares.iter().sum();
        let units = geometry.units;
        let mut space = Space {
            map: Map::new(geometry.pages(), bands.units() as usize),
            free: vec![vec![List::default(); units as usize]; regions],
            links: Links::new(blocks as usize),
            home: vec![0; blocks as usize],
            user: vec![0; blocks as usize],
            full: vec![Buckets::new(blocks as usize, geometry.pages_per_block); regions],
            coldest: temperature.iter().flat_map(|_| vec![Coldest::new(blocks); regions]).collect(),
            temperature,
            filled: 0,
            age: vec![0; blocks as usize],
            rank,
            tally: Tally::default(),
            leaving: Scratch::new(
                geometry.pages().min(largest(bands) + geometry.pages_per_block) as usize
            ),
            bands: bands.clone(),
            nand: Nand::new(geometry),
        };
        // Blocks of the units in turn, so that each region has its share of each unit.
        for number in 0..blocks {
            let block = number % units * geometry.blocks_per_unit + number / units;
            let place = u64::from(number) * u64::from(all);
            let mut end = 0;
            let region = shares.iter().position(|share| {
                end += share;
                place < u64::from(end) * u64::from(blocks)
            });
            space.home[block as usize] = region.expect("the shares cover all") as u8;
            space.push_free(EraseBlock(block));
        }
        space
    }

    // ── What is there ────────────────────────────────────────────────────────────────────────

    pub(super) fn geometry(&self) -> &Geometry {
        self.nand.geometry()
    }

    /// Returns the page that holds a block of the disk.
    #[inline]
    pub(super) fn find(&self, block: u64) -> Option<Page> {
        self.map.find(block).map(Page)
    }

    /// Returns the number of valid pages.
    pub(super) fn live(&self) -> u32 {
        self.map.live()
    }

    /// Returns the number of bands with valid pages.
    pub(super) fn live_bands(&self) -> u32 {
        self.map.live_bands()
    }

    /// Returns the band of a block, and how many blocks from it on are in that band.
    pub(super) fn band(&self, block: u64) -> (Zone, u64) {
        let (band, offset, blocks) = self.place(block);
        (band, blocks - offset)
    }

    /// Returns the band of a block, the block's offset in it, and the size of the band.
    pub(super) fn place(&self, block: u64) -> (Zone, u64, u64) {
        let place = self.bands.place(block);
        let blocks = self.bands.run(place.run).unit_blocks;
        (Zone(place.unit as u32), place.offset, blocks)
    }

    /// Returns the band of the block that a page holds.
    pub(super) fn band_of(&self, page: u32) -> Zone {
        self.band(self.map.block(page)).0
    }

    pub(super) fn free(&self, region: usize) -> u32 {
        self.free[region].iter().map(List::len).sum()
    }

    /// Returns the erases of each erase block, with its home region.
    pub(super) fn erases(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.home.iter().map(|&home| home as usize).zip(self.nand.erase_counts().iter().copied())
    }

    pub(super) fn invalid(&self, block: EraseBlock) -> u32 {
        self.nand.invalid(block)
    }

    pub(super) fn valid(&self, block: EraseBlock) -> u32 {
        self.nand.valid(block)
    }

    /// Returns the full block of a region with most invalid pages; of several the first that had so
    /// many.
    pub(super) fn most_invalid(&mut self, region: usize) -> Option<EraseBlock> {
        self.full[region].highest().map(EraseBlock)
    }

    /// Returns the coldest full block of a region; of several the one filled first.
    pub(super) fn coldest(&self, region: usize) -> Option<EraseBlock> {
        self.coldest[region].first().map(EraseBlock)
    }

    /// Returns the first valid page of an erase block, from `page` on, and its block.
    pub(super) fn next_valid(&self, block: EraseBlock, page: u32) -> Option<(Page, u64)> {
        let pages = self.nand.pages(block);
        let mut rest = (pages.start + page..pages.end).map(Page);
        rest.find_map(|page| Some((page, u64::from(self.nand.owner(page)?))))
    }

    /// Returns where [`Space::next_valid`] continues after `page`.
    pub(super) fn after(&self, page: Page) -> u32 {
        page.0 % self.geometry().pages_per_block + 1
    }

    // ── Changes ──────────────────────────────────────────────────────────────────────────────

    /// Returns the open block that takes the next page of a region, which is to be programmed now:
    /// the next in turn that has room, or a free block of the first of `pools` that has more than
    /// the given number.
    pub(super) fn next(
        &mut self,
        front: &mut Front,
        user: usize,
        pools: &[(usize, u32)],
    ) -> Option<EraseBlock> {
        for _ in 0..front.lanes.len() {
            let turn = front.turn;
            front.turn = (turn + 1) % front.lanes.len();
            let lane = &mut front.lanes[turn];
            if lane.left == 0 {
                let pool = pools.iter().find(|&&(pool, kept)| self.free(pool) > kept);
                let Some(&(pool, _)) = pool else { continue };
                let block = self.pop_free(pool, turn);
                self.user[block.0 as usize] = user as u8;
                *lane = Lane { block, left: self.geometry().pages_per_block };
            }
            lane.left -= 1;
            return Some(lane.block);
        }
        None
    }

    /// Writes a block of the disk to the flash, for the host.
    pub(super) fn program(&mut self, to: EraseBlock, block: u64) -> Page {
        let page = self.nand.program(to, block as u32, 0);
        let band = self.band(block).0;
        if let Some(old) = self.map.put(page.0, block, band.index(), true) {
            self.tally.hits += 1;
            self.gone(Page(old), band);
        }
        self.tally.written += 1;
        if let Some(cooled) = self.rank.written(band, page.0) {
            self.rank.cooled(self.band_of(cooled), cooled);
        }
        self.touch(to);
        page
    }

    /// Copies a valid page.
    pub(super) fn copy(&mut self, from: Page, to: EraseBlock) -> Page {
        let block = self.map.block(from.0);
        let page = self.nand.program(to, block as u32, 0);
        self.map.relocate(from.0, page.0, self.band(block).0.index(), true);
        self.nand.invalidate(from);
        self.rank.moved(from.0, page.0);
        self.touch(self.geometry().block_of(from));
        self.touch(to);
        page
    }

    /// Removes a block that the host trimmed, or writes elsewhere.
    pub(super) fn forget(&mut self, block: u64) {
        if let Some(page) = self.find(block) {
            self.remove(page);
            self.tally.released += 1;
        }
    }

    /// Removes a range; a large one band by band.
    pub(super) fn forget_all(&mut self, first: u64, count: u64) {
        if count <= u64::from(self.live()) {
            return (first..first + count).for_each(|block| self.forget(block));
        }
        let mut at = first;
        while at < first + count {
            let (band, rest) = self.band(at);
            let mut next = self.map.first_of(band.index());
            while let Some(slot) = next {
                next = self.map.next_of(band.index(), slot);
                if (first..first + count).contains(&self.map.block(slot)) {
                    self.remove(Page(slot));
                    self.tally.released += 1;
                }
            }
            at += rest;
        }
    }

    /// Erases a block, which then is free in its home region.
    pub(super) fn erase(&mut self, block: EraseBlock, steps: &mut dyn Steps) {
        let user = self.user[block.0 as usize] as usize;
        self.full[user].remove(block.0);
        if let Some(coldest) = self.coldest.get_mut(user) {
            coldest.remove(block.0);
        }
        self.nand.erase(block);
        self.push_free(block);
        steps.step(Step::Erase(block));
    }

    /// Exchanges the homes of `erased`, which is free, and a free block of `region`.
    pub(super) fn swap_homes(&mut self, erased: EraseBlock, region: usize) {
        let home = self.home[erased.0 as usize] as usize;
        let other = self.pop_free(region, 0);
        let unit = self.unit(erased);
        self.free[home][unit].unlink(&mut self.links, erased.0);
        self.home[erased.0 as usize] = region as u8;
        self.home[other.0 as usize] = home as u8;
        self.push_free(erased);
        self.push_free(other);
    }

    // ── To the disk ──────────────────────────────────────────────────────────────────────────

    /// Reads a valid page, to be written back with the others.
    pub(super) fn load(&mut self, page: Page) {
        self.leaving.push((self.map.block(page.0), page.0));
    }

    /// Writes back the loaded pages, by address; with `rewrite`, each band is rewritten with its
    /// blocks.
    pub(super) fn write_back(&mut self, rewrite: bool, steps: &mut dyn Steps) {
        self.leaving.sort_unstable();
        let end = |rewrite| if rewrite { Step::Rewrite } else { Step::WriteBack };
        let mut last = None;
        for &(block, page) in self.leaving.iter() {
            let band = self.band(block).0;
            if rewrite && last.is_some_and(|last| last != band) {
                steps.step(Step::Rewrite);
            }
            steps.step(Step::Load { block, page: Page(page) });
            last = Some(band);
        }
        if last.is_some() {
            steps.step(end(rewrite));
        }
        // Pages are freed only now that their data is on the disk.
        while let Some((_, page)) = self.leaving.pop() {
            self.remove(Page(page));
            self.tally.evicted += 1;
        }
    }

    pub(super) fn write_back_band(&mut self, band: Zone, rewrite: bool, steps: &mut dyn Steps) {
        let mut next = self.map.first_of(band.index());
        while let Some(slot) = next {
            self.load(Page(slot));
            next = self.map.next_of(band.index(), slot);
        }
        self.write_back(rewrite, steps);
    }

    pub(super) fn write_back_all(&mut self, rewrite: bool, steps: &mut dyn Steps) {
        for band in 0..self.bands.units() as u32 {
            if self.map.first_of(band as usize).is_some() {
                self.write_back_band(Zone(band), rewrite, steps);
            }
        }
    }

    // ── Small parts ──────────────────────────────────────────────────────────────────────────

    fn unit(&self, block: EraseBlock) -> usize {
        (block.0 / self.geometry().blocks_per_unit) as usize
    }

    fn push_free(&mut self, block: EraseBlock) {
        let (home, unit) = (self.home[block.0 as usize] as usize, self.unit(block));
        self.free[home][unit].push_head(&mut self.links, block.0);
    }

    /// Returns the block that was freed first, of unit `lane` if it has one.
    fn pop_free(&mut self, pool: usize, lane: usize) -> EraseBlock {
        let units = self.free[pool].len();
        let unit = (lane..lane + units).map(|unit| unit % units);
        let unit = unit.into_iter().find(|&unit| !self.free[pool][unit].is_empty());
        let list = &mut self.free[pool][unit.expect("the pool has a free block")];
        EraseBlock(list.pop_tail(&mut self.links).expect("not empty"))
    }

    fn remove(&mut self, page: Page) {
        let band = self.band(self.map.block(page.0)).0;
        self.map.remove(page.0, band.index());
        self.gone(page, band);
    }

    /// Updates lists and counts after `page` was removed from the map.
    fn gone(&mut self, page: Page, band: Zone) {
        self.nand.invalidate(page);
        self.rank.gone(band, page.0);
        self.touch(self.geometry().block_of(page));
    }

    /// Updates the ranking of a block whose pages have changed, if it is full.
    fn touch(&mut self, block: EraseBlock) {
        if self.nand.programmed(block) < self.geometry().pages_per_block {
            return;
        }
        let user = self.user[block.0 as usize] as usize;
        let invalid = self.nand.invalid(block);
        if self.full[user].score(block.0).is_none() {
            self.filled += 1;
            self.age[block.0 as usize] = self.filled;
        }
        self.full[user].set(block.0, invalid);
        if let Some(temperature) = &self.temperature {
            let erases = self.nand.erase_counts()[block.0 as usize];
            let key = temperature.key(invalid, erases, self.age[block.0 as usize]);
            self.coldest[user].set(block.0, key);
        }
    }

    /// Panics unless maps, lists and counts agree.
    pub(super) fn check(&self) {
        self.nand.check();
        self.map.check(|block| self.band(block).0.index());
        self.rank.check(self.live());
        let tally = &self.tally;
        let left = tally.hits + tally.evicted + tally.released;
        assert_eq!(tally.written, u64::from(self.live()) + left, "a block is lost");
        assert!(self.leaving.is_empty(), "a block is under way");
        let geometry = self.geometry();
        let mut valid = 0;
        for block in (0..geometry.blocks()).map(EraseBlock) {
            for page in self.nand.pages(block).map(Page) {
                let mapped = self.map.is_live(page.0).then(|| self.map.block(page.0));
                assert_eq!(self.nand.owner(page).map(u64::from), mapped, "the maps differ");
            }
            valid += self.nand.valid(block);
            let full = self.nand.programmed(block) == geometry.pages_per_block;
            let user = self.user[block.0 as usize] as usize;
            let invalid = full.then(|| self.nand.invalid(block));
            assert_eq!(self.full[user].score(block.0), invalid, "{block:?} has lost count");
            let home = self.home[block.0 as usize] as usize;
            let listed = self.free[home][self.unit(block)].from_tail(&self.links);
            if listed.into_iter().any(|free| free == block.0) {
                assert_eq!(self.nand.programmed(block), 0, "a free block is not erased");
            }
        }
        assert_eq!(valid, self.live());
        self.full.iter().for_each(Buckets::check);
    }
}

/// Returns the number of blocks of the largest band.
pub(super) fn largest(bands: &Runs) -> u32 {
    bands.all().iter().map(|run| run.unit_blocks as u32).max().unwrap_or(1)
}
