//! The contents of each zone, and the free zones.
//!
//! A zone is *fresh* until it is first opened. An open zone is appended to until it is full. A full
//! zone without live blocks is *dead*. It may be reset only once the map that no longer names it is
//! durable: dead zones are *ready* from the next commit on, for which [`DEAD_ZONES`] of them wait
//! while there are fresh zones. Zones are reset when they are opened again, so that a trim costs no
//! I/O, and are reused before fresh ones: the log stays compact, and memory grows with the written
//! data.

mod open;

use shingle_core::parts::halved;

use super::paged::{Paged, parts};
use super::victim::{Case, Victim};

/// One commit is for this many dead zones, while there are fresh ones.
const DEAD_ZONES: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    Full,
    /// Dead or ready.
    Free,
}

/// A zone that has been opened.
#[derive(Clone, Debug)]
struct Zone {
    state: State,
    /// The group for which it was opened.
    group: u8,
    live: u32,
    /// The write pointer, in blocks from the start.
    pointer: u32,
    /// The time of opening, in blocks written by the host.
    opened: u64,
    /// The time at which the host wrote its youngest block.
    youngest: u64,
    /// Blocks that became garbage, if that is counted, halved each time that as much is written as
    /// is in use, as of time `died`.
    deaths: f32,
    died: u64,
    /// The host's block at each place that has its newest copy.
    owners: Paged,
    /// The times at which the host wrote what is below the write pointer, if those are kept.
    times: Paged,
}

/// An opened zone, and the step that must come before appends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Opened {
    pub(super) zone: u32,
    pub(super) commit: bool,
    pub(super) reset: bool,
}

/// Optional information on blocks and zones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keeps {
    /// The time at which the host wrote each block.
    pub(super) times: bool,
    /// How many blocks of each zone became garbage lately.
    pub(super) deaths: bool,
}

/// How blocks become garbage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dies {
    /// One by one, as time passes: the host writes others in their place.
    Overwritten,
    /// All at once, and other copies of them are written.
    Moved,
    /// All at once.
    Trimmed,
}

impl Dies {
    /// Returns when the `ahead`th block dies, if the first one dies now.
    pub(super) fn time(self, now: u64, ahead: u64) -> u64 {
        if self == Dies::Overwritten { now + ahead } else { now }
    }
}

/// Returns [`Zone::deaths`] as of now, when `used` blocks are in use.
fn deaths(zone: &Zone, now: u64, used: u64) -> f32 {
    halved(zone.deaths, now - zone.died, used.max(1) as f32)
}

#[derive(Clone, Debug)]
pub(super) struct Zones {
    zone_blocks: u64,
    zones: u32,
    keeps: Keeps,
    /// Zones that have been opened: the others are fresh.
    all: Vec<Zone>,
    dead: Vec<u32>,
    ready: Vec<u32>,
    /// Blocks below the write pointers of open zones, and blocks of full ones.
    used: u64,
    /// Blocks of full zones, and how many of these are not live.
    full: u64,
    reclaimable: u64,
}

impl Zones {
    pub(super) fn new(zone_blocks: u64, zones: u32, keeps: Keeps) -> Zones {
        Zones {
            zone_blocks,
            zones,
            keeps,
            all: Vec::with_capacity(zones as usize),
            dead: Vec::with_capacity(zones as usize),
            ready: Vec::with_capacity(zones as usize),
            used: 0,
            full: 0,
            reclaimable: 0,
        }
    }

    pub(super) fn zone_blocks(&self) -> u64 {
        self.zone_blocks
    }

    /// Returns the number of zones without live blocks.
    pub(super) fn free(&self) -> u32 {
        self.zones - self.all.len() as u32 + (self.dead.len() + self.ready.len()) as u32
    }

    /// Returns whether more than this many thousandths of full zones are garbage, and a zone's worth
    /// of it. Garbage in open zones does not count: it can not be cleaned, and full zones may hardly
    /// have any.
    pub(super) fn garbage_above(&self, thousandths: u64) -> bool {
        self.reclaimable >= self.zone_blocks
            && u128::from(self.reclaimable) * 1000 > u128::from(self.full) * u128::from(thousandths)
    }

    /// Returns whether a full zone has garbage.
    pub(super) fn reclaimable(&self) -> bool {
        self.reclaimable > 0
    }

    pub(super) fn pointer(&self, zone: u32) -> u64 {
        self.all.get(zone as usize).map_or(0, |zone| zone.pointer.into())
    }

    /// Returns the free blocks of `zone`, which is open.
    pub(super) fn room(&self, zone: u32) -> u64 {
        self.zone_blocks - self.pointer(zone)
    }

    pub(super) fn live(&self, zone: u32) -> u64 {
        self.all[zone as usize].live.into()
    }

    pub(super) fn group(&self, zone: u32) -> u8 {
        self.all[zone as usize].group
    }

    pub(super) fn opened(&self, zone: u32) -> u64 {
        self.all[zone as usize].opened
    }

    /// Returns the [`parts`] of places that lie in one zone each.
    pub(super) fn parts(
        &self,
        place: u64,
        count: u64,
    ) -> impl Iterator<Item = (u64, u64, u64)> + use<> {
        parts(self.zone_blocks, place, count)
    }

    fn split(&self, place: u64) -> (usize, u64) {
        ((place / self.zone_blocks) as usize, place % self.zone_blocks)
    }

    /// Returns the live blocks of `zone` from `offset` up to `end`, in runs: the offset of the first
    /// one, the block, and how many follow each other in both.
    pub(super) fn live_runs(
        &self,
        zone: u32,
        offset: u64,
        end: u64,
    ) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let runs = self.all[zone as usize].owners.runs(offset, end);
        runs.filter_map(|(offset, block, count)| block.map(|block| (offset, block, count)))
    }

    /// Returns the time at which the host wrote the block at `place`, if it is known, and how many
    /// of `most` blocks of the zone from there on were written each at the next time, or at no known
    /// one either.
    pub(super) fn times(&self, place: u64, most: u64) -> (Option<u64>, u64) {
        let (zone, offset) = self.split(place);
        let most = most.min(self.zone_blocks - offset);
        if self.keeps.times { self.all[zone].times.run(offset, most) } else { (None, most) }
    }

    /// Opens a free zone for a group.
    pub(super) fn open(&mut self, group: u8, now: u64) -> Opened {
        let commit = self.ready.is_empty() && self.is_worth_a_commit();
        if commit {
            self.ready.append(&mut self.dead);
        }
        if let Some(zone) = self.ready.pop() {
            let of = &mut self.all[zone as usize];
            (of.state, of.group, of.opened, of.youngest) = (State::Open, group, now, 0);
            (of.deaths, of.died) = (0.0, now);
            let reset = core::mem::take(&mut of.pointer) > 0;
            return Opened { zone, commit, reset };
        }
        let zone = self.all.len() as u32;
        assert!(zone < self.zones, "a zone is opened only where one is free");
        self.all.push(self.zone(group, 0, now));
        Opened { zone, commit, reset: false }
    }

    /// Returns a zone that was opened at time `now` and has no live block.
    fn zone(&self, group: u8, pointer: u32, now: u64) -> Zone {
        Zone {
            state: State::Open,
            group,
            live: 0,
            pointer,
            opened: now,
            youngest: 0,
            deaths: 0.0,
            died: now,
            owners: Paged::new(self.zone_blocks),
            times: Paged::new(if self.keeps.times { self.zone_blocks } else { 0 }),
        }
    }

    /// Returns whether dead zones are to be written again now: if they are many, as one commit
    /// serves all of them and interrupts what the disk writes in order, or if no zone is fresh.
    fn is_worth_a_commit(&self) -> bool {
        let fresh = self.all.len() < self.zones as usize;
        self.dead.len() >= if fresh { DEAD_ZONES } else { 1 }
    }

    /// Appends blocks, the first one written by the host at `time`, each next one at the next time,
    /// if that is known. Returns the place of the first.
    pub(super) fn append(&mut self, zone: u32, block: u64, count: u64, time: Option<u64>) -> u64 {
        let of = &mut self.all[zone as usize];
        let offset = u64::from(of.pointer);
        debug_assert!(of.state == State::Open && count <= self.zone_blocks - offset);
        of.owners.set(offset, count, block);
        if let Some(time) = time {
            if self.keeps.times {
                of.times.set(offset, count, time);
            }
            of.youngest = of.youngest.max(time + count - 1);
        }
        of.pointer += count as u32;
        of.live += count as u32;
        self.used += count;
        u64::from(zone) * self.zone_blocks + offset
    }

    /// Closes `zone` if it has no room left. Returns whether it did, and whether the zone is
    /// already dead.
    pub(super) fn fill(&mut self, zone: u32) -> (bool, bool) {
        let of = &mut self.all[zone as usize];
        if u64::from(of.pointer) < self.zone_blocks {
            return (false, false);
        }
        of.state = State::Full;
        self.full += self.zone_blocks;
        self.reclaimable += self.zone_blocks - u64::from(of.live);
        (true, self.bury(zone))
    }

    /// Marks `count` blocks of one zone, from `place` on, as garbage from time `now` on. They are the
    /// `ahead`th and next ones of those that die so. Returns the zone if that leaves it dead.
    #[inline]
    pub(super) fn kill(
        &mut self,
        place: u64,
        count: u64,
        now: u64,
        ahead: u64,
        how: Dies,
    ) -> Option<u32> {
        let (zone, offset) = self.split(place);
        if self.keeps.deaths {
            for ahead in ahead..ahead + count {
                let now = how.time(now, ahead);
                // New copies of those before it are in use by then.
                let used = self.used + if how == Dies::Trimmed { 0 } else { ahead };
                let of = &mut self.all[zone];
                (of.deaths, of.died) = (deaths(of, now, used) + 1.0, now);
            }
        }
        let of = &mut self.all[zone];
        debug_assert!(of.owners.runs(offset, offset + count).all(|run| run.1.is_some()), "live");
        of.owners.clear(offset, count);
        of.live -= count as u32;
        self.reclaimable += if of.state == State::Full { count } else { 0 };
        (of.live == 0 && self.bury(zone as u32)).then_some(zone as u32)
    }

    /// Frees `zone` if it is full and has no live block. Returns whether it did.
    fn bury(&mut self, zone: u32) -> bool {
        let of = &mut self.all[zone as usize];
        if of.live > 0 || of.state != State::Full {
            return false;
        }
        of.state = State::Free;
        // So that they take no memory.
        of.owners.clear_all();
        of.times.clear_all();
        self.used -= self.zone_blocks;
        self.full -= self.zone_blocks;
        self.reclaimable -= self.zone_blocks;
        self.dead.push(zone);
        true
    }

    /// Returns the full zone to clean next, if one has garbage; of equal ones the one opened first.
    /// This takes one pass over the zones for each victim, whose cleaning is a pass over its blocks
    /// anyway.
    pub(super) fn victim(&self, by: Victim, now: u64) -> Option<u32> {
        let full = (0..).zip(&self.all).filter(|(_, zone)| {
            zone.state == State::Full && u64::from(zone.live) < self.zone_blocks
        });
        let best = full.reduce(|best, next| {
            let order = by.prefers(self.case(best.1, now), self.case(next.1, now));
            // Of equal ones the one opened first.
            if order.then(next.1.opened.cmp(&best.1.opened)).is_lt() { next } else { best }
        });
        best.map(|(zone, _)| zone)
    }

    fn case(&self, zone: &Zone, now: u64) -> Case {
        Case {
            live: zone.live.into(),
            blocks: self.zone_blocks,
            age: now - zone.youngest,
            deaths: deaths(zone, now, self.used),
        }
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        let lists = (self.dead.capacity() + self.ready.capacity()) * size_of::<u32>();
        let paged = self.all.iter().map(|of| of.owners.memory_bytes() + of.times.memory_bytes());
        (self.all.capacity() * size_of::<Zone>() + lists) as u64 + paged.sum::<u64>()
    }

    /// Panics if a count is wrong. `place` returns the place of a block.
    pub(super) fn check(&self, place: impl Fn(u64) -> Option<u64>) {
        let (mut used, mut full, mut reclaimable, mut free) = (0, 0, 0, 0);
        for (at, zone) in (0..).zip(&self.all) {
            let mut here = 0;
            for (offset, block, count) in self.live_runs(at, 0, self.zone_blocks) {
                assert!(offset + count <= zone.pointer.into(), "zone {at} is written up to there");
                let first = u64::from(at) * self.zone_blocks + offset;
                for ahead in 0..count {
                    assert_eq!(place(block + ahead), Some(first + ahead), "the map names it");
                }
                here += count;
            }
            assert_eq!(here, u64::from(zone.live), "live blocks of zone {at}");
            free += u32::from(zone.state == State::Free);
            if zone.state == State::Full {
                assert!(here > 0, "a full zone without a live block is free");
                full += self.zone_blocks;
                reclaimable += self.zone_blocks - here;
            }
            used += match zone.state {
                State::Open => u64::from(zone.pointer),
                State::Full => self.zone_blocks,
                State::Free => 0,
            };
        }
        assert_eq!((used, full, reclaimable), (self.used, self.full, self.reclaimable));
        assert_eq!((self.dead.len() + self.ready.len()) as u32, free);
    }
}
