//! Lengths of requests, and their alignment to blocks.

use shingle_core::units::{BLOCK_BYTES, Op, Request, SECTOR_BYTES};

use super::histogram::Histogram;

/// Lengths and alignment of reads and writes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    /// Bytes of reads.
    pub read: Histogram,
    /// Bytes of writes.
    pub write: Histogram,
    /// Reads and writes that are not aligned to 512 bytes at their start or end.
    pub off_sectors: u64,
    /// Reads and writes that are not aligned to 4 KiB at their start or end.
    pub off_blocks: u64,
    /// Writes that are not aligned to 4 KiB at their start or end.
    pub writes_off_blocks: u64,
    /// Accesses of writes that cover only a part of their block: if the block is not cached, a
    /// cache has to read the rest.
    pub partial_writes: u64,
}

impl Sizes {
    /// Counts a request. The lengths of trims and flushes are ignored.
    #[inline]
    pub fn add(&mut self, request: &Request) {
        let borders = request.offset | (request.offset + request.bytes);
        let off_blocks = u64::from(!borders.is_multiple_of(BLOCK_BYTES));
        match request.op {
            Op::Read => self.read.add(request.bytes),
            Op::Write => {
                self.write.add(request.bytes);
                self.writes_off_blocks += off_blocks;
                self.partial_writes += request.blocks() - request.whole_blocks().1;
            }
            Op::Trim | Op::Flush => return,
        }
        self.off_blocks += off_blocks;
        self.off_sectors += u64::from(!borders.is_multiple_of(SECTOR_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::Nanos;

    #[test]
    fn borders_by_hand() {
        let mut sizes = Sizes::default();
        for (offset, bytes, op) in [
            (0, 4096, Op::Write),   // a block
            (4096, 512, Op::Write), // part of one
            (512, 8192, Op::Write), // one whole and two in part
            (4095, 2, Op::Write),   // two in part, and no sector
            (512, 512, Op::Read),
            (1, 1 << 30, Op::Trim),
        ] {
            sizes.add(&Request { at: Nanos::ZERO, offset, bytes, op });
        }
        assert_eq!((sizes.off_sectors, sizes.off_blocks, sizes.writes_off_blocks), (1, 4, 3));
        assert_eq!(sizes.partial_writes, 1 + 2 + 2);
        assert_eq!((sizes.read.count(), sizes.write.count()), (1, 4));
    }
}
