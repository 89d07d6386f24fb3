//! The disk cache: log zones that take writes that do not start at a write pointer, in order of
//! arrival.
//!
//! One log zone is open and appended to; the others are full or free. A log zone is written at its
//! own write pointer only, and reset only when nothing live is left in it (ROCO §2.1.1: "a few
//! shingled zones compose the disk cache"). Slot `n` lies at block `n` of the medium.

use crate::parts::map::Map;
use crate::parts::queue::Queue;

#[derive(Clone, Debug)]
pub(super) struct DiskCache {
    map: Map,
    zone_blocks: u32,
    logs: Vec<Log>,
    /// The log zone being appended to. It has room.
    open: Option<usize>,
    /// Returns the number of empty log zones.
    free: Queue,
}

/// A log zone.
#[derive(Clone, Copy, Debug, Default)]
struct Log {
    /// Its write pointer.
    written: u32,
    /// Live slots.
    live: u32,
}

/// The log zone that is best to collect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Victim {
    pub(super) log: usize,
    pub(super) live: u64,
    /// Holes, in percent of the log zone.
    pub(super) invalid_percent: u64,
}

impl DiskCache {
    pub(super) fn new(logs: u32, zone_blocks: u32, zones: usize) -> DiskCache {
        let mut free = Queue::new(logs as usize);
        (0..logs as usize).for_each(|log| free.push_back(log));
        DiskCache {
            map: Map::new(logs * zone_blocks, zones),
            zone_blocks,
            logs: vec![Log::default(); logs as usize],
            open: None,
            free,
        }
    }

    /// Returns the map of the log zones.
    #[inline]
    pub(super) fn map(&self) -> &Map {
        &self.map
    }

    /// Returns the number of empty log zones.
    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// Returns the free blocks of the open log zone.
    #[inline]
    pub(super) fn room(&self) -> u64 {
        self.open.map_or(0, |log| u64::from(self.zone_blocks - self.logs[log].written))
    }

    /// Returns the free blocks of the open log zone and all free ones.
    pub(super) fn spare(&self) -> u64 {
        self.room() + self.free.len() as u64 * u64::from(self.zone_blocks)
    }

    /// Returns the number of slots that are written and not reset, live or not.
    pub(super) fn used(&self) -> u64 {
        self.logs.iter().map(|log| u64::from(log.written)).sum()
    }

    /// Appends a block of a zone. Returns its slot, and whether it replaced an older copy.
    #[inline]
    pub(super) fn append(&mut self, block: u64, zone: usize, starts: bool) -> (u32, bool) {
        let (slot, first) = self.fill();
        let old = self.map.put(slot, block, zone, starts || first);
        if let Some(old) = old {
            self.leave(old);
        }
        (slot, old.is_some())
    }

    /// Drops a live block of a zone.
    pub(super) fn remove(&mut self, slot: u32, zone: usize) {
        self.map.remove(slot, zone);
        self.leave(slot);
    }

    /// Copies a live block of a zone to the end of the log; it keeps its place in its zone's list.
    /// `goes_on`: it follows the block copied just before. Returns its slot.
    pub(super) fn relocate(&mut self, from: u32, zone: usize, goes_on: bool) -> u32 {
        let (to, first) = self.fill();
        let starts = first || !goes_on || self.map.starts(from);
        self.map.relocate(from, to, zone, starts);
        self.leave(from);
        to
    }

    /// Returns the full log zone with the most holes; of equals the first.
    pub(super) fn victim(&self) -> Option<Victim> {
        let full = self.logs.iter().enumerate().filter(|(_, log)| log.written == self.zone_blocks);
        let (log, fewest) = full.min_by_key(|(_, log)| log.live)?;
        let holes = u64::from(self.zone_blocks - fewest.live);
        let invalid_percent = holes * 100 / u64::from(self.zone_blocks);
        Some(Victim { log, live: u64::from(fewest.live), invalid_percent })
    }

    pub(super) fn slots(&self, log: usize) -> std::ops::Range<u32> {
        let first = self.first(log);
        first..first + self.zone_blocks
    }

    /// Resets a log zone without live slots.
    pub(super) fn reset(&mut self, log: usize) {
        assert_eq!(self.logs[log].live, 0, "log zone {log}: reset with live blocks");
        assert_ne!(self.open, Some(log), "log zone {log}: reset while open");
        self.logs[log].written = 0;
        self.free.push_back(log);
    }

    /// Marks the slots that a cleaning of the zone collects.
    pub(super) fn mark(&mut self, zone: usize) {
        self.map.mark(zone);
    }

    /// Removes the marks.
    pub(super) fn unmark(&mut self, zone: usize) {
        self.map.unmark(zone);
    }

    /// Returns the slot at the write pointer of the open log zone and advances it, opening a free
    /// log zone if none is open. Returns also whether it is the first slot of its log zone.
    #[inline]
    fn fill(&mut self) -> (u32, bool) {
        let open = self.open.or_else(|| self.free.pop_front());
        let log = open.expect("the caller has made room");
        let at = self.logs[log].written;
        let slot = self.first(log) + at;
        assert!(!self.map.is_live(slot), "log zone {log}: written beside its pointer");
        self.logs[log] = Log { written: at + 1, live: self.logs[log].live + 1 };
        self.open = (at + 1 < self.zone_blocks).then_some(log);
        (slot, at == 0)
    }

    #[inline]
    fn leave(&mut self, slot: u32) {
        self.logs[(slot / self.zone_blocks) as usize].live -= 1;
    }

    // All slots have numbers of 32 bits.
    fn first(&self, log: usize) -> u32 {
        log as u32 * self.zone_blocks
    }

    /// Panics if an invariant is broken.
    pub(super) fn check(&self, zone_of: impl Fn(u64) -> usize) {
        self.map.check(zone_of);
        for (log, state) in self.logs.iter().enumerate() {
            let live = self.slots(log).filter(|&slot| self.map.is_live(slot)).count();
            assert_eq!(live, state.live as usize, "log zone {log}");
            assert!(self.slots(log).skip(state.written as usize).all(|s| !self.map.is_live(s)));
            assert_eq!(self.free.contains(log), state.written == 0, "log zone {log}");
            let partly = 0 < state.written && state.written < self.zone_blocks;
            assert_eq!(self.open == Some(log), partly, "one log zone is open");
        }
    }
}
