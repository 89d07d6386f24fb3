//! A host-aware shingled disk: zones with write pointers, which take non-sequential writes too.
//!
//! ```text
//!  outer edge                                                              inner edge
//!  ┌────────────────────────┬──────────────┬────────┬────────┬───┄┄┄───┬────────┐
//!  │ disk cache: log zones  │ conventional │ zone n │ zone … │         │ zone m │   of equal size
//!  └────────────────────────┴──────────────┴────────┴────────┴───┄┄┄───┴────────┘
//!    ▲ all other writes        ▲ any write   ▲ writes that start at the write pointer
//! ```
//! A write is split at the borders of zones. A piece that starts at its zone's write pointer goes
//! there, as a whole, and advances the pointer; any other goes to the disk cache, and the pointer
//! stays (ROCO §2.1, Fig. 2). When the disk cache runs out of free log zones it is cleaned zone by
//! zone, or its log zones are garbage collected (`clean.rs`). Reads return the newest copy; beyond
//! the write pointer the drive returns zeros.
//!
//! The write cache is off, as ROCO's disk has it: a write is on the medium when it is done. What is
//! not modelled: where the map of the disk cache lies and how it is saved, scratch space that keeps
//! a rewriting safe from power cuts, guard tracks between zones, defects.
//!
//! After a trim the content of the blocks is unspecified until they are written again. A zone that
//! is written only through the disk cache is not open: only its pointer counts.

mod cache;
mod clean;
mod commands;
mod marks;
mod read;
mod values;
mod write;

use crate::counters::Counters;
use crate::drive::{BufferState, Description, Drive, Zoned};
use crate::io::{Io, Served, Stamp};
use crate::parts::contents::Contents;
use crate::parts::cost::{CostValues, MeasuredValues};
use crate::parts::mech::{Mech, MechValues};
use crate::parts::queue::Queue;
use crate::parts::turnover::Turnover;
use crate::parts::zone_states::Zones;
use crate::sheet::{DriveError, Recipe, Timing};
use crate::zone::Exposed;
use cache::DiskCache;
use clean::Job;
use marks::Marks;
use shingle_core::drive_view::InOrder;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op};
use shingle_core::zones::ZoneMap;
use values::{Layout, Values};

#[derive(Clone)]
pub(crate) struct HostAware {
    timing: Timing,
    costs: CostValues,
    values: Values,
    layout: Layout,
    mech: Mech,
    /// Place of the host's block 0.
    native: u64,
    zones: Zones,
    cache: DiskCache,
    /// Zones with blocks in the disk cache, in the order of cleaning. The zone being cleaned is not
    /// among them, unless a write arrived for it meanwhile.
    turns: Queue,
    /// For each zone, the number of blocks that the host had written when the zone joined the
    /// queue.
    joined: Vec<u64>,
    job: Option<Job>,
    /// The blocks of its zone that the job replaces.
    replaced: Marks,
    turnover: Turnover,
    was_full: bool,
    idle_cleaning: bool,
    idle_delay: Nanos,
    description: Description,
    counters: Counters,
    contents: Contents,
}

impl HostAware {
    pub(crate) fn make(recipe: &Recipe) -> Result<Box<dyn Drive>, DriveError> {
        let (values, mech): (Values, MechValues) = (recipe.sheet.values(), recipe.sheet.values());
        let (costs, measured): (CostValues, MeasuredValues) =
            (recipe.sheet.values(), recipe.sheet.values());
        let settings = recipe.settings;
        let layout = values.layout(recipe, mech.capacity_bytes / BLOCK_BYTES)?;
        let timing = settings.timing.unwrap_or(Timing::Mechanics);
        let (zones, disk_blocks) = (layout.zones, layout.disk_blocks());
        let buffer_blocks = layout.buffer_blocks(values.free_zones_min);
        let places = layout.reserved + disk_blocks;
        let mech = Mech::new(&mech, 0, places);
        let planned = measured.plan(costs.plan(), timing);
        // Measured in the middle of the disk.
        let pass = match timing {
            Timing::Mechanics => mech.streamed(places / 2, layout.zone_blocks),
            Timing::Cost => costs.stream(layout.zone_blocks),
        };
        let description = Description {
            bands: Some(ZoneMap::fixed(layout.zone_blocks, disk_blocks)),
            buffer_blocks,
            exposed: Some(Exposed {
                conventional_zones: layout.conventional,
                sequential_required: false,
                reads_beyond: true,
                open_zones: layout.open_max,
                non_sequential_zones_advised: layout.non_sequential_advised,
            }),
            in_order: InOrder { band_pass: Some(planned.read + pass), ..InOrder::default() },
            ..Description::new(disk_blocks, planned)
        };
        let (conventional, open_max) = (layout.conventional as usize, layout.open_max as usize);
        let mut states = Zones::new(zones, layout.zone_blocks, conventional, open_max);
        if values.filled {
            for zone in conventional..zones {
                states.finish(zone);
            }
        }
        Ok(Box::new(HostAware {
            timing,
            costs,
            mech,
            native: layout.reserved,
            zones: states,
            cache: DiskCache::new(layout.logs, layout.log_blocks, zones),
            turns: Queue::new(zones),
            joined: vec![0; zones],
            job: None,
            replaced: Marks::new(layout.zone_blocks),
            turnover: Turnover::new(zones, buffer_blocks),
            was_full: false,
            idle_cleaning: settings.idle_cleaning.unwrap_or(values.idle_cleaning),
            idle_delay: settings.idle_delay.unwrap_or(Nanos::from_millis(values.idle_delay_ms)),
            layout,
            values,
            description,
            counters: Counters::default(),
            contents: Contents::default(),
        }))
    }

    /// Adds a command that moves no data.
    fn command(&self, served: &mut Served) {
        if self.timing == Timing::Mechanics {
            self.mech.command(served);
        }
    }
}

impl Drive for HostAware {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        self.contents.see(data);
        let mut served = Served { done: now, ..Served::default() };
        match io.op {
            Op::Read => {
                self.read(&mut served, io, data);
                self.counters.read_blocks += io.count;
                self.counters.read_time += served.done.since(now);
            }
            Op::Write => {
                self.write(&mut served, io, data);
                self.counters.written_blocks += io.count;
            }
            Op::Trim | Op::Flush => {
                if io.op == Op::Trim {
                    self.trim(io);
                }
                self.command(&mut served);
                self.counters.write_time += served.done.since(now);
            }
        }
        served
    }

    fn background(&mut self, now: Nanos, idle_since: Nanos, pending: &[Io]) -> Option<Nanos> {
        if !pending.is_empty() || self.background_from(idle_since)? > now {
            return None;
        }
        let step = self.clean_step(now)?;
        self.counters.idle_clean_time += step;
        Some(now + step)
    }

    fn background_from(&self, idle_since: Nanos) -> Option<Nanos> {
        let work = self.job.is_some() || self.turns.first().is_some();
        (work && self.idle_cleaning).then(|| idle_since + self.idle_delay)
    }

    fn drain(&mut self, now: Nanos) -> Nanos {
        let mut done = now;
        // Terminates: each step does a phase, and each last phase empties a zone's list.
        while let Some(step) = self.clean_step(done) {
            done += step;
        }
        self.counters.clean_time += done.since(now);
        done
    }

    fn zoned(&mut self) -> Option<&mut dyn Zoned> {
        Some(self)
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn buffer(&self) -> BufferState {
        let map = self.cache.map();
        // The time at which the next zone joined the queue: nothing in the disk cache is older, and
        // its first block is as old unless it was rewritten.
        let first = self.turns.first().map(|zone| self.joined[zone]);
        let job = self.job.as_ref().map(|job| job.joined);
        BufferState {
            blocks: u64::from(map.live()),
            held_blocks: 0,
            bands: u64::from(map.live_bands()),
            extents: u64::from(map.entries()),
            log_bytes: self.cache.used() * BLOCK_BYTES,
            was_full: self.was_full,
            oldest: job.or(first),
        }
    }

    fn description(&self) -> &Description {
        &self.description
    }

    fn copy(&self) -> Box<dyn Drive> {
        Box::new(self.clone())
    }

    fn check(&self) {
        self.zones.check();
        self.cache.check(|block| self.zones.place(block).0);
        let counters = &self.counters;
        let left = counters.buffer_write_hits
            + counters.buffer_evicted_blocks
            + counters.buffer_released_blocks;
        let live = u64::from(self.cache.map().live());
        assert_eq!(counters.buffer_written_blocks, live + left);
        let cleaning = self.job.as_ref().map(|job| job.zone);
        for zone in 0..self.zones.count() {
            let waits = self.cache.map().first_of(zone).is_some();
            let marked = self.cache.map().first_marked(zone).is_some();
            assert!(!(waits && self.zones.is_conventional(zone)), "written in place only");
            assert!(!marked || cleaning == Some(zone), "only what is being cleaned is marked");
            if cleaning != Some(zone) {
                assert_eq!(waits, self.turns.contains(zone), "zone {zone} has a turn if it waits");
            }
        }
    }
}
