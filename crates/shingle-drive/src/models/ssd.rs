//! An SSD with a fixed time for each 4 KiB.
//!
//! Closed-loop runs add up its service times, as SAC does. In open loop it works at as many I/Os as
//! it has channels, each on the one that is free first. No flash translation layer: nothing here
//! wears or collects garbage.

use crate::counters::Counters;
use crate::drive::{Description, Drive};
use crate::io::{Io, Served, Stamp};
use crate::parts::contents::Contents;
use crate::parts::schedule::Schedule;
use crate::sheet::{DriveError, Recipe};
use serde::Deserialize;
use shingle_core::slots::Costs;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op};

#[derive(Deserialize)]
struct Values {
    capacity_bytes: u64,
    us_per_block: u64,
    channels: u32,
}

/// See the module.
#[derive(Clone)]
pub(crate) struct Ssd {
    block: Nanos,
    channels: Schedule,
    description: Description,
    counters: Counters,
    contents: Contents,
}

impl Ssd {
    pub(crate) fn make(recipe: &Recipe) -> Result<Box<dyn Drive>, DriveError> {
        recipe.refuse_mechanics()?;
        let values: Values = recipe.sheet.values();
        let block = Nanos::from_micros(values.us_per_block);
        let costs = Costs { read: block, rmw_base: Nanos::ZERO, rmw_per_block: block };
        let description = Description {
            disk_blocks: values.capacity_bytes / BLOCK_BYTES,
            bands: None,
            buffer_blocks: 0,
            exposed: None,
            costs,
            uniform: true,
            channels: Some(values.channels),
            queued_command: Nanos::ZERO,
        };
        let channels = Schedule::new(values.channels);
        let (counters, contents) = (Counters::default(), Contents::default());
        Ok(Box::new(Ssd { block, channels, description, counters, contents }))
    }
}

impl Drive for Ssd {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        self.contents.see(data);
        if matches!(io.op, Op::Trim | Op::Flush) {
            return Served { done: now, ..Served::default() };
        }
        self.contents.serve_native(io, data);
        let transfer = Nanos(self.block.0 * io.count);
        self.counters.native(io, transfer);
        let start = self.channels.occupy_any(now, transfer);
        let (done, wait) = (start + transfer, start.since(now));
        Served { done, transfer, wait, ..Served::default() }
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
        self.channels.check();
    }
}
