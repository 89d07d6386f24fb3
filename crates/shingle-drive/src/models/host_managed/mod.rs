//! A host-managed shingled disk: zones that must be written in sequence, and a few conventional ones.
//!
//! ```text
//!  outer edge                                                   inner edge
//!  ┌──────────────────────────┬────────┬────────┬───┄┄┄───┬────────┐
//!  │ conventional zones       │ zone n │ zone … │         │ zone m │   of equal size
//!  └──────────────────────────┴────────┴────────┴───┄┄┄───┴────────┘
//!    ▲ any write, in place      ▲ writes at the write pointer, nothing else
//! ```
//! The rules are those of ZBC/ZAC for zones of the type sequential write required; what breaks one is
//! refused and changes nothing (`parts/zone_states.rs`). There is no buffer and no cleaning: that is the business
//! of the host (Amphisbaena §2.1: "all non-sequential write requests return error messages"). Reads may
//! cross zones; beyond a write pointer the drive makes zeros up (URSWRZ of ZBC is 1) or refuses.
//!
//! The write cache is off, as Amphisbaena §6.1 has it: a write is on the medium when it is done, and
//! an append waits for the platter to come round unless the head is just there. What is not modelled:
//! a write cache, zones that are read-only or offline, guard tracks between zones, defects, a trim
//! (it changes nothing), and what a finished zone takes to be filled.
//!
//! Under timing by cost an I/O that does not continue the last one costs positioning, and every
//! block its transfer, so that a host that reads `x` blocks of a zone and writes them again is
//! charged the `R(x)` that SAC+ measured on a host-managed disk, in any number of I/Os.

mod commands;
mod values;

use crate::counters::Counters;
use crate::drive::{Description, Drive, Zoned};
use crate::io::{Io, Served, Stamp};
use crate::parts::contents::Contents;
use crate::parts::cost::MeasuredValues;
use crate::parts::mech::{Mech, MechValues};
use crate::parts::zone_states::Zones;
use crate::sheet::{Buffer, DriveError, Recipe, Timing};
use crate::zone::Exposed;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op};
use shingle_core::zones::ZoneMap;
use values::{CostValues, Values};

#[derive(Clone)]
pub(crate) struct HostManaged {
    timing: Timing,
    costs: CostValues,
    reads_beyond: bool,
    mech: Mech,
    zones: Zones,
    /// End of the last I/O, for timing by cost.
    last_end: u64,
    description: Description,
    counters: Counters,
    contents: Contents,
}

impl HostManaged {
    pub(crate) fn make(recipe: &Recipe) -> Result<Box<dyn Drive>, DriveError> {
        if recipe.settings.buffer != Buffer::Real {
            return Err(recipe.refuse("a host-managed disk has no buffer of its own to size"));
        }
        let (values, mech): (Values, MechValues) = (recipe.sheet.values(), recipe.sheet.values());
        let (costs, measured): (CostValues, MeasuredValues) =
            (recipe.sheet.values(), recipe.sheet.values());
        let layout = values.layout(recipe, mech.capacity_bytes / BLOCK_BYTES)?;
        let timing = recipe.settings.timing.unwrap_or(Timing::Mechanics);
        let disk_blocks = layout.zones as u64 * layout.zone_blocks;
        let description = Description {
            bands: Some(ZoneMap::fixed(layout.zone_blocks, disk_blocks)),
            exposed: Some(Exposed {
                conventional_zones: layout.conventional,
                sequential_required: true,
                reads_beyond: values.reads_beyond_pointer,
                open_zones: layout.open_max,
                non_sequential_zones_advised: 0,
            }),
            ..Description::new(disk_blocks, measured.plan(costs.plan(), timing))
        };
        let (conventional, open_max) = (layout.conventional as usize, layout.open_max as usize);
        Ok(Box::new(HostManaged {
            timing,
            costs,
            reads_beyond: values.reads_beyond_pointer,
            mech: Mech::new(&mech, 0, disk_blocks),
            zones: Zones::new(layout.zones, layout.zone_blocks, conventional, open_max),
            last_end: 0,
            description,
            counters: Counters::default(),
            contents: Contents::default(),
        }))
    }

    /// Adds the time of a command; under timing by cost it is part of the positioning.
    fn command(&self, served: &mut Served) {
        if self.timing == Timing::Mechanics {
            self.mech.command(served);
        }
    }

    /// Adds the time of the medium for neighbouring blocks.
    fn access(&mut self, served: &mut Served, op: Op, block: u64, count: u64) {
        match (self.timing, op) {
            (Timing::Mechanics, Op::Read) => self.mech.read(served, block, count),
            (Timing::Mechanics, _) => self.mech.write(served, block, count),
            (Timing::Cost, _) => {
                let goes_on = block == self.last_end;
                served.spend(self.costs.io(op, count, goes_on));
            }
        }
        self.last_end = block + count;
    }

    /// Reads written blocks from the medium, and synthesizes the rest.
    fn read(&mut self, served: &mut Served, io: &Io, data: &mut [Stamp]) {
        self.command(served);
        let mut done = 0;
        while done < io.count {
            let block = io.block.0 + done;
            let (written, count) = self.piece(block, io.count - done);
            if written {
                self.access(served, Op::Read, block, count);
                self.counters.native_read_blocks += count;
            } else {
                self.counters.beyond_pointer_blocks += count;
                if self.timing == Timing::Mechanics {
                    self.mech.bus(served, count);
                }
            }
            done += count;
        }
        self.contents.serve_native(io, data);
    }

    /// Returns whether `block` was written, and how many of the next `most` blocks are alike.
    fn piece(&self, block: u64, most: u64) -> (bool, u64) {
        let (written, mut count) = self.zones.part(block, most);
        // Terminates: each turn advances to the write pointer or the end of a zone.
        while count < most {
            let (alike, more) = self.zones.part(block + count, most - count);
            if alike != written {
                break;
            }
            count += more;
        }
        (written, count)
    }

    /// Writes, if the rules allow it.
    fn write(&mut self, served: &mut Served, io: &Io, data: &mut [Stamp]) {
        self.command(served);
        let (zone, offset) = self.zones.place(io.block.0);
        if !self.zones.is_conventional(zone) {
            let closes = self.zones.advance(zone, offset, io.count);
            self.counters.zone_closes += u64::from(closes);
        }
        if self.timing == Timing::Mechanics {
            self.mech.bus(served, io.count);
        }
        self.access(served, Op::Write, io.block.0, io.count);
        self.contents.serve_native(io, data);
    }
}

impl Drive for HostManaged {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        match self.try_serve(now, io, data) {
            Ok(served) => served,
            Err(refused) => panic!("{:?} of {} blocks: {refused}", io.op, io.count),
        }
    }

    fn zoned(&mut self) -> Option<&mut dyn Zoned> {
        Some(self)
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

    fn check(&self) {
        self.zones.check();
        let counters = &self.counters;
        let read = counters.native_read_blocks + counters.beyond_pointer_blocks;
        assert_eq!(counters.read_blocks, read);
        assert_eq!(counters.native_bytes_written, counters.written_blocks * BLOCK_BYTES);
    }
}
