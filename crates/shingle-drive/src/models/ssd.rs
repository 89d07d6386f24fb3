//! An SSD with a fixed time for each 4 KiB.
//!
//! Closed-loop runs add up its service times, as SAC does. In open loop it serves as many I/Os in
//! parallel as it has channels, each on the one that is free first. It has no flash translation
//! layer: no wear, no garbage collection.

use crate::counters::Counters;
use crate::drive::{Description, Drive};
use crate::io::{Io, Served, Stamp};
use crate::parts::contents::Contents;
use crate::parts::schedule::Schedule;
use crate::sheet::{DriveError, Recipe};
use serde::Deserialize;
use shingle_core::drive_view::Costs;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op};

#[derive(Deserialize)]
struct Values {
    capacity_bytes: u64,
    us_per_block: u64,
    channels: u32,
    disks: u32,
}

impl Values {
    /// Returns the share of one disk: servers, and the time of a block on each. All disks have the
    /// same load, so each gets the same share of the SSD. A block never takes less time than on an
    /// SSD of its own.
    fn share(&self) -> (u32, Nanos) {
        let own = self.channels.div_ceil(self.disks);
        let alone = Nanos::from_micros(self.us_per_block).0;
        let shared = alone * u64::from(own) * u64::from(self.disks) / u64::from(self.channels);
        (own, Nanos(shared))
    }
}

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
        let (channels, block) = values.share();
        let costs = Costs { read: block, rmw_base: Nanos::ZERO, rmw_per_block: block };
        let description = Description {
            uniform: Some(block),
            channels: Some(channels),
            ..Description::new(values.capacity_bytes / BLOCK_BYTES, costs)
        };
        let channels = Schedule::new(channels);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_share_what_an_ssd_can_do() {
        let share = |disks| {
            let values = Values { capacity_bytes: 0, us_per_block: 28, channels: 8, disks };
            let (own, block) = values.share();
            (own, block.0)
        };
        assert_eq!(share(1), (8, 28_000));
        assert_eq!(share(4), (2, 28_000));
        // Two and two thirds of a server: three that are slower.
        assert_eq!(share(3), (3, 31_500));
        assert_eq!(share(16), (1, 56_000));
        assert_eq!(share(100), (1, 350_000));
    }
}
