//! A flash SSD: a translation layer over units that work in parallel.
//!
//! A block of the host is a page. An I/O of several is spread over the units; it is done when the
//! last of them is. What an I/O waits for because its unit still works on others is
//! [`Served::wait`]; garbage collection that a write sets off is [`Served::clean`] of that write.
//!
//! Left out: a cache for data or for the map, the interface to the host, interleaving of planes.

use crate::counters::Counters;
use crate::drive::{Description, Drive};
use crate::io::{Io, Served, Stamp};
use crate::parts::flash::{Ftl, Geometry, Times};
use crate::parts::schedule::Schedule;
use crate::sheet::{DriveError, Recipe};
use serde::Deserialize;
use shingle_core::drive_view::Costs;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op};

#[derive(Deserialize)]
struct Values {
    units: u32,
    blocks_per_unit: u32,
    pages_per_block: u32,
    over_provisioning_percent: u64,
    min_free_percent: u64,
    read_us: u64,
    program_us: u64,
    erase_us: u64,
    transfer_ns_per_byte: u64,
}

#[derive(Clone)]
pub(crate) struct FlashSsd {
    ftl: Ftl,
    schedule: Schedule,
    times: Times,
    description: Description,
    counters: Counters,
    stamped: bool,
}

impl FlashSsd {
    pub(crate) fn make(recipe: &Recipe) -> Result<Box<dyn Drive>, DriveError> {
        recipe.refuse_mechanics()?;
        let v: Values = recipe.sheet.values();
        let (units, blocks_per_unit) = (v.units, v.blocks_per_unit);
        let geometry = Geometry { units, blocks_per_unit, pages_per_block: v.pages_per_block };
        let blocks = u64::from(units) * u64::from(blocks_per_unit);
        let pages = blocks * u64::from(v.pages_per_block);
        let logical = pages * (100 - v.over_provisioning_percent) / 100;
        let min_free = (u64::from(blocks_per_unit) * v.min_free_percent).div_ceil(100);
        if pages >= u64::from(u32::MAX) {
            return Err(recipe.refuse("more than 16 TiB of flash; have fewer units or blocks"));
        }
        let ftl = Ftl::new(geometry, logical as u32, min_free as u32).ok_or_else(|| {
            recipe.refuse(
                "no spare pages are left to collect: have more blocks_per_unit or \
                 over_provisioning_percent, or less min_free_percent",
            )
        })?;
        let times = Times {
            read: Nanos::from_micros(v.read_us),
            program: Nanos::from_micros(v.program_us),
            erase: Nanos::from_micros(v.erase_us),
            transfer: Nanos(v.transfer_ns_per_byte * BLOCK_BYTES),
        };
        let costs = Costs {
            read: times.read + times.transfer,
            rmw_base: Nanos::ZERO,
            rmw_per_block: times.program + times.transfer,
        };
        let description = Description { channels: Some(units), ..Description::new(logical, costs) };
        let (schedule, counters) = (Schedule::new(units), Counters::default());
        Ok(Box::new(FlashSsd { ftl, schedule, times, description, counters, stamped: false }))
    }

    /// Reads or writes a page, and adds the time of its unit to `served`.
    fn page(&mut self, op: Op, logical: u32, stamp: Option<&mut Stamp>, served: &mut Served) {
        served.command += self.times.transfer;
        if op == Op::Write {
            self.counters.pages_programmed += 1;
            served.transfer += self.times.program;
            if let Some(collected) = self.ftl.write(logical, stamp.map_or(0, |stamp| *stamp)) {
                self.counters.pages_programmed += u64::from(collected.copied);
                self.counters.pages_copied += u64::from(collected.copied);
                self.counters.flash_blocks_erased += 1;
                served.clean += self.times.collection(collected.copied);
            }
            return;
        }
        let found = self.ftl.read(logical);
        // Unmapped pages read as zeros without flash access.
        served.transfer += if found.is_some() { self.times.read } else { Nanos::ZERO };
        if let Some(stamp) = stamp {
            *stamp = found.unwrap_or(0);
        }
    }

    /// Reads or writes: units in parallel, the pages of each one after the other.
    fn transfer(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        let mut last = Served { done: now, ..Served::default() };
        let units = u64::from(self.schedule.units());
        for lane in 0..units.min(io.count) {
            let mut served = Served::default();
            for at in (lane..io.count).step_by(units as usize) {
                let logical = (io.block.0 + at) as u32;
                self.page(io.op, logical, data.get_mut(at as usize), &mut served);
            }
            let span = served.command + served.transfer + served.clean;
            let unit = ((io.block.0 + lane) % units) as u32;
            let start = self.schedule.occupy(unit, now, span);
            (served.wait, served.done) = (start.since(now), start + span);
            if served.done > last.done {
                last = served;
            }
        }
        last
    }
}

impl Drive for FlashSsd {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        if !self.stamped && !data.is_empty() {
            self.stamped = true;
            self.ftl.keep_stamps();
        }
        match io.op {
            Op::Read | Op::Write => {}
            Op::Trim => {
                let blocks = io.block.0..io.block.0 + io.count;
                blocks.for_each(|block| self.ftl.trim(block as u32));
                return Served { done: now, ..Served::default() };
            }
            // A completed write is on the flash.
            Op::Flush => return Served { done: now, ..Served::default() },
        }
        let served = self.transfer(now, io, data);
        self.counters.native(io, served.command + served.transfer);
        self.counters.clean_time += served.clean;
        served
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
        self.ftl.check();
        self.schedule.check();
        let erases: u64 = self.ftl.erase_counts().iter().map(|&count| u64::from(count)).sum();
        assert_eq!(erases, self.counters.flash_blocks_erased, "an erase is not counted");
        let programmed = self.counters.written_blocks + self.counters.pages_copied;
        assert_eq!(programmed, self.counters.pages_programmed, "a page is not counted");
    }
}
