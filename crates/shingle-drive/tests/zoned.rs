//! The seam for zoned drives, proved by a double: write pointers, append, reset, refusals.

use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_drive::drive::{
    Condition, Costs, Counters, Description, Drive, Io, Refused, Served, Stamp, ZoneInfo, Zoned,
};

const ZONE: u64 = 8;
const OPEN_MAX: usize = 2;

/// Zone 0 is conventional, the others are written in order. Every I/O takes a millisecond.
#[derive(Clone)]
struct Double {
    stamps: Vec<Stamp>,
    pointers: Vec<(u64, Condition)>,
    description: Description,
    counters: Counters,
}

impl Double {
    fn new(zones: usize) -> Double {
        let millisecond = Nanos::from_millis(1);
        let costs = Costs { read: millisecond, rmw_base: millisecond, rmw_per_block: Nanos::ZERO };
        let disk_blocks = zones as u64 * ZONE;
        let mut pointers = vec![(0, Condition::Empty); zones];
        pointers[0].1 = Condition::Conventional;
        let bands = None;
        let description = Description {
            disk_blocks,
            bands,
            buffer_blocks: 0,
            exposed: None,
            costs,
            uniform: false,
            channels: 1,
        };
        let stamps = vec![0; zones * ZONE as usize];
        Double { stamps, pointers, description, counters: Counters::default() }
    }

    fn took(now: Nanos) -> Served {
        let transfer = Nanos::from_millis(1);
        Served { done: now + transfer, transfer, ..Served::default() }
    }

    /// Opens a zone, closing another that was opened by a write if need be.
    fn open(&mut self, zone: Zone) -> Result<(), Refused> {
        use Condition::{Closed, ExplicitOpen, ImplicitOpen};
        if matches!(self.pointers[zone.index()].1, ImplicitOpen | ExplicitOpen) {
            return Ok(());
        }
        let open = self.pointers.iter().filter(|(_, c)| matches!(c, ImplicitOpen | ExplicitOpen));
        if open.count() >= OPEN_MAX {
            let implicit = self.pointers.iter_mut().find(|(_, c)| *c == ImplicitOpen);
            implicit.ok_or(Refused::TooManyOpen)?.1 = Closed;
        }
        self.pointers[zone.index()].1 = ImplicitOpen;
        Ok(())
    }
}

impl Drive for Double {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        assert_eq!(io.op, Op::Read, "writes are appends here");
        let first = io.block.0 as usize;
        data.copy_from_slice(&self.stamps[first..first + data.len()]);
        Double::took(now)
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
    fn description(&self) -> &Description {
        &self.description
    }
    fn copy(&self) -> Box<dyn Drive> {
        Box::new(self.clone())
    }
}

impl Zoned for Double {
    fn moved(&mut self) -> Option<Zone> {
        None
    }

    fn zone(&self, zone: Zone) -> ZoneInfo {
        let (write_pointer, condition) = self.pointers[zone.index()];
        let first = Block(u64::from(zone.0) * ZONE);
        let data_end = write_pointer;
        ZoneInfo { first, blocks: ZONE, write_pointer, data_end, non_sequential: false, condition }
    }

    fn append(
        &mut self,
        now: Nanos,
        zone: Zone,
        count: u64,
        data: &mut [Stamp],
    ) -> Result<(Block, Served), Refused> {
        let info = self.zone(zone);
        match info.condition {
            Condition::Conventional => return Err(Refused::Conventional),
            Condition::Full => return Err(Refused::ZoneFull),
            _ if info.write_pointer + count > ZONE => return Err(Refused::ZoneBoundary),
            _ => self.open(zone)?,
        }
        let first = info.first.after(info.write_pointer);
        self.stamps[first.0 as usize..][..data.len()].copy_from_slice(data);
        let state = &mut self.pointers[zone.index()];
        state.0 += count;
        if state.0 == ZONE {
            state.1 = Condition::Full;
        }
        self.counters.written_blocks += count;
        Ok((first, Double::took(now)))
    }

    fn reset(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused> {
        if self.zone(zone).condition == Condition::Conventional {
            return Err(Refused::Conventional);
        }
        self.stamps[zone.index() * ZONE as usize..][..ZONE as usize].fill(0);
        self.pointers[zone.index()] = (0, Condition::Empty);
        Ok(Double::took(now))
    }
}

fn read(drive: &mut dyn Drive, block: u64) -> Stamp {
    let mut stamp = [0];
    drive.serve(Nanos::ZERO, &Io { op: Op::Read, block: Block(block), count: 1 }, &mut stamp);
    stamp[0]
}

#[test]
fn appends_move_the_write_pointer_to_the_end_and_resets_back() {
    let mut drive = Double::new(3);
    let zoned: &mut dyn Zoned = &mut drive;
    let zone = Zone(1);
    let (first, served) = zoned.append(Nanos::ZERO, zone, 3, &mut [7, 8, 9]).expect("room");
    assert_eq!((first, served.done), (Block(8), Nanos::from_millis(1)));
    assert_eq!(zoned.zone(zone).write_pointer, 3);
    assert_eq!(zoned.zone(zone).condition, Condition::ImplicitOpen);
    let (first, _) = zoned.append(served.done, zone, 5, &mut [10, 11, 12, 13, 14]).expect("room");
    assert_eq!((first, zoned.zone(zone).condition), (Block(11), Condition::Full));
    assert_eq!(read(&mut drive, 10), 9);
    drive.reset(Nanos::ZERO, zone).expect("a sequential zone");
    assert_eq!((drive.zone(zone).write_pointer, read(&mut drive, 10)), (0, 0));
}

#[test]
fn a_refused_command_changes_nothing() {
    let mut drive = Double::new(5);
    assert_eq!(drive.append(Nanos::ZERO, Zone(0), 1, &mut []).err(), Some(Refused::Conventional));
    assert_eq!(drive.reset(Nanos::ZERO, Zone(0)).err(), Some(Refused::Conventional));
    drive.append(Nanos::ZERO, Zone(1), 6, &mut []).expect("room");
    let crossing = drive.append(Nanos::ZERO, Zone(1), 3, &mut []).err();
    assert_eq!((crossing, drive.zone(Zone(1)).write_pointer), (Some(Refused::ZoneBoundary), 6));
    drive.append(Nanos::ZERO, Zone(1), 2, &mut []).expect("room");
    assert_eq!(drive.append(Nanos::ZERO, Zone(1), 1, &mut []).err(), Some(Refused::ZoneFull));
    // Two open zones at most: the first one opened by a write is closed for the third.
    for zone in [2, 3, 4] {
        drive.append(Nanos::ZERO, Zone(zone), 1, &mut []).expect("a zone can be closed");
    }
    assert_eq!(drive.zone(Zone(2)).condition, Condition::Closed);
    drive.pointers[3].1 = Condition::ExplicitOpen;
    drive.pointers[4].1 = Condition::ExplicitOpen;
    assert_eq!(drive.append(Nanos::ZERO, Zone(2), 1, &mut []).err(), Some(Refused::TooManyOpen));
    assert_eq!(drive.zone(Zone(2)).write_pointer, 1);
    assert_eq!(drive.counters().written_blocks, 11);
}
