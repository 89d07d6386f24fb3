//! What was read: from a frame, where its checksum must fit, or from the disk, from where it may fill
//! a slot.

use shingle_core::units::Slot;

use super::bugs::Bug;
use super::command::Errno;
use super::errors::Damage;
use super::io::{Device, Failed, Then};
use super::{Engine, OpKey};
use crate::buffer::Buffer;

impl Engine {
    /// A frame was read for a request.
    pub(super) fn frame_read(&mut self, key: OpKey, result: Result<(), Failed>, buffer: Buffer) {
        let (block, write) = (self.ops[key].block, self.ops[key].write);
        let slot = self.ops[key].slot.expect("a hit has one");
        let held = self.frames.held(slot);
        let fits = self.bug(Bug::ReadWithoutChecksum) || crc32c::crc32c(&buffer.0) == held.crc;
        if result.is_err() || !fits {
            self.pool.give(buffer);
            let damage = if result.is_err() { Damage::Unreadable } else { Damage::Checksum };
            return self.frame_damaged(key, slot, damage);
        }
        if write {
            return self.write_merged(key, buffer);
        }
        debug_assert_eq!(held.block, block);
        self.deliver(key, &buffer);
        self.pool.give(buffer);
        self.finish(key);
    }

    /// A clean block is read from the disk instead; a dirty one is lost, until it is written anew.
    fn frame_damaged(&mut self, key: OpKey, slot: Slot, damage: Damage) {
        let op = &self.ops[key];
        let (block, write) = (op.block, op.write);
        // A write has made the slot dirty, and what stands in the frame is as it was before.
        let dirty = if write { op.was_dirty } else { self.cache.slots().dirty(slot) };
        self.errors.damaged(damage);
        if dirty && !self.bug(Bug::DirtyErrorReadsDisk) {
            self.lose(block, slot);
            return self.fail(key, Errno::IO);
        }
        if !write && !dirty {
            self.leave_cache(key);
        }
        self.read_page(Device::Disk, block.0, Then::DiskRead(key));
    }

    /// The disk was read for a request: it is answered, and the block enters if it has a slot.
    pub(super) fn disk_read(&mut self, key: OpKey, result: Result<(), Failed>, buffer: Buffer) {
        let op = &self.ops[key];
        let (write, slot, block) = (op.write, op.slot, op.block);
        if result.is_err() {
            self.pool.give(buffer);
            self.errors.disk_read_failed();
            match slot {
                // A hit of which the frame is damaged and the disk is, too.
                Some(slot) if self.frames.held(slot).frame.is_some() => {
                    self.lose(block, slot);
                }
                Some(_) => self.leave_cache(key),
                None => {}
            }
            return self.fail(key, Errno::IO);
        }
        if write {
            return self.write_merged(key, buffer);
        }
        self.deliver(key, &buffer);
        self.answer_block(key);
        match slot {
            // (A seeded bug comes here with a slot that holds something.)
            Some(slot) if self.frames.held(slot).frame.is_none() => self.fill(key, buffer),
            _ => {
                self.pool.give(buffer);
                self.finish(key);
            }
        }
    }

    /// Writes what was read into a frame, if there is one: nobody waits for it.
    fn fill(&mut self, key: OpKey, buffer: Buffer) {
        let Some(frame) = self.frames.take() else {
            self.pool.give(buffer);
            self.leave_cache(key);
            return self.finish(key);
        };
        if self.bug(Bug::UnlockedBeforeFill)
            && let Some(next) = self.locks.release(self.ops[key].block)
        {
            self.ready.push_back(next);
        }
        self.errors.status.fills += 1;
        self.write_frame(key, frame, buffer);
    }
}
