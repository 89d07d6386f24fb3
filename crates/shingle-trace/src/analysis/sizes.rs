//! How long requests are, and whether they begin and end where blocks do.

use shingle_core::units::{BLOCK_BYTES, Op, Request, SECTOR_BYTES};

use super::histogram::Histogram;

/// Lengths of reads and writes, and where they begin and end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    /// Bytes of reads.
    pub read: Histogram,
    /// Bytes of writes.
    pub write: Histogram,
    /// Reads and writes that do not begin and end at a border of 512 bytes.
    pub off_sectors: u64,
    /// Reads and writes that do not begin and end at a border of 4 KiB.
    pub off_blocks: u64,
    /// Writes among these.
    pub writes_off_blocks: u64,
    /// Accesses of writes that cover their block only in part: a cache that has not got the block reads
    /// the rest of it.
    pub partial_writes: u64,
}

impl Sizes {
    /// Counts a request. Trims and flushes have no length that matters.
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
