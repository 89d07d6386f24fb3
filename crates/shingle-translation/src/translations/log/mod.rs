//! A log: all writes are appended to an open zone, a map has the place of each block, and zones are
//! cleaned to make room (Rosenblum and Ousterhout, *The Design and Implementation of a
//! Log-Structured File System*, SOSP 1991, §3). SMRSTORE (FAST 2023) over host-managed disks, and
//! CSAL (SPDK's FTL) over large flash, work so. The buffer is not used: there the metadata would
//! be.
//!
//! - Blocks go to one of a few open zones, by their group (`group.rs`). Sequential writes of the
//!   host are stored in sequence, and written once.
//! - Cleaning chooses a full zone (`victim.rs`) and appends its live blocks elsewhere, a batch at a
//!   time (`clean.rs`). Once the map is durable the zone may be reset (`zones.rs`).
//! - It keeps pace with the host. As long as more than `garbage` of full zones is garbage, a zone's
//!   worth at least, or `reserve` zones or fewer are free, each write is followed by moving as many
//!   blocks as are needed to free the room that it took; the victim determines how many these are.
//!   No write cleans a whole zone, unless only one zone is free. Idle time cleans, a batch at a
//!   time, down to `idle`.
//! - The last free zone is reserved for cleaning, which can then always continue. If there are not
//!   enough zones, groups share them.
//!
//! The map, and the table of the blocks that zones hold, take eight bytes each for a run of blocks
//! that lie together, and five for a block where runs are short (`paged.rs`). So does the time of a
//! write, where that matters (`cost-benefit`, `sepbit`). What grows with the disk is 112 bytes a zone
//! and three bytes a MiB at most.

mod clean;
mod group;
mod open;
mod packed;
mod paged;
mod settings;
mod victim;
mod zones;

use self::clean::{BATCH, Cleaner};
use self::group::Grouping;
use self::paged::Paged;
use self::settings::Limits;
use self::victim::Victim;
use self::zones::{Dies, Zones};
use crate::parts::join;
use crate::translation::{BufferState, Counters, Piece, Place, Queue, Step, Translation, Work};
use shingle_core::units::{Block, Zone};

const GROUPS_MAX: usize = 6;

#[derive(Clone, Debug)]
pub(crate) struct Log {
    /// Blocks that the host may address.
    blocks: u64,
    /// The place of each block, counted from the start of the sequential zones.
    map: Paged,
    zones: Zones,
    open: [Option<u32>; GROUPS_MAX],
    groups: u8,
    grouping: Grouping,
    victim: Victim,
    limits: Limits,
    /// Blocks that the host has written.
    now: u64,
    work: Work,
    /// Blocks that the work in progress has written.
    written: u64,
    /// Blocks still to be moved for those written; negative if more were moved.
    owed: i64,
    /// Steps that come before the next append: a commit, a reset.
    before: [Option<Step>; 2],
    cleaner: Cleaner,
    /// Whether it was opened without a free zone: the host's writes wait until there is one.
    cleans_first: bool,
    counters: Counters,
}

impl Log {
    /// Returns the open zone for blocks of `group`. Returns `None` if steps come first, or, for the
    /// host's writes, if a zone must be cleaned first.
    fn zone_for(&mut self, group: u8, hosts: bool) -> Option<u32> {
        let group = group.min(self.groups - 1);
        if let Some(zone) = self.open[usize::from(group)] {
            return Some(zone);
        }
        let free = self.zones.free();
        if hosts && free < 2 {
            return None;
        }
        if free == 0 {
            let zone = self.open.iter().flatten().next_back();
            return Some(*zone.expect("cleaning has room for a zone"));
        }
        let opened = self.zones.open(group, self.now);
        let zone = opened.zone;
        self.open[usize::from(group)] = Some(zone);
        self.before = [
            opened.commit.then_some(Step::Commit),
            opened.reset.then_some(Step::Reset { zone: Zone(zone) }),
        ];
        if self.before == [None; 2] { Some(zone) } else { None }
    }

    /// Checks whether `zone` is full after an append.
    fn fill(&mut self, zone: u32) {
        let (full, dead) = self.zones.fill(zone);
        if full {
            self.open.iter_mut().filter(|open| **open == Some(zone)).for_each(|open| *open = None);
        }
        if dead {
            self.died(zone, self.now);
        }
    }

    /// Handles that `zone` has no live blocks any more: if it was being cleaned, that is done.
    fn died(&mut self, zone: u32, now: u64) {
        if self.cleaner.victim() == Some(zone) {
            self.cleaner.end();
            self.counters.cleanings += 1;
        } else {
            let age = now - self.zones.opened(zone);
            self.grouping.ended(self.zones.group(zone), age);
        }
    }

    /// Marks the newest copies of blocks, if they have one, as garbage.
    #[inline]
    fn kill(&mut self, block: u64, count: u64, how: Dies) {
        let mut done = 0;
        while done < count {
            let (place, run) = self.map.run(block + done, count - done);
            let copies = place.map(|place| self.zones.parts(place, run));
            for (ahead, place, part) in copies.into_iter().flatten() {
                if let Some(zone) = self.zones.kill(place, part, self.now, done + ahead, how) {
                    self.died(zone, how.time(self.now, done + ahead + part - 1));
                }
            }
            done += run;
        }
    }

    /// Returns the group of a block that the host writes as the `ahead`th of those to come, and how
    /// many of `most` blocks from there on are of it, at least. Blocks that were written one after
    /// the other, and now are again, are of one age.
    fn group_of(&self, block: u64, ahead: u64, most: u64) -> (u8, u64) {
        if !self.grouping.asks_times() {
            return (self.grouping.written(None), most);
        }
        let (place, count) = self.map.run(block, most);
        let Some(place) = place else { return (self.grouping.written(None), count) };
        let (time, count) = self.zones.times(place, count);
        let age = self.now + ahead - time.unwrap_or(0);
        (self.grouping.written(Some(age)), if time.is_some() { count } else { 1 })
    }

    /// Appends as many of the host's next blocks as belong together and fit.
    fn write(&mut self, block: Block, count: u64) -> Option<Step> {
        let (group, mut alike) = self.group_of(block.0, 0, count);
        let zone = self.zone_for(group, true)?;
        let most = count.min(self.zones.room(zone));
        while alike < most {
            let (other, next) = self.group_of(block.0 + alike, alike, most - alike);
            if other != group {
                break;
            }
            alike += next;
        }
        let count = alike.min(most);
        self.kill(block.0, count, Dies::Overwritten);
        let place = self.zones.append(zone, block.0, count, Some(self.now));
        self.map.set(block.0, count, place);
        self.now += count;
        self.fill(zone);
        self.written += count;
        self.counters.written_blocks += count;
        if let Work::Write { block, count: left } = self.work {
            self.work = Work::Write { block: block.after(count), count: left - count };
        }
        Some(Step::Append { zone: Zone(zone), block, count })
    }

    /// Returns the next step that moves the current batch.
    fn move_on(&mut self) -> Option<Step> {
        if let Some(step) = self.cleaner.read() {
            return Some(step);
        }
        let (first, count) = self.cleaner.next()?;
        let Some(zone) = self.zone_for(first.group, false) else { return self.step_before() };
        let count = count.min(self.zones.room(zone));
        let mut left = count;
        while left > 0 {
            let next = self.cleaner.upcoming();
            let (time, count) = self.zones.times(next.place, left);
            self.kill(next.block, count, Dies::Moved);
            let place = self.zones.append(zone, next.block, count, time);
            self.map.set(next.block, count, place);
            self.cleaner.appended(count);
            left -= count;
        }
        self.fill(zone);
        self.counters.moved_blocks += count;
        // Moves in idle time earn no credit.
        self.owed = (self.owed - count as i64).max(-(BATCH as i64));
        Some(Step::Append { zone: Zone(zone), block: Block(first.block), count })
    }

    /// Returns the step that comes before the next append.
    fn step_before(&mut self) -> Option<Step> {
        self.before.iter_mut().find_map(Option::take)
    }

    /// Returns whether writes have to clean.
    fn pays(&self) -> bool {
        self.zones.reclaimable()
            && (self.zones.free() <= self.limits.reserve
                || self.zones.garbage_above(self.limits.garbage))
    }

    /// Returns whether a zone is free, or the rest of a victim fits into open ones.
    fn has_room_to_clean(&self) -> bool {
        let victim = self.cleaner.victim();
        let victim = victim.or_else(|| self.zones.victim(Victim::Greedy, self.now));
        let room = self.open.iter().flatten().map(|&zone| self.zones.room(zone)).sum();
        self.zones.free() > 0 || victim.is_some_and(|zone| self.zones.live(zone) <= room)
    }

    /// Chooses a victim, if there is none yet. Returns whether there is one.
    fn choose(&mut self) -> bool {
        if self.cleaner.victim().is_none()
            && let Some(zone) = self.zones.victim(self.victim, self.now)
        {
            self.cleaner.begin(zone, &self.zones);
            self.grouping.ended(self.zones.group(zone), self.now - self.zones.opened(zone));
        }
        self.cleaner.victim().is_some()
    }

    /// Begins the next batch, if there is something to clean. Returns its first step.
    fn clean(&mut self) -> Option<Step> {
        if !self.choose() {
            return None;
        }
        let Log { cleaner, zones, grouping, now, .. } = self;
        let from = zones.group(cleaner.victim()?);
        cleaner.gather(zones, |time| grouping.moved(from, *now - time.unwrap_or(0)));
        self.move_on()
    }

    /// Returns the next step of the moves that the host's writes require.
    fn pay(&mut self) -> Option<Step> {
        let written = std::mem::take(&mut self.written);
        if !self.pays() {
            self.owed = self.owed.min(0);
            return None;
        }
        if written > 0 && self.choose() {
            self.owed += self.cleaner.due(written, &self.zones) as i64;
        }
        if self.owed > 0 { self.clean() } else { None }
    }
}

impl Translation for Log {
    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn locate(&mut self, block: Block, count: u64, out: &mut Vec<Piece>) {
        let runs = self.map.runs(block.0, block.0 + count);
        let piece = |place: Option<u64>, count| Piece {
            place: place.map_or(Place::Nowhere, Place::Native),
            count,
        };
        join(runs.map(|(_, place, count)| piece(place, count)), out);
    }

    fn begin(&mut self, work: Work) {
        (self.work, self.written) = (work, 0);
        if let Work::Trim { block, count } = work {
            self.kill(block.0, count, Dies::Trimmed);
            self.map.clear(block.0, count);
        }
    }

    fn next(&mut self, _: &dyn Queue) -> Option<Step> {
        if let Some(step) = self.step_before().or_else(|| self.move_on()) {
            return Some(step);
        }
        match self.work {
            Work::Write { count: 0, .. } => self.pay(),
            Work::Write { block, count } => {
                if self.cleans_first && self.zones.free() > 0 {
                    self.cleans_first = false;
                }
                let step = if self.cleans_first { None } else { self.write(block, count) };
                let step = step.or_else(|| self.step_before());
                Some(step.unwrap_or_else(|| self.clean().expect("more zones than are kept full")))
            }
            Work::Idle if self.wants_idle() => {
                self.work = Work::Drain; // no more than this batch
                self.clean()
            }
            Work::Idle | Work::Drain | Work::Trim { .. } => None,
        }
    }

    fn wants_idle(&self) -> bool {
        self.zones.reclaimable()
            && self.limits.idle < 1000
            && (self.zones.free() <= self.limits.reserve
                || self.zones.garbage_above(self.limits.idle))
    }

    fn open_zones(&self) -> u32 {
        self.groups.into()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn buffer_state(&self) -> BufferState {
        BufferState::default()
    }

    fn write_pointer(&self, zone: Zone) -> u64 {
        self.zones.pointer(zone.0)
    }

    fn memory_bytes(&self) -> u64 {
        let parts = self.map.memory_bytes() + self.zones.memory_bytes();
        size_of::<Self>() as u64 + parts + self.cleaner.memory_bytes()
    }

    fn copy(&self) -> Box<dyn Translation> {
        Box::new(self.clone())
    }

    fn check(&self) {
        self.zones.check(|block| self.map.run(block, 1).0);
        assert!(self.has_room_to_clean(), "cleaning can go on");
    }
}
