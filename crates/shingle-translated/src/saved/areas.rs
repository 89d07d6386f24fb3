//! The layout of the conventional zones.

use std::ops::Range;

use shingle_core::units::Block;

use super::page::RECORDS;

/// The fewest and the most pages of a log: 256 MiB.
const LOG_PAGES: Range<u64> = 8..1 << 16;

/// The areas of the map, in blocks, which are pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Areas {
    /// The first block of the conventional zones that are used; zones that have failed are left out.
    pub(crate) first_block: u64,
    /// The size of these zones.
    pub(crate) conventional_blocks: u64,
    /// The most pages of a checkpoint.
    pub(crate) checkpoint_pages: u32,
    /// The pages of a log.
    pub(crate) log_pages: u32,
}

impl Areas {
    /// Plans areas in these conventional blocks for a map of at most `records` records; fewer if
    /// they would take more than a quarter of the blocks, but not fewer than `least`.
    pub(crate) fn plan(conventional: &Range<u64>, records: u64, least: u64) -> Areas {
        let (first_block, conventional_blocks) =
            (conventional.start, conventional.end - conventional.start);
        // A slot with its log takes 5/2 of a checkpoint, and there are four.
        let quarter = conventional_blocks / 4 / 6;
        let most = quarter.max(least.div_ceil(RECORDS)).min(u64::from(u32::MAX) / 2);
        let checkpoint = records.div_ceil(RECORDS).clamp(1, most.max(1));
        let log = (checkpoint / 2).clamp(LOG_PAGES.start, LOG_PAGES.end);
        Areas {
            first_block,
            conventional_blocks,
            checkpoint_pages: checkpoint as u32,
            log_pages: log as u32,
        }
    }

    fn slot_pages(&self) -> u64 {
        u64::from(self.checkpoint_pages) + u64::from(self.log_pages)
    }

    /// The size of one copy.
    pub(crate) fn copy_blocks(&self) -> u64 {
        1 + 2 * self.slot_pages()
    }

    /// The number of records that fit into a checkpoint.
    pub(crate) fn records_max(&self) -> u64 {
        u64::from(self.checkpoint_pages) * RECORDS
    }

    /// The superblocks of a map in these conventional blocks.
    pub(crate) fn superblocks_in(conventional: &Range<u64>) -> [Block; 2] {
        [Block(conventional.start), Block(conventional.end.saturating_sub(1))]
    }

    /// The conventional blocks that are used.
    pub(crate) fn blocks(&self) -> Range<u64> {
        self.first_block..self.first_block + self.conventional_blocks
    }

    /// The superblocks.
    pub(crate) fn superblocks(&self) -> [Block; 2] {
        Areas::superblocks_in(&self.blocks())
    }

    /// The first page of a checkpoint.
    pub(crate) fn checkpoint(&self, copy: usize, generation: u64) -> Block {
        let (slot, pages) = (generation % 2, self.slot_pages());
        Block(match copy {
            0 => self.first_block + 1 + slot * pages,
            _ => self.blocks().end - 1 - (slot + 1) * pages,
        })
    }

    /// The first page of the log that follows it.
    pub(crate) fn log(&self, copy: usize, generation: u64) -> Block {
        self.checkpoint(copy, generation).after(self.checkpoint_pages.into())
    }

    /// The blocks between the copies; empty if there are none.
    pub(crate) fn between(&self) -> Range<u64> {
        let (copy, blocks) = (self.copy_blocks(), self.blocks());
        let first = blocks.start + copy;
        first..blocks.end.saturating_sub(copy).max(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps() {
        for (conventional, records) in
            [(0..64, 100), (0..1000, 5000), (7000..107_000, 1 << 40), (0..31, 1), (64..128, 100)]
        {
            let areas = Areas::plan(&conventional, records, 300);
            let mut all = Vec::new();
            for copy in 0..2 {
                let superblock = areas.superblocks()[copy].0;
                all.push(superblock..superblock + 1);
                for generation in [6, 7] {
                    let (checkpoint, log) =
                        (areas.checkpoint(copy, generation).0, areas.log(copy, generation).0);
                    all.push(checkpoint..log);
                    assert_eq!(log - checkpoint, u64::from(areas.checkpoint_pages));
                    all.push(log..log + u64::from(areas.log_pages));
                }
            }
            all.push(areas.between());
            all.sort_by_key(|range| (range.start, range.end));
            if areas.between().is_empty() {
                continue;
            }
            assert!(all.windows(2).all(|two| two[0].end == two[1].start), "{areas:?}: {all:?}");
            assert_eq!(all[0].start..all[all.len() - 1].end, conventional);
        }
    }

    #[test]
    fn a_map_takes_what_it_needs_and_a_quarter_at_most() {
        let areas = Areas::plan(&(0..100_000), 2520, 0);
        assert_eq!((areas.checkpoint_pages, areas.log_pages, areas.records_max()), (10, 8, 2520));
        let areas = Areas::plan(&(0..100_000), 1 << 40, 0);
        assert_eq!(areas.checkpoint_pages, 4166);
        assert!(2 * areas.copy_blocks() <= 25_010, "{areas:?}");
        assert_eq!(Areas::plan(&(0..24), 1 << 40, 600).checkpoint_pages, 3);
    }
}
