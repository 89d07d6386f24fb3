//! The low-frequency buffer (LFB, Amphisbaena §5.2): chunks, each for a run of neighbouring
//! addresses of one zone (equation 2). The address of a block determines its place in the chunk.
//!
//! The LFB consists of frames with room for one chunk each (§5.2.1): it is full when all frames are
//! in use, however few blocks they hold. With `lfb=blocks` a frame has room for one block, and the
//! LFB is full when it holds that many blocks; what concerns chunks (weights, the stages of a
//! collection, aborts) then applies to chunks that have a block in it.
//!
//! The paper finds a chunk in a balanced tree (the chunk location tree); a hash table is smaller.
//! The chunks of a zone are on a list, as a zone is written back as a whole.

use super::index::{Index, hash};
use super::zones::Zones;
use shingle_core::parts::{Bitmap, Links, List};
use shingle_core::units::Block;

/// Marks a frame without a part.
const NONE: u64 = u64::MAX;

/// The division of zones into chunks, and of chunks into parts of the size of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) zone_blocks: u32,
    pub(super) chunk_blocks: u32,
    /// Blocks of a frame: a whole chunk, or one.
    pub(super) frame_blocks: u32,
}

/// The components of a block's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub(super) zone: u32,
    /// Blocks from the start of the zone.
    pub(super) offset: u32,
    /// The part of the size of a frame, counted over the whole disk.
    pub(super) part: u64,
    /// Blocks from the start of the part.
    pub(super) within: u32,
}

impl Geometry {
    /// Returns the parts of a zone; the last one may be short.
    pub(super) fn per_zone(self) -> u32 {
        self.zone_blocks.div_ceil(self.frame_blocks)
    }

    /// Returns the chunks of a zone; the last one may be short.
    fn chunks_per_zone(self) -> u32 {
        self.zone_blocks.div_ceil(self.chunk_blocks)
    }

    /// Returns the chunk of its zone that a part belongs to.
    pub(super) fn chunk(self, part: u64) -> u32 {
        (part % u64::from(self.per_zone())) as u32 * self.frame_blocks / self.chunk_blocks
    }

    /// Computes the address of `block` (equation 2).
    #[inline]
    pub(super) fn address(self, block: Block) -> Address {
        let zone = (block.0 / u64::from(self.zone_blocks)) as u32;
        let offset = (block.0 % u64::from(self.zone_blocks)) as u32;
        let first = u64::from(zone) * u64::from(self.per_zone());
        let part = first + u64::from(offset / self.frame_blocks);
        Address { zone, offset, part, within: offset % self.frame_blocks }
    }

    /// Returns the frame at a place of the buffer, and the offset in it.
    pub(super) fn frame(self, place: u64) -> (u32, u32) {
        let blocks = u64::from(self.frame_blocks);
        ((place / blocks) as u32, (place % blocks) as u32)
    }

    pub(super) fn first(self, part: u64) -> Block {
        let per_zone = u64::from(self.per_zone());
        let offset = part % per_zone * u64::from(self.frame_blocks);
        Block(part / per_zone * u64::from(self.zone_blocks) + offset)
    }
}

/// The part of each frame: four bytes if the disk has fewer than 2^32 parts (always for chunks),
/// and else eight (possible for blocks).
#[derive(Clone, Debug)]
struct Parts {
    low: Box<[u32]>,
    /// The upper halves, or empty.
    high: Box<[u32]>,
}

impl Parts {
    fn new(frames: usize, wide: bool) -> Parts {
        let none = |count| vec![u32::MAX; count].into();
        Parts { low: none(frames), high: none(if wide { frames } else { 0 }) }
    }

    #[inline]
    fn get(&self, frame: u32) -> u64 {
        let high = self.high.get(frame as usize).copied().unwrap_or(0);
        u64::from(high) << 32 | u64::from(self.low[frame as usize])
    }

    fn set(&mut self, frame: u32, part: u64) {
        self.low[frame as usize] = part as u32;
        if let Some(high) = self.high.get_mut(frame as usize) {
            *high = (part >> 32) as u32;
        }
    }

    fn bytes(&self) -> usize {
        (self.low.len() + self.high.len()) * size_of::<u32>()
    }
}

/// The frames of the buffer that belong to the LFB, and their contents.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    geometry: Geometry,
    part_of: Parts,
    /// Number of frames of each chunk of each zone, by the number of the zone; empty if a frame is
    /// a chunk.
    frames_of_chunk: Vec<u32>,
    /// Marks the blocks of the buffer that are live.
    live: Bitmap,
    index: Index,
    /// Each frame of the LFB is free or on the list of its zone.
    links: Links,
    free: List,
    frames: u32,
    blocks: u64,
    /// The last part found, and its frame: neighbours often follow.
    recent: (u64, u32),
}

impl Chunks {
    /// Creates an LFB without frames in a buffer with frames `0..frames`, of which it will never
    /// have more than `frames_max`.
    pub(super) fn new(geometry: Geometry, frames: u32, frames_max: u32) -> Chunks {
        Chunks {
            geometry,
            part_of: Parts::new(frames as usize, geometry.frame_blocks < geometry.chunk_blocks),
            frames_of_chunk: Vec::new(),
            live: Bitmap::new(u64::from(frames) * u64::from(geometry.frame_blocks)),
            index: Index::new(frames_max as usize, frames as usize),
            links: Links::new(frames as usize),
            free: List::default(),
            frames: 0,
            blocks: 0,
            recent: (NONE, 0),
        }
    }

    /// Adds the free `frame` to the LFB.
    pub(super) fn give(&mut self, frame: u32) {
        self.free.push_tail(&mut self.links, frame);
        self.frames += 1;
    }

    /// Removes any free frame from the LFB.
    pub(super) fn take(&mut self) -> Option<u32> {
        let frame = self.free.head()?;
        self.take_frame(frame);
        Some(frame)
    }

    /// Removes the free `frame` from the LFB.
    pub(super) fn take_frame(&mut self, frame: u32) {
        self.free.unlink(&mut self.links, frame);
        self.frames -= 1;
    }

    pub(super) fn frames(&self) -> u32 {
        self.frames
    }

    pub(super) fn free_frames(&self) -> u32 {
        self.free.len()
    }

    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    #[inline]
    pub(super) fn frame(&mut self, part: u64) -> Option<u32> {
        if self.recent.0 != part {
            let frame = self.index.find(hash(part), |frame| self.part_of.get(frame) == part)?;
            self.recent = (part, frame);
        }
        Some(self.recent.1)
    }

    /// Returns whether any chunk of blocks `first..end`, which are of one zone, has a frame.
    pub(super) fn holds(&self, first: u64, end: u64) -> bool {
        let held = |part| {
            let found = |frame: u32| self.part_of.get(frame) == part;
            self.index.find(hash(part), found).is_some()
        };
        let first = self.geometry.address(Block(first));
        let before = first.offset % self.geometry.chunk_blocks / self.geometry.frame_blocks;
        let last = self.geometry.address(Block(end - 1));
        let behind = self.geometry.chunk_blocks - 1 - last.offset % self.geometry.chunk_blocks;
        let behind = behind.min(self.geometry.zone_blocks - 1 - last.offset);
        let last = last.part + u64::from((last.within + behind) / self.geometry.frame_blocks);
        (first.part - u64::from(before)..=last).any(held)
    }

    /// Maps a free frame to `part` of the zone numbered `zone`; `part` has no frame yet.
    pub(super) fn map(&mut self, part: u64, zone: u32, zones: &mut Zones) -> u32 {
        let frame = self.free.head().expect("a part is mapped without a free frame");
        self.map_frame(frame, part, zone, zones);
        frame
    }

    /// Maps the free `frame` to `part` of the zone numbered `zone`; `part` has no frame yet.
    pub(super) fn map_frame(&mut self, frame: u32, part: u64, zone: u32, zones: &mut Zones) {
        self.free.unlink(&mut self.links, frame);
        self.part_of.set(frame, part);
        self.index.insert(hash(part), frame);
        let state = zones.get_mut(zone);
        state.frames.push_tail(&mut self.links, frame);
        state.chunks += u32::from(self.count_frame(part, zone, 1) == 1);
        self.recent = (part, frame);
    }

    /// Adds `more` to the number of frames of the chunk of `part`, of the zone numbered `zone`.
    /// Returns the larger of the numbers before and after.
    fn count_frame(&mut self, part: u64, zone: u32, more: i32) -> u32 {
        if self.geometry.frame_blocks == self.geometry.chunk_blocks {
            return 1;
        }
        let per_zone = self.geometry.chunks_per_zone() as usize;
        let at = zone as usize * per_zone + self.geometry.chunk(part) as usize;
        if at >= self.frames_of_chunk.len() {
            self.frames_of_chunk.resize((zone as usize + 1) * per_zone, 0);
        }
        let count = &mut self.frames_of_chunk[at];
        let before = *count;
        *count = before.checked_add_signed(more).expect("fewer than no frames");
        before.max(*count)
    }

    /// Returns whether two frames, of the same zone, hold parts of the same chunk.
    pub(super) fn of_one_chunk(&self, one: u32, other: u32) -> bool {
        let chunk = |frame: u32| self.geometry.chunk(self.part_of.get(frame));
        chunk(one) == chunk(other)
    }

    /// Frees a frame without live blocks.
    fn unmap(&mut self, frame: u32, zone: u32, zones: &mut Zones) {
        let part = self.part_of.get(frame);
        self.part_of.set(frame, NONE);
        self.index.remove(hash(part), frame);
        let last = self.count_frame(part, zone, -1) == 1;
        let state = zones.get_mut(zone);
        state.frames.unlink(&mut self.links, frame);
        state.chunks -= u32::from(last);
        self.free.push_head(&mut self.links, frame);
        if self.recent.0 == part {
            self.recent = (NONE, 0);
        }
    }

    /// Returns the place in the buffer of the block at offset `within` of a frame.
    #[inline]
    pub(super) fn place(&self, frame: u32, within: u32) -> u64 {
        u64::from(frame) * u64::from(self.geometry.frame_blocks) + u64::from(within)
    }

    /// Returns the place of a live block.
    #[inline]
    pub(super) fn find(&mut self, at: Address) -> Option<u64> {
        let frame = self.frame(at.part)?;
        Some(self.place(frame, at.within)).filter(|&place| self.live.get(place))
    }

    /// Marks the block at `at`, of the zone numbered `zone`, as live in `frame`. Returns whether it
    /// was.
    #[inline]
    pub(super) fn add(&mut self, frame: u32, at: Address, zone: u32, zones: &mut Zones) -> bool {
        let was_live = self.live.set(self.place(frame, at.within));
        if !was_live {
            self.blocks += 1;
            zones.count_cold(zone, at.offset, true);
        }
        was_live
    }

    /// Marks the block at `at` as not live; its frame may become free. Returns whether it was live.
    pub(super) fn remove(&mut self, at: Address, zones: &mut Zones) -> bool {
        let Some(frame) = self.frame(at.part) else { return false };
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

    /// Frees a frame whose live blocks were moved to their zone.
    pub(super) fn clear(&mut self, frame: u32, zone: u32, zones: &mut Zones) {
        let first = self.geometry.address(self.geometry.first(self.part_of.get(frame))).offset;
        for within in 0..self.geometry.frame_blocks {
            if self.live.clear(self.place(frame, within)) {
                self.blocks -= 1;
                zones.count_cold(zone, first + within, false);
            }
        }
        self.unmap(frame, zone, zones);
    }

    /// Returns the runs of live blocks of a frame: first block, length, and place in the buffer.
    pub(super) fn runs(&self, frame: u32) -> impl Iterator<Item = (Block, u64, u64)> + '_ {
        let start = self.place(frame, 0);
        let first = self.geometry.first(self.part_of.get(frame));
        self.live
            .runs(start, start + u64::from(self.geometry.frame_blocks))
            .map(move |(at, count)| (first.after(at - start), count, at))
    }

    /// Returns all live blocks, in the order of their places.
    pub(super) fn live_blocks(&self) -> impl Iterator<Item = Block> + '_ {
        let frame_blocks = u64::from(self.geometry.frame_blocks);
        let end = self.part_of.low.len() as u64 * frame_blocks;
        self.live.runs(0, end).flat_map(|(at, count)| at..at + count).map(move |at| {
            let part = self.part_of.get((at / frame_blocks) as u32);
            self.geometry.first(part).after(at % frame_blocks)
        })
    }

    /// Puts the frames of a zone into `out`, sorted by address.
    pub(super) fn frames_of(&self, zone: u32, zones: &Zones, out: &mut Vec<u32>) {
        out.clear();
        out.extend(zones.get(zone).frames.from_tail(&self.links));
        out.sort_unstable_by_key(|&frame| self.part_of.get(frame));
    }

    /// Recomputes the end of a zone's blocks and how many lie below its write pointer, after blocks
    /// were removed or the write pointer moved.
    pub(super) fn measure(&self, zone: u32, zones: &mut Zones) {
        let pointer = zones.get(zone).write_pointer;
        let start = u64::from(zones.get(zone).zone) * u64::from(self.geometry.zone_blocks);
        let (mut end, mut below) = (0, 0);
        for frame in zones.get(zone).frames.from_tail(&self.links) {
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
        self.part_of.bytes()
            + self.frames_of_chunk.capacity() * size_of::<u32>()
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
            state.frames.check(&self.links);
            let mut chunks = std::collections::BTreeSet::new();
            let (mut cold, mut below, mut end) = (0, 0, 0);
            for frame in state.frames.from_tail(&self.links) {
                mapped += 1;
                let part = self.part_of.get(frame);
                let zone = part / u64::from(self.geometry.per_zone());
                assert_eq!(zone, u64::from(state.zone), "a frame of another zone");
                chunks.insert(self.geometry.chunk(part));
                let found = self.index.find(hash(part), |id| self.part_of.get(id) == part);
                assert_eq!(found, Some(frame), "a part is not found");
                assert!(self.runs(frame).next().is_some(), "a frame holds nothing");
                for (block, count, _) in self.runs(frame) {
                    for block in (block.0..block.0 + count).map(Block) {
                        let at = self.geometry.address(block);
                        assert_eq!(at.part, part, "a block in a frame that is not its own");
                        cold += 1;
                        below += u32::from(at.offset < state.write_pointer);
                        end = end.max(at.offset + 1);
                    }
                }
            }
            assert_eq!((cold, below), (state.cold, state.below), "a zone has lost count");
            assert_eq!(chunks.len(), state.chunks as usize, "a zone has lost count of chunks");
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
    const FIGURE_9: Geometry =
        Geometry { zone_blocks: 65_536, chunk_blocks: 256, frame_blocks: 256 };

    #[test]
    fn chunks_are_mapped_as_in_figure_9() {
        assert_eq!(FIGURE_9.per_zone(), 256);
        for block in 0..3 {
            let at = FIGURE_9.address(Block(block));
            assert_eq!((at.zone, at.part, at.within), (0, 0, block as u32), "request 1");
        }
        assert_eq!((FIGURE_9.address(Block(255)).part, FIGURE_9.address(Block(256)).part), (0, 1));
        let at = FIGURE_9.address(Block(65_536 + 300));
        assert_eq!(at, Address { zone: 1, offset: 300, part: 257, within: 44 });
        assert_eq!(FIGURE_9.first(257), Block(65_536 + 256));
    }

    #[test]
    fn blocks_have_their_places_in_their_chunks() {
        let geometry = Geometry { zone_blocks: 8, chunk_blocks: 4, frame_blocks: 4 };
        let (mut chunks, mut zones) = (Chunks::new(geometry, 3, 3), Zones::new(2));
        (0..3).for_each(|frame| chunks.give(frame));
        for block in [13, 12, 2, 15] {
            let at = geometry.address(Block(block));
            let zone = zones.touch(at.zone);
            let frame = chunks.frame(at.part);
            let frame = frame.unwrap_or_else(|| chunks.map(at.part, zone, &mut zones));
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

    /// Frames of a block: chunk 3 (blocks 12 to 15) has two of them and counts once, and a write of any of
    /// its blocks is one for it.
    #[test]
    fn a_chunk_may_have_a_frame_for_each_block() {
        let geometry = Geometry { zone_blocks: 8, chunk_blocks: 4, frame_blocks: 1 };
        let (mut chunks, mut zones) = (Chunks::new(geometry, 3, 3), Zones::new(2));
        (0..3).for_each(|frame| chunks.give(frame));
        for block in [13, 15, 9] {
            let at = geometry.address(Block(block));
            let zone = zones.touch(at.zone);
            let frame = chunks.map(at.part, zone, &mut zones);
            chunks.add(frame, at, zone, &mut zones);
        }
        chunks.check(&zones);
        assert_eq!(
            (zones.get(0).chunks, zones.get(0).frames.len(), chunks.free_frames()),
            (2, 3, 0)
        );
        assert_eq!(chunks.find(geometry.address(Block(15))), Some(1));
        assert_eq!(chunks.find(geometry.address(Block(12))), None);
        assert!(chunks.holds(12, 13) && chunks.holds(8, 9) && !chunks.holds(0, 8));
        assert!(chunks.of_one_chunk(0, 1) && !chunks.of_one_chunk(1, 2));
        assert!(chunks.remove(geometry.address(Block(13)), &mut zones));
        assert_eq!(zones.get(0).chunks, 2, "15 is left");
        assert!(chunks.remove(geometry.address(Block(15)), &mut zones));
        assert_eq!(zones.get(0).chunks, 1);
        chunks.check(&zones);
    }
}
