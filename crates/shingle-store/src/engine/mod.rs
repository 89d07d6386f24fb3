//! The engine: one state machine over one cache, one SSD and one disk.
//!
//! ```text
//!   submit(command) ─┐                                   ┌─► I/O on SSD or disk ─► done(io, result)
//!                    ├─► command ► locks ► lookup ─┬─ read, write ─┤
//!   tick(now) ───────┘                            └─ bypass       └─► reply
//!                       plan of the policy ► destage ► disk flush ┐
//!                       records ► commit (journal, SSD flush) ◄───┘
//! ```
//!
//! It has no clock and does no I/O: whoever owns it tells the time, carries out what [`Engine::take`]
//! gives, and reports. The same object runs over files and over simulated devices that lose power.
//!
//! What holds at all times (docs/durability.md tells users the same):
//! - a write is answered when its data is on the SSD and its record is given in; it is durable when
//!   the record is committed, which FLUSH and FUA wait for;
//! - the disk has a block for good when it was flushed after the block was written; only then is a
//!   record given in that says clean, or that the block left;
//! - the disk gets something newer than the SSD has only after the SSD says that it has nothing.

mod answer;
mod bugs;
mod bypass;
mod command;
mod commit;
mod destage;
mod destaged;
mod disk;
mod errors;
mod fill;
mod frames;
mod gone;
mod hints;
mod io;
mod locks;
mod lookup;
mod modes;
mod pace;
mod start;
mod stop;
mod streams;
mod swap;
mod trim;
mod write;

use std::collections::VecDeque;

use shingle_core::cache::CacheCore;
use shingle_core::plan::Plan;
use shingle_core::units::{Nanos, Slot};
use shingle_core::witness::{Event, Shared};
use slab::Slab;

pub use bugs::Bug;
pub use command::{Command, CommandOp, Errno, Reply};
pub use errors::Status;
pub use io::{Device, Failed, IO_PAGES_MAX, Io, IoId, Kind};
pub use modes::Mode;
pub use start::OpenError;

use crate::buffer::Pool;
use crate::journal::Journal;

/// How an engine behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// What writes and reads do.
    pub mode: Mode,
    /// Commands carried out at a time; as many more wait.
    pub depth: usize,
    /// Sequential runs of requests go round the cache from this length on; `None` if none do.
    pub sequential_bytes: Option<u64>,
    /// Slots kept free, so that a write need not wait for the disk; 0 leaves it to the policy.
    pub room_slots: u32,
    /// Without requests for so long the engine destages of its own accord.
    pub idle_after: Nanos,
    /// A block that the disk did not take is tried again after this.
    pub retry_after: Nanos,
    /// A write that finds no room for so long is answered with an error.
    pub room_timeout: Nanos,
    /// Records are committed at the latest after this, though nobody waits for them.
    pub commit_after: Nanos,
    /// A mistake to make; ignored but in test builds.
    pub bug: Option<Bug>,
}

impl Config {
    /// For a cache of so many slots.
    #[must_use]
    pub fn for_slots(slots: u64) -> Config {
        Config {
            mode: Mode::WriteBack,
            depth: 256,
            sequential_bytes: Some(4 << 20),
            room_slots: (slots / 128).min(4096) as u32,
            idle_after: Nanos::from_millis(200),
            retry_after: Nanos::from_millis(1_000),
            room_timeout: Nanos::from_millis(60_000),
            commit_after: Nanos::from_millis(1_000),
            bug: None,
        }
    }
}

/// An operation on one block: a part of a command.
type OpKey = usize;

/// The engine.
pub struct Engine {
    config: Config,
    mode: Mode,
    now: Nanos,
    disk_blocks: u64,
    cache: Box<dyn CacheCore>,
    plan: Plan,
    journal: Journal,
    pool: Pool,
    ios: io::Ios,
    replies: Vec<Reply>,
    commands: command::Commands,
    ops: Slab<lookup::BlockOp>,
    /// They have their lock and may begin, or go on.
    ready: VecDeque<OpKey>,
    locks: locks::Locks,
    /// They wait for a slot, in order.
    no_room: VecDeque<OpKey>,
    /// Likewise for a free frame.
    no_frame: VecDeque<OpKey>,
    frames: frames::Frames,
    hints: hints::Hints,
    streams: streams::Streams,
    destager: destage::Destager,
    disk: disk::Disk,
    commits: commit::Commits,
    stopping: stop::Stopping,
    errors: errors::Errors,
    /// The SSD has failed.
    gone: Option<gone::Gone>,
    witness: Option<Shared>,
}

/// What has to be done outside.
#[derive(Default)]
pub struct Effects {
    /// I/O to be carried out.
    pub ios: Vec<Io>,
    /// Answers to commands.
    pub replies: Vec<Reply>,
}

impl Engine {
    /// What is to be done outside since the last call. Call it after events: what follows from several
    /// at once is done once, and their I/O to neighbouring pages goes together.
    pub fn take(&mut self) -> Effects {
        self.pump();
        Effects { ios: self.ios.take_issued(), replies: std::mem::take(&mut self.replies) }
    }

    /// It is `now`. Called whenever time may have passed, at least every 100 ms.
    pub fn tick(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        self.end_of_sulking();
        self.give_up_waiting_for_room();
        self.use_idle_time();
        self.disk.want_first();
        self.pump();
    }

    /// `witness` is told of requests and I/O. Of what passes between engine and cache it is told by a
    /// cache that it watches itself ([`shingle_core::witness::Watched`]).
    pub fn watch(&mut self, witness: Shared) {
        self.witness = Some(witness);
    }

    fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(witness) = &self.witness {
            witness.see(&event());
        }
    }

    /// Does all that can be done now.
    fn pump(&mut self) {
        loop {
            while let Some(op) = self.ready.pop_front() {
                self.start(op);
            }
            self.serve_those_without_frame();
            self.serve_those_without_room();
            self.start_commands();
            if self.ready.is_empty() {
                break;
            }
        }
        self.keep_room();
        self.drain_some();
        self.feed_destages();
        self.answer_durable();
        self.maybe_flush_disk();
        self.maybe_commit();
        self.maybe_write_all_off();
        self.maybe_stop();
        self.ios.issue(self.now);
    }

    /// Slots that hold nothing.
    fn free_slots(&self) -> u32 {
        let slots = self.cache.slots();
        slots.capacity() - slots.dirty_blocks() - slots.clean_blocks()
    }

    /// Carries out the cache's plan: who was dropped is written down, who is dirty goes to the disk.
    fn carry_out(&mut self) {
        if self.plan.is_empty() {
            return;
        }
        let mut plan = std::mem::take(&mut self.plan);
        for dropped in plan.dropped() {
            debug_assert_eq!(self.frames.held(dropped.slot).block, dropped.block);
            self.give_up(dropped.slot);
        }
        for (group, manner) in plan.groups() {
            self.plan_destages(group, manner);
        }
        plan.clear();
        self.plan = plan;
    }

    /// I/O begins or ends on a slot that a policy must not name meanwhile.
    fn pin(&mut self, slot: Slot) {
        self.cache.pin(slot);
    }

    fn unpin(&mut self, slot: Slot) {
        self.cache.unpin(slot);
    }
}
