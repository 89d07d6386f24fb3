//! Writes of blocks to the SSD: data goes into a frame first, and into the map when it is there.

use super::super::Engine;
use super::super::due::Part;
use super::super::keys::OpKey;
use super::super::port::{Completion, Device, Failed};
use super::super::requests::{Errno, Stage};
use crate::bugs::Bug;
use crate::data::Data;
use crate::format::{Frame, PAGE_BYTES};

impl<D: Data> Engine<D> {
    /// Writes a block that was read into a frame. Without a free frame the fill is skipped: nothing
    /// waits for it.
    pub(super) fn fill(&mut self, key: OpKey, buffer: D) {
        let Some(frame) = self.durability.take_frame() else {
            return self.skip_fill(key, buffer);
        };
        if self.bugs.has(Bug::UnlockedBeforeFill) {
            self.requests.unlock_early(key);
        }
        self.requests.count_fill();
        self.write_frame(key, frame, buffer);
    }

    /// Skips a fill: there is no free frame, or the SSD has failed and may have been replaced by
    /// the time of the write.
    pub(super) fn skip_fill(&mut self, key: OpKey, buffer: D) {
        self.due.mark_all();
        self.port.give(buffer);
        self.leave_cache(key);
        self.finish(key);
    }

    /// Writes a whole block; the old data is not needed.
    pub(super) fn write_new(&mut self, key: OpKey) {
        let mut buffer = self.port.buffer();
        if self.requests.op(key).is_partial() {
            buffer.clear(0..PAGE_BYTES); // a seeded bug
        }
        self.requests.merge(key, &mut buffer);
        self.write_buffered(key, buffer);
    }

    /// The rest of the block is in `buffer`.
    pub(super) fn write_merged(&mut self, key: OpKey, mut buffer: D) {
        self.requests.merge(key, &mut buffer);
        if self.requests.op(key).slot().is_none() {
            return self.bypass_with(key, buffer);
        }
        self.write_buffered(key, buffer);
    }

    pub(super) fn write_buffered(&mut self, key: OpKey, buffer: D) {
        let slot = self.requests.op(key).slot().expect("a write into the cache has one");
        let mapped = self.contents.mapping(slot).frame;
        let in_place = mapped.filter(|_| self.bugs.has(Bug::WrittenInPlace));
        match in_place.or_else(|| self.durability.take_frame()) {
            Some(frame) => self.write_frame(key, frame, buffer),
            None => {
                self.due.mark(Part::Commit);
                self.requests.wait_for_frame(key, buffer);
            }
        }
    }

    pub(super) fn write_frame(&mut self, key: OpKey, frame: Frame, buffer: D) {
        self.requests.op_mut(key).write_to(frame, buffer.crc());
        if self.bugs.has(Bug::RecordBeforeData) {
            self.map_written(key);
        }
        if self.bugs.has(Bug::AnsweredBeforeRecord) {
            self.answer_block(key);
        }
        let page = self.durability.frame_page(frame);
        self.port.write(Device::Ssd, page, buffer, Completion::FrameWritten(key));
        // The completion will map the frame.
        if let Some(slot) = self.requests.op(key).slot() {
            self.contents.prefetch_map(slot, frame, &self.durability);
        }
    }

    pub(super) fn map_written(&mut self, key: OpKey) {
        let op = self.requests.op(key);
        let slot = op.slot().expect("a slot");
        self.contents.map(slot, op.record(), &mut self.durability, self.now);
    }

    pub(in crate::engine) fn frame_written(
        &mut self,
        key: OpKey,
        result: Result<(), Failed>,
        buffer: D,
    ) {
        let op = self.requests.op_mut(key);
        let (block, write) = (op.block(), op.is_write());
        if result.is_err() {
            self.failure.counts().ssd_writes += 1;
            if let Some(frame) = op.frame().filter(|_| !self.bugs.has(Bug::RecordBeforeData)) {
                self.durability.put_back_last(frame);
            }
        }
        if result.is_err() || self.failure.has_ssd_failed() {
            // What a failed SSD holds is of no use: no record will say that it is there.
            op.keep(buffer);
            self.due.mark_all();
            return self.fall_back_to_disk(key);
        }
        // The record comes after the data and before the answer. The disk gets the block, and a
        // FLUSH is answered, only when the record is committed.
        if !self.bugs.has(Bug::RecordBeforeData) {
            self.map_written(key);
        }
        // The old frame may have been found damaged in the meantime.
        self.contents.clear_lost(block);
        if write {
            self.requests.mark_in_cache(key);
        }
        if write && self.service.mode().writes_through() {
            self.requests.op_mut(key).keep(buffer);
            self.due.mark_all();
            return self.write_through(key);
        }
        self.port.give(buffer);
        self.finish(key);
    }

    /// Handles data that the SSD did not take: the disk serves the request, unless the disk lacks
    /// the current block.
    pub(super) fn fall_back_to_disk(&mut self, key: OpKey) {
        let op = self.requests.op(key);
        if op.was_dirty() {
            // The frame still holds the previous version, and the slot stays dirty.
            return self.fail(key, Errno::IO);
        }
        let write = op.is_write();
        self.leave_cache(key);
        if write {
            self.requests.op_mut(key).resume_at(Stage::Bypass);
            self.bypass_write(key);
        } else {
            self.finish(key);
        }
    }
}
