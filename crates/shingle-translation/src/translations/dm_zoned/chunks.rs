//! The places of each chunk's blocks: in its zone, in its segments of the buffer, or nowhere.

mod open;

use crate::translation::{BufferState, Layout, Place};
use shingle_core::parts::{Bitmap, Links, List};
use shingle_core::units::{Block, Zone};
use std::collections::VecDeque;

/// No segment, no zone.
const NONE: u32 = u32::MAX;

/// A zone-sized range of the host's addresses that was written at least once.
#[derive(Clone, Debug)]
struct Chunk {
    zone: u32,
    /// One bit per block: its newest copy is in the zone.
    native: Bitmap,
    segments: Box<[u32]>,
    held: u32,
    /// Blocks whose newest copy is in the buffer.
    live: u32,
    /// Whether blocks of its former zone were copied to the buffer.
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
    /// Zones without a chunk, in the order of allocation; likewise segments.
    free_zones: VecDeque<u32>,
    free_segments: VecDeque<u32>,
    segments: u32,
    /// One bit per block of the buffer: it is the newest copy.
    buffered: Bitmap,
    /// The chunks with segments, the most recently used one at the head.
    links: Links,
    recent: List,
    live: u64,
    live_chunks: u64,
}

impl Chunks {
    /// Creates chunks of an empty disk. The layout has room for a segment.
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
            buffered: Bitmap::new(layout.buffer_blocks),
            links: Links::new(chunks as usize),
            recent: List::default(),
            live: 0,
            live_chunks: 0,
        }
    }

    /// Returns the number of blocks that the host may address.
    pub(super) fn blocks(&self) -> u64 {
        self.chunks.len() as u64 * self.zone_blocks
    }

    pub(super) fn segments(&self) -> (u32, u32) {
        (self.segments, self.free_segments.len() as u32)
    }

    /// Returns the chunk of `block`, and the offset in it.
    pub(super) fn split(&self, block: Block) -> (u32, u64) {
        ((block.0 / self.zone_blocks) as u32, block.0 % self.zone_blocks)
    }

    pub(super) fn first(&self, chunk: u32) -> Block {
        Block(u64::from(chunk) * self.zone_blocks)
    }

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
                native: Bitmap::new(blocks),
                segments: vec![NONE; parts as usize].into(),
                held: 0,
                live: 0,
                merged: false,
            })
        })
    }

    pub(super) fn zone(&self, chunk: u32) -> Option<Zone> {
        self.of(chunk).map(|chunk| chunk.zone).filter(|&zone| zone != NONE).map(Zone)
    }

    /// Returns whether blocks of a zone of `chunk` have been copied to the buffer since it last had
    /// one.
    pub(super) fn merged(&self, chunk: u32) -> bool {
        self.of(chunk).is_some_and(|chunk| chunk.merged)
    }

    /// Returns the number of blocks of `chunk` in the buffer.
    pub(super) fn live(&self, chunk: u32) -> u32 {
        self.of(chunk).map_or(0, |chunk| chunk.live)
    }

    /// Returns how many segments `chunk` lacks to be in the buffer as a whole.
    pub(super) fn lacks(&self, chunk: u32) -> u32 {
        self.of(chunk).map_or(NONE, |chunk| chunk.segments.len() as u32 - chunk.held)
    }

    /// Returns the least recently used chunk with segments.
    pub(super) fn coldest(&self) -> Option<u32> {
        self.recent.tail()
    }

    /// Marks `chunk` as the most recently used.
    pub(super) fn touch(&mut self, chunk: u32) {
        if self.of(chunk).is_some_and(|chunk| chunk.held > 0) {
            self.recent.to_head(&mut self.links, chunk);
        }
    }

    /// Returns the slot for a block, if its part of the chunk has a segment, and how many slots the
    /// segment has from there on.
    pub(super) fn slot(&self, chunk: u32, offset: u64) -> Option<(u64, u64)> {
        let (part, within) = (offset / self.segment_blocks, offset % self.segment_blocks);
        let segment = self.of(chunk)?.segments[part as usize];
        let start = u64::from(segment) * self.segment_blocks;
        (segment != NONE).then(|| (start + within, self.segment_blocks - within))
    }

    /// Allocates a free segment for the part of `chunk` at `offset`.
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

    /// Allocates all the segments that `chunk` lacks.
    pub(super) fn give_all(&mut self, chunk: u32) {
        for offset in (0..self.zone_blocks).step_by(self.segment_blocks as usize) {
            if self.slot(chunk, offset).is_none() {
                self.give_any(chunk, offset);
            }
        }
    }

    /// Frees all segments of `chunk`, which has no live blocks in them.
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

    /// Returns the place of the newest copy of a block.
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

    /// Returns the next run from `offset` on of blocks whose newest copies are in the chunk's zone:
    /// offset and length.
    pub(super) fn next_native(&self, chunk: u32, offset: u64) -> Option<(u64, u64)> {
        let of = self.of(chunk).filter(|of| of.zone != NONE)?;
        of.native.runs(offset, self.zone_blocks).next()
    }

    /// Returns the range from the first to the last block of a chunk whose newest copy is in its
    /// zone.
    pub(super) fn native_span(&self, chunk: u32) -> Option<core::ops::Range<u64>> {
        let (first, _) = self.next_native(chunk, 0)?;
        Some(first..self.of(chunk)?.native.end())
    }

    /// Returns the next run from `offset` on of blocks whose newest copies are adjacent in the
    /// buffer: offset in the chunk, and length.
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

    /// Records that the newest copies of `count` blocks, all of one segment, are in the buffer.
    /// Returns how many were before.
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

    /// Records that the newest copies of `count` blocks are in the chunk's zone, or nowhere.
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

    /// Allocates a zone without a chunk. It is empty, except for data from before this was opened.
    pub(super) fn take_zone(&mut self) -> Zone {
        Zone(self.free_zones.pop_front().expect("more zones than chunks"))
    }

    pub(super) fn set_zone(&mut self, chunk: u32, zone: Zone) {
        self.written(chunk).zone = zone.0;
    }

    /// Removes the zone of `chunk`: its newest copies are in the buffer.
    pub(super) fn merge(&mut self, chunk: u32) {
        let chunk = self.written(chunk);
        (chunk.zone, chunk.merged) = (NONE, true);
    }

    /// Removes the zone of `chunk`, which has no data anywhere.
    pub(super) fn leave_zone(&mut self, chunk: u32) {
        self.written(chunk).zone = NONE;
    }

    /// Returns whether `chunk` has no data anywhere.
    pub(super) fn is_blank(&self, chunk: u32) -> bool {
        self.of(chunk).is_none_or(|of| of.live == 0 && of.native.end() == 0)
    }

    pub(super) fn free_zone(&mut self, zone: Zone) {
        self.pointers[zone.index()] = 0;
        self.free_zones.push_back(zone.0);
    }

    /// Returns the write pointer of `zone`, in blocks from its start.
    pub(super) fn pointer(&self, zone: Zone) -> u64 {
        u64::from(self.pointers[zone.index()])
    }

    /// Moves the write pointer of `zone` to `offset`.
    pub(super) fn set_pointer(&mut self, zone: Zone, offset: u64) {
        self.pointers[zone.index()] = offset as u32;
    }

    /// Returns what the buffer holds. A remainder smaller than a segment always counts as free.
    pub(super) fn buffer_state(&self, buffer_blocks: u64) -> BufferState {
        let (segments, free) = self.segments();
        let used = u64::from(segments - free) * self.segment_blocks;
        let free = buffer_blocks - used;
        BufferState { blocks: self.live, zones: self.live_chunks, used, free }
    }

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
