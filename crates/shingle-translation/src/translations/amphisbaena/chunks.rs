//! The low-frequency buffer (LFB, Amphisbaena §5.2): chunks, each for one run of neighbouring
//! addresses of one zone (equation 2). A block has its place within the chunk by its address.
//!
//! The paper finds a chunk in a balanced tree (the chunk location tree); a hash table is smaller. The
//! chunks of a zone are on a list, as a whole zone is written back at once.

use super::bits::Bits;
use super::index::{Index, hash};
use super::zones::Zones;
use shingle_core::parts::{Links, List};
use shingle_core::units::Block;

/// No chunk of the disk: what a frame without one has.
const NONE: u32 = u32::MAX;

/// How zones are divided into chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) zone_blocks: u32,
    pub(super) chunk_blocks: u32,
}

/// A block's address, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub(super) zone: u32,
    /// Blocks from the start of the zone.
    pub(super) offset: u32,
    /// The chunk, counted over the whole disk.
    pub(super) chunk: u32,
    /// Blocks from the start of the chunk.
    pub(super) within: u32,
}

impl Geometry {
    /// Chunks of a zone; the last one may be short.
    pub(super) fn per_zone(self) -> u32 {
        self.zone_blocks.div_ceil(self.chunk_blocks)
    }

    /// Where `block` belongs (equation 2).
    #[inline]
    pub(super) fn address(self, block: Block) -> Address {
        let zone = (block.0 / u64::from(self.zone_blocks)) as u32;
        let offset = (block.0 % u64::from(self.zone_blocks)) as u32;
        let chunk = zone * self.per_zone() + offset / self.chunk_blocks;
        Address { zone, offset, chunk, within: offset % self.chunk_blocks }
    }

    /// The first block of a chunk.
    pub(super) fn first(self, chunk: u32) -> Block {
        let offset = u64::from(chunk % self.per_zone()) * u64::from(self.chunk_blocks);
        Block(u64::from(chunk / self.per_zone()) * u64::from(self.zone_blocks) + offset)
    }
}

/// The chunks of the buffer ("frames") that belong to the LFB, and what they hold.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    geometry: Geometry,
    /// The chunk of the disk, by frame.
    chunk_of: Box<[u32]>,
    /// Which blocks of the buffer hold a live block.
    live: Bits,
    index: Index,
    /// Each frame of the LFB is free or on the list of its zone.
    links: Links,
    free: List,
    frames: u32,
    blocks: u64,
    /// The last chunk found, and its frame: neighbours follow.
    recent: (u32, u32),
}

impl Chunks {
    /// Frames `0..frames` of the buffer, of which the LFB will never have more than `frames_max`, and
    /// has none yet.
    pub(super) fn new(geometry: Geometry, frames: u32, frames_max: u32) -> Chunks {
        Chunks {
            geometry,
            chunk_of: vec![NONE; frames as usize].into(),
            live: Bits::new(u64::from(frames) * u64::from(geometry.chunk_blocks)),
            index: Index::new(frames_max as usize, frames as usize),
            links: Links::new(frames as usize),
            free: List::default(),
            frames: 0,
            blocks: 0,
            recent: (NONE, NONE),
        }
    }

    /// The LFB gets `frame`, which is free.
    pub(super) fn give(&mut self, frame: u32) {
        self.free.push_tail(&mut self.links, frame);
        self.frames += 1;
    }

    /// The LFB gives up a free frame.
    pub(super) fn take(&mut self) -> Option<u32> {
        let frame = self.free.head()?;
        self.free.unlink(&mut self.links, frame);
        self.frames -= 1;
        Some(frame)
    }

    pub(super) fn frames(&self) -> u32 {
        self.frames
    }

    pub(super) fn free_frames(&self) -> u32 {
        self.free.len()
    }

    /// Live blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The frame that has `chunk`.
    #[inline]
    pub(super) fn frame(&mut self, chunk: u32) -> Option<u32> {
        if self.recent.0 != chunk {
            let frame = self
                .index
                .find(hash(u64::from(chunk)), |frame| self.chunk_of[frame as usize] == chunk)?;
            self.recent = (chunk, frame);
        }
        Some(self.recent.1)
    }

    /// Whether some chunk of blocks `first..end`, which are of one zone, has a frame.
    pub(super) fn holds(&self, first: u64, end: u64) -> bool {
        let chunk = |block| self.geometry.address(Block(block)).chunk;
        let held = |chunk| {
            let found = |frame: u32| self.chunk_of[frame as usize] == chunk;
            self.index.find(hash(u64::from(chunk)), found).is_some()
        };
        (chunk(first)..=chunk(end - 1)).any(held)
    }

    /// Gives a free frame to `chunk` of the zone numbered `zone`, which has none.
    pub(super) fn map(&mut self, chunk: u32, zone: u32, zones: &mut Zones) -> u32 {
        let frame = self.free.head().expect("a chunk is mapped without a free frame");
        self.free.unlink(&mut self.links, frame);
        self.chunk_of[frame as usize] = chunk;
        self.index.insert(hash(u64::from(chunk)), frame);
        zones.get_mut(zone).chunks.push_tail(&mut self.links, frame);
        self.recent = (chunk, frame);
        frame
    }

    /// The frame, which holds nothing live, is free again.
    fn unmap(&mut self, frame: u32, zone: u32, zones: &mut Zones) {
        let chunk = core::mem::replace(&mut self.chunk_of[frame as usize], NONE);
        self.index.remove(hash(u64::from(chunk)), frame);
        zones.get_mut(zone).chunks.unlink(&mut self.links, frame);
        self.free.push_head(&mut self.links, frame);
        if self.recent.0 == chunk {
            self.recent = (NONE, NONE);
        }
    }

    /// Where the block at `within` of a frame lies in the buffer.
    #[inline]
    pub(super) fn place(&self, frame: u32, within: u32) -> u64 {
        u64::from(frame) * u64::from(self.geometry.chunk_blocks) + u64::from(within)
    }

    /// Where a live block lies.
    #[inline]
    pub(super) fn find(&mut self, at: Address) -> Option<u64> {
        let frame = self.frame(at.chunk)?;
        Some(self.place(frame, at.within)).filter(|&place| self.live.get(place))
    }

    /// The block at `at`, of the zone numbered `zone`, is live in `frame`. Returns whether it was.
    #[inline]
    pub(super) fn add(&mut self, frame: u32, at: Address, zone: u32, zones: &mut Zones) -> bool {
        let was_live = self.live.set(self.place(frame, at.within));
        if !was_live {
            self.blocks += 1;
            zones.count_cold(zone, at.offset, true);
        }
        was_live
    }

    /// The block at `at` is not live any more; its frame may become free. Returns whether it was live.
    pub(super) fn remove(&mut self, at: Address, zones: &mut Zones) -> bool {
        let Some(frame) = self.frame(at.chunk) else { return false };
        if !self.live.clear(self.place(frame, at.within)) {
            return false;
        }
        self.blocks -= 1;
        let zone = zones.touch(at.zone);
        zones.count_cold(zone, at.offset, false);
        if self.runs(frame).next().is_none() {
            self.unmap(frame, zone, zones);
        }
        true
    }

    /// The live blocks of a frame have left for their zone, and the frame is free.
    pub(super) fn clear(&mut self, frame: u32, zone: u32, zones: &mut Zones) {
        let first =
            self.geometry.address(self.geometry.first(self.chunk_of[frame as usize])).offset;
        for within in 0..self.geometry.chunk_blocks {
            if self.live.clear(self.place(frame, within)) {
                self.blocks -= 1;
                zones.count_cold(zone, first + within, false);
            }
        }
        self.unmap(frame, zone, zones);
    }

    /// Runs of live blocks of a frame: the first block, how many, and where in the buffer.
    pub(super) fn runs(&self, frame: u32) -> impl Iterator<Item = (Block, u64, u64)> + '_ {
        let start = self.place(frame, 0);
        let first = self.geometry.first(self.chunk_of[frame as usize]);
        self.live
            .runs(start, start + u64::from(self.geometry.chunk_blocks))
            .map(move |(at, count)| (first.after(at - start), count, at))
    }

    /// The frames of a zone, sorted by address, into `out`.
    pub(super) fn frames_of(&self, zone: u32, zones: &Zones, out: &mut Vec<u32>) {
        out.clear();
        out.extend(zones.get(zone).chunks.from_tail(&self.links));
        out.sort_unstable_by_key(|&frame| self.chunk_of[frame as usize]);
    }

    /// Finds the end of a zone's blocks and how many lie below its write pointer anew, after blocks
    /// left or the write pointer moved.
    pub(super) fn measure(&self, zone: u32, zones: &mut Zones) {
        let pointer = zones.get(zone).write_pointer;
        let start = u64::from(zones.get(zone).zone) * u64::from(self.geometry.zone_blocks);
        let (mut end, mut below) = (0, 0);
        for frame in zones.get(zone).chunks.from_tail(&self.links) {
            for (block, count, _) in self.runs(frame) {
                let offset = (block.0 - start) as u32;
                let run_end = offset + count as u32;
                end = end.max(run_end);
                below += run_end.min(pointer).saturating_sub(offset);
            }
        }
        let state = zones.get_mut(zone);
        (state.end, state.tight, state.below) = (end, true, below);
    }

    pub(super) fn bytes(&self) -> usize {
        self.chunk_of.len() * size_of::<u32>()
            + self.live.bytes()
            + self.index.bytes()
            + self.links.bytes()
    }

    /// Panics if lists, bits, index and the counts of zones disagree.
    pub(super) fn check(&self, zones: &Zones) {
        self.free.check(&self.links);
        let mut mapped = 0;
        let mut blocks = 0;
        for state in zones.iter() {
            state.chunks.check(&self.links);
            let (mut cold, mut below, mut end) = (0, 0, 0);
            for frame in state.chunks.from_tail(&self.links) {
                mapped += 1;
                let chunk = self.chunk_of[frame as usize];
                assert_eq!(chunk / self.geometry.per_zone(), state.zone, "a frame of another zone");
                let found =
                    self.index.find(hash(chunk.into()), |id| self.chunk_of[id as usize] == chunk);
                assert_eq!(found, Some(frame), "a chunk is not found");
                assert!(self.runs(frame).next().is_some(), "a frame holds nothing");
                for (block, count, _) in self.runs(frame) {
                    for block in (block.0..block.0 + count).map(Block) {
                        let at = self.geometry.address(block);
                        assert_eq!(at.chunk, chunk, "a block in a chunk that is not its own");
                        cold += 1;
                        below += u32::from(at.offset < state.write_pointer);
                        end = end.max(at.offset + 1);
                    }
                }
            }
            assert_eq!((cold, below), (state.cold, state.below), "a zone has lost count");
            assert!(if state.tight { end == state.end } else { end <= state.end });
            blocks += u64::from(cold);
        }
        assert_eq!((mapped + self.free.len(), blocks), (self.frames, self.blocks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 9: zones of 256 chunks of 1 MiB, 256 blocks each.
    const FIGURE_9: Geometry = Geometry { zone_blocks: 65_536, chunk_blocks: 256 };

    #[test]
    fn chunks_are_mapped_as_in_figure_9() {
        assert_eq!(FIGURE_9.per_zone(), 256);
        for block in 0..3 {
            let at = FIGURE_9.address(Block(block));
            assert_eq!((at.zone, at.chunk, at.within), (0, 0, block as u32), "request 1");
        }
        assert_eq!(
            (FIGURE_9.address(Block(255)).chunk, FIGURE_9.address(Block(256)).chunk),
            (0, 1)
        );
        let at = FIGURE_9.address(Block(65_536 + 300));
        assert_eq!(at, Address { zone: 1, offset: 300, chunk: 257, within: 44 });
        assert_eq!(FIGURE_9.first(257), Block(65_536 + 256));
    }

    #[test]
    fn blocks_have_their_places_in_their_chunks() {
        let geometry = Geometry { zone_blocks: 8, chunk_blocks: 4 };
        let (mut chunks, mut zones) = (Chunks::new(geometry, 3, 3), Zones::new(2));
        (0..3).for_each(|frame| chunks.give(frame));
        for block in [13, 12, 2, 15] {
            let at = geometry.address(Block(block));
            let zone = zones.touch(at.zone);
            let frame = chunks.frame(at.chunk);
            let frame = frame.unwrap_or_else(|| chunks.map(at.chunk, zone, &mut zones));
            assert!(!chunks.add(frame, at, zone, &mut zones));
        }
        chunks.check(&zones);
        // Chunk 3 (blocks 12 to 15) came first, so it has frame 0.
        let found = [12, 13, 14, 15, 2].map(|block| chunks.find(geometry.address(Block(block))));
        assert_eq!(found, [Some(0), Some(1), None, Some(3), Some(6)]);
        let runs: Vec<_> = chunks.runs(0).collect();
        assert_eq!(runs, [(Block(12), 2, 0), (Block(15), 1, 3)]);
        let zone = zones.touch(1);
        assert_eq!((zones.get(zone).end, zones.get(zone).cold, chunks.free_frames()), (8, 3, 1));
        assert!(chunks.remove(geometry.address(Block(15)), &mut zones));
        chunks.measure(zone, &mut zones);
        assert_eq!(zones.get(zone).end, 6);
        chunks.clear(0, zone, &mut zones);
        assert_eq!((chunks.free_frames(), chunks.blocks(), zones.held()), (2, 1, 1));
        chunks.check(&zones);
    }
}
