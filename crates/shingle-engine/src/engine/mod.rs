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
//! The engine has no clock and does no I/O. Its owner sets the time, carries out the I/O that
//! [`Engine::take_effects`] returns, and reports completions. The same object runs over files, and over
//! simulated devices that lose power.
//!
//! The fields of each module are private to it:
//!
//! | module | has | returns |
//! |---|---|---|
//! | `requests` | commands, operations on blocks, locks, queues, replies, which connections know of losses | the next operation, what a reply promises |
//! | `contents` | the cache, its plan, mappings, hints, lost blocks | mappings, plans |
//! | `durability` | journal, table, records, commits, free frames | numbers of records, `Progress` |
//! | `destage` | destages in progress, pace, back-off | damaged frames, requests to resume |
//! | `disk` | what the disk has taken, and what is durable | numbers of writes, what a flush made durable or may have lost |
//! | `failure` | errors, an SSD that has failed | whether its blocks may be written |
//! | `life` | the end, and draining | the next step |
//! | `exchange` | an SSD that leaves or enters | whether commands may begin |
//! | `trims` | trims that the disk has not got yet | the next piece to trim |
//! | `port` | I/O and memory for it | completions |
//!
//! In test builds each module also hashes the part of its state that decides what comes next.
//!
//! A module calls only those below it: `destage` calls `contents`, `durability`, `failure` and
//! `port`; `contents` gives records to `durability`; `durability` and `failure` write through
//! `port`. Results that concern another module are returned, and `impl Engine` passes them on: in
//! `front` (the interface for the owner), `completions`, and the paths through the modules,
//! `blocks`, `destaging`, `banding`, `committing`, `exchanging`, `growing` and `trimming`. `looks`
//! decides which steps are due.
//!
//! Everything that has to come before something else, and the bug in `bugs.rs` that reverses the
//! order:
//!
//! | first | then | exchanged by |
//! |---|---|---|
//! | data in its frame | its record | `RecordBeforeData` |
//! | the record of a write | its answer | `AnsweredBeforeRecord` |
//! | the record of a block's new frame | that of the one it supersedes | `SupersededBeforeNew` |
//! | the old block of a slot is unmapped | the slot is reused | `PlanCarriedOutLate` |
//! | pages of a commit written | the flush that covers them | `FlushBeforePages` |
//! | that flush done | records count as committed | `CommitWithoutFlush` |
//! | commit | FLUSH and FUA answered | `FlushBeforeCommit` |
//! | commit of a write | its destage written | `DestageBeforeCommit` |
//! | destage written and the disk flushed | the record that says clean | `CleanBeforeDiskFlush` |
//! | all of a band that is written whole acknowledged | the flush that makes any of it clean | `BandCleanByPart` |
//! | a block of such a band read again, if it was written meanwhile | the block written back | `BandTouchedForgotten` |
//! | a piece of such a band on the disk | another write to it | `BandUnheld` |
//! | commit of a block's eviction | a write past the cache | `BypassBeforeGivenUp` |
//! | commit of a block's eviction | a trim of the disk | `TrimBeforeGivenUp` |
//! | a block of a lost trim written again | the block may be cached | `TrustedBeforeWritten` |
//! | two commits after a frame was given up | its reuse | `FrameReusedAtOnce`, `FrameReusedAtCommit` |
//! | corrections of a crash committed | any frame written | `FramesUsedBeforeCorrections` |
//! | a fill in its frame | the next request on its block | `UnlockedBeforeFill` |
//! | a failed SSD invalidated | a write past it | `BypassBeforeInvalidation` |
//! | all dirty blocks on the disk, the SSD invalidated | the SSD is out | `TakenOutDirty`, `TakenOutUntold` |
//! | a command that uses a dirty block finished | a failed SSD is given up | `GivenUpInUse` |
//! | earlier commands finished, none with a fill | another SSD is in | `PutInUnderWay`, `FillOfFailed` |
//! | the superblock with the new size of the disk | a command beyond the old one | `GrownBeforeSuperblock` |

mod banding;
mod blocks;
mod committing;
mod completions;
mod contents;
mod destage;
mod destaging;
mod disk;
mod due;
mod durability;
mod exchange;
mod exchanging;
mod failure;
mod front;
mod growing;
mod keys;
mod life;
mod open_error;
mod port;
mod requests;
mod ssd_state;
#[cfg(feature = "bugs")]
mod state;
mod status;
mod trimming;
mod trims;

use shingle_core::observer::{Event, Shared};
use shingle_core::service::{Mode, Rules, Service};
use shingle_core::units::Nanos;

pub use exchange::NewSsd;
pub use open_error::OpenError;
pub use port::{Device, Failed, IO_PAGES_MAX, Io, IoId, Kind};
pub use requests::{Command, CommandOp, Connection, Errno, Reply};
pub use ssd_state::SsdState;
pub use status::{BandCounts, Counts, DirtyAges, ErrorCounts, JournalStatus, Status};

use crate::buffer::Buffer;
use crate::bugs::{Bug, Seeded};
use crate::data::Data;
use due::Part;

/// The longest band that is written whole, in blocks: all of it is in memory then, 256 MiB.
pub const BAND_BLOCKS_MAX: u64 = destage::BAND_BLOCKS_MAX;

/// The configuration of an engine.
#[derive(Clone, Debug)]
pub struct Config {
    /// What is decided besides the policy.
    pub rules: Rules,
    /// The number of commands in progress at a time; as many more wait.
    pub depth: usize,
    /// Whether trims of clients are passed on to the disk ([`Kind::Trim`]).
    pub trim_passdown: bool,
    /// A band that is written whole is read, and written, in pieces of this many blocks: no request
    /// waits for more.
    pub piece_blocks: usize,
    /// Records are committed at the latest after this time, even if nothing waits for them.
    pub commit_after: Nanos,
    /// A seeded bug; ignored except in test builds.
    pub bug: Option<Bug>,
}

impl Config {
    /// The configuration for a cache of `slots` slots in this mode.
    #[must_use]
    pub fn new(mode: Mode, slots: u64) -> Config {
        let rules = Rules { mode, ..Rules::for_slots(slots) };
        Config { rules, ..Config::for_slots(slots) }
    }

    /// The configuration for a write-back cache of `slots` slots.
    #[must_use]
    pub fn for_slots(slots: u64) -> Config {
        Config {
            rules: Rules::for_slots(slots),
            depth: 256,
            trim_passdown: false,
            piece_blocks: IO_PAGES_MAX,
            commit_after: Nanos::from_millis(1_000),
            bug: None,
        }
    }
}

/// The engine: its modules, and the time.
#[derive(Clone)]
pub struct Engine<D: Data = Buffer> {
    now: Nanos,
    /// What is decided besides the policy.
    service: Service,
    port: port::Port<D>,
    requests: requests::Requests<D>,
    contents: contents::Contents,
    durability: durability::Durability,
    destages: destage::Destages<D>,
    disk: disk::Disk,
    failure: failure::Failure,
    life: life::Life,
    drain: life::Drain,
    exchange: exchange::Exchange,
    /// The new size in blocks of a disk that grows, until the SSD has recorded it.
    grows_to: Option<u64>,
    trims: trims::Trims,
    observer: Option<Shared>,
    /// Pages written to SSDs since the start.
    ssd_written_pages: u64,
    due: due::DueSteps,
    bugs: Seeded,
}

/// What the owner has to carry out.
pub struct Effects<D: Data = Buffer> {
    /// I/O to carry out.
    pub ios: Vec<Io<D>>,
    /// Replies to commands.
    pub replies: Vec<Reply<D>>,
}

impl<D: Data> Default for Effects<D> {
    fn default() -> Effects<D> {
        Effects { ios: Vec::new(), replies: Vec::new() }
    }
}

impl<D: Data> Engine<D> {
    /// Returns what the owner has to carry out since the last call. Call it after events: the
    /// consequences of several events are handled once, and their I/O to neighbouring pages is
    /// joined.
    pub fn take_effects(&mut self) -> Effects<D> {
        let mut effects = Effects::default();
        self.take_effects_into(&mut effects);
        effects
    }

    /// As [`Engine::take_effects`], but appends to `effects`: an owner that reuses the lists needs no new
    /// memory.
    pub fn take_effects_into(&mut self, effects: &mut Effects<D>) {
        self.run_due();
        self.port.take_issued(&mut effects.ios);
        self.requests.take_replies(&mut effects.replies);
    }

    /// Sets the time to `now`. Call it whenever time may have passed, at least every 100 ms.
    pub fn tick(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        if self.destages.end_back_offs(&mut self.contents, self.now) {
            self.due.mark_all();
        }
        self.time_out_room_queue();
        self.use_idle_time();
        if self.destages.may_try(self.now) && self.disk.want_first_flush() {
            self.due.mark_all();
        }
        if self.is_time() {
            self.due.mark_all();
        }
        self.trims.begin_pass();
        if self.trims.may_continue() {
            self.due.mark_all();
        }
        self.run_due();
    }

    fn trace(&self, event: impl FnOnce() -> Event) {
        if let Some(observer) = &self.observer {
            observer.event(&event());
        }
    }

    /// Does everything that can be done now.
    ///
    /// Correctness does not depend on the order of these steps. What each may do depends on what is
    /// committed and what the disk has flushed, and no I/O completes within a call. What a step
    /// leaves to an earlier one is done by the next call, after 100 ms at the latest. So another
    /// order costs time and fairness, and nothing else. The crash tests also run an engine that
    /// takes the steps in reverse order (`Bug::StepsReversed`), and must find nothing. The head of
    /// this module lists what does have to come first.
    fn pump(&mut self) {
        self.due.mark_all();
        self.run_steps();
    }

    /// Runs the steps that are due ([`due`]).
    fn run_steps(&mut self) {
        if self.due.has(Part::Requests) {
            self.begin_operations();
        }
        type Step<D> = (Part, fn(&mut Engine<D>));
        let steps: [Step<D>; 12] = [
            // Plans first, so that the blocks they name are read in this call.
            (Part::Requests, Engine::make_room),
            (Part::Rest, Engine::drain_some),
            // Blocks that leave by it are recorded by the commit of this call.
            (Part::Rest, Engine::run_trims),
            // Before the flush and the commit: it decides which records are waited for, and whether
            // more is to come for the flush to cover.
            (Part::Destages, Engine::feed_destages),
            // No later step makes anything durable in this call: that takes I/O.
            (Part::Destages, Engine::answer_durable),
            // The disk before the SSD: both flushes are in flight together.
            (Part::Destages, Engine::flush_disk_if_due),
            (Part::Commit, Engine::commit_if_due),
            // When all other work is submitted: these check whether nothing is left.
            (Part::Rest, Engine::invalidate_all_if_due),
            (Part::Rest, Engine::grow_if_durable),
            (Part::Rest, Engine::exchange_if_due),
            (Part::Rest, Engine::stop_if_done),
            // Last, so that pages that several steps have queued become one I/O, in this call.
            (Part::Issue, Engine::issue),
        ];
        let reversed = self.bugs.has(Bug::StepsReversed);
        let take = |&(part, step): &Step<D>| {
            if self.due.has(part) {
                step(self);
            }
        };
        match reversed {
            false => steps.iter().for_each(take),
            true => steps.iter().rev().for_each(take),
        }
        self.end_pass();
    }

    /// Runs operations until none can continue. Those that have waited longest come first:
    /// otherwise new requests would take all frames and slots that become free, and waiting ones
    /// might starve.
    fn begin_operations(&mut self) {
        loop {
            while let Some(op) = self.requests.next_ready() {
                self.start(op);
            }
            self.serve_frame_queue();
            self.serve_room_queue();
            // Last, as it makes other operations ready: they begin in the next round, behind the
            // earlier ones.
            self.begin_commands();
            if !self.requests.has_ready() {
                break;
            }
        }
        self.mark_commit();
    }

    fn answer_durable(&mut self) {
        let (committed, flushed) = (self.durability.committed(), self.disk.flushed());
        self.requests.answer_durable(committed, flushed, self.now);
    }

    fn issue(&mut self) {
        let pages = self.port.take_ssd_written();
        if pages > 0 {
            self.service.writes_ssd(pages, self.now);
            self.ssd_written_pages += pages;
        }
        self.port.issue(self.now);
    }
}
