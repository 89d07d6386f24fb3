//! Writes of clients to the disk: past the cache (bypass), or through it (write-through).

use super::super::Engine;
use super::super::due::Part;
use super::super::failure::Permission;
use super::super::keys::OpKey;
use super::super::port::{Completion, Device, Failed};
use super::super::requests::{Errno, Stage};
use crate::bugs::Bug;
use crate::data::Data;

impl<D: Data> Engine<D> {
    /// Writes a block that is on the SSD to the disk, too, before the client is answered.
    pub(super) fn write_through(&mut self, key: OpKey) {
        // A destage pins the slot itself, and needs it to be evictable.
        if let Some(slot) = self.requests.op_mut(key).take_slot() {
            self.contents.unpin(slot);
        }
        let block = self.requests.op(key).block();
        let Some(slot) = self.contents.lookup(block) else {
            return self.finish(key); // evicted: the disk has it
        };
        if !self.contents.is_dirty(slot) {
            return self.finish(key);
        }
        let mapping = self.contents.mapping(slot);
        let committed = mapping.number <= self.durability.committed();
        if !committed && !self.bugs.has(Bug::DestageBeforeCommit) {
            if self.durability.has_failed() {
                return self.fail(key, Errno::IO);
            }
            self.requests.op_mut(key).resume_at(Stage::Through);
            return self.durability.wait(mapping.number, key);
        }
        if self.destages.band_holds(block.0) {
            self.requests.op_mut(key).resume_at(Stage::Through);
            return self.destages.wait_for_band(key);
        }
        if self.contents.begin_destage(slot) {
            let buffer = self.requests.op_mut(key).take_buffer();
            self.destages.band_touched(block.0..block.0 + 1, &mut self.port);
            self.destages.write_through(key, slot, mapping, buffer, &mut self.port);
        } else if self.destages.backs_off(slot) || self.contents.is_lost(block) {
            self.fail(key, Errno::IO);
        } else {
            // An older version is being destaged: this is tried again when that is done.
            self.requests.op_mut(key).resume_at(Stage::Through);
            self.destages.wait(slot, key);
            self.disk.want_all();
        }
    }

    /// Serves the client from the disk: the block is not cached and does not enter the cache.
    pub(super) fn bypass(&mut self, key: OpKey) {
        let op = self.requests.op(key);
        let (block, write, whole) = (op.block(), op.is_write(), !op.is_partial());
        self.requests.count_access(write, false);
        if write && whole {
            let mut buffer = self.port.buffer();
            self.requests.merge(key, &mut buffer);
            self.bypass_with(key, buffer);
        } else {
            self.port.read(Device::Disk, block.0, Completion::DiskRead(key));
        }
    }

    pub(super) fn bypass_with(&mut self, key: OpKey, buffer: D) {
        let op = self.requests.op_mut(key);
        op.keep(buffer);
        op.resume_at(Stage::Bypass);
        self.bypass_write(key);
    }

    /// Writes the data that the operation keeps to the disk, past the cache. That is allowed only
    /// when the block is not cached, and when a recovery after a crash would not find it on the SSD
    /// either. Otherwise older data could come back.
    pub(super) fn bypass_write(&mut self, key: OpKey) {
        let block = self.requests.op(key).block();
        if self.failure.has_ssd_failed() {
            match self.failure.may_bypass(block) {
                Permission::Granted => {}
                Permission::Pending => return self.failure.wait(key),
                Permission::Refused => return self.fail(key, Errno::IO),
            }
        } else {
            let number = self.durability.invalidation_of(block);
            let committed = number <= self.durability.committed();
            if !committed && !self.bugs.has(Bug::BypassBeforeGivenUp) {
                return self.durability.wait(number, key);
            }
        }
        // A band has loaded the block, and writing it back would undo this write.
        if self.destages.band_holds(block.0) {
            return self.destages.wait_for_band(key);
        }
        self.destages.band_touched(block.0..block.0 + 1, &mut self.port);
        let buffer = self.requests.op_mut(key).take_buffer();
        self.disk.write_submitted(block);
        self.port.write(Device::Disk, block.0, buffer, Completion::DiskWritten(key));
    }

    /// Handles the completed write of a client's block to the disk.
    pub(in crate::engine) fn disk_written(
        &mut self,
        key: OpKey,
        result: Result<(), Failed>,
        buffer: D,
    ) {
        self.port.give(buffer);
        self.due.mark(Part::Destages);
        let block = self.requests.op(key).block();
        let number = self.disk.write_done(block, result);
        if result.is_err() {
            self.failure.counts().disk_writes += 1;
            return self.fail(key, Errno::IO);
        }
        self.trims.mark_written(block);
        self.requests.count_bypassed();
        self.requests.mark_on_disk(key, number);
        self.finish(key);
    }

    /// Releases the slot of an operation whose data did not arrive: the block is not cached.
    pub(super) fn leave_cache(&mut self, key: OpKey) {
        let op = self.requests.op_mut(key);
        let (block, slot) = (op.block(), op.take_slot().expect("it has one"));
        self.contents.unpin(slot);
        let dropped = self.contents.drop_block(block, slot, &mut self.durability, self.now);
        debug_assert!(dropped || cfg!(feature = "bugs"), "the slot is in no other use");
    }
}
