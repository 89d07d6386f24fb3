//! Where the blocks of each chunk are: in its zone, in its segments of the buffer, or nowhere.

mod open;

use crate::parts::Bits;
use crate::translation::{Held, Layout, Place};
use shingle_core::parts::{Links, List};
use shingle_core::units::{Block, Zone};
use std::collections::VecDeque;

/// No segment, no zone.
const NONE: u32 = u32::MAX;

/// Addresses of the host as long as a zone, from their first write on.
#[derive(Clone, Debug)]
struct Chunk {
    zone: u32,
    /// One bit a block: the zone has its newest copy.
    native: Bits,
    /// The segment of each part of the chunk.
    segments: Box<[u32]>,
    held: u32,
    /// Blocks whose newest copy is in the buffer.
    live: u32,
    /// Blocks of the zone it once had have been copied to the buffer.
    merged: bool,
}

/// All chunks, zones and segments.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    zone_blocks: u64,
    segment_blocks: u64,
    chunks: Vec<Option<Box<Chunk>>>,
    /// Write pointers of the zones.
    pointers: Vec<u32>,
    /// Zones that belong to no chunk, in the order in which they are taken; likewise segments.
    free_zones: VecDeque<u32>,
    free_segments: VecDeque<u32>,
    segments: u32,
    /// One bit a block of the buffer: it is the newest copy.
    buffered: Bits,
    /// The chunks with segments, the last used one at the head.
    links: Links,
    recent: List,
    live: u64,
    live_chunks: u64,
}

impl Chunks {
    /// Nothing written. The layout has room for a segment.
    pub(super) fn new(layout: Layout, chunks: u32, segment_blocks: u64) -> Chunks {
        let segments = (layout.buffer_blocks / segment_blocks) as u32;
        Chunks {
            zone_blocks: layout.zone_blocks,
            segment_blocks,
            chunks: vec![None; chunks as usize],
            pointers: vec![0; layout.zones as usize],
            free_zones: (0..layout.zones).collect(),
            free_segments: (0..segments).collect(),
            segments,
            buffered: Bits::new(layout.buffer_blocks),
            links: Links::new(chunks as usize),
            recent: List::default(),
            live: 0,
            live_chunks: 0,
        }
    }

    /// Blocks that the host may address.
    pub(super) fn blocks(&self) -> u64 {
        self.chunks.len() as u64 * self.zone_blocks
    }

    /// Segments in all, and those that no chunk has.
    pub(super) fn segments(&self) -> (u32, u32) {
        (self.segments, self.free_segments.len() as u32)
    }

    /// The chunk of `block`, and where in it the block is.
    pub(super) fn split(&self, block: Block) -> (u32, u64) {
        ((block.0 / self.zone_blocks) as u32, block.0 % self.zone_blocks)
    }

    /// The first block of `chunk`.
    pub(super) fn first(&self, chunk: u32) -> Block {
        Block(u64::from(chunk) * self.zone_blocks)
    }

    /// Blocks of a chunk.
    pub(super) fn chunk_blocks(&self) -> u64 {
        self.zone_blocks
    }

    fn of(&self, chunk: u32) -> Option<&Chunk> {
        self.chunks[chunk as usize].as_deref()
    }

    fn written(&mut self, chunk: u32) -> &mut Chunk {
        let (blocks, parts) = (self.zone_blocks, self.zone_blocks.div_ceil(self.segment_blocks));
        self.chunks[chunk as usize].get_or_insert_with(|| {
            Box::new(Chunk {
                zone: NONE,
                native: Bits::new(blocks),
                segments: vec![NONE; parts as usize].into(),
                held: 0,
                live: 0,
                merged: false,
            })
        })
    }

    /// The zone of `chunk`.
    pub(super) fn zone(&self, chunk: u32) -> Option<Zone> {
        self.of(chunk).map(|chunk| chunk.zone).filter(|&zone| zone != NONE).map(Zone)
    }

    /// Whether blocks of a zone of `chunk` have been copied to the buffer since it last had one.
    pub(super) fn merged(&self, chunk: u32) -> bool {
        self.of(chunk).is_some_and(|chunk| chunk.merged)
    }

    /// Blocks of `chunk` in the buffer.
    pub(super) fn live(&self, chunk: u32) -> u32 {
        self.of(chunk).map_or(0, |chunk| chunk.live)
    }

    /// Segments that `chunk` lacks to be in the buffer whole.
    pub(super) fn lacks(&self, chunk: u32) -> u32 {
        self.of(chunk).map_or(NONE, |chunk| chunk.segments.len() as u32 - chunk.held)
    }

    /// The chunk with segments that was not used for longest.
    pub(super) fn coldest(&self) -> Option<u32> {
        self.recent.tail()
    }

    /// `chunk` is used.
    pub(super) fn touch(&mut self, chunk: u32) {
        if self.of(chunk).is_some_and(|chunk| chunk.held > 0) {
            self.recent.to_head(&mut self.links, chunk);
        }
    }

    /// The slot for a block, if its part of the chunk has a segment, and how many slots the segment
    /// has from there on.
    pub(super) fn slot(&self, chunk: u32, offset: u64) -> Option<(u64, u64)> {
        let (part, within) = (offset / self.segment_blocks, offset % self.segment_blocks);
        let segment = self.of(chunk)?.segments[part as usize];
        let start = u64::from(segment) * self.segment_blocks;
        (segment != NONE).then(|| (start + within, self.segment_blocks - within))
    }

    /// Gives the part of `chunk` at `offset` a free segment.
    pub(super) fn give_any(&mut self, chunk: u32, offset: u64) {
        let segment = self.free_segments.pop_front().expect("a segment is free");
        self.give(chunk, offset, segment);
    }

    fn give(&mut self, chunk: u32, offset: u64, segment: u32) {
        let part = (offset / self.segment_blocks) as usize;
        let to = self.written(chunk);
        debug_assert!(to.segments[part] == NONE, "one segment a part");
        to.segments[part] = segment;
        to.held += 1;
        if to.held == 1 {
            self.recent.push_head(&mut self.links, chunk);
        }
    }

    /// Gives `chunk` all the segments it lacks.
    pub(super) fn give_all(&mut self, chunk: u32) {
        for offset in (0..self.zone_blocks).step_by(self.segment_blocks as usize) {
            if self.slot(chunk, offset).is_none() {
                self.give_any(chunk, offset);
            }
        }
    }

    /// Takes all segments of `chunk`, in which nothing is live.
    pub(super) fn take_all(&mut self, chunk: u32) {
        let from = self.written(chunk);
        debug_assert!(from.live == 0 && from.held > 0, "nothing is lost");
        from.held = 0;
        from.merged = false;
        let mut segments = core::mem::take(&mut from.segments);
        for segment in segments.iter_mut().filter(|segment| **segment != NONE) {
            self.free_segments.push_back(core::mem::replace(segment, NONE));
        }
        self.written(chunk).segments = segments;
        self.recent.unlink(&mut self.links, chunk);
    }

    /// Where the newest copy of a block is.
    pub(super) fn place(&self, chunk: u32, offset: u64) -> Place {
        if let Some((slot, _)) = self.slot(chunk, offset)
            && self.buffered.get(slot)
        {
            return Place::Buffer(slot);
        }
        match self.of(chunk) {
            Some(chunk) if chunk.zone != NONE && chunk.native.get(offset) => {
                Place::Native(u64::from(chunk.zone) * self.zone_blocks + offset)
            }
            _ => Place::Nowhere,
        }
    }

    /// The next neighbours from `offset` on whose newest copies are in the chunk's zone: where the
    /// first is, and how many.
    pub(super) fn next_native(&self, chunk: u32, offset: u64) -> Option<(u64, u64)> {
        let of = self.of(chunk).filter(|of| of.zone != NONE)?;
        of.native.runs(offset, self.zone_blocks).next()
    }

    /// From the first to behind the last block of a chunk whose newest copy is in its zone.
    pub(super) fn native_span(&self, chunk: u32) -> Option<core::ops::Range<u64>> {
        let (first, _) = self.next_native(chunk, 0)?;
        Some(first..self.of(chunk)?.native.end())
    }

    /// The next neighbours from `offset` on whose newest copies are neighbours in the buffer: where in
    /// the chunk the first is, and how many.
    pub(super) fn next_buffered(&self, chunk: u32, offset: u64) -> Option<(u64, u64)> {
        let of = self.of(chunk).filter(|of| of.live > 0)?;
        // From here to the end of its segment.
        let in_segment = |offset: u64| {
            let (slot, rest) = self.slot(chunk, offset)?;
            let (first, count) = self.buffered.runs(slot, slot + rest).next()?;
            Some((offset + (first - slot), first, count))
        };
        let next = |offset: u64| (offset / self.segment_blocks + 1) * self.segment_blocks;
        let end = of.segments.len() as u64 * self.segment_blocks;
        let offsets = core::iter::successors(Some(offset), |&offset| Some(next(offset)));
        let (first, slot, mut count) =
            offsets.take_while(|&offset| offset < end).find_map(in_segment)?;
        while first + count == next(first + count - 1)
            && first + count < end
            && let Some((at, there, more)) = in_segment(first + count)
            && (at, there) == (first + count, slot + count)
        {
            count += more;
        }
        Some((first, count))
    }

    /// The newest copies of `count` blocks, which have one segment, are in the buffer from now on. How
    /// many were before.
    pub(super) fn put(&mut self, chunk: u32, offset: u64, count: u64) -> u64 {
        let (slot, rest) = self.slot(chunk, offset).expect("the part has a segment");
        debug_assert!(count <= rest, "in one segment");
        let of = self.chunks[chunk as usize].as_mut().expect("it has segments");
        of.native.fill(offset, count, false);
        let were = self.buffered.fill(slot, count, true);
        self.live_chunks += u64::from(of.live == 0 && count > 0);
        of.live += (count - were) as u32;
        self.live += count - were;
        were
    }

    /// The newest copies of `count` blocks are in the chunk's zone from now on, or nowhere.
    pub(super) fn leave(&mut self, chunk: u32, offset: u64, count: u64, native: bool) {
        let (mut at, end) = (offset, offset + count);
        while at < end {
            let part = (self.segment_blocks - at % self.segment_blocks).min(end - at);
            if let Some((slot, _)) = self.slot(chunk, at) {
                let were = self.buffered.fill(slot, part, false);
                let of = self.chunks[chunk as usize].as_mut().expect("it has segments");
                of.live -= were as u32;
                self.live -= were;
                self.live_chunks -= u64::from(of.live == 0 && were > 0);
            }
            at += part;
        }
        if let Some(of) = self.chunks[chunk as usize].as_mut() {
            of.native.fill(offset, count, native);
        }
    }

    /// The host gives up `count` blocks from `block` on.
    pub(super) fn trim(&mut self, block: Block, count: u64) {
        let end = block.after(count);
        let mut next = block;
        while next < end {
            let (chunk, offset) = self.split(next);
            let count = (self.zone_blocks - offset).min(end.0 - next.0);
            if self.of(chunk).is_some() {
                self.leave(chunk, offset, count, false);
            }
            next = next.after(count);
        }
    }

    /// A zone of no chunk. It is empty, but for what was left there before this was opened.
    pub(super) fn take_zone(&mut self) -> Zone {
        Zone(self.free_zones.pop_front().expect("more zones than chunks"))
    }

    /// `chunk` has `zone` from now on.
    pub(super) fn set_zone(&mut self, chunk: u32, zone: Zone) {
        self.written(chunk).zone = zone.0;
    }

    /// `chunk` has no zone from now on: what is newest of it is in the buffer.
    pub(super) fn merge(&mut self, chunk: u32) {
        let chunk = self.written(chunk);
        (chunk.zone, chunk.merged) = (NONE, true);
    }

    /// `chunk`, of which nothing is anywhere, has no zone from now on.
    pub(super) fn leave_zone(&mut self, chunk: u32) {
        self.written(chunk).zone = NONE;
    }

    /// Whether nothing of `chunk` is anywhere.
    pub(super) fn is_blank(&self, chunk: u32) -> bool {
        self.of(chunk).is_none_or(|of| of.live == 0 && of.native.end() == 0)
    }

    /// `zone` is reset, and belongs to no chunk.
    pub(super) fn free_zone(&mut self, zone: Zone) {
        self.pointers[zone.index()] = 0;
        self.free_zones.push_back(zone.0);
    }

    /// The write pointer of `zone`, in blocks from its start.
    pub(super) fn pointer(&self, zone: Zone) -> u64 {
        u64::from(self.pointers[zone.index()])
    }

    /// Moves the write pointer of `zone` to `offset`.
    pub(super) fn set_pointer(&mut self, zone: Zone, offset: u64) {
        self.pointers[zone.index()] = offset as u32;
    }

    /// What the buffer holds. A rest that is less than a segment is free for ever.
    pub(super) fn held(&self, buffer_blocks: u64) -> Held {
        let (segments, free) = self.segments();
        let used = u64::from(segments - free) * self.segment_blocks;
        let free = buffer_blocks - used;
        Held { blocks: self.live, zones: self.live_chunks, used, free }
    }

    /// Bytes of memory taken.
    pub(super) fn memory_bytes(&self) -> u64 {
        let chunk = |chunk: &Chunk| {
            size_of::<Chunk>() + chunk.native.bytes() + size_of_val(&*chunk.segments)
        };
        let chunks: usize = self.chunks.iter().flatten().map(|of| chunk(of)).sum();
        let chunks = chunks + self.chunks.capacity() * 8 + self.buffered.bytes();
        let free = self.free_zones.capacity() + self.free_segments.capacity();
        (chunks + (self.pointers.capacity() + free) * 4 + self.links.bytes()) as u64
    }

    /// Panics if an invariant is broken.
    pub(super) fn check(&self) {
        self.recent.check(&self.links);
        let (mut live, mut held, mut zones) = (0, 0, 0);
        for chunk in 0..self.chunks.len() as u32 {
            let Some(of) = self.of(chunk) else { continue };
            let places = (0..self.zone_blocks).map(|offset| self.place(chunk, offset));
            let buffered = places.filter(|place| matches!(place, Place::Buffer(_))).count();
            assert_eq!(buffered, of.live as usize, "live blocks of chunk {chunk}");
            live += u64::from(of.live);
            let segments = of.segments.iter().filter(|&&segment| segment != NONE).count();
            assert_eq!(segments, of.held as usize, "segments of chunk {chunk}");
            held += segments;
            zones += usize::from(of.zone != NONE);
        }
        assert_eq!(live, self.live);
        assert_eq!(held + self.free_segments.len(), self.segments as usize);
        assert_eq!(zones + self.free_zones.len(), self.pointers.len());
        let recent = self.recent.from_tail(&self.links).map(|chunk| self.of(chunk));
        assert!(recent.flatten().all(|chunk| chunk.held > 0), "a chunk has no segment to lose");
    }
}
