//! Writes a zone back (Amphisbaena §5.3, "The LFB cleanup", and figure 4): [`WriteBack`] does the
//! I/O; this module gives it the blocks of the LFB chunk by chunk, with a checkpoint after each
//! chunk.
//!
//! [`WriteBack`]: crate::parts::WriteBack

use super::settings::Abort;
use super::victim::{level, weight};
use super::zones::kept;
use super::{Amphisbaena, Job};
use crate::translation::{Queue, Step};
use shingle_core::units::Block;

/// A collection in progress. The chunks are in `collected_frames`, sorted by address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collection {
    /// The zone, as [`super::zones::Zones`] numbers it.
    number: u32,
    /// The first block of the zone.
    start: Block,
    /// Frames collected.
    frames: usize,
    /// Whether no more blocks will be added.
    closed: bool,
    /// Blocks collected, and those of them below the write pointer.
    blocks: u32,
    below: u32,
}

impl Amphisbaena {
    /// Begins to collect the zone of the greatest weight.
    pub(super) fn collect_best(&mut self) {
        while let Some(number) = self.zones.take_changed() {
            if !self.zones.get(number).tight {
                self.cold.measure(number, &mut self.zones);
            }
            let zone = self.zones.get(number);
            let weight = match zone.cold {
                0 => 0,
                _ => weight(zone.chunks, level(zone), self.settings.reading),
            };
            self.weights.set(number, weight);
        }
        let best = self.weights.best().expect("an LFB without free chunks holds no block");
        self.begin_collection(best, None);
    }

    /// Begins to collect a zone. `lowest_hot` is the first of the hot blocks that are to be written
    /// back with it.
    pub(super) fn begin_collection(&mut self, number: u32, lowest_hot: Option<Block>) {
        self.steps.finish_run();
        self.cold.frames_of(number, &self.zones, &mut self.collected_frames);
        // The chunk of the lowest block is collected first, so that an abort cannot turn an append
        // into an RMW.
        let first = self.collected_frames.first();
        let lowest_cold = first.and_then(|&frame| self.cold.runs(frame).next()).map(|run| run.0);
        let lowest = lowest_cold.into_iter().chain(lowest_hot).min();
        let lowest = lowest.expect("a zone without blocks in the buffer is collected");
        let zone = self.native.zone(lowest);
        self.back.begin(zone, lowest, &self.native);
        self.counters.cleanings += 1;
        let start = self.native.first(zone);
        self.collection =
            Some(Collection { number, start, frames: 0, closed: false, blocks: 0, below: 0 });
    }

    /// Returns the next step of the collection; `None` if there is none in progress.
    pub(super) fn collect(&mut self, queue: &dyn Queue) -> Option<Step> {
        loop {
            let mut collection = self.collection?;
            match self.back.next(&mut self.native, &mut self.counters) {
                Some(Step::Commit) => {
                    self.collection = None;
                    self.finish_collection(collection);
                    return Some(Step::Commit);
                }
                Some(step) => return Some(step),
                None => {}
            }
            // A checkpoint: the blocks added so far are collected.
            assert!(!collection.closed, "a write-back that ends without a commit");
            let all = collection.frames == self.collected_frames.len();
            let aborts = !all && collection.frames > 0 && self.aborts(&collection, queue);
            if all || aborts {
                self.counters.aborted += u64::from(aborts);
                self.collect_hot(&mut collection);
                self.back.close();
                collection.closed = true;
            } else {
                let rest = &self.collected_frames[collection.frames..];
                let of_chunk = |frame: &&u32| self.cold.of_one_chunk(rest[0], **frame);
                for &frame in rest.iter().take_while(of_chunk) {
                    let mut end = None;
                    for (block, count, at) in self.cold.runs(frame) {
                        let over = end.replace(at + count).map_or(0, |end| at - end);
                        let over = if self.settings.collects_spans { over } else { 0 };
                        self.back.collect_over(over, at, block, count, &self.native);
                    }
                    collection.frames += 1;
                }
            }
            self.collection = Some(collection);
        }
    }

    /// Returns whether a waiting write for the victim ends the collection.
    fn aborts(&self, collection: &Collection, queue: &dyn Queue) -> bool {
        if self.settings.abort == Abort::Never || matches!(self.job, Job::Drain(_)) {
            return false;
        }
        let start = collection.start.0;
        let end = start + self.layout.zone_blocks;
        queue.writes(&|block, count| {
            let (first, last) = (block.0.max(start), block.after(count).0.min(end));
            first < last && (self.settings.abort == Abort::Zone || self.cold.holds(first, last))
        })
    }

    /// Adds the hot blocks that a drain writes back with the zone, and forgets their roles.
    fn collect_hot(&mut self, collection: &mut Collection) {
        let Job::Drain(draining) = &mut self.job else { return };
        let pointer = self.zones.get(collection.number).write_pointer;
        while let Some(block) = draining.next_hot(collection.start, self.layout.zone_blocks) {
            let slot = self.roles.slot(block).expect("a hot block has left during a drain");
            self.back.collect(self.hot.place(slot), block, 1, &self.native);
            self.roles.vacate(slot);
            self.zones.count_hot(collection.number, false);
            collection.blocks += 1;
            collection.below += u32::from(block.0 - collection.start.0 < u64::from(pointer));
        }
    }

    /// Completes a collection: the collected blocks are in their zone. Those that an abort left
    /// behind stay in the buffer.
    fn finish_collection(&mut self, collection: Collection) {
        let Collection { number, start, frames, mut blocks, mut below, .. } = collection;
        let before = *self.zones.get(number);
        for &frame in &self.collected_frames[..frames] {
            for (block, count, _) in self.cold.runs(frame) {
                let (offset, count) = ((block.0 - start.0) as u32, count as u32);
                blocks += count;
                below += (offset + count).min(before.write_pointer).saturating_sub(offset);
            }
            self.cold.clear(frame, number, &mut self.zones);
        }
        let state = self.zones.get_mut(number);
        state.native = kept(before.native, below, before.write_pointer) + blocks;
        state.write_pointer = self.native.pointer(self.native.zone(start)) as u32;
        self.cold.measure(number, &mut self.zones);
    }
}
