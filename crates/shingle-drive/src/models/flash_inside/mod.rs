//! A drive-managed disk with flash built in: one controller for both, and one queue for the host.
//!
//! ```text
//!            host
//!             │ one I/O at a time
//!  ┌──────────┴───────────┐  decides: map, state of the flash; no clock
//!  │ controller           │  fc.rs · rmw_f.rs · mcm/
//!  └──────────┬───────────┘
//!             │ steps, in order
//!  ┌──────────┴───────────┐  times them, moves the data
//!  │ work.rs              │
//!  └───┬──────────────┬───┘
//!   flash units      disk: persistent cache, bands          side by side
//! ```
//! | file | what |
//! |---|---|
//! | `controller.rs` | the interface: steps |
//! | `work.rs` | carries steps out |
//! | `space.rs` | the map of the flash, free and open blocks, what goes to the disk |
//! | `bands.rs`, `coldest.rs` | which band, which erase block is worth taking |
//! | `log.rs` | one log over all flash |
//! | `fc.rs`, `rmw_f.rs`, `mcm/` | FC and RMW-F, over a log; MCM |
//! | `values.rs` | the sheet of the flash |
//!
//! Left out: the map's own memory and traffic, bad blocks, the end of life, power cuts.

mod bands;
mod coldest;
mod controller;
mod fc;
mod log;
pub(crate) mod mcm;
mod rmw_f;
mod scratch;
mod space;
mod step;
mod values;
mod work;

use crate::counters::Counters;
use crate::drive::{BufferState, Description, Drive};
use crate::io::{Io, Served, Stamp};
use crate::models::drive_managed::DriveManaged;
use crate::sheet::{DriveError, Recipe};
use crate::wear::{RegionWear, Wear};
use controller::Controller;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op};
use std::collections::BTreeMap;
use values::{Setup, Values};
use work::{Parts, Work};

pub(crate) use fc::Fc;
pub(crate) use log::Logged;
pub(crate) use mcm::Mcm;
pub(crate) use rmw_f::RmwF;

#[derive(Clone)]
pub(crate) struct FlashInside<C> {
    controller: C,
    parts: Parts,
    background: bool,
    endurance: u32,
    /// Completion of the host's last I/O.
    last_io: Nanos,
    description: Description,
    counters: Counters,
}

impl FlashInside<Logged<Fc>> {
    pub(crate) fn fc(recipe: &Recipe) -> Result<Box<dyn Drive>, DriveError> {
        make(recipe, Fc::new)
    }
}

impl FlashInside<Logged<RmwF>> {
    pub(crate) fn rmw_f(recipe: &Recipe) -> Result<Box<dyn Drive>, DriveError> {
        make(recipe, RmwF::new)
    }
}

impl FlashInside<Mcm> {
    pub(crate) fn mcm(recipe: &Recipe) -> Result<Box<dyn Drive>, DriveError> {
        make(recipe, Mcm::new)
    }
}

/// Creates a disk with the flash of the sheet, under a controller.
fn make<C: Controller>(
    recipe: &Recipe,
    controller: impl Fn(&Setup) -> Result<C, DriveError>,
) -> Result<Box<dyn Drive>, DriveError> {
    let disk = DriveManaged::new(recipe)?;
    let values: Values = recipe.sheet.values();
    let geometry = values.geometry(recipe)?;
    let marks = values.marks(&geometry);
    let mut description = disk.description().clone();
    let setup = Setup { recipe, disk: &disk, geometry, marks, costs: description.costs };
    let mut controller = controller(&setup)?;
    prefill(
        &mut controller,
        u64::from(geometry.pages()) * values.flash_prefill_percent / 100,
        &disk,
    );
    description.buffer_blocks += u64::from(geometry.pages());
    let largest = space::largest(disk.bands());
    let mut drive = FlashInside {
        controller,
        parts: Parts::new(disk, geometry, values.times(), largest),
        background: values.flash_background,
        endurance: values.flash_endurance,
        last_io: Nanos::ZERO,
        description,
        counters: Counters::default(),
    };
    drive.count();
    Ok(Box::new(drive))
}

/// Copies the first blocks of the disk to the flash, as long as there is room without collecting.
fn prefill<C: Controller>(controller: &mut C, pages: u64, disk: &DriveManaged) {
    for block in 0..pages.min(disk.description().disk_blocks) {
        let Some(to) = controller.prefill() else { return };
        controller.space_mut().program(to, block);
    }
}

impl<C: Controller> FlashInside<C> {
    /// Does the background work up to `until`: erase blocks are freed in parallel to I/O, and bands
    /// are cleaned in the disk's idle time.
    fn background_until(&mut self, until: Nanos) {
        // Terminates: each turn takes time.
        loop {
            let gain_at = (self.background && self.controller.wants())
                .then(|| self.parts.chain.end.max(self.last_io))
                .filter(|&at| at <= until);
            let disk = &mut self.parts.disk;
            let clean_at = disk.drive.background_from(disk.last_io).map(|at| at.max(disk.free));
            let clean_at = clean_at.filter(|&at| at < until);
            match (gain_at, clean_at) {
                (Some(at), clean) if clean.is_none_or(|clean| at <= clean) => {
                    let none = Io { op: Op::Flush, block: Block(0), count: 0 };
                    let mut work = Work::new(&mut self.parts, at, none, &mut [], false);
                    self.controller.collect(&mut work);
                    let end = self.parts.chain.end;
                    assert!(end > at, "gaining free blocks takes time");
                    self.counters.idle_clean_time += end.since(at);
                }
                (_, Some(at)) => {
                    let end = disk.drive.background(at, disk.last_io, &[]);
                    let Some(end) = end else { return };
                    disk.free = end;
                    self.counters.idle_clean_time += end.since(at);
                }
                _ => return,
            }
        }
    }

    fn read(work: &mut Work, controller: &C, io: &Io) {
        let end = io.block.0 + io.count;
        let on_flash = |block| controller.holds(block) || controller.space().find(block).is_some();
        let mut block = io.block.0;
        if (block..end).any(on_flash) {
            work.accept();
        }
        while block < end {
            if controller.holds(block) {
                work.read_held(block);
                block += 1;
            } else if let Some(page) = controller.space().find(block) {
                work.read_page(block, page);
                block += 1;
            } else {
                let next = (block + 1..end).find(|&block| on_flash(block)).unwrap_or(end);
                work.read_disk(block, next - block);
                block = next;
            }
        }
    }

    /// Updates the counters from those of the disk and of the flash. Flash and persistent cache
    /// count as one buffer; blocks that go from one to the other were moved within it.
    fn count(&mut self) {
        let (disk, did, own) = (*self.parts.disk.drive.counters(), self.parts.did, self.counters);
        let tally = self.controller.space().tally;
        let rewritten = tally.evicted - did.written_back;
        self.counters = Counters {
            read_blocks: own.read_blocks,
            written_blocks: own.written_blocks,
            buffer_read_blocks: disk.buffer_read_blocks + did.read,
            buffer_written_blocks: disk.buffer_written_blocks + tally.written
                - did.written_back_to_log,
            buffer_write_hits: disk.buffer_write_hits + tally.hits,
            buffer_evicted_blocks: disk.buffer_evicted_blocks + rewritten,
            buffer_released_blocks: disk.buffer_released_blocks + tally.released + did.written_back
                - did.written_back_to_log,
            buffer_moved_blocks: disk.buffer_moved_blocks + did.written_back_to_log + did.copied,
            pages_programmed: did.programmed,
            pages_copied: did.copied,
            flash_blocks_erased: did.erased,
            flash_written_blocks: did.programmed - did.copied,
            flash_read_blocks: did.read,
            flash_evicted_blocks: tally.evicted,
            flash_blocks_migrated: tally.migrated_blocks,
            pages_migrated: tally.migrated_pages,
            read_time: own.read_time,
            log_time: own.log_time,
            write_time: own.write_time,
            clean_time: own.clean_time,
            idle_clean_time: own.idle_clean_time,
            ..disk
        };
    }
}

impl<C: Controller> Drive for FlashInside<C> {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        self.parts.see(data);
        self.background_until(now);
        let controller = &mut self.controller;
        let mut work = Work::new(&mut self.parts, now, *io, data, !self.background);
        match io.op {
            Op::Read => Self::read(&mut work, controller, io),
            Op::Write => controller.write(io.block.0, io.count, &mut work),
            Op::Trim if io.count > 0 => {
                controller.trim(io.block.0, io.count, &mut work);
                work.command_to_disk(io);
            }
            Op::Trim => {}
            Op::Flush => {
                controller.flush(&mut work);
                work.command_to_disk(io);
            }
        }
        let served = work.served();
        self.last_io = served.done;
        let took = served.done.since(now).since(served.clean);
        match io.op {
            Op::Read => {
                self.counters.read_blocks += io.count;
                self.counters.read_time += took;
            }
            Op::Write => {
                self.counters.written_blocks += io.count;
                self.counters.log_time += took;
            }
            Op::Trim | Op::Flush => self.counters.log_time += took,
        }
        self.counters.clean_time += served.clean;
        self.count();
        served
    }

    fn drain(&mut self, now: Nanos) -> Nanos {
        self.background_until(now);
        let none = Io { op: Op::Flush, block: Block(0), count: 0 };
        let mut work = Work::new(&mut self.parts, now, none, &mut [], true);
        self.controller.flush(&mut work);
        let rewrites = self.controller.rewrites();
        self.controller.space_mut().write_back_all(rewrites, &mut work);
        let done = work.served().done;
        let disk = &mut self.parts.disk;
        let done = done.max(disk.drive.drain(done.max(disk.free)));
        (disk.free, disk.last_io, self.last_io) = (done, done, done);
        self.counters.clean_time += done.since(now);
        self.count();
        done
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn buffer(&self) -> BufferState {
        let (disk, space) = (self.parts.disk.drive.buffer(), self.controller.space());
        let live = u64::from(space.live());
        let blocks = disk.blocks + live;
        BufferState {
            blocks,
            held_blocks: disk.held_blocks,
            bands: disk.bands + u64::from(space.live_bands()),
            extents: disk.extents + live,
            log_bytes: disk.log_bytes + live * BLOCK_BYTES,
            was_full: disk.was_full || self.parts.did.erased > 0,
            // The flash does not know the age of its blocks: the oldest possible is assumed.
            oldest: (blocks > 0).then_some(0),
        }
    }

    fn wear(&self) -> Option<Wear> {
        let region = |&region| RegionWear { region, histogram: BTreeMap::new() };
        let mut regions: Vec<RegionWear> = C::REGIONS.iter().map(region).collect();
        for (region, erases) in self.controller.space().erases() {
            *regions[region].histogram.entry(erases).or_default() += 1;
        }
        Some(Wear {
            regions,
            endurance: self.endurance,
            host_blocks: self.counters.written_blocks,
            written_pages: self.counters.flash_written_blocks,
            programmed_pages: self.counters.pages_programmed,
        })
    }

    fn description(&self) -> &Description {
        &self.description
    }

    fn copy(&self) -> Box<dyn Drive> {
        Box::new(self.clone())
    }

    fn check(&self) {
        self.controller.check();
        self.parts.check();
        self.parts.disk.drive.check();
        let erases: u64 = self.controller.space().erases().map(|(_, count)| u64::from(count)).sum();
        assert_eq!(erases, self.counters.flash_blocks_erased, "an erase is not counted");
        let state = self.buffer();
        let counters = &self.counters;
        let left = counters.buffer_write_hits
            + counters.buffer_evicted_blocks
            + counters.buffer_released_blocks;
        assert_eq!(counters.buffer_written_blocks, state.blocks + left, "a block is lost");
    }
}
