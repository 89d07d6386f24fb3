//! The zones that a host sees: write pointers, conditions, and which zones are open (ZBC/ZAC).
//!
//! A write pointer moves by a write that starts at it, by a cleaning that appends at it or rewrites
//! everything before it, by a finish and by a reset. Nothing else can move it. A violation of a
//! rule that was not refused before is a bug of the drive, asserted in every build.
//!
//! A zone is opened by a command (explicitly) or by a write (implicitly). When one zone too many is
//! opened, that opened longest ago by a write is closed for it; those opened by commands stay open.

use crate::parts::queue::Queue;
use crate::zone::{Condition, Refused, Rule, ZoneInfo};
use shingle_core::units::{Block, Zone};

#[derive(Clone, Debug)]
pub(crate) struct Zones {
    zone_blocks: u64,
    conventional: usize,
    /// Write pointers, relative to the first block of their zone.
    pointers: Vec<u64>,
    /// Implicitly opened zones, the one opened longest ago first.
    implicit: Queue,
    /// Explicitly opened zones.
    explicit: Queue,
    open_max: usize,
    /// Zones whose pointer has moved since they were last reported to the host.
    moved: Queue,
}

impl Zones {
    /// Creates empty zones of `zone_blocks`, the first `conventional` of them without write
    /// pointer. At most `open_max` are open at a time.
    pub(crate) fn new(
        zones: usize,
        zone_blocks: u64,
        conventional: usize,
        open_max: usize,
    ) -> Zones {
        assert!(zone_blocks > 0 && open_max > 0, "zones have blocks, and one can be open");
        Zones {
            zone_blocks,
            conventional,
            pointers: vec![0; zones],
            implicit: Queue::new(zones),
            explicit: Queue::new(zones),
            open_max,
            moved: Queue::new(zones),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.pointers.len()
    }

    #[inline]
    pub(crate) fn blocks(&self) -> u64 {
        self.zone_blocks
    }

    /// Returns the zone of a block, and its offset there.
    #[inline]
    pub(crate) fn place(&self, block: u64) -> (usize, u64) {
        let zone = block / self.zone_blocks;
        (zone as usize, block - zone * self.zone_blocks)
    }

    #[inline]
    pub(crate) fn first(&self, zone: usize) -> Block {
        Block(zone as u64 * self.zone_blocks)
    }

    #[inline]
    pub(crate) fn is_conventional(&self, zone: usize) -> bool {
        zone < self.conventional
    }

    /// Returns the write pointer of a zone, relative to its first block. 0 in conventional zones.
    #[inline]
    pub(crate) fn pointer(&self, zone: usize) -> u64 {
        self.pointers[zone]
    }

    /// Returns the end of the data in a zone's native place, written by the host or synthesized:
    /// the write pointer, or the end of a conventional zone.
    #[inline]
    pub(crate) fn data_end(&self, zone: usize) -> u64 {
        if self.is_conventional(zone) { self.zone_blocks } else { self.pointers[zone] }
    }

    /// Returns whether `block` was written, and how many of the next `most` blocks of its zone are alike.
    pub(crate) fn part(&self, block: u64, most: u64) -> (bool, u64) {
        let (zone, offset) = self.place(block);
        let end = self.data_end(zone);
        let written = offset < end;
        let border = if written { end } else { self.zone_blocks };
        (written, most.min(border - offset))
    }

    fn is_open(&self, zone: usize) -> bool {
        self.implicit.contains(zone) || self.explicit.contains(zone)
    }

    pub(crate) fn condition(&self, zone: usize) -> Condition {
        match self.pointers[zone] {
            _ if self.is_conventional(zone) => Condition::Conventional,
            _ if self.explicit.contains(zone) => Condition::ExplicitOpen,
            _ if self.implicit.contains(zone) => Condition::ImplicitOpen,
            0 => Condition::Empty,
            pointer if pointer == self.zone_blocks => Condition::Full,
            _ => Condition::Closed,
        }
    }

    /// Returns a zone as its host sees it where zones are written in sequence only.
    pub(crate) fn info(&self, zone: Zone) -> ZoneInfo {
        let at = zone.index();
        ZoneInfo {
            first: self.first(at),
            blocks: self.zone_blocks,
            write_pointer: self.pointers[at],
            data_end: self.data_end(at),
            non_sequential: false,
            condition: self.condition(at),
        }
    }

    // ── What the rules allow ─────────────────────────────────────────────────────────────────

    fn refuse<T>(&self, rule: Rule, zone: usize, block: Block) -> Result<T, Refused> {
        let write_pointer = self.first(zone).after(self.pointers[zone]);
        let zone = Zone(u32::try_from(zone).expect("zones have numbers of 32 bits"));
        Err(Refused { rule, zone, block, write_pointer })
    }

    /// Checks whether a write is allowed where zones must be written in sequence.
    pub(crate) fn may_write(&self, block: Block, count: u64) -> Result<(), Refused> {
        let (zone, offset) = self.place(block.0);
        let end = match self.is_conventional(zone) {
            true => self.first(self.conventional),
            false => self.first(zone + 1),
        };
        let sequential = !self.is_conventional(zone);
        match () {
            () if sequential && self.pointers[zone] == self.zone_blocks => {
                self.refuse(Rule::ZoneFull, zone, block)
            }
            () if block.after(count) > end => self.refuse(Rule::ZoneBoundary, zone, block),
            () if sequential && offset != self.pointers[zone] => {
                self.refuse(Rule::AtPointer, zone, block)
            }
            () if sequential => self.may_be_open(zone, block),
            () => Ok(()),
        }
    }

    /// Checks whether a read is allowed where reads beyond write pointers are refused.
    pub(crate) fn may_read(&self, block: Block, count: u64) -> Result<(), Refused> {
        let (mut next, end) = (block.0, block.0 + count);
        // Terminates: each turn advances to the next zone.
        while next < end {
            let (zone, offset) = self.place(next);
            let stop = (offset + (end - next)).min(self.zone_blocks);
            if stop > self.data_end(zone) {
                return self.refuse(Rule::ReadBeyond, zone, block);
            }
            next += stop - offset;
        }
        Ok(())
    }

    /// Returns where an append of `count` blocks goes, whether or not the zone can be opened for
    /// it.
    pub(crate) fn append_at(&self, zone: usize, count: u64) -> Result<Block, Refused> {
        let at = self.first(zone).after(self.pointers[zone]);
        match self.zone_blocks - self.pointers[zone] {
            _ if self.is_conventional(zone) => self.refuse(Rule::Conventional, zone, at),
            0 => self.refuse(Rule::ZoneFull, zone, at),
            room if room < count => self.refuse(Rule::ZoneBoundary, zone, at),
            _ => Ok(at),
        }
    }

    /// Checks whether a zone has a write pointer that commands may move.
    pub(crate) fn may_move(&self, zone: usize) -> Result<(), Refused> {
        match self.is_conventional(zone) {
            true => self.refuse(Rule::Conventional, zone, self.first(zone)),
            false => Ok(()),
        }
    }

    /// Checks whether a zone may be opened or finished: that takes a place among the open zones.
    pub(crate) fn may_open(&self, zone: usize) -> Result<(), Refused> {
        self.may_move(zone)?;
        match self.pointers[zone] == self.zone_blocks {
            true => Ok(()), // it stays full
            false => self.may_be_open(zone, self.first(zone)),
        }
    }

    fn may_be_open(&self, zone: usize, block: Block) -> Result<(), Refused> {
        // Unless all open zones were opened explicitly, one can be closed, or there is room for
        // another.
        match self.is_open(zone) || self.explicit.len() < self.open_max {
            true => Ok(()),
            false => self.refuse(Rule::TooManyOpen, zone, block),
        }
    }

    // ── What is done ─────────────────────────────────────────────────────────────────────────

    /// Notes that the host has written `count` blocks at the pointer, `offset`. Returns whether a
    /// zone had to be closed for it: another, or, if all others were opened explicitly, the zone
    /// itself, which then has no place among the open ones.
    pub(crate) fn advance(&mut self, zone: usize, offset: u64, count: u64) -> bool {
        assert!(!self.is_conventional(zone), "zone {zone} has no write pointer");
        assert_eq!(offset, self.pointers[zone], "zone {zone}: a write not at the pointer");
        let mut closes = false;
        if !self.is_open(zone) {
            closes = self.make_place();
            if self.has_place() {
                self.implicit.push_back(zone);
            }
        }
        self.set(zone, offset + count);
        closes
    }

    /// Opens a zone explicitly. Returns whether another had to be closed for it.
    pub(crate) fn open(&mut self, zone: usize) -> bool {
        if self.pointers[zone] == self.zone_blocks || self.explicit.contains(zone) {
            return false;
        }
        let closes = !self.is_open(zone) && self.make_place();
        self.implicit.remove(zone);
        assert!(self.has_place(), "zone {zone}: opened without a place");
        self.explicit.push_back(zone);
        closes
    }

    pub(crate) fn close(&mut self, zone: usize) {
        self.implicit.remove(zone);
        self.explicit.remove(zone);
    }

    /// Makes a zone full. Returns whether another had to be closed for it.
    pub(crate) fn finish(&mut self, zone: usize) -> bool {
        assert!(!self.is_conventional(zone), "conventional zone {zone} is not finished");
        let full = self.pointers[zone] == self.zone_blocks;
        let closes = !full && !self.is_open(zone) && self.make_place();
        self.set(zone, self.zone_blocks);
        closes
    }

    /// Notes that cleaning has written from `from` to `end`: on from the pointer, or the whole
    /// zone.
    pub(crate) fn cleaned(&mut self, zone: usize, from: u64, end: u64) {
        let pointer = self.pointers[zone];
        assert!(!self.is_conventional(zone), "conventional zone {zone} is not cleaned");
        assert!(from == 0 || from == pointer, "zone {zone}: cleaned from {from}, not {pointer}");
        assert!(end >= pointer, "zone {zone}: cleaning moved the pointer back");
        self.set(zone, end);
    }

    /// Makes a zone empty.
    pub(crate) fn reset(&mut self, zone: usize) {
        assert!(!self.is_conventional(zone), "conventional zone {zone} is not reset");
        self.close(zone);
        self.set(zone, 0);
    }

    /// Returns a zone whose pointer has moved since it was last returned here.
    pub(crate) fn next_moved(&mut self) -> Option<Zone> {
        let zone = self.moved.pop_front()?;
        Some(Zone(u32::try_from(zone).expect("zones have numbers of 32 bits")))
    }

    fn has_place(&self) -> bool {
        self.implicit.len() + self.explicit.len() < self.open_max
    }

    /// Closes the zone opened implicitly longest ago, if all places are taken. Returns whether they
    /// were.
    fn make_place(&mut self) -> bool {
        let taken = !self.has_place();
        if taken {
            self.implicit.pop_front();
        }
        taken
    }

    fn set(&mut self, zone: usize, pointer: u64) {
        assert!(pointer <= self.zone_blocks, "zone {zone}: written beyond its end");
        if pointer == self.zone_blocks {
            self.close(zone);
        }
        if pointer != self.pointers[zone] && !self.moved.contains(zone) {
            self.moved.push_back(zone);
        }
        self.pointers[zone] = pointer;
    }

    /// Panics if an invariant is broken.
    pub(crate) fn check(&self) {
        assert!(
            self.implicit.len() + self.explicit.len() <= self.open_max,
            "open zones are bounded"
        );
        for (zone, &pointer) in self.pointers.iter().enumerate() {
            let (implicit, explicit) = (self.implicit.contains(zone), self.explicit.contains(zone));
            assert!(!(implicit && explicit), "a zone is opened one way");
            assert!(!implicit || pointer > 0, "a write opens and moves the pointer");
            assert!(
                pointer < self.zone_blocks || pointer == self.zone_blocks && !implicit && !explicit
            );
            assert!(zone >= self.conventional || (pointer == 0 && !implicit && !explicit));
        }
    }
}
