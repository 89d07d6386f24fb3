//! What the host may ask of the zones (ZBC/ZAC, sequential write preferred).

use super::HostAware;
use crate::drive::{Condition, Drive, Io, Refused, Served, Stamp, ZoneInfo, Zoned};
use shingle_core::units::{Block, Nanos, Op, Zone};

impl Zoned for HostAware {
    fn moved(&mut self) -> Option<Zone> {
        let zone = self.zones.next_moved()?;
        Some(Zone(u32::try_from(zone).expect("zones have numbers of 32 bits")))
    }

    /// Takes a walk over what the disk cache holds of the zone.
    fn zone(&self, zone: Zone) -> ZoneInfo {
        let at = zone.index();
        let (first, blocks) = (self.zones.first(at), self.zones.blocks());
        let (write_pointer, condition) = (self.zones.pointer(at), self.zones.condition(at));
        let map = self.cache.map();
        let slots = std::iter::successors(map.first_of(at), |&slot| map.next_of(at, slot));
        let last = slots.map(|slot| map.block(slot) + 1 - first.0).max();
        let written = if condition == Condition::Conventional { blocks } else { write_pointer };
        ZoneInfo {
            first,
            blocks,
            write_pointer,
            data_end: written.max(last.unwrap_or(0)),
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
        let at = zone.index();
        let pointer = self.zones.pointer(at);
        match self.zones.condition(at) {
            Condition::Conventional => return Err(Refused::Conventional),
            Condition::Full => return Err(Refused::ZoneFull),
            _ if count > self.zones.blocks() - pointer => return Err(Refused::ZoneBoundary),
            _ => {}
        }
        let block = self.zones.first(at).after(pointer);
        Ok((block, self.serve(now, &Io { op: Op::Write, block, count }, data)))
    }

    fn reset(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused> {
        let at = zone.index();
        if self.zones.is_conventional(at) {
            return Err(Refused::Conventional);
        }
        let (first, blocks) = (self.zones.first(at).0, self.zones.blocks());
        self.give_up(at);
        self.release(at, first, blocks);
        self.contents.drop_native(first..first + blocks);
        self.zones.reset(at);
        let mut served = Served { done: now, ..Served::default() };
        self.command(&mut served);
        self.counters.zone_resets += 1;
        self.counters.write_time += served.done.since(now);
        Ok(served)
    }
}
