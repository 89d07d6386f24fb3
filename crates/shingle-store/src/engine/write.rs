//! Writes into the cache: a new frame, its data, then its record, then the answer.

use shingle_core::units::Slot;

use super::bugs::Bug;
use super::command::Errno;
use super::io::{Device, Failed, Kind, Then};
use super::lookup::Stage;
use super::{Engine, OpKey};
use crate::buffer::Buffer;
use crate::format::{Frame, State};

impl Engine {
    /// A whole block is written; it needs nothing of what was.
    pub(super) fn write_new(&mut self, key: OpKey) {
        let mut buffer = self.pool.take();
        if self.ops[key].partial() {
            buffer.0.fill(0); // a seeded bug
        }
        self.merge(key, &mut buffer);
        self.write_buffered(key, buffer);
    }

    /// The rest of the block is in `buffer`.
    pub(super) fn write_merged(&mut self, key: OpKey, mut buffer: Buffer) {
        self.merge(key, &mut buffer);
        if self.ops[key].slot.is_none() {
            self.ops[key].buffer = Some(buffer);
            self.ops[key].stage = Stage::Bypass;
            return self.bypass_write(key);
        }
        self.write_buffered(key, buffer);
    }

    fn write_buffered(&mut self, key: OpKey, buffer: Buffer) {
        let held = self.frames.held(self.ops[key].slot.expect("a write into the cache has one"));
        let in_place = held.frame.filter(|_| self.bug(Bug::WrittenInPlace));
        match in_place.or_else(|| self.frames.take()) {
            Some(frame) => self.write_frame(key, frame, buffer),
            None => {
                self.ops[key].buffer = Some(buffer);
                self.no_frame.push_back(key);
            }
        }
    }

    /// Frames have become free.
    pub(super) fn serve_those_without_frame(&mut self) {
        if self.commits.is_dead() {
            // None will, any more.
            while let Some(key) = self.no_frame.pop_front() {
                self.not_written(key);
            }
        }
        while !self.no_frame.is_empty()
            && let Some(frame) = self.frames.take()
        {
            let key = self.no_frame.pop_front().expect("there is one");
            let buffer = self.ops[key].buffer.take().expect("it waits with its data");
            self.write_frame(key, frame, buffer);
        }
    }

    pub(super) fn write_frame(&mut self, key: OpKey, frame: Frame, buffer: Buffer) {
        let op = &mut self.ops[key];
        (op.frame, op.crc) = (Some(frame), crc32c::crc32c(&buffer.0));
        if self.bug(Bug::RecordBeforeData) {
            self.hold_new(key);
        }
        let page = self.journal.layout().frame_page(frame);
        self.ios.push(Device::Ssd, Kind::Write, page, buffer, Then::FrameWritten(key));
    }

    fn hold_new(&mut self, key: OpKey) {
        let op = &self.ops[key];
        let (slot, block, frame) = (op.slot.expect("a slot"), op.block, op.frame.expect("a frame"));
        let state = if op.write { State::Dirty } else { State::Clean };
        self.hold(slot, block, frame, op.crc, state);
    }

    /// The data of a request is on the SSD, or not.
    pub(super) fn frame_written(&mut self, key: OpKey, result: Result<(), Failed>, buffer: Buffer) {
        let op = &self.ops[key];
        if result.is_err() {
            self.errors.ssd_write_failed();
            if let Some(frame) = op.frame.filter(|_| !self.bug(Bug::RecordBeforeData)) {
                self.frames.put_back_last(frame);
            }
            self.ops[key].buffer = Some(buffer);
            return self.not_written(key);
        }
        if self.gone.is_some() {
            // What it holds is of no use: nothing will say that it is there.
            self.ops[key].buffer = Some(buffer);
            return self.not_written(key);
        }
        let write = op.write;
        let block = op.block;
        if !self.bug(Bug::RecordBeforeData) {
            self.hold_new(key);
        }
        // It may have been found damaged while it was written anew.
        self.found_again(block);
        if write {
            let command = self.ops[key].command;
            self.commands.get(command).in_cache = true;
        }
        if write && self.mode.writes_through() {
            self.ops[key].buffer = Some(buffer);
            return self.write_through(key);
        }
        self.pool.give(buffer);
        self.finish(key);
    }

    /// The SSD did not take a block: the disk serves the request, unless it has not got the block.
    fn not_written(&mut self, key: OpKey) {
        let op = &self.ops[key];
        if op.was_dirty {
            // What the frame holds is what the block was; the slot is dirty, as it was.
            return self.fail(key, Errno::IO);
        }
        let write = op.write;
        self.leave_cache(key);
        if write {
            self.ops[key].stage = Stage::Bypass;
            self.bypass_write(key);
        } else {
            self.finish(key);
        }
    }

    /// The block is on the SSD, and now goes to the disk, too, before the client is answered.
    pub(super) fn write_through(&mut self, key: OpKey) {
        if let Some(slot) = self.ops[key].slot.take() {
            self.unpin(slot);
        }
        let block = self.ops[key].block;
        let Some(slot) = self.cache.lookup(block) else {
            return self.finish(key); // it has left: the disk has it
        };
        if !self.cache.slots().dirty(slot) {
            return self.finish(key);
        }
        let number = self.frames.held(slot).number;
        if number > self.commits.committed() && !self.bug(Bug::DestageBeforeCommit) {
            if self.commits.is_dead() {
                return self.fail(key, Errno::IO);
            }
            self.ops[key].stage = Stage::Through;
            return self.commits.wait(number, key);
        }
        if self.cache.begin_destage(slot) {
            let buffer = self.ops[key].buffer.take().expect("what was written");
            self.destage_through(key, slot, buffer);
        } else if self.is_sulking(slot) || self.errors.is_lost(block) {
            self.fail(key, Errno::IO);
        } else {
            // What was written before is on its way: when it is there this is tried again.
            self.ops[key].stage = Stage::Through;
            self.wait_for_destage(slot, key);
        }
    }

    fn wait_for_destage(&mut self, slot: Slot, key: OpKey) {
        self.destager.through_waiting.push((slot, key));
        self.disk.want_all();
    }
}
