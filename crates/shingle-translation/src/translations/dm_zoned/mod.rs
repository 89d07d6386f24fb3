//! dm-zoned, Linux's translation for host-managed disks (kernel, `drivers/md/dm-zoned-*.c`;
//! Amphisbaena §2.2). What is said here of segments is for [`super::ucache`]; dm-zoned's are as large
//! as a zone.
//!
//! The host's addresses are divided into chunks of a zone's size. A chunk has a sequential zone
//! (any one), or segments of the buffer, or both. A write at the write pointer of the chunk's zone
//! goes there; any other goes to the segment, in place, and a chunk without one is given one. A bit
//! for each block says which has the newest copy.
//!
//! The least recently used chunk with segments is *reclaimed*:
//! - It has no zone: it is copied to an empty one.
//! - All its blocks in the buffer lie behind its write pointer: they are appended to its zone.
//! - Otherwise the newest copies in its zone are copied to the segment, and the zone is reset. The
//!   chunk is then the most recently used one.
//!
//! The data are written, then the map, and only then the old copies are freed: a power cut loses
//! nothing.
//!
//! Reclaim begins when `low` of the segments or fewer are free, in whole percent, or one is, and
//! ends with the first reclaim that brings the number above: the kernel also compares with a second
//! threshold of 50 %, which then changes nothing (`dmz_should_reclaim`). Until then each new
//! segment is preceded by one reclaim, and so is each when none is free. The kernel reclaims in
//! parallel with the host's I/O instead. In idle time it reclaims all.
//!
//! With a cache device (`translation.cache_zones` of the simulator), that device is the buffer:
//! chunks get segments only there, and reclaim counts only those (`dmz_get_chunk_mapping`,
//! `dmz_reclaim_percentage`).
//!
//! With `fresh=sequential` a chunk without data that is written from its first block on is given an
//! empty zone and not a segment: sequential data are written once. It is given another one when all
//! of it was trimmed and it is written so again.
//!
//! Other departures: a zone is read in one read, and a chunk written when all of it has been read,
//! as by the other translations, where the kernel copies run by run; the buffer adds nothing to the
//! capacity; the map on the disk costs no I/O.

use crate::parts::{countable, pieces};
use crate::translation::{
    BufferState, Counters, Layout, Make, Piece, Queue, SavedMap, Step, Translation, Work,
};
use chunks::Chunks;
use copy::{Copy, To};
use shingle_core::param;
use shingle_core::params::{Param, Params};
use shingle_core::units::{Block, Zone};

mod chunks;
mod copy;

/// dm-zoned, or with `PROMOTE` µCache. See the module.
#[derive(Clone, Debug)]
pub(crate) struct DmZoned<const PROMOTE: bool> {
    chunks: Chunks,
    buffer_blocks: u64,
    /// Free segments at which reclaim begins and ends.
    low: u32,
    high: u32,
    /// Free segments at which idle time does nothing.
    idle: u32,
    /// A chunk with this many blocks in the buffer is promoted.
    promote: u64,
    /// Whether sequential writes to chunks without data go to zones.
    fresh_to_zones: bool,
    reclaiming: bool,
    /// Whether one chunk has been reclaimed for the next segment, or idle time.
    paid: bool,
    work: Work,
    copy: Copy,
    counters: Counters,
}

impl<const PROMOTE: bool> DmZoned<PROMOTE> {
    /// Writes as many of the host's next blocks as go to one place.
    fn write(&mut self, block: Block, count: u64) -> Option<Step> {
        let (chunk, offset) = self.chunks.split(block);
        let count = count.min(self.chunks.chunk_blocks() - offset);
        if self.fresh_to_zones && offset == 0 && self.wants_zone(chunk) {
            self.give_zone(chunk);
            return None;
        }
        let step = match self.chunks.zone(chunk) {
            Some(zone) if self.chunks.pointer(zone) == offset => {
                self.chunks.leave(chunk, offset, count, true);
                self.chunks.set_pointer(zone, offset + count);
                Step::Append { zone, block, count }
            }
            _ => {
                if self.chunks.slot(chunk, offset).is_none() {
                    self.give(chunk, offset)?;
                }
                let (at, rest) = self.chunks.slot(chunk, offset).expect("it was given");
                let count = count.min(rest);
                self.counters.write_hits += self.chunks.put(chunk, offset, count);
                Step::Buffer { block, count, at }
            }
        };
        let (Step::Append { count, .. } | Step::Buffer { count, .. }) = step else { return None };
        self.counters.written_blocks += count;
        self.chunks.touch(chunk);
        if let Work::Write { block, count: left } = self.work {
            self.work = Work::Write { block: block.after(count), count: left - count };
        }
        if PROMOTE {
            self.promote(chunk);
        }
        Some(step)
    }

    /// Returns whether a chunk has no data anywhere, and no zone that is empty.
    fn wants_zone(&self, chunk: u32) -> bool {
        let empty = self.chunks.zone(chunk).is_some_and(|zone| self.chunks.pointer(zone) == 0);
        !empty && self.chunks.is_blank(chunk)
    }

    /// Assigns a zone to a chunk without data, or begins to reset the one it has.
    fn give_zone(&mut self, chunk: u32) {
        match self.chunks.zone(chunk) {
            Some(zone) => self.copy = Copy::new(chunk, To::Gone(zone)),
            None => {
                let zone = self.chunks.take_zone();
                self.chunks.set_zone(chunk, zone);
            }
        }
    }

    /// Allocates a segment for a chunk. Returns `None` if one must be reclaimed first, and begins
    /// that.
    fn give(&mut self, chunk: u32, offset: u64) -> Option<()> {
        let (_, free) = self.chunks.segments();
        self.reclaiming = free <= self.low || self.reclaiming && free < self.high;
        if free == 0 || self.reclaiming && !self.paid && self.chunks.coldest().is_some() {
            self.reclaim();
            return None;
        }
        self.paid = false;
        self.chunks.give_any(chunk, offset);
        Some(())
    }

    /// Begins to reclaim the coldest chunk.
    fn reclaim(&mut self) {
        self.paid = true;
        let chunk = self.chunks.coldest().expect("some chunk has the segments");
        let lowest = self.chunks.next_buffered(chunk, 0);
        let to = match (lowest, self.chunks.zone(chunk)) {
            (None, _) => To::Nowhere,
            (Some(_), None) => To::Zone(self.chunks.take_zone()),
            (Some((lowest, _)), Some(zone)) if lowest >= self.chunks.pointer(zone) => To::Own(zone),
            _ if PROMOTE => To::Zone(self.chunks.take_zone()),
            (_, Some(zone)) => To::Buffer(zone),
        };
        self.copy = Copy::new(chunk, to);
    }

    /// Begins to copy a whole chunk to the buffer, if enough of it is there and there is room.
    fn promote(&mut self, chunk: u32) {
        if let Some(zone) = self.chunks.zone(chunk)
            && u64::from(self.chunks.live(chunk)) >= self.promote
            && self.chunks.lacks(chunk) <= self.chunks.segments().1
        {
            self.chunks.give_all(chunk);
            self.copy = Copy::new(chunk, To::Buffer(zone));
        }
    }

    /// Creates the translation over an empty disk, with segments of `segment_blocks`.
    pub(super) fn over(
        name: &str,
        params: &Params,
        layout: Layout,
        segment_blocks: u64,
    ) -> Result<Self, String> {
        countable(name, layout)?;
        let Layout { buffer_blocks, zones, .. } = layout;
        if zones < 2 {
            return Err(format!("{name} needs two sequential zones: one to copy another to"));
        }
        let segments = buffer_blocks / segment_blocks;
        if segments < 2 {
            return Err(format!(
                "{name} buffers {segment_blocks} blocks at a time: it needs a buffer of at least {} \
                 blocks, not {buffer_blocks}: it takes a disk with more conventional zones, or in a \
                 simulation a larger part of them, --set drive.pb=real",
                2 * segment_blocks
            ));
        }
        let segments = segments as u32;
        let part = |name| params.part_of(name, segments).min(u64::from(segments)) as u32;
        let reserved = params.count("reserved").clamp(1, u64::from(zones / 8).max(1)) as u32;
        Ok(DmZoned {
            chunks: Chunks::new(layout, zones - reserved, segment_blocks),
            buffer_blocks,
            low: if PROMOTE { part("low") } else { kernels_low(params, segments) },
            high: part("high"),
            idle: part(if PROMOTE { "high" } else { "idle" }),
            promote: u64::MAX,
            fresh_to_zones: params.choice("fresh") == "sequential",
            reclaiming: false,
            paid: false,
            work: Work::Idle,
            copy: Copy::NONE,
            counters: Counters::default(),
        })
    }

    /// Restores the state from a saved map; nothing is written yet. See [`Chunks::open`].
    pub(super) fn opened(
        mut self,
        name: &str,
        layout: Layout,
        saved: &dyn SavedMap,
    ) -> Result<Self, String> {
        saved.check(name, layout, self.chunks.blocks())?;
        self.chunks.open(name, layout, saved)?;
        Ok(self)
    }

    /// Sets that a chunk with `blocks` in the buffer is promoted.
    pub(super) fn promoting(self, blocks: u64) -> Self {
        DmZoned { promote: blocks.max(1), ..self }
    }
}

/// Returns the largest number of free ones of `segments` at which the kernel reclaims although it
/// is busy: `low` of them in whole percent, rounded down. One free segment counts as none.
fn kernels_low(params: &Params, segments: u32) -> u32 {
    let percent = params.thousandths("low") / 10;
    let most = ((percent + 1) * u64::from(segments) - 1) / 100;
    most.clamp(1, u64::from(segments)) as u32
}

impl<const PROMOTE: bool> Translation for DmZoned<PROMOTE> {
    fn blocks(&self) -> u64 {
        self.chunks.blocks()
    }

    fn locate(&mut self, block: Block, count: u64, out: &mut Vec<Piece>) {
        // As in the kernel, a read counts as use.
        let mut used = None;
        pieces(block, count, out, |block| {
            let (chunk, offset) = self.chunks.split(block);
            if used != Some(chunk) {
                used = Some(chunk);
                self.chunks.touch(chunk);
            }
            self.chunks.place(chunk, offset)
        });
    }

    fn begin(&mut self, work: Work) {
        (self.work, self.paid) = (work, false);
        if let Work::Trim { block, count } = work {
            self.chunks.trim(block, count);
        }
    }

    fn next(&mut self, _: &dyn Queue) -> Option<Step> {
        loop {
            if let Some(step) = self.copy.next(&mut self.chunks, &mut self.counters) {
                return Some(step);
            }
            match self.work {
                Work::Write { count: 0, .. } => return None,
                Work::Write { block, count } => {
                    if let Some(step) = self.write(block, count) {
                        return Some(step);
                    }
                }
                Work::Idle if self.wants_idle() && !self.paid => self.reclaim(),
                Work::Drain if self.chunks.coldest().is_some() => self.reclaim(),
                Work::Idle | Work::Drain | Work::Trim { .. } => return None,
            }
        }
    }

    fn wants_idle(&self) -> bool {
        self.chunks.segments().1 < self.idle
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn buffer_state(&self) -> BufferState {
        self.chunks.buffer_state(self.buffer_blocks)
    }

    fn write_pointer(&self, zone: Zone) -> u64 {
        self.chunks.pointer(zone)
    }

    fn memory_bytes(&self) -> u64 {
        size_of::<Self>() as u64 + self.chunks.memory_bytes()
    }

    fn copy(&self) -> Box<dyn Translation> {
        Box::new(self.clone())
    }

    fn check(&self) {
        self.chunks.check();
    }
}

pub(super) const LOW: Param = param!("low": Ratio = "0.3",
    "share of free segments at which reclaim begins (DMZ_RECLAIM_LOW_UNMAP_ZONES)");
pub(super) const HIGH: Param = param!("high": Ratio = "0.5",
    "share of free segments at which reclaim ends (DMZ_RECLAIM_HIGH_UNMAP_ZONES)");
pub(super) const RESERVED: Param = param!("reserved": Count = "16",
    "zones kept from the host (DMZ_NR_RESERVED_SEQ); an eighth of the zones at most");

pub(super) const FRESH: Param = param!("fresh": Choice(&["random", "sequential"]) = "random",
    "where a chunk begins of which nothing is anywhere: in the buffer (the kernel's), or, if it is written \
     from its first block on, in a zone (own)");

const KERNELS_HIGH: Param = param!("high": Ratio = "0.3",
    "share of free segments at which reclaim ends; the kernel's 0.5 (DMZ_RECLAIM_HIGH_UNMAP_ZONES) stops \
     nothing that `low` has not");
const IDLE: Param = param!("idle": Ratio = "1",
    "share of free segments up to which idle time reclaims (dmz_should_reclaim: all)");

impl Make for DmZoned<false> {
    const NAME: &'static str = "dm-zoned";
    const ABOUT: &'static str =
        "Linux's: a buffer of whole zones, the least recently used one reclaimed";
    const PARAMS: &'static [Param] = &[LOW, KERNELS_HIGH, IDLE, RESERVED, FRESH];
    const SURVIVES_POWER_CUTS: bool = true;

    fn new(params: &Params, layout: Layout) -> Result<Self, String> {
        DmZoned::over(Self::NAME, params, layout, layout.zone_blocks.max(1))
    }

    fn open(params: &Params, layout: Layout, saved: &dyn SavedMap) -> Result<Self, String> {
        Self::new(params, layout)?.opened(Self::NAME, layout, saved)
    }
}
