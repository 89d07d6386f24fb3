//! An operation on one block: is the block cached, does it enter, where does its data come from and
//! go to.

mod past;
mod written;

use shingle_core::cache::Outcome;
use shingle_core::service::Route;
use shingle_core::units::{Op, Slot};

use super::Engine;
use super::due::Part;
use super::failure::Damage;
use super::keys::{CommandKey, OpKey};
use super::port::{Completion, Device, Failed};
use super::requests::{Errno, Promise, Stage};
use super::trims::touched_by;
use crate::bugs::Bug;
use crate::data::Data;

impl<D: Data> Engine<D> {
    /// Begins waiting commands, and more blocks of commands already begun.
    pub(super) fn begin_commands(&mut self) {
        while !self.holds_commands()
            && let Some(begun) = self.requests.begin_next(self.now, &mut self.service)
        {
            match begun.request.op {
                Op::Trim => {
                    self.due.mark_all();
                    self.trim(&begun.request);
                }
                Op::Write => self.trims.written(touched_by(&begun.request)),
                Op::Read | Op::Flush => {}
            }
            if begun.is_done {
                self.all_blocks_done(begun.command);
            }
        }
        self.requests.begin_more_blocks(self.now);
    }

    /// Whether no command may begin now: for a short time while SSDs are exchanged.
    fn holds_commands(&self) -> bool {
        self.exchange.holds_commands() && !self.life.is_ending()
    }

    /// Runs an operation that holds the lock of its block: begins it, or resumes it at the stage
    /// where it waited.
    pub(super) fn start(&mut self, key: OpKey) {
        match self.requests.op(key).stage() {
            Stage::New => self.look_up(key),
            Stage::Bypass => self.bypass_write(key),
            Stage::Through => self.write_through(key),
        }
    }

    fn look_up(&mut self, key: OpKey) {
        let op = self.requests.op(key);
        let (block, write, whole) = (op.block(), op.is_write(), !op.is_partial());
        if self.failure.has_ssd_failed() {
            return self.look_up_without_ssd(key);
        }
        if self.contents.is_lost(block) {
            if !(write && whole) {
                return self.fail(key, Errno::IO);
            }
            self.contents.clear_lost(block);
        }
        match self.route(key) {
            Route::Cache if write && self.bugs.has(Bug::BypassOfCached) => {
                match self.route_uncached(key) {
                    Route::Bypass => self.bypass(key),
                    _ => self.look_up_cached(key),
                }
            }
            Route::Cache => self.look_up_cached(key),
            Route::Bypass => self.bypass(key),
            Route::Queue => {
                // An operation that waits for room may need a flush of the disk.
                self.due.mark(Part::Destages);
                self.requests.wait_for_room(key);
            }
        }
    }

    fn look_up_without_ssd(&mut self, key: OpKey) {
        let op = self.requests.op(key);
        let (block, write) = (op.block(), op.is_write());
        let slot = self.contents.lookup(block);
        let dirty = slot.is_some_and(|slot| self.contents.is_dirty(slot));
        if self.contents.is_lost(block) || dirty && write {
            return self.fail(key, Errno::IO);
        }
        if dirty {
            return self.look_up_cached(key);
        }
        // The disk has the current data of every block that is not dirty.
        self.bypass(key);
    }

    /// Decides where the operation goes. The lookup is skipped where it makes no difference.
    fn route(&self, key: OpKey) -> Route {
        let route = self.route_uncached(key);
        let cached = || self.contents.lookup(self.requests.op(key).block()).is_some();
        if route != Route::Cache && cached() { Route::Cache } else { route }
    }

    /// Decides where the operation goes if its block is not cached.
    fn route_uncached(&self, key: OpKey) -> Route {
        let op = self.requests.op(key);
        // A fill would be recorded as clean, and the disk may still lose what it has not flushed.
        let block = op.block();
        let unflushed =
            !op.is_write() && (self.disk.is_unflushed(block) || self.trims.is_unsettled(block));
        if unflushed && !self.bugs.has(Bug::FillFromUnflushed) {
            return Route::Bypass;
        }
        if self.service.ssd_budget_is_used(op.is_write(), self.now) {
            return Route::Bypass;
        }
        let others_wait = self.requests.waiting_for_room() > 0;
        self.service.route(op.is_write(), self.requests.is_sequential(key), others_wait)
    }

    /// Serves the operation from the cache.
    fn look_up_cached(&mut self, key: OpKey) {
        let (outcome, was_dirty) = self.access_cache(key);
        self.apply_outcome(key, outcome, was_dirty);
    }

    /// Calls the policy for the operation, for the first time or again.
    fn access_cache(&mut self, key: OpKey) -> (Outcome, bool) {
        let mut access = self.requests.access_of(key);
        let again = self.requests.op_mut(key).mark_asked();
        let outcome = self.contents.access(&mut access, again);
        (outcome, access.was_dirty)
    }

    fn apply_outcome(&mut self, key: OpKey, outcome: Outcome, was_dirty: bool) {
        // Before the slot is used: the block that held it is recorded as gone first.
        if !self.bugs.has(Bug::PlanCarriedOutLate) {
            self.carry_out();
        }
        let write = self.requests.op(key).is_write();
        match outcome {
            Outcome::Hit(slot) => {
                self.requests.count_access(write, true);
                self.contents.pin(slot);
                self.contents.touch(slot, &mut self.durability);
                self.requests.op_mut(key).enter(slot, was_dirty);
                self.hit(key, slot);
            }
            Outcome::Miss(slot) => {
                self.requests.count_access(write, false);
                self.contents.pin(slot);
                self.requests.op_mut(key).enter(slot, false);
                let mapping = self.contents.mapping(slot);
                assert!(mapping.frame.is_none(), "a slot that was unmapped");
                self.miss(key);
            }
            Outcome::Bypass => self.bypass(key),
            Outcome::NoRoom => match self.service.route_without_room(write) {
                Route::Bypass => self.bypass(key),
                Route::Cache | Route::Queue => {
                    self.due.mark(Part::Destages);
                    self.requests.wait_for_room_first(key);
                }
            },
        }
        if self.bugs.has(Bug::PlanCarriedOutLate) {
            self.carry_out();
        }
    }

    fn needs_no_old_data(&self, key: OpKey) -> bool {
        let op = self.requests.op(key);
        op.is_write() && (!op.is_partial() || self.bugs.has(Bug::PartialAsWhole))
    }

    fn hit(&mut self, key: OpKey, slot: Slot) {
        if self.needs_no_old_data(key) {
            return self.write_new(key);
        }
        let Some(frame) = self.contents.mapping(slot).frame else {
            // Only overlapping operations, which a seeded bug allows, find a slot without data.
            return self.fail(key, Errno::IO);
        };
        let page = self.durability.frame_page(frame);
        self.port.read(Device::Ssd, page, Completion::FrameRead(key));
    }

    fn miss(&mut self, key: OpKey) {
        if self.needs_no_old_data(key) {
            self.write_new(key);
        } else {
            let block = self.requests.op(key).block();
            self.port.read(Device::Disk, block.0, Completion::DiskRead(key));
        }
    }

    /// Whether the first operation that waits for a slot should try again.
    #[inline]
    pub(super) fn may_retry_waiting(&self) -> bool {
        let (free, leaving) = (self.contents.free_slots(), self.destages.leaving());
        self.service.may_retry_waiting(free, leaving, self.requests.waiting_for_room())
    }

    /// Retries the operations that wait for a slot, in order.
    pub(super) fn serve_room_queue(&mut self) {
        if self.requests.waiting_for_room() == 0 {
            return;
        }
        while self.may_retry_waiting() {
            let Some(key) = self.requests.next_for_room() else { return };
            let (outcome, was_dirty) = self.access_cache(key);
            if outcome == Outcome::NoRoom {
                self.carry_out();
                return self.requests.wait_for_room_first(key);
            }
            self.apply_outcome(key, outcome, was_dirty);
        }
    }

    /// Fails writes that have waited for room too long: the disk accepts nothing.
    pub(super) fn time_out_room_queue(&mut self) {
        while let Some(since) = self.requests.waits_for_room_since()
            && self.service.has_timed_out(since, self.now)
            && let Some(key) = self.requests.next_for_room()
        {
            self.fail(key, Errno::TIMED_OUT);
            self.due.mark_all();
        }
    }

    /// Gives frames that have become free to the operations that wait for one.
    pub(super) fn serve_frame_queue(&mut self) {
        if self.durability.has_failed() {
            // No frame will become free any more.
            while let Some(key) = self.requests.next_for_frame() {
                self.fall_back_to_disk(key);
            }
        }
        while self.requests.some_wait_for_frame()
            && let Some(frame) = self.durability.take_frame()
        {
            let key = self.requests.next_for_frame().expect("there is one");
            let buffer = self.requests.op_mut(key).take_buffer();
            self.write_frame(key, frame, buffer);
        }
    }

    /// Handles the completed read of a frame. Its checksum must match.
    pub(super) fn frame_read(&mut self, key: OpKey, result: Result<(), Failed>, buffer: D) {
        let op = self.requests.op(key);
        let (block, write) = (op.block(), op.is_write());
        let slot = op.slot().expect("a hit has one");
        let mapping = self.contents.mapping(slot);
        let fits = self.bugs.has(Bug::ReadWithoutChecksum) || buffer.crc() == mapping.crc;
        if result.is_err() || !fits {
            self.port.give(buffer);
            let damage = if result.is_err() { Damage::Unreadable } else { Damage::Checksum };
            return self.frame_damaged(key, slot, damage);
        }
        if write {
            return self.write_merged(key, buffer);
        }
        debug_assert_eq!(mapping.block, block);
        self.requests.deliver(key, &buffer);
        self.port.give(buffer);
        self.finish(key);
    }

    /// Handles a damaged frame: a clean block is read from the disk instead; a dirty one is lost
    /// until it is written again.
    fn frame_damaged(&mut self, key: OpKey, slot: Slot, damage: Damage) {
        self.due.mark_all();
        let op = self.requests.op(key);
        let (block, write) = (op.block(), op.is_write());
        // A write has already marked the slot dirty, but the frame still holds the older version.
        let dirty = if write { op.was_dirty() } else { self.contents.is_dirty(slot) };
        self.failure.count_damaged(damage);
        if dirty && !self.bugs.has(Bug::DirtyErrorReadsDisk) {
            self.contents.mark_lost(block, slot);
            return self.fail(key, Errno::IO);
        }
        if !write && !dirty {
            self.leave_cache(key);
        }
        self.port.read(Device::Disk, block.0, Completion::DiskRead(key));
    }

    /// Handles the completed read of a block from the disk: answers the client, and fills the block
    /// into its slot if it has one.
    pub(super) fn disk_read(&mut self, key: OpKey, result: Result<(), Failed>, buffer: D) {
        let op = self.requests.op(key);
        let (write, slot, block) = (op.is_write(), op.slot(), op.block());
        if result.is_err() {
            self.port.give(buffer);
            self.failure.counts().disk_reads += 1;
            match slot {
                // A hit whose frame is damaged, and the disk cannot be read either.
                Some(slot) if self.contents.mapping(slot).frame.is_some() => {
                    self.contents.mark_lost(block, slot);
                }
                Some(_) => self.leave_cache(key),
                None => {}
            }
            return self.fail(key, Errno::IO);
        }
        if write {
            return self.write_merged(key, buffer);
        }
        self.requests.deliver(key, &buffer);
        // The client does not wait for the fill. The lock of the block is held until the fill is
        // done.
        self.answer_block(key);
        let fills = !self.failure.has_ssd_failed() || self.bugs.has(Bug::FillOfFailed);
        match slot {
            // Only a seeded bug comes here with a slot that holds something.
            Some(slot) if self.contents.mapping(slot).frame.is_none() => match fills {
                true => self.fill(key, buffer),
                false => self.skip_fill(key, buffer),
            },
            _ => {
                self.port.give(buffer);
                self.finish(key);
            }
        }
    }

    /// Answers the client for this block.
    fn answer_block(&mut self, key: OpKey) {
        if let Some(command) = self.requests.answer_block(key) {
            self.all_blocks_done(command);
        }
    }

    /// Ends the operation on this block.
    pub(super) fn finish(&mut self, key: OpKey) {
        self.answer_block(key);
        let finished = self.requests.finish(key);
        if let Some(buffer) = finished.buffer {
            self.port.give(buffer);
        }
        if let Some(slot) = finished.slot {
            self.contents.unpin(slot);
        }
    }

    /// Fails the operation, and with it its command. Callers undo what the operation had begun.
    pub(super) fn fail(&mut self, key: OpKey, errno: Errno) {
        self.requests.set_error(key, errno);
        self.finish(key);
    }

    /// Answers a command, at once or when what it promises is durable.
    fn all_blocks_done(&mut self, key: CommandKey) {
        let disk = match self.requests.promise(key) {
            Promise::Nothing => return self.requests.answer(key, self.now),
            Promise::All if self.failure.is_content_unknown() => {
                return self.requests.answer_with(key, Errno::IO, self.now);
            }
            Promise::All => self.disk.wanted_by_clients(),
            Promise::Own(number) => self.disk.wanted_by_one(number),
        };
        self.due.mark_all();
        // If the SSD has failed, it was reported to clients that their writes may be lost.
        let early = self.failure.has_ssd_failed() || self.bugs.has(Bug::FlushBeforeCommit);
        let committed = if early { 0 } else { self.durability.added() };
        self.durability.want(committed);
        self.requests.wait_until_durable(key, committed, disk);
    }
}
