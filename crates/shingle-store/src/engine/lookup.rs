//! An operation on one block begins: is it cached, does it enter, where does it go from here.

use std::ops::Range;

use shingle_core::cache::Outcome;
use shingle_core::policy::Access;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Slot};

use super::bugs::Bug;
use super::command::Errno;
use super::io::{Device, Kind, Then};
use super::{Engine, OpKey};
use crate::buffer::Buffer;
use crate::format::Frame;

/// A part of a command: one block, or a part of it.
pub(super) struct BlockOp {
    pub(super) command: usize,
    pub(super) block: Block,
    /// Within the command, from 0.
    place: u32,
    pub(super) write: bool,
    /// Bytes within the block.
    pub(super) part: Range<u16>,
    pub(super) slot: Option<Slot>,
    /// Whether the block was cached and dirty before this.
    pub(super) was_dirty: bool,
    /// The policy has been asked.
    pub(super) asked: bool,
    /// The client has its answer; what is left is the cache's affair.
    pub(super) answered: bool,
    /// Where the data goes, and its checksum.
    pub(super) frame: Option<Frame>,
    pub(super) crc: u32,
    /// Data that waits.
    pub(super) buffer: Option<Buffer>,
    pub(super) stage: Stage,
    pub(super) since: Nanos,
}

/// What an operation does when its turn comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// It begins.
    New,
    /// Its data goes to the disk as soon as the SSD says that it has none.
    Bypass,
    /// In a mode in which the disk gets everything: it waits until the block may be destaged.
    Through,
}

impl BlockOp {
    pub(super) fn new(
        command: usize,
        block: Block,
        place: u32,
        write: bool,
        part: Range<u16>,
        since: Nanos,
    ) -> BlockOp {
        BlockOp {
            command,
            block,
            place,
            write,
            part,
            slot: None,
            was_dirty: false,
            asked: false,
            answered: false,
            frame: None,
            crc: 0,
            buffer: None,
            stage: Stage::New,
            since,
        }
    }

    pub(super) fn partial(&self) -> bool {
        self.part.len() < BLOCK_BYTES as usize
    }
}

impl Engine {
    /// `op` has its lock: it begins, or goes on where it waited.
    pub(super) fn start(&mut self, op: OpKey) {
        match self.ops[op].stage {
            Stage::New => self.look_up(op),
            Stage::Bypass => self.bypass_write(op),
            Stage::Through => self.write_through(op),
        }
    }

    fn look_up(&mut self, key: OpKey) {
        let op = &self.ops[key];
        let (block, write, whole) = (op.block, op.write, !op.partial());
        if self.gone.is_some() {
            return self.look_up_without_ssd(key);
        }
        let cached = self.cache.lookup(block);
        if self.errors.is_lost(block) {
            if !(write && whole) {
                return self.fail(key, Errno::IO);
            }
            self.found_again(block);
        }
        let bypass = self.bypasses(key);
        if bypass && (cached.is_none() || write && self.bug(Bug::BypassOfCached)) {
            return self.bypass(key);
        }
        if cached.is_none() && write && !self.no_room.is_empty() {
            // Others have waited longer: the policy is asked when its turn comes.
            return self.no_room.push_back(key);
        }
        self.look_up_cached(key);
    }

    /// It is the cache's turn.
    pub(super) fn look_up_cached(&mut self, key: OpKey) {
        let (outcome, was_dirty) = self.ask(key);
        self.go_on(key, outcome, was_dirty);
    }

    /// Asks the policy for the first time, or again.
    fn ask(&mut self, key: OpKey) -> (Outcome, bool) {
        let mut access = self.access_of(key);
        let outcome = if std::mem::replace(&mut self.ops[key].asked, true) {
            self.cache.retry(&mut access, &mut self.plan)
        } else {
            self.hints.count();
            self.cache.access(&mut access, &mut self.plan)
        };
        (outcome, access.was_dirty)
    }

    /// Whether the cache is not even asked, if it does not have the block.
    fn bypasses(&self, key: OpKey) -> bool {
        let op = &self.ops[key];
        let unflushed = !op.write && self.disk.is_unflushed(op.block);
        self.mode.bypasses(op.write)
            || self.commands.of(op.command).sequential
            // It would be written down as clean, and the disk may yet lose it.
            || unflushed && !self.bug(Bug::FillFromUnflushed)
    }

    fn access_of(&self, key: OpKey) -> Access {
        let op = &self.ops[key];
        let running = self.commands.of(op.command);
        let kind = if op.write { Op::Write } else { Op::Read };
        let mut access = Access::whole(running.number, op.block, kind);
        access.request = running.request;
        access.place = op.place;
        access.partial = op.partial();
        access
    }

    fn go_on(&mut self, key: OpKey, outcome: Outcome, was_dirty: bool) {
        self.carry_out();
        let write = self.ops[key].write;
        self.errors.count_outcome(write, outcome);
        match outcome {
            Outcome::Hit(slot) => {
                self.pin(slot);
                self.remember_use(slot);
                (self.ops[key].slot, self.ops[key].was_dirty) = (Some(slot), was_dirty);
                self.hit(key, slot);
            }
            Outcome::Miss(slot) => {
                self.pin(slot);
                self.ops[key].slot = Some(slot);
                assert!(self.frames.held(slot).frame.is_none(), "a slot that was given up");
                self.miss(key);
            }
            Outcome::Bypass => self.bypass(key),
            // Reading needs no room.
            Outcome::NoRoom if !write => self.bypass(key),
            Outcome::NoRoom => self.no_room.push_front(key),
        }
    }

    fn hit(&mut self, key: OpKey, slot: Slot) {
        let op = &self.ops[key];
        if op.write && (!op.partial() || self.bug(Bug::PartialAsWhole)) {
            return self.write_new(key);
        }
        let Some(frame) = self.frames.held(slot).frame else {
            // Only overlapping operations, which a seeded bug allows, find a slot without data.
            return self.fail(key, Errno::IO);
        };
        self.read_page(Device::Ssd, self.journal.layout().frame_page(frame), Then::FrameRead(key));
    }

    fn miss(&mut self, key: OpKey) {
        let op = &self.ops[key];
        if op.write && (!op.partial() || self.bug(Bug::PartialAsWhole)) {
            self.write_new(key);
        } else {
            self.read_page(Device::Disk, op.block.0, Then::DiskRead(key));
        }
    }

    /// Those that wait for a slot try again, in order, unless as many slots as they need are on their way
    /// already: the policy would name more and more victims.
    pub(super) fn serve_those_without_room(&mut self) {
        while self.free_slots() > 0 || (self.destager.leaving() as usize) < self.no_room.len() {
            let Some(key) = self.no_room.pop_front() else { return };
            let (outcome, was_dirty) = self.ask(key);
            if outcome == Outcome::NoRoom {
                self.carry_out();
                return self.no_room.push_front(key);
            }
            self.go_on(key, outcome, was_dirty);
        }
    }

    /// A write that finds no room for long is told so: the disk takes nothing.
    pub(super) fn give_up_waiting_for_room(&mut self) {
        while let Some(&key) = self.no_room.front()
            && self.now.since(self.ops[key].since) > self.config.room_timeout
        {
            self.no_room.pop_front();
            self.fail(key, Errno::TIMED_OUT);
        }
    }

    pub(super) fn read_page(&mut self, device: Device, page: u64, then: Then) {
        let buffer = self.pool.take();
        self.ios.push(device, Kind::Read, page, buffer, then);
    }

    /// The client gets its answer for this block.
    pub(super) fn answer_block(&mut self, key: OpKey) {
        if !std::mem::replace(&mut self.ops[key].answered, true) {
            let command = self.ops[key].command;
            self.block_done(command);
        }
    }

    /// All is done for this block.
    pub(super) fn finish(&mut self, key: OpKey) {
        self.answer_block(key);
        let op = self.ops.remove(key);
        if let Some(buffer) = op.buffer {
            self.pool.give(buffer);
        }
        if let Some(slot) = op.slot {
            self.unpin(slot);
        }
        if let Some(next) = self.locks.release(op.block) {
            self.ready.push_back(next);
        }
    }

    /// The operation fails, and with it its command; what it had begun is undone elsewhere.
    pub(super) fn fail(&mut self, key: OpKey, errno: Errno) {
        let op = &self.ops[key];
        if !op.answered {
            self.commands.get(op.command).error = Some(errno);
        }
        self.finish(key);
    }

    /// Takes the slot from an operation whose data did not come: the block is not cached.
    pub(super) fn leave_cache(&mut self, key: OpKey) {
        let slot = self.ops[key].slot.take().expect("it has one");
        self.unpin(slot);
        let block = self.ops[key].block;
        let dropped = self.drop_slot(block, slot);
        debug_assert!(dropped || cfg!(feature = "bugs"), "nobody else uses the slot");
    }
}
