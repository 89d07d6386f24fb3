//! Copies a chunk: from the buffer to a zone, or from its zone to the buffer.
//!
//! The newest copies in a zone are read in one read, with all blocks between them; newer copies in
//! the buffer are read after it, or not written.

use super::chunks::Chunks;
use crate::translation::{Counters, Step};
use shingle_core::units::Zone;

/// The destination of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum To {
    /// All of it goes to a zone without a chunk, and its own zone is reset.
    Zone(Zone),
    /// Its blocks in the buffer go to its own zone, at the write pointer.
    Own(Zone),
    /// Its blocks in this zone, its own, go to the buffer, and the zone is reset.
    Buffer(Zone),
    /// It has no blocks in the buffer: its segments are freed.
    Nowhere,
    /// It has no data anywhere: this zone, its own, is freed and reset.
    Gone(Zone),
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    ReadNative,
    ReadBuffer,
    Write,
    Commit,
    Reset(Zone),
    Done,
}

/// A copy in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    chunk: u32,
    to: To,
    stage: Stage,
    /// Blocks of the chunk before this one have been copied from or to the buffer.
    at: u64,
    /// End of the blocks that are copied.
    end: u64,
}

impl Copy {
    /// No copy in progress.
    pub(super) const NONE: Copy =
        Copy { chunk: 0, to: To::Nowhere, stage: Stage::Done, at: 0, end: 0 };

    pub(super) fn new(chunk: u32, to: To) -> Copy {
        Copy { chunk, to, stage: Stage::ReadNative, at: 0, end: 0 }
    }

    /// Returns the next step. Moves write pointers with the steps that do, and updates the map
    /// before the step that commits it.
    pub(super) fn next(&mut self, chunks: &mut Chunks, counters: &mut Counters) -> Option<Step> {
        let first = chunks.first(self.chunk);
        loop {
            match (self.stage, self.to) {
                (Stage::ReadNative, to) => {
                    self.stage = Stage::ReadBuffer;
                    let native = chunks.native_span(self.chunk);
                    if let Some(span) = native.filter(|_| !matches!(to, To::Own(_) | To::Nowhere)) {
                        self.end = span.end;
                        let from = chunks.place(self.chunk, span.start);
                        let (block, count) = (first.after(span.start), span.end - span.start);
                        return Some(Step::Read { from, block, count });
                    }
                }
                (Stage::ReadBuffer, To::Zone(_) | To::Own(_)) => {
                    if let Some((offset, count)) = chunks.next_buffered(self.chunk, self.at) {
                        self.at = offset + count;
                        self.end = self.end.max(self.at);
                        let from = chunks.place(self.chunk, offset);
                        return Some(Step::Read { from, block: first.after(offset), count });
                    }
                    self.stage = Stage::Write;
                }
                (Stage::ReadBuffer, _) => self.stage = Stage::Write,
                (Stage::Write, To::Zone(zone)) if chunks.pointer(zone) > 0 => {
                    chunks.set_pointer(zone, 0);
                    return Some(Step::Reset { zone });
                }
                (Stage::Write, To::Zone(zone) | To::Own(zone)) => {
                    self.stage = Stage::Commit;
                    let from = chunks.pointer(zone);
                    chunks.set_pointer(zone, self.end);
                    let (block, count) = (first.after(from), self.end - from);
                    return Some(Step::Append { zone, block, count });
                }
                (Stage::Write, To::Buffer(_)) => {
                    if let Some((offset, count)) = chunks.next_native(self.chunk, self.at) {
                        let (at, rest) = chunks.slot(self.chunk, offset).expect("it has them all");
                        let count = count.min(rest);
                        self.at = offset + count;
                        return Some(Step::Buffer { block: first.after(offset), count, at });
                    }
                    self.stage = Stage::Commit;
                }
                (Stage::Write, To::Nowhere | To::Gone(_)) => self.stage = Stage::Commit,
                (Stage::Commit, _) => {
                    self.arrive(chunks, counters);
                    return Some(Step::Commit);
                }
                (Stage::Reset(zone), _) => {
                    self.stage = Stage::Done;
                    chunks.free_zone(zone);
                    return Some(Step::Reset { zone });
                }
                (Stage::Done, _) => return None,
            }
        }
    }

    /// Updates the map to the chunk's new place.
    fn arrive(&mut self, chunks: &mut Chunks, counters: &mut Counters) {
        let (chunk, old) = (self.chunk, chunks.zone(self.chunk));
        self.stage = Stage::Done;
        if let To::Buffer(zone) = self.to {
            let mut at = 0;
            while let Some((offset, count)) = chunks.next_native(chunk, at) {
                let (_, rest) = chunks.slot(chunk, offset).expect("it has them all");
                let count = count.min(rest);
                chunks.put(chunk, offset, count);
                counters.moved_blocks += count;
                at = offset + count;
            }
            chunks.merge(chunk);
            chunks.touch(chunk);
            self.stage = Stage::Reset(zone);
            return;
        }
        if let To::Gone(zone) = self.to {
            chunks.leave_zone(chunk);
            self.stage = Stage::Reset(zone);
            return;
        }
        counters.cleanings += 1;
        if self.to != To::Nowhere {
            let rmw = matches!(self.to, To::Zone(_)) && (old.is_some() || chunks.merged(chunk));
            counters.victims += 1;
            counters.rmw += u64::from(rmw);
            counters.rmw_free += u64::from(!rmw);
            counters.evicted_blocks += u64::from(chunks.live(chunk));
        }
        let mut at = 0;
        while let Some((offset, count)) = chunks.next_buffered(chunk, at) {
            chunks.leave(chunk, offset, count, true);
            at = offset + count;
        }
        chunks.take_all(chunk);
        if let To::Zone(zone) = self.to {
            chunks.set_zone(chunk, zone);
            self.stage = old.map_or(Stage::Done, Stage::Reset);
        }
    }
}
