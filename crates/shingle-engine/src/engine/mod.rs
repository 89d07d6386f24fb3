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
//! Its rooms keep their fields to themselves:
//!
//! | room | has | gives back |
//! |---|---|---|
//! | `requests` | commands, operations on blocks, locks, queues, answers, who was told of losses | who is next, what a command promises |
//! | `contents` | the cache, its plan, what is where, hints, lost blocks | mappings, plans |
//! | `durability` | journal, table, records, commits, free frames | numbers of records, `Progress` |
//! | `destage` | what is on its way to the disk, pace, back-off | damage found, who was woken |
//! | `disk` | what the disk has got, and keeps | numbers of writes, what a flush kept or may have lost |
//! | `failure` | errors, an SSD that has failed | whether its blocks may be written |
//! | `life` | the end, and draining | the next step |
//! | `exchange`, `growth` | an SSD that leaves or enters, a disk that grows | whether commands may begin |
//! | `trims` | what nobody needs and the disk does not know | what to tell next |
//! | `port` | I/O and memory for it | completions |
//!
//! (In test builds each room also hashes what of it decides what comes next: its `state`.)
//!
//! A room calls only those below it: `destage` calls `contents`, `durability`, `failure` and `port`; `contents` gives
//! records to `durability`; `durability` and `failure` write through `port`. What concerns another
//! room is returned, and `impl Engine` carries it there: `front` (what the owner asks), `completions`, and the
//! ways through the rooms, `blocks`, `destaging`, `banding`, `committing`, `exchanging`, `growing` and `trimming`; `looks` says when going through
//! them is of no use.
//!
//! What holds at all times (docs/durability.md tells users the same):
//! - a write is answered when its data is on the SSD and its record is given in; it is durable when
//!   the record is committed, which FLUSH and FUA wait for;
//! - the disk has a block for good when it was flushed after the block was written; only then is a
//!   record given in that says clean, or that the block left;
//! - the disk gets something newer than the SSD has only after the SSD says that it has nothing.
//!
//! All that has to come before something else, and the mistake in `bugs.rs` that exchanges them:
//!
//! | first | then | exchanged by |
//! |---|---|---|
//! | data in its frame | its record | `RecordBeforeData` |
//! | the record of a write | its answer | `AnsweredBeforeRecord` |
//! | the record of a block's new frame | that of the one it supersedes | `SupersededBeforeNew` |
//! | who left a slot is unmapped | the slot is used again | `PlanCarriedOutLate` |
//! | pages of a commit written | the flush that covers them | `FlushBeforePages` |
//! | that flush done | records count as committed | `CommitWithoutFlush` |
//! | commit | FLUSH and FUA answered | `FlushBeforeCommit` |
//! | commit of a write | its destage written | `DestageBeforeCommit` |
//! | destage written and the disk flushed | the record that says clean | `CleanBeforeDiskFlush` |
//! | all of a band that is written whole acknowledged | the flush that makes any of it clean | `BandCleanByPart` |
//! | a block of such a band read again, if somebody wrote it | it written back | `BandTouchedForgotten` |
//! | a piece of such a band on the disk | somebody else's write to it | `BandUnheld` |
//! | commit of a block's leaving | a write past the cache | `BypassBeforeGivenUp` |
//! | commit of a block's leaving | a trim of the disk | `TrimBeforeGivenUp` |
//! | a block of a lost trim written anew | it may be cached | `TrustedBeforeWritten` |
//! | two commits after a frame was given up | its reuse | `FrameReusedAtOnce`, `FrameReusedAtCommit` |
//! | corrections of a crash committed | any frame written | `FramesUsedBeforeCorrections` |
//! | a fill in its frame | the next request on its block | `UnlockedBeforeFill` |
//! | a failed SSD invalidated | a write past it | `BypassBeforeInvalidation` |
//! | all that is dirty on the disk, the SSD invalidated | it is out | `TakenOutDirty`, `TakenOutUntold` |
//! | a command that uses a dirty block finished | a failed SSD is given up | `GivenUpInUse` |
//! | commands of before finished, none of them with a fill | another SSD is in | `PutInUnderWay`, `FillOfFailed` |
//! | the superblock with the new size of the disk | a command beyond the old one | `GrownBeforeSuperblock` |

mod banding;
mod blocks;
mod committing;
mod completions;
mod contents;
mod destage;
mod destaging;
mod disk;
mod durability;
mod exchange;
mod exchanging;
mod failure;
mod front;
mod growing;
mod growth;
mod keys;
mod life;
mod looks;
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
use looks::Part;

/// Blocks of a band that is written whole, at most: all of it is in memory then, 256 MiB.
pub const BAND_BLOCKS_MAX: u64 = destage::BAND_BLOCKS_MAX;

/// How an engine behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// What it decides beside the policy.
    pub rules: Rules,
    /// Commands carried out at a time; as many more wait.
    pub depth: usize,
    /// The disk is told what clients do not need any more ([`Kind::Trim`]).
    pub tells_trims: bool,
    /// Of a band that is written whole so many blocks are read, or written, at a time: no request waits for more.
    pub piece_blocks: usize,
    /// Records are committed at the latest after this, though nobody waits for them.
    pub commit_after: Nanos,
    /// A mistake to make; ignored but in test builds.
    pub bug: Option<Bug>,
}

impl Config {
    /// For a cache of so many slots in this mode.
    #[must_use]
    pub fn in_mode(mode: Mode, slots: u64) -> Config {
        let rules = Rules { mode, ..Rules::for_slots(slots) };
        Config { rules, ..Config::for_slots(slots) }
    }

    /// For a write-back cache of so many slots.
    #[must_use]
    pub fn for_slots(slots: u64) -> Config {
        Config {
            rules: Rules::for_slots(slots),
            depth: 256,
            tells_trims: false,
            piece_blocks: IO_PAGES_MAX,
            commit_after: Nanos::from_millis(1_000),
            bug: None,
        }
    }
}

/// The engine: its rooms, and the time.
#[derive(Clone)]
pub struct Engine<D: Data = Buffer> {
    now: Nanos,
    /// What is decided beside the policy.
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
    growth: growth::Growth,
    trims: trims::Trims,
    observer: Option<Shared>,
    /// Pages written to SSDs since the start.
    ssd_written_pages: u64,
    looks: looks::Looks,
    bugs: Seeded,
}

/// What has to be done outside.
pub struct Effects<D: Data = Buffer> {
    /// I/O to be carried out.
    pub ios: Vec<Io<D>>,
    /// Answers to commands.
    pub replies: Vec<Reply<D>>,
}

impl<D: Data> Default for Effects<D> {
    fn default() -> Effects<D> {
        Effects { ios: Vec::new(), replies: Vec::new() }
    }
}

impl<D: Data> Engine<D> {
    /// What is to be done outside since the last call. Call it after events: what follows from several
    /// at once is done once, and their I/O to neighbouring pages goes together.
    pub fn take(&mut self) -> Effects<D> {
        let mut effects = Effects::default();
        self.take_into(&mut effects);
        effects
    }

    /// As [`Engine::take`], behind what is in `effects`: an owner that empties the same lists again and again needs
    /// no new memory.
    pub fn take_into(&mut self, effects: &mut Effects<D>) {
        self.look();
        self.port.take_issued(&mut effects.ios);
        self.requests.take_replies(&mut effects.replies);
    }

    /// It is `now`. Called whenever time may have passed, at least every 100 ms.
    pub fn tick(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        if self.destages.end_back_offs(&mut self.contents, self.now) {
            self.looks.again();
        }
        self.give_up_waiting_for_room();
        self.use_idle_time();
        if self.destages.may_try(self.now) && self.disk.want_first_flush() {
            self.looks.again();
        }
        if self.is_time() {
            self.looks.again();
        }
        self.trims.look_again();
        if self.trims.may_go_on() {
            self.looks.again();
        }
        self.look();
    }

    fn trace(&self, event: impl FnOnce() -> Event) {
        if let Some(observer) = &self.observer {
            observer.event(&event());
        }
    }

    /// Does all that can be done now.
    ///
    /// No promise rests on the order of these steps. What each may do depends on what is committed and what the
    /// disk has flushed, and no I/O completes within a call; what a step leaves to one that had its turn
    /// is done by the next call, after 100 ms at the latest. So an exchange costs time and fairness, and
    /// nothing else: the crash tests also run an engine that takes the nine steps at the end backwards
    /// (`Bug::StepsReversed`), and must find nothing. What does have to come before something else is in the
    /// head of this module.
    fn pump(&mut self) {
        self.looks.again();
        self.take_steps();
    }

    /// Likewise, where something can be found only by what was looked for ([`looks`]).
    fn take_steps(&mut self) {
        if self.looks.has(Part::Requests) {
            self.begin_operations();
        }
        type Step<D> = (Part, fn(&mut Engine<D>));
        let steps: [Step<D>; 12] = [
            // Plans first, so that what they name is read in this call.
            (Part::Requests, Engine::keep_room),
            (Part::Rest, Engine::drain_some),
            // What leaves by it is said by the commit of this call.
            (Part::Rest, Engine::tell_trims),
            // Before the flush and the commit: it says which records it waits for, and whether more is to come
            // for the flush to cover.
            (Part::Destages, Engine::feed_destages),
            // Nothing after it makes anything durable in this call: that takes I/O.
            (Part::Destages, Engine::answer_durable),
            // The disk before the SSD: both flushes are under way together.
            (Part::Destages, Engine::flush_disk_if_due),
            (Part::Commit, Engine::commit_if_due),
            // When all else that can be done is begun: whether nothing is left.
            (Part::Rest, Engine::invalidate_all_if_due),
            (Part::Rest, Engine::grow_if_durable),
            (Part::Rest, Engine::exchange_if_due),
            (Part::Rest, Engine::stop_if_done),
            // Last, so that pages that several steps have queued leave as one I/O, and now.
            (Part::Issue, Engine::issue),
        ];
        let reversed = self.bugs.has(Bug::StepsReversed);
        let take = |&(part, step): &Step<D>| {
            if self.looks.has(part) {
                step(self);
            }
        };
        match reversed {
            false => steps.iter().for_each(take),
            true => steps.iter().rev().for_each(take),
        }
        self.looked();
    }

    /// Operations, until none can go on. Who has waited longest is first: frames and slots that became free
    /// would go to new requests otherwise, and those that wait might do so for ever.
    fn begin_operations(&mut self) {
        loop {
            while let Some(op) = self.requests.next_ready() {
                self.start(op);
            }
            self.serve_those_without_frame();
            self.serve_those_without_room();
            // Last, as it makes others ready: they begin in the next round, behind those from before.
            self.begin_commands();
            if !self.requests.has_ready() {
                break;
            }
        }
        self.look_at_commit();
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
