//! Zone commands of the host (ZBC/ZAC, sequential write required).

use super::HostManaged;
use crate::drive::Zoned;
use crate::io::{Io, Served, Stamp};
use crate::zone::{Refused, ZoneInfo};
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Zone};

impl Zoned for HostManaged {
    fn moved(&mut self) -> Option<Zone> {
        self.zones.next_moved()
    }

    fn zone(&self, zone: Zone) -> ZoneInfo {
        self.zones.info(zone)
    }

    fn try_serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Result<Served, Refused> {
        match io.op {
            Op::Write => self.zones.may_write(io.block, io.count)?,
            Op::Read if !self.reads_beyond => self.zones.may_read(io.block, io.count)?,
            Op::Read | Op::Trim | Op::Flush => {}
        }
        self.contents.see(data);
        let mut served = Served { done: now, ..Served::default() };
        match io.op {
            Op::Read => self.read(&mut served, io, data),
            Op::Write => self.write(&mut served, io, data),
            Op::Trim | Op::Flush => self.command(&mut served),
        }
        let (counters, took) = (&mut self.counters, served.done.since(now));
        match io.op {
            Op::Read => {
                counters.read_blocks += io.count;
                counters.read_time += took;
            }
            Op::Write => {
                counters.written_blocks += io.count;
                counters.native_bytes_written += io.count * BLOCK_BYTES;
                counters.write_time += took;
            }
            Op::Trim | Op::Flush => counters.write_time += took,
        }
        Ok(served)
    }

    fn append(
        &mut self,
        now: Nanos,
        zone: Zone,
        count: u64,
        data: &mut [Stamp],
    ) -> Result<(Block, Served), Refused> {
        let block = self.zones.append_at(zone.index(), count)?;
        let served = self.try_serve(now, &Io { op: Op::Write, block, count }, data)?;
        Ok((block, served))
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

    fn finish(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused> {
        self.zones.may_open(zone.index())?;
        let closes = self.zones.finish(zone.index());
        Ok(self.commanded(now, closes))
    }

    fn reset(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused> {
        let at = zone.index();
        self.zones.may_move(at)?;
        let (first, written) = (self.zones.first(at), self.zones.pointer(at));
        self.mech.forget(first.0, written);
        self.contents.drop_native(first.0..first.0 + written);
        self.zones.reset(at);
        self.counters.zone_resets += 1;
        Ok(self.commanded(now, false))
    }
}

impl HostManaged {
    /// Returns the time of a command that moves no data. Closing another zone takes none.
    fn commanded(&mut self, now: Nanos, closes: bool) -> Served {
        let mut served = Served { done: now, ..Served::default() };
        self.command(&mut served);
        self.counters.zone_closes += u64::from(closes);
        self.counters.write_time += served.done.since(now);
        served
    }
}
