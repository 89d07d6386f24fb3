//! The written blocks of a trace.

use shingle_trace::zones::LARGE_ZONE_BLOCKS;

/// Counts written blocks, and those that are written again.
#[derive(Default)]
pub(super) struct Written {
    written: Vec<bool>,
    pub(super) blocks: u64,
    pub(super) again: u64,
}

impl Written {
    /// Adds a write. Returns the number of its blocks that were written before.
    pub(super) fn add(&mut self, first: u64, blocks: u64) -> u64 {
        let end = (first + blocks) as usize;
        if self.written.len() < end {
            self.written.resize(end, false);
        }
        let mut again = 0;
        for is_written in &mut self.written[first as usize..end] {
            again += u64::from(std::mem::replace(is_written, true));
        }
        self.blocks += blocks;
        self.again += again;
        again
    }

    /// The number of 256 MiB zones with a written block.
    pub(super) fn large_zones(&self) -> usize {
        let zones = self.written.chunks(LARGE_ZONE_BLOCKS as usize);
        zones.filter(|zone| zone.contains(&true)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_again_by_hand() {
        let mut writes = Written::default();
        let last = LARGE_ZONE_BLOCKS - 1;
        let again = [(0, 3), (1, 1), (last, 2), (5 * LARGE_ZONE_BLOCKS, 1)]
            .map(|(first, blocks)| writes.add(first, blocks));
        assert_eq!(again, [0, 1, 0, 0]);
        assert_eq!((writes.blocks, writes.again, writes.large_zones()), (7, 1, 3));
    }
}
