//! Zone commands of the host (ZBC/ZAC, sequential write preferred).

use super::HostAware;
use crate::drive::{Drive, Zoned};
use crate::io::{Io, Served, Stamp};
use crate::zone::{Refused, ZoneInfo};
use shingle_core::units::{Block, Nanos, Op, Zone};

impl Zoned for HostAware {
    fn moved(&mut self) -> Option<Zone> {
        self.zones.next_moved()
    }

    /// Walks over the blocks of the zone in the disk cache.
    fn zone(&self, zone: Zone) -> ZoneInfo {
        let at = zone.index();
        let (first, blocks) = (self.zones.first(at), self.zones.blocks());
        let (write_pointer, condition) = (self.zones.pointer(at), self.zones.condition(at));
        let map = self.cache.map();
        let slots = std::iter::successors(map.first_of(at), |&slot| map.next_of(at, slot));
        let last = slots.map(|slot| map.block(slot) + 1 - first.0).max();
        ZoneInfo {
            first,
            blocks,
            write_pointer,
            data_end: self.zones.data_end(at).max(last.unwrap_or(0)),
            non_sequential: last.is_some(),
            condition,
        }
    }

    fn append(
        &mut self,
        now: Nanos,
        zone: Zone,
        count: u64,
        data: &mut [Stamp],
    ) -> Result<(Block, Served), Refused> {
        let block = self.zones.append_at(zone.index(), count)?;
        Ok((block, self.serve(now, &Io { op: Op::Write, block, count }, data)))
    }

    fn open(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused> {
        self.zones.may_open(zone.index())?;
        let closes = self.zones.open(zone.index());
        Ok(self.commanded(now, closes))
    }

    fn close(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused> {
        self.zones.may_move(zone.index())?;
        self.zones.close(zone.index());
        Ok(self.commanded(now, false))
    }

    /// Blocks in the disk cache stay there; they now lie before the write pointer.
    fn finish(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused> {
        self.zones.may_open(zone.index())?;
        self.give_up(zone.index());
        let closes = self.zones.finish(zone.index());
        Ok(self.commanded(now, closes))
    }

    fn reset(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused> {
        let at = zone.index();
        self.zones.may_move(at)?;
        let (first, blocks) = (self.zones.first(at).0, self.zones.blocks());
        self.give_up(at);
        self.release(at, first, blocks);
        self.contents.drop_native(first..first + blocks);
        self.zones.reset(at);
        self.counters.zone_resets += 1;
        Ok(self.commanded(now, false))
    }
}

impl HostAware {
    /// Returns the time of a command that moves no data, and of closing another zone if needed.
    fn commanded(&mut self, now: Nanos, closes: bool) -> Served {
        let mut served = Served { done: now, ..Served::default() };
        self.command(&mut served);
        self.closed(&mut served, closes);
        self.counters.write_time += served.done.since(now);
        served
    }
}
