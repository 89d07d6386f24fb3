//! Checks of the rules. Nothing here changes a zone.

use shingle_core::units::{Block, Zone};

use super::{Zones, has_no_pointer};
use crate::error::{Reason, Refused};
use crate::geometry::{Geometry, ReadsBeyond};
use crate::zone::Condition;

impl Zones {
    pub(super) fn pointer(&self, zone: Zone) -> Block {
        self.geometry.first(zone).after(u64::from(self.state(zone).pointer))
    }

    fn in_range(&self, block: Block, count: u64) -> Result<(Zone, u64), Refused> {
        let blocks = self.geometry.blocks();
        match self.geometry.place(block) {
            Some(place) if block.0.checked_add(count).is_some_and(|end| end <= blocks) => Ok(place),
            _ => Err(Refused { zone: None, reason: Reason::OutOfRange { blocks } }),
        }
    }

    /// Checks that a zone exists.
    pub(crate) fn may_name(&self, zone: Zone) -> Result<(), Refused> {
        self.in_range(self.geometry.first(zone), 0).map(|_| ())
    }

    /// Checks whether blocks may be read. Reads may cross zones.
    pub fn may_read(&self, block: Block, count: u64) -> Result<(), Refused> {
        self.in_range(block, count)?;
        let refuses = self.geometry.reads_beyond == ReadsBeyond::Refused;
        for (zone, offset, count) in self.pieces(block, count) {
            let state = self.state(zone);
            let end = match state.condition {
                Condition::Offline => return refuse(zone, Reason::Offline),
                _ if has_no_pointer(&self.geometry, zone, state) => self.geometry.zone_blocks,
                _ => u64::from(state.pointer),
            };
            if refuses && offset + count > end {
                return refuse(
                    zone,
                    Reason::ReadBeyond { pointer: self.geometry.first(zone).after(end) },
                );
            }
        }
        Ok(())
    }

    /// Splits a range at borders of zones: the zone, the offset in it, and the number of blocks.
    pub fn pieces(
        &self,
        block: Block,
        count: u64,
    ) -> impl Iterator<Item = (Zone, u64, u64)> + use<> {
        let (geometry, end) = (self.geometry, block.0 + count);
        let mut next = block.0;
        std::iter::from_fn(move || {
            let (zone, offset) = geometry.place(Block(next)).filter(|_| next < end)?;
            let count = (geometry.zone_blocks - offset).min(end - next);
            next += count;
            Some((zone, offset, count))
        })
    }

    /// Checks whether commands may move the write pointer of a zone, forwards or back.
    pub(super) fn may_move(&self, zone: Zone) -> Result<(), Refused> {
        self.may_name(zone)?;
        match self.state(zone).condition {
            Condition::Conventional => refuse(zone, Reason::Conventional),
            Condition::ReadOnly => refuse(zone, Reason::ReadOnly),
            Condition::Offline => refuse(zone, Reason::Offline),
            _ => Ok(()),
        }
    }

    /// Checks whether a zone may be open, or stay open.
    pub(super) fn may_be_open(&self, zone: Zone) -> Result<(), Refused> {
        let Geometry { max_open, max_active, .. } = self.geometry;
        let state = self.state(zone);
        // Unless all were opened explicitly, there is one to close, or space for one more.
        if max_open != 0 && !state.condition.is_open() && self.explicit >= max_open {
            return refuse(zone, Reason::TooManyOpen { max: max_open });
        }
        let active = self.explicit as usize + self.implicit.len() + self.closed as usize;
        if max_active != 0 && state.condition == Condition::Empty && active >= max_active as usize {
            return refuse(zone, Reason::TooManyActive { max: max_active });
        }
        Ok(())
    }

    /// Checks that all blocks are in conventional zones, where `first` is the zone of the first
    /// one.
    fn may_write_anywhere(&self, first: Zone, block: Block, count: u64) -> Result<(), Refused> {
        let end = self.geometry.blocks();
        let inside = self.pieces(block, count.min(end - block.0));
        let other = inside.map(|(zone, ..)| zone).find(|&zone| !self.is_conventional(zone));
        let end = Block(other.map_or(end, |zone| self.geometry.first(zone).0));
        match end.0 - block.0 < count {
            true => refuse(first, Reason::Boundary { end }),
            false => Ok(()),
        }
    }

    pub(super) fn may_write(&self, block: Block, count: u64) -> Result<Zone, Refused> {
        // A range that ends beyond the disk also ends beyond its zone.
        let (zone, offset) = self.in_range(block, 0)?;
        if self.is_conventional(zone) {
            return self.may_write_anywhere(zone, block, count).map(|()| zone);
        }
        self.may_move(zone)?;
        let (state, capacity) = (self.state(zone), self.geometry.zone_capacity_blocks);
        let pointer = self.pointer(zone);
        match () {
            () if state.condition == Condition::Full => refuse(zone, Reason::Full),
            () if capacity.saturating_sub(offset) < count => {
                refuse(zone, Reason::Boundary { end: self.geometry.first(zone).after(capacity) })
            }
            () if block != pointer => refuse(zone, Reason::NotAtPointer { pointer }),
            () if state.torn_bytes > 0 => refuse(zone, Reason::Torn { pointer }),
            () => self.may_be_open(zone).map(|()| zone),
        }
    }
}

fn refuse<T>(zone: Zone, reason: Reason) -> Result<T, Refused> {
    Err(Refused { zone: Some(zone), reason })
}
