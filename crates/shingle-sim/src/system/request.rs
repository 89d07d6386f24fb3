//! The path of a request: block by block into the cache, and from there to the SSD or the disk.

use shingle_core::cache::Outcome;
use shingle_core::policy::Access;
use shingle_core::units::{Block, Nanos, Op, Request, Slot};
use shingle_drive::{Io, Stamp};

use super::System;
use crate::watch::Cause;

impl System {
    /// Serves a request and returns its arrival and completion.
    pub fn request(&mut self, request: &Request) -> (Nanos, Nanos) {
        let start = self.clock.begin(request.at);
        if self.hints.wants_requests() {
            self.tell_of_request(start);
        }
        self.disk.begin_request(request);
        match request.op {
            Op::Read | Op::Write => {
                self.blocks(request);
                self.serve_pooled();
            }
            Op::Trim => self.trim(request),
            Op::Flush => self.flush(),
        }
        self.notice_full_buffer();
        self.requests += 1;
        (start, self.clock.end())
    }

    fn blocks(&mut self, request: &Request) {
        match request.op {
            Op::Read => self.host.read_requests += 1,
            _ => self.host.write_requests += 1,
        }
        let mut access = Access {
            request: *request,
            number: self.requests,
            place: 0,
            block: request.first(),
            op: request.op,
            partial: false,
            was_dirty: false,
            next_use: Access::NEVER,
        };
        let whole = request.is_whole();
        for _ in 0..request.blocks() {
            access.partial = !whole && request.partial(access.block);
            access.next_use = self.hints.next_use(&self.host);
            self.access(&mut access);
            if self.rules.split {
                self.issue();
            }
            access.block = access.block.after(1);
            access.place += 1;
        }
        self.issue();
    }

    #[inline]
    fn access(&mut self, access: &mut Access) {
        self.begin_warm();
        let mut outcome = self.cache.access(access, &mut self.plan);
        if outcome == Outcome::NoRoom || !self.plan.is_empty() {
            outcome = self.make_room(access, outcome);
        }
        match access.op {
            Op::Read => {
                self.host.read_blocks += 1;
                match outcome {
                    Outcome::Hit(slot) => {
                        self.host.read_hits += 1;
                        self.read_slot(slot, access.block);
                    }
                    Outcome::Miss(slot) => self.miss(slot, access, false),
                    _ => self.bypass(access),
                }
            }
            _ => {
                self.host.write_blocks += 1;
                match outcome {
                    Outcome::Hit(slot) => {
                        self.host.write_hits += 1;
                        self.write_slot(slot, access.block);
                    }
                    Outcome::Miss(slot) if access.partial && self.rules.fill_partial => {
                        self.miss(slot, access, true)
                    }
                    Outcome::Miss(slot) => {
                        self.write_slot(slot, access.block);
                        self.notice_full_cache();
                    }
                    _ => self.bypass(access),
                }
            }
        }
    }

    #[inline]
    fn read_slot(&mut self, slot: Slot, block: Block) {
        if !self.ssd.pool(Op::Read) {
            self.read_slot_now(slot, block);
        }
    }

    fn read_slot_now(&mut self, slot: Slot, block: Block) {
        let mut stamp = [0];
        let stamped = self.stamped();
        let done = self.ssd.read(self.clock.ready(), slot, &mut stamp[..stamped]);
        if let Some(check) = &mut self.check {
            check.read(block, stamp[0]);
        }
        self.clock.waits_for(done);
    }

    /// Writes the host's data into `slot`.
    #[inline]
    fn write_slot(&mut self, slot: Slot, block: Block) {
        if !self.ssd.pool(Op::Write) {
            self.write_slot_now(slot, block);
        }
    }

    fn write_slot_now(&mut self, slot: Slot, block: Block) {
        let stamp = self.check.as_mut().map(|check| check.write(block));
        let done = self.store(slot, stamp);
        self.clock.waits_for(done);
    }

    #[inline]
    pub(super) fn store(&mut self, slot: Slot, stamp: Option<Stamp>) -> Nanos {
        let mut data = [stamp.unwrap_or(0)];
        let stamped = usize::from(stamp.is_some());
        self.ssd.write(self.clock.ready(), slot, &mut data[..stamped])
    }

    /// Serves the pooled SSD I/O of the current request.
    #[inline]
    pub(super) fn serve_pooled(&mut self) {
        let done = self.ssd.serve_pooled(self.clock.ready());
        self.clock.waits_for(done);
    }

    #[inline(never)]
    fn trim(&mut self, request: &Request) {
        self.host.trim_requests += 1;
        // Whole blocks only: the rest of a partly trimmed block is still needed.
        let (first, count) = request.whole_blocks();
        if count == 0 {
            return;
        }
        self.host.trimmed += self.cache.trim(first, count);
        if let Some(check) = &mut self.check {
            check.trim(first, count);
        }
        let io = Io { op: Op::Trim, block: first, count };
        let turn = self.disk.serve_for(Cause::Trim, self.clock.ready(), &io, &mut []);
        self.clock.waits_for(turn.done);
    }

    /// Flushes the volatile caches of both devices. Dirty blocks are safe on the SSD.
    #[inline(never)]
    fn flush(&mut self) {
        self.host.flush_requests += 1;
        let on_ssd = self.ssd.flush(self.clock.ready());
        self.clock.waits_for(on_ssd);
        let io = Io { op: Op::Flush, block: Block(0), count: 0 };
        let turn = self.disk.serve_for(Cause::Flush, self.clock.ready(), &io, &mut []);
        self.clock.waits_for(turn.done);
    }
}
