//! Reads: each piece from where its newest copy is.

use super::DriveManaged;
use crate::io::{Io, Served, Stamp};
use crate::sheet::Timing;
use crate::steps::Place;

impl DriveManaged {
    /// Reads a run of blocks, each piece from where its newest copy is.
    pub(super) fn read(&mut self, served: &mut Served, io: &Io, data: &mut [Stamp]) {
        let mechanics = self.timing == Timing::Mechanics;
        if mechanics {
            self.mech.command(served);
        } else {
            let cost = self.costs.read(io.count);
            served.transfer += cost;
            served.done += cost;
        }
        let mut done = 0;
        while done < io.count {
            let first = io.block.0 + done;
            let (source, count) = self.piece(first, io.count - done);
            match source {
                Place::Memory | Place::Slot(_) => self.counters.buffer_read_blocks += count,
                Place::Native => self.counters.native_read_blocks += count,
            }
            if mechanics {
                self.time_read(served, source, first, count);
            }
            let end = ((done + count) as usize).min(data.len());
            for (block, stamp) in (first..).zip(&mut data[(done as usize).min(end)..end]) {
                let place = match source {
                    Place::Slot(slot) => Place::Slot(slot + (block - first) as u32),
                    other => other,
                };
                self.contents.read_from(place, block);
                *stamp = match place {
                    Place::Memory => self.contents.held(block),
                    Place::Slot(slot) => self.contents.slot(slot),
                    Place::Native => self.contents.native(block),
                };
            }
            done += count;
        }
    }

    /// Returns the source of `first`, and how many of the next `most` blocks follow there in order.
    fn piece(&self, first: u64, most: u64) -> (Place, u64) {
        let mut count = 1;
        if let Some(held) = self.stream.holds(first) {
            return (Place::Memory, most.min(held));
        }
        let slot = self.ring.find(first);
        let after = |count: u64| slot.map(|slot| slot + count as u32);
        while count < most
            && self.ring.find(first + count) == after(count)
            && self.stream.holds(first + count).is_none()
        {
            count += 1;
        }
        (slot.map_or(Place::Native, Place::Slot), count)
    }

    fn time_read(&mut self, served: &mut Served, source: Place, first: u64, count: u64) {
        let place = match source {
            Place::Memory => return self.mech.bus(served, count),
            Place::Slot(slot) => u64::from(slot),
            Place::Native => self.native + first,
        };
        if !self.away {
            let track = self.log_track();
            self.mech.put_head(track);
            self.away = true;
        }
        self.mech.read(served, place, count);
    }
}
