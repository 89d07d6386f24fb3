//! The sets of blocks and zones that are touched, for a disk of any size.

use hashbrown::HashMap;
use shingle_core::parts::fill_bits;

use crate::zones::ZONE_BLOCKS;

const ZONE_WORDS: usize = ZONE_BLOCKS.div_ceil(64) as usize;

/// One bit for each block of a zone.
#[derive(Clone)]
struct ZoneBits {
    accessed: [u64; ZONE_WORDS],
    written: [u64; ZONE_WORDS],
}

impl ZoneBits {
    const NONE: ZoneBits = ZoneBits { accessed: [0; ZONE_WORDS], written: [0; ZONE_WORDS] };

    fn is_written(&self) -> bool {
        self.written.iter().any(|word| *word != 0)
    }
}

/// The set of touched blocks: bitmaps, for the touched zones only.
#[derive(Default)]
pub(crate) struct Touched {
    /// Never iterated, so its order cannot matter.
    index: HashMap<u64, usize>,
    zones: Vec<ZoneBits>,
    /// The zone used last: most requests are in the zone of the one before.
    last: Option<(u64, usize)>,
    accessed: u64,
    written: u64,
}

impl Touched {
    /// Returns the number of distinct blocks that are written.
    pub(crate) fn written_blocks(&self) -> u64 {
        self.written
    }

    /// Returns the number of distinct blocks that are accessed.
    pub(crate) fn blocks(&self) -> u64 {
        self.accessed
    }

    /// Returns the number of zones in which a block is accessed.
    pub(crate) fn zones(&self) -> u64 {
        self.zones.len() as u64
    }

    pub(crate) fn written_zones(&self) -> u64 {
        self.zones.iter().filter(|zone| zone.is_written()).count() as u64
    }

    pub(crate) fn access(&mut self, mut block: u64, blocks: u64, write: bool) {
        let end = block + blocks;
        while block < end {
            let zone = block / ZONE_BLOCKS;
            let from = block % ZONE_BLOCKS;
            let count = (end - block).min(ZONE_BLOCKS - from);
            let index = self.index_of(zone);
            let bits = &mut self.zones[index];
            self.accessed += count - fill_bits(&mut bits.accessed, from, count, true);
            if write {
                self.written += count - fill_bits(&mut bits.written, from, count, true);
            }
            block += count;
        }
    }

    fn index_of(&mut self, zone: u64) -> usize {
        if let Some((last, index)) = self.last
            && last == zone
        {
            return index;
        }
        let next = self.zones.len();
        let index = *self.index.entry(zone).or_insert(next);
        if index == next {
            self.zones.push(ZoneBits::NONE);
        }
        self.last = Some((zone, index));
        index
    }
}
