//! What has to be written so that blocks can leave: decided by a policy, carried out by an executor.

use crate::slots::Slots;
use crate::units::{Block, Slot, Zone};

/// In which order the disk gets the dirty victims of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteOrder {
    /// Sorted by address; neighbours may be joined.
    ByAddress,
    /// As the policy named them.
    AsGiven,
}

/// What is done with the dirty victims of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// They are written to their places. Whether the disk can take them in sequence is its affair.
    Write(WriteOrder),
    /// The write pointer of the zone is reset, and the zone written from start to end: the group is
    /// all of it (ROCO §3.4, second type of sequential writes).
    Rewrite(Zone),
    /// All of the group lies at or beyond the write pointer of the zone, and is written in sequence
    /// from there. In gaps goes what the drive has there: zeros, unless a buffer of its own holds
    /// something. Where the drive has moved the pointer on since, they are written to their places.
    Append(Zone),
    /// Host-side read-modify-write (ROCO §2.2): the data of the zone that is not in the group is
    /// read, gaps included, the write pointer reset, and everything written back in sequence.
    HostRmw(Zone),
    /// The zone is a band of a disk that takes bands written in order past its buffer
    /// ([`InOrder::band_pass`](crate::drive_view::InOrder)): the data of the band that is not in the group is read, and the band
    /// written from start to end. Until all of it is on the disk the group is not: what is read is in
    /// memory alone, and in its place on the disk.
    WholeBand(Zone),
}

/// A block to write to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Destage {
    /// Where its data is.
    pub slot: Slot,
    /// Where it goes.
    pub block: Block,
    /// The block leaves once it is there; else it stays, clean.
    pub leaves: bool,
}

/// What an executor has to do so that blocks can leave: destages in groups, each with its manner.
/// The caller owns it; the cache appends.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    destages: Vec<Destage>,
    /// Ends of groups within `destages`; what follows the last is one more group, by address.
    groups: Vec<(usize, Manner)>,
    dropped_blocks: u64,
    /// The clean victims themselves, if the executor asked for them.
    dropped: Option<Vec<Destage>>,
}

/// How long a plan was at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) destages: usize,
    pub(crate) groups: usize,
}

impl Plan {
    /// An empty plan that will name the clean victims, too: a store has to write down that they are
    /// gone. The simulator only counts them.
    #[must_use]
    pub fn naming_dropped() -> Plan {
        Plan { dropped: Some(Vec::new()), ..Plan::default() }
    }

    /// Clean blocks dropped, and the slots they were in, if the plan names them. The slots may
    /// already hold something else.
    #[must_use]
    pub fn dropped(&self) -> &[Destage] {
        self.dropped.as_deref().unwrap_or_default()
    }

    /// The destages, in groups.
    pub fn groups(&mut self) -> impl Iterator<Item = (&mut [Destage], Manner)> {
        let last = (self.destages.len(), Manner::Write(WriteOrder::ByAddress));
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

    /// All destages.
    #[must_use]
    pub fn destages(&self) -> &[Destage] {
        &self.destages
    }

    /// Clean blocks dropped.
    #[must_use]
    pub fn dropped_blocks(&self) -> u64 {
        self.dropped_blocks
    }

    /// Whether there is nothing to do.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.destages.is_empty() && self.dropped_blocks == 0
    }

    /// Whether all of it is one group, written by address.
    #[must_use]
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.groups.is_empty()
    }

    /// Forgets everything; call it when the plan has been carried out.
    #[inline]
    pub fn clear(&mut self) {
        self.destages.clear();
        self.groups.clear();
        self.dropped_blocks = 0;
        if let Some(dropped) = &mut self.dropped {
            dropped.clear();
        }
    }

    /// A clean victim is gone at once, a dirty one is to be written.
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

    /// A dirty block is to be written and stays.
    pub(crate) fn write(&mut self, slot: Slot, slots: &mut Slots) {
        slots.begin_destage(slot);
        self.destages.push(Destage { slot, block: slots.block(slot), leaves: false });
    }

    /// How long it is now.
    pub(crate) fn mark(&self) -> Mark {
        Mark { destages: self.destages.len(), groups: self.groups.len() }
    }

    /// Takes back what was planned since, if all of it is to be written to its place.
    pub(crate) fn take_since(&mut self, mark: Mark) -> Vec<Destage> {
        let groups = &self.groups[mark.groups..];
        if groups.iter().any(|(_, manner)| !matches!(manner, Manner::Write(_))) {
            return Vec::new();
        }
        self.groups.truncate(mark.groups);
        self.destages.split_off(mark.destages)
    }

    /// Plans these once more.
    pub(crate) fn extend(&mut self, destages: &[Destage]) {
        self.destages.extend_from_slice(destages);
    }

    /// Ends a group that began at destage `start`; what was planned before it without a word on
    /// groups is one of its own.
    pub(crate) fn end_group(&mut self, start: usize, manner: Manner) {
        if self.groups.last().map_or(0, |&(end, _)| end) < start {
            self.groups.push((start, Manner::Write(WriteOrder::ByAddress)));
        }
        self.groups.push((self.destages.len(), manner));
    }
}
