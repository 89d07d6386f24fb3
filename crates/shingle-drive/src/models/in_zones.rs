//! A disk that takes writes anywhere, written in zones: each in sequence, but for a few that are
//! written in place (conventional ones).
//!
//! The zones are a rule of the host, kept by it beside the disk, as in the head of a zoned disk
//! (`shingle zoned create`). A drive-managed disk that is written so gets its data in runs that go
//! on over many bands: a band that is filled in order goes past the disk's buffer, and of one that
//! was interrupted the buffer gets most blocks, in long extents. So what is above it, a translation
//! that writes everything as a log, cleans in the disk's place.
//!
//! The rules are those of a host-managed disk (`parts/zone_states.rs`). Blocks beyond a write
//! pointer read as zeros without asking the disk, as the host knows the pointers. A reset changes
//! nothing on the disk, and takes no time. Where the host keeps the pointers is not modelled: it
//! writes a few blocks at each flush.

use crate::counters::Counters;
use crate::drive::{BufferState, Description, Drive, Zoned};
use crate::io::{Io, Served, Stamp};
use crate::parts::zone_states::Zones;
use crate::steps::StepLog;
use crate::wear::Wear;
use crate::zone::{Exposed, Refused, ZoneInfo};
use shingle_core::drive_view::{Costs, InOrder};
use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_core::zones::ZoneMap;

pub(crate) struct InZones {
    disk: Box<dyn Drive>,
    zones: Zones,
    /// Blocks of the disk's own zones, if it has some, with write pointers that are advice.
    beneath_blocks: Option<u64>,
    description: Description,
}

/// Zones open at a time: a drive-managed disk takes one run in order past its buffer, and a run
/// that goes on in another zone interrupts it.
const OPEN: u32 = 1;

/// What is appended at a time, to measure a disk: 512 KiB.
const APPEND: u64 = 128;

/// Writes `disk` in zones of `zone_blocks`, the first `conventional` of them in place; the rest of
/// a zone at its end is left out. A host-aware disk may have zones of its own, so many to each of
/// these: one is reset when its first block is written again. Hosts plan with `costs`, as
/// [`costs_in_zones`] measures them.
///
/// # Panics
/// If there is no room for another zone behind these, or its own zones do not fit into them.
#[must_use]
pub fn in_zones(
    disk: Box<dyn Drive>,
    zone_blocks: u64,
    conventional: u32,
    costs: Costs,
) -> Box<dyn Drive> {
    let beneath = disk.description();
    let count = beneath.disk_blocks / zone_blocks;
    assert!(count > u64::from(conventional), "a zone is written in sequence");
    let disk_blocks = count * zone_blocks;
    let beneath_blocks = own_blocks(beneath, zone_blocks);
    let description = Description {
        disk_blocks,
        bands: Some(ZoneMap::fixed(zone_blocks, disk_blocks)),
        exposed: Some(Exposed {
            conventional_zones: conventional,
            sequential_required: true,
            reads_beyond: true,
            open_zones: OPEN,
            non_sequential_zones_advised: 0,
        }),
        buffer_blocks: 0,
        in_order: InOrder::default(),
        costs,
        ..beneath.clone()
    };
    let zones = Zones::new(count as usize, zone_blocks, conventional as usize, OPEN as usize);
    Box::new(InZones { disk, zones, beneath_blocks, description })
}

/// Blocks of the disk's own zones, if it has some.
fn own_blocks(disk: &Description, zone_blocks: u64) -> Option<u64> {
    disk.exposed.map(|exposed| {
        let own = disk.bands.as_ref().map_or(0, |zones| zones.blocks(Zone(0)));
        assert!(!exposed.sequential_required && own > 0 && zone_blocks.is_multiple_of(own));
        own
    })
}

/// Passes that a block costs: it is written once, and read and written when the log is cleaned. On
/// the workloads that this was chosen on (`synth:mixed`, `synth:msr-hm_0`) the disk wrote 5 to 8
/// bytes for each of the host, its own cleaning included, and read as many.
const PASSES: u64 = 12;

/// What a host plans with over a disk that is written in zones of `zone_blocks`. `R(x)` is the way to
/// the place that is written, as for a read, and for each block twelve passes: it is written, and cleaned
/// later. A pass is measured: the time of a block of a zone written in order. That is done on `disk`, a new
/// one: a copy of a disk with a large buffer takes hundreds of megabytes.
///
/// # Panics
/// If its own zones do not fit into these.
#[must_use]
pub fn costs_in_zones(mut disk: Box<dyn Drive>, zone_blocks: u64) -> Costs {
    let own = own_blocks(disk.description(), zone_blocks);
    let mut now = Nanos::ZERO;
    for block in (0..zone_blocks).step_by(APPEND as usize) {
        let count = APPEND.min(zone_blocks - block);
        now = reset_own(disk.as_mut(), own, now, Block(block), count).done;
        let io = Io { op: Op::Write, block: Block(block), count };
        now = disk.serve(now, &io, &mut []).done;
    }
    let read = disk.description().costs.read;
    Costs { read, rmw_base: read, rmw_per_block: Nanos(PASSES * now.0 / zone_blocks) }
}

/// Resets those of the disk's own zones, of `own` blocks, that are written from their first block on.
fn reset_own(
    disk: &mut dyn Drive,
    own: Option<u64>,
    now: Nanos,
    block: Block,
    count: u64,
) -> Served {
    let mut served = Served { done: now, ..Served::default() };
    let (Some(own), Some(disk)) = (own, disk.zoned()) else { return served };
    for zone in block.0.div_ceil(own)..(block.0 + count).div_ceil(own) {
        let zone = Zone(u32::try_from(zone).expect("zones have numbers of 32 bits"));
        if disk.zone(zone).data_end > 0 {
            let reset = disk.reset(served.done, zone).expect("no zone is conventional");
            served.then(&reset, false);
        }
    }
    served
}

impl InZones {
    /// Reads what lies below write pointers.
    fn read(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        let mut served = Served { done: now, ..Served::default() };
        let mut done = 0;
        while done < io.count {
            let block = io.block.0 + done;
            let (written, count) = self.zones.part(block, io.count - done);
            let stamps = data.get_mut(done as usize..(done + count) as usize);
            let stamps = stamps.unwrap_or_default();
            if written {
                let io = Io { op: Op::Read, block: Block(block), count };
                served.then(&self.disk.serve(served.done, &io, stamps), false);
            } else {
                stamps.fill(0);
            }
            done += count;
        }
        served
    }
}

impl Drive for InZones {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        match self.try_serve(now, io, data) {
            Ok(served) => served,
            Err(refused) => panic!("{:?} of {} blocks: {refused}", io.op, io.count),
        }
    }

    fn prefetch(&self, block: Block) {
        self.disk.prefetch(block);
    }

    fn background(&mut self, now: Nanos, idle_since: Nanos, pending: &[Io]) -> Option<Nanos> {
        self.disk.background(now, idle_since, pending)
    }

    fn background_from(&self, idle_since: Nanos) -> Option<Nanos> {
        self.disk.background_from(idle_since)
    }

    fn drain(&mut self, now: Nanos) -> Nanos {
        self.disk.drain(now)
    }

    fn zoned(&mut self) -> Option<&mut dyn Zoned> {
        Some(self)
    }

    fn steps(&mut self) -> Option<&mut StepLog> {
        self.disk.steps()
    }

    fn counters(&self) -> &Counters {
        self.disk.counters()
    }

    fn buffer(&self) -> BufferState {
        self.disk.buffer()
    }

    fn wear(&self) -> Option<Wear> {
        self.disk.wear()
    }

    fn description(&self) -> &Description {
        &self.description
    }

    fn copy(&self) -> Box<dyn Drive> {
        Box::new(InZones {
            disk: self.disk.copy(),
            zones: self.zones.clone(),
            beneath_blocks: self.beneath_blocks,
            description: self.description.clone(),
        })
    }

    fn check(&self) {
        self.zones.check();
        self.disk.check();
    }
}

impl Zoned for InZones {
    fn moved(&mut self) -> Option<Zone> {
        self.zones.next_moved()
    }

    fn zone(&self, zone: Zone) -> ZoneInfo {
        self.zones.info(zone)
    }

    fn try_serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Result<Served, Refused> {
        match io.op {
            Op::Write => {
                self.zones.may_write(io.block, io.count)?;
                let (zone, offset) = self.zones.place(io.block.0);
                if self.zones.is_conventional(zone) {
                    return Ok(self.disk.serve(now, io, data));
                }
                self.zones.advance(zone, offset, io.count);
                let (disk, own) = (self.disk.as_mut(), self.beneath_blocks);
                let mut served = reset_own(disk, own, now, io.block, io.count);
                served.then(&self.disk.serve(served.done, io, data), false);
                Ok(served)
            }
            Op::Read => Ok(self.read(now, io, data)),
            Op::Trim | Op::Flush => Ok(self.disk.serve(now, io, data)),
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
        let served = self.try_serve(now, &Io { op: Op::Write, block, count }, data)?;
        Ok((block, served))
    }

    fn open(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused> {
        self.zones.may_open(zone.index())?;
        self.zones.open(zone.index());
        Ok(Served { done: now, ..Served::default() })
    }

    fn close(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused> {
        self.zones.may_move(zone.index())?;
        self.zones.close(zone.index());
        Ok(Served { done: now, ..Served::default() })
    }

    fn finish(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused> {
        self.zones.may_open(zone.index())?;
        self.zones.finish(zone.index());
        Ok(Served { done: now, ..Served::default() })
    }

    fn reset(&mut self, now: Nanos, zone: Zone) -> Result<Served, Refused> {
        let at = zone.index();
        self.zones.may_move(at)?;
        self.zones.reset(at);
        Ok(Served { done: now, ..Served::default() })
    }
}
