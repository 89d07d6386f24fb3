//! The plan: what has to be written so that blocks can leave. A policy decides it, an executor
//! carries it out.

use crate::slots::Slots;
use crate::units::{Block, Slot, Zone};

/// The order in which the dirty victims of a group are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteOrder {
    /// Sorted by address; neighbours may be joined.
    ByAddress,
    /// In the order in which the policy named them.
    AsGiven,
}

/// How the dirty victims of a group are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DestageMethod {
    /// To their places. The drive has to cope if they are not in sequence.
    Write(WriteOrder),
    /// Reset of the write pointer, then the zone from start to end: the group is all of it (ROCO
    /// §3.4, second type of sequential writes).
    Rewrite(Zone),
    /// In sequence from the write pointer of the zone: all of the group lies at or beyond it. Gaps
    /// are filled with what the drive has there: zeros, unless its buffer holds something. If the
    /// drive has moved the pointer on since, the blocks are written to their places.
    Append(Zone),
    /// Host-side read-modify-write (ROCO §2.2): the data of the zone that is not in the group is
    /// read, gaps included; the write pointer is reset; everything is written back in sequence.
    HostRmw(Zone),
    /// The whole band from start to end, on a disk that takes bands written in order past its
    /// buffer ([`InOrder::band_pass`](crate::drive_view::InOrder)). Data of the band that is not in
    /// the group is read first. It exists only in memory and in its old place, so the group is
    /// durable only when the whole band is written.
    WholeBand(Zone),
}

/// A block to write to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Destage {
    /// The slot that holds the data.
    pub slot: Slot,
    /// The block on the disk.
    pub block: Block,
    /// Whether the block leaves the cache once written; otherwise it stays, clean.
    pub leaves: bool,
}

/// What an executor has to do so that blocks can leave: destages in groups, each with its manner.
/// The caller owns the plan; the cache appends to it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    destages: Vec<Destage>,
    /// Ends of groups within `destages`. Destages after the last end are one more group, written by
    /// address.
    groups: Vec<(usize, DestageMethod)>,
    dropped_blocks: u64,
    /// The clean victims, if the executor asked for them.
    dropped: Option<Vec<Destage>>,
}

/// Lengths of a plan's lists at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) destages: usize,
    pub(crate) groups: usize,
}

impl Plan {
    /// Creates an empty plan that lists the clean victims, too. A store has to record that they are
    /// gone; the simulator only counts them.
    #[must_use]
    pub fn listing_dropped() -> Plan {
        Plan { dropped: Some(Vec::new()), ..Plan::default() }
    }

    /// Returns the clean blocks dropped and their slots, if the plan lists them. The slots may
    /// already hold other blocks.
    #[must_use]
    pub fn dropped(&self) -> &[Destage] {
        self.dropped.as_deref().unwrap_or_default()
    }

    /// Returns the destages, in groups.
    pub fn groups(&mut self) -> impl Iterator<Item = (&mut [Destage], DestageMethod)> {
        let last = (self.destages.len(), DestageMethod::Write(WriteOrder::ByAddress));
        let mut rest = self.destages.as_mut_slice();
        let mut start = 0;
        let ends = self.groups.iter().copied().chain([last]);
        ends.map(move |(end, manner)| {
            let (group, after) = core::mem::take(&mut rest).split_at_mut(end - start);
            (start, rest) = (end, after);
            (group, manner)
        })
        .filter(|(group, _)| !group.is_empty())
    }

    /// Returns all destages.
    #[must_use]
    pub fn destages(&self) -> &[Destage] {
        &self.destages
    }

    /// Returns the number of clean blocks dropped.
    #[must_use]
    pub fn dropped_blocks(&self) -> u64 {
        self.dropped_blocks
    }

    /// Returns whether there is nothing to do.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.destages.is_empty() && self.dropped_blocks == 0
    }

    /// Returns whether all destages are one group, written by address.
    #[must_use]
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.groups.is_empty()
    }

    /// Clears the plan, after it was carried out.
    #[inline]
    pub fn clear(&mut self) {
        self.destages.clear();
        self.groups.clear();
        self.dropped_blocks = 0;
        if let Some(dropped) = &mut self.dropped {
            dropped.clear();
        }
    }

    /// Evicts `slot`: a clean victim is dropped at once, a dirty one is added to the destages.
    #[inline]
    pub(crate) fn leave(&mut self, slot: Slot, slots: &mut Slots) {
        if let Some(dropped) = &mut self.dropped
            && !slots.dirty(slot)
        {
            dropped.push(Destage { slot, block: slots.block(slot), leaves: true });
        }
        match slots.leave(slot) {
            Some(block) => self.destages.push(Destage { slot, block, leaves: true }),
            None => self.dropped_blocks += 1,
        }
    }

    /// Adds a destage of the dirty `slot`, which stays.
    pub(crate) fn write(&mut self, slot: Slot, slots: &mut Slots) {
        slots.begin_destage(slot);
        self.destages.push(Destage { slot, block: slots.block(slot), leaves: false });
    }

    /// Returns the current lengths.
    pub(crate) fn mark(&self) -> Mark {
        Mark { destages: self.destages.len(), groups: self.groups.len() }
    }

    /// Takes back the destages planned since `mark`, if all of them are written to their places.
    pub(crate) fn take_since(&mut self, mark: Mark) -> Vec<Destage> {
        let groups = &self.groups[mark.groups..];
        if groups.iter().any(|(_, manner)| !matches!(manner, DestageMethod::Write(_))) {
            return Vec::new();
        }
        self.groups.truncate(mark.groups);
        self.destages.split_off(mark.destages)
    }

    /// Adds destages that were taken back.
    pub(crate) fn extend(&mut self, destages: &[Destage]) {
        self.destages.extend_from_slice(destages);
    }

    /// Ends a group that began at destage `start`. Destages before it that belong to no group
    /// become one.
    pub(crate) fn end_group(&mut self, start: usize, manner: DestageMethod) {
        if self.groups.last().map_or(0, |&(end, _)| end) < start {
            self.groups.push((start, DestageMethod::Write(WriteOrder::ByAddress)));
        }
        self.groups.push((self.destages.len(), manner));
    }
}
