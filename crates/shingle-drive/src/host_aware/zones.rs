//! The zones that the host sees: write pointers, conditions, and which zones are open.
//!
//! A write pointer moves by a write that starts at it, by a cleaning that appends at it or rewrites
//! all before it, and by a reset. Nothing else can move it, and what breaks a rule is a mistake of
//! the drive, caught in every build.

use super::queue::Queue;
use crate::drive::Condition;
use shingle_core::units::Block;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Zones {
    zone_blocks: u64,
    conventional: usize,
    /// Write pointers, relative to the first block of their zone.
    pointers: Vec<u64>,
    /// Open zones, the one opened longest ago first.
    open: Queue,
    open_max: usize,
    /// Zones whose pointer has moved since they were last named to the host.
    moved: Queue,
}

impl Zones {
    /// Empty zones of `zone_blocks`, the first `conventional` of them without write pointer. At most
    /// `open_max` are open at a time.
    pub(super) fn new(
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
            open: Queue::new(zones),
            open_max,
            moved: Queue::new(zones),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.pointers.len()
    }

    /// Blocks in a zone.
    #[inline]
    pub(super) fn blocks(&self) -> u64 {
        self.zone_blocks
    }

    /// The zone of a block, and its offset there.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // 64-bit machines
    pub(super) fn place(&self, block: u64) -> (usize, u64) {
        let zone = block / self.zone_blocks;
        (zone as usize, block - zone * self.zone_blocks)
    }

    /// The first block of a zone.
    #[inline]
    pub(super) fn first(&self, zone: usize) -> Block {
        Block(zone as u64 * self.zone_blocks)
    }

    #[inline]
    pub(super) fn is_conventional(&self, zone: usize) -> bool {
        zone < self.conventional
    }

    /// The write pointer of a zone, relative to its first block. 0 in conventional zones.
    #[inline]
    pub(super) fn pointer(&self, zone: usize) -> u64 {
        self.pointers[zone]
    }

    /// Whether the native place of a block holds what the host wrote there.
    #[inline]
    pub(super) fn has_data(&self, zone: usize, offset: u64) -> bool {
        offset < self.pointers[zone] || self.is_conventional(zone)
    }

    pub(super) fn condition(&self, zone: usize) -> Condition {
        match self.pointers[zone] {
            _ if self.is_conventional(zone) => Condition::Conventional,
            0 => Condition::Empty,
            pointer if pointer == self.zone_blocks => Condition::Full,
            _ if self.open.contains(zone) => Condition::ImplicitOpen,
            _ => Condition::Closed,
        }
    }

    /// The host has written `count` blocks from `offset` on, which is where the pointer was. Returns
    /// whether another zone had to be closed for it.
    pub(super) fn advance(&mut self, zone: usize, offset: u64, count: u64) -> bool {
        assert!(!self.is_conventional(zone), "zone {zone} has no write pointer");
        assert_eq!(offset, self.pointers[zone], "zone {zone}: a write not at the pointer");
        let closes = !self.open.contains(zone) && self.open.len() == self.open_max;
        if closes {
            self.open.pop_front();
        }
        if !self.open.contains(zone) {
            self.open.push_back(zone);
        }
        self.set(zone, offset + count);
        closes
    }

    /// Cleaning has written from `from` to `end`: on from the pointer, or all of the zone anew.
    pub(super) fn cleaned(&mut self, zone: usize, from: u64, end: u64) {
        let pointer = self.pointers[zone];
        assert!(!self.is_conventional(zone), "conventional zone {zone} is not cleaned");
        assert!(from == 0 || from == pointer, "zone {zone}: cleaned from {from}, not {pointer}");
        assert!(end >= pointer, "zone {zone}: cleaning moved the pointer back");
        self.set(zone, end);
    }

    /// The zone is empty.
    pub(super) fn reset(&mut self, zone: usize) {
        assert!(!self.is_conventional(zone), "conventional zone {zone} is not reset");
        self.open.remove(zone);
        self.set(zone, 0);
    }

    /// A zone whose pointer has moved since it was last named here.
    pub(super) fn next_moved(&mut self) -> Option<usize> {
        self.moved.pop_front()
    }

    fn set(&mut self, zone: usize, pointer: u64) {
        assert!(pointer <= self.zone_blocks, "zone {zone}: written beyond its end");
        if pointer == self.zone_blocks {
            self.open.remove(zone);
        }
        if pointer != self.pointers[zone] && !self.moved.contains(zone) {
            self.moved.push_back(zone);
        }
        self.pointers[zone] = pointer;
    }

    /// Panics if an invariant is broken.
    pub(super) fn check(&self) {
        assert!(self.open.len() <= self.open_max, "open zones are bounded");
        for (zone, &pointer) in self.pointers.iter().enumerate() {
            let open = self.open.contains(zone);
            assert!(pointer <= self.zone_blocks && (!open || pointer < self.zone_blocks));
            assert!(zone >= self.conventional || (pointer == 0 && !open));
        }
    }
}
