//! The emulators of SAC's and PORE's prototypes: a FIFO buffer of blocks before bands.
//!
//! | | SAC (emulator v2) | PORE (SMR simulator v1) |
//! |---|---|---|
//! | a buffered block is written | appended again, the old copy becomes a hole | updated in place, keeps its turn |
//! | full | as many slots between tail and end as there are | the same |
//! | then | the band of the oldest block is cleaned: all its blocks leave | the same |
//! | holes | released when the tail reaches them | the same |
//!
//! They rewrite exactly as many bands as the prototypes do. Their times are SAC's costs,
//! or, with `--drive-timing mechanics`, those of the conventional disk underneath ([`Medium`]).

use crate::counters::Counters;
use crate::drive::{BufferState, Description, Drive};
use crate::io::{Io, Served, Stamp};
use crate::parts::contents::Contents;
use crate::parts::cost::CostValues;
use crate::parts::medium::{self, Medium, Place};
use crate::parts::ring::{BLOCKS_MAX, Ring, SLOTS_MAX};
use crate::parts::runs::Runs;
use crate::parts::turnover::Turnover;
use crate::sheet::{Buffer, DriveError, Recipe, Timing};
use crate::steps::{self, StepLog};
use serde::Deserialize;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op};

/// What happens to a block that is written while the buffer holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rewrite {
    /// It is appended again.
    Append,
    /// It is updated where it is.
    InPlace,
}

#[derive(Deserialize)]
struct Values {
    buffer_blocks: u64,
    band_first_bytes: u64,
    band_step_bytes: u64,
    band_classes: u64,
    bands_per_class: u64,
}

#[derive(Clone)]
pub(crate) struct Emulator {
    rewrite: Rewrite,
    ring: Ring,
    bands: Runs,
    turnover: Turnover,
    medium: Medium,
    was_full: bool,
    description: Description,
    counters: Counters,
    contents: Contents,
}

impl Emulator {
    pub(crate) fn make(recipe: &Recipe, rewrite: Rewrite) -> Result<Box<dyn Drive>, DriveError> {
        if recipe.settings.idle_cleaning == Some(true) {
            return Err(recipe.refuse("the emulators clean only when full, never in idle time"));
        }
        let values: Values = recipe.sheet.values();
        let costs: CostValues = recipe.sheet.values();
        let slots = match recipe.settings.buffer {
            Buffer::Real => values.buffer_blocks,
            Buffer::Bytes(bytes) => bytes / BLOCK_BYTES,
            Buffer::Limits { log_bytes, extents } => (log_bytes / BLOCK_BYTES).min(extents),
        };
        let slots = u32::try_from(slots).ok().filter(|&slots| (1..=SLOTS_MAX).contains(&slots));
        let Some(slots) = slots else {
            return Err(recipe.refuse("the buffer holds from 1 to 2^27 blocks of 4 KiB (512 GiB)"));
        };
        let classes: Vec<(u64, u64)> = (0..values.band_classes)
            .map(|class| values.band_first_bytes + class * values.band_step_bytes)
            .map(|bytes| (bytes / BLOCK_BYTES, values.bands_per_class))
            .collect();
        let disk_blocks = classes
            .iter()
            .fold(0u64, |sum, &(blocks, bands)| sum.saturating_add(blocks.saturating_mul(bands)));
        if disk_blocks > BLOCKS_MAX || values.band_classes * values.bands_per_class > 1 << 28 {
            return Err(recipe.refuse("at most 2^32 blocks (17.5 TB) in 2^28 bands"));
        }
        let medium = match recipe.settings.timing {
            None | Some(Timing::Cost) => Medium::Costs(costs.clone()),
            Some(Timing::Mechanics) => {
                let disk = (recipe.underneath)(medium::DISK)?;
                Medium::Disk { disk, slots: u64::from(slots) }
            }
        };
        let disk_blocks = match &medium {
            Medium::Costs(_) => disk_blocks,
            Medium::Disk { disk, .. } => {
                let room = disk.description().disk_blocks.saturating_sub(u64::from(slots));
                disk_blocks.min(room)
            }
        };
        if disk_blocks == 0 {
            return Err(recipe.refuse("the buffer fills the disk underneath"));
        }
        let bands = Runs::new(&classes, disk_blocks);
        let count = usize::try_from(bands.units()).expect("at most 2^28");
        let description = Description {
            bands: Some(bands.zone_map()),
            buffer_blocks: u64::from(slots),
            ..Description::new(disk_blocks, costs.plan())
        };
        Ok(Box::new(Emulator {
            rewrite,
            ring: Ring::new(slots, count),
            turnover: Turnover::new(count, u64::from(slots)),
            bands,
            medium,
            was_full: false,
            description,
            counters: Counters::default(),
            contents: Contents::default(),
        }))
    }

    #[inline]
    fn band(&self, block: u64) -> usize {
        self.bands.index(block)
    }

    fn write(&mut self, served: &mut Served, block: u64, stamp: Option<Stamp>) {
        let band = self.band(block);
        self.counters.buffer_written_blocks += 1;
        if self.rewrite == Rewrite::InPlace
            && let Some(slot) = self.ring.find(block)
        {
            self.counters.buffer_write_hits += 1;
            self.medium.log(served, slot);
            self.put(slot, stamp);
            return;
        }
        // A full ring has a live tail, and cleaning its band moves the tail, so once is enough.
        if self.ring.used() == self.ring.capacity() {
            let done = self.clean(served.done);
            served.clean += done.since(served.done);
            served.done = done;
        }
        let (slot, again) = self.ring.append(block, band, true, self.counters.written_blocks);
        self.counters.buffer_write_hits += u64::from(again);
        self.was_full |= self.ring.used() == self.ring.capacity();
        self.medium.log(served, slot);
        self.put(slot, stamp);
    }

    fn put(&mut self, slot: u32, stamp: Option<Stamp>) {
        if let Some(stamp) = stamp {
            self.contents.put_slot(slot, stamp);
        }
    }

    /// Reads, collects and rewrites the band of the oldest block. Returns the completion.
    fn clean(&mut self, now: Nanos) -> Nanos {
        let Some(oldest) = self.ring.oldest() else { return now };
        let band = self.band(self.ring.block(oldest));
        let extent = self.bands.unit(band as u64);
        let mut served = Served { done: now, ..Served::default() };
        self.medium.read_band(&mut served, extent);
        self.contents.rewrite(extent.0, extent.1, true);
        let mut collected = 0;
        let mut later = self.ring.prefetch_emptied(band);
        while let Some(slot) = self.ring.first_of(band) {
            later = later.and_then(|slot| self.ring.prefetch_removed(band, slot));
            self.contents.slot_to_native(slot, self.ring.block(slot));
            self.ring.remove(slot, band);
            self.medium.collect(&mut served, slot);
            collected += 1;
        }
        self.medium.write_band(&mut served, extent, collected);
        self.contents.written();
        let before = self.counters.buffer_evicted_blocks;
        let again = self.turnover.cleaned(band, before, before + collected);
        let bytes = extent.1 * BLOCK_BYTES;
        let counters = &mut self.counters;
        counters.buffer_evicted_blocks += collected;
        counters.rmw += 1;
        counters.truncated += u64::from(again);
        counters.rmw_read_bytes += bytes;
        counters.band_bytes_written += bytes;
        served.done
    }

    fn read(&mut self, served: &mut Served, io: &Io, data: &mut [Stamp]) {
        let mut run = (Place::Native(io.block.0), 0); // native neighbours are one I/O
        let blocks = io.block.0..io.block.0 + io.count;
        for (at, block) in blocks.enumerate() {
            let slot = self.ring.find(block);
            match slot {
                Some(slot) => {
                    self.counters.buffer_read_blocks += 1;
                    self.read_run(served, run);
                    self.read_run(served, (Place::Slot(slot), 1));
                    run = (Place::Native(block + 1), 0);
                }
                None => {
                    self.counters.native_read_blocks += 1;
                    run.1 += 1;
                }
            }
            if let Some(stamp) = data.get_mut(at) {
                self.contents
                    .read_from(slot.map_or(steps::Place::Native, steps::Place::Slot), block);
                *stamp =
                    slot.map_or_else(|| self.contents.native(block), |s| self.contents.slot(s));
            }
        }
        self.counters.read_blocks += io.count;
        if self.medium.has_places() {
            self.read_run(served, run);
        } else {
            self.medium.read(served, Place::Native(io.block.0), io.count);
        }
    }

    fn read_run(&mut self, served: &mut Served, (place, count): (Place, u64)) {
        if count > 0 && self.medium.has_places() {
            self.medium.read(served, place, count);
        }
    }
}

impl Drive for Emulator {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        self.contents.see(data);
        let mut served = Served { done: now, ..Served::default() };
        match io.op {
            Op::Read => {
                self.read(&mut served, io, data);
                self.counters.read_time += served.done.since(now);
            }
            Op::Write => {
                for at in 0..io.count {
                    let stamp = usize::try_from(at).ok().and_then(|at| data.get(at)).copied();
                    self.write(&mut served, io.block.0 + at, stamp);
                    self.counters.written_blocks += 1;
                }
                self.counters.log_bytes_written += io.count * BLOCK_BYTES;
                self.counters.log_time += served.done.since(now).since(served.clean);
                self.counters.clean_time += served.clean;
            }
            Op::Trim if io.count > 0 => {
                let (blocks, bands) = (io.block.0..io.block.0 + io.count, &self.bands);
                self.counters.buffer_released_blocks +=
                    self.ring.discard(blocks, |block| bands.index(block));
            }
            Op::Trim => {}
            Op::Flush => {
                self.medium.flush(&mut served);
                self.counters.log_time += served.done.since(now);
            }
        }
        served
    }

    fn prefetch(&self, block: Block) {
        self.ring.prefetch(block.0);
    }

    fn drain(&mut self, now: Nanos) -> Nanos {
        let mut done = now;
        while self.ring.live() > 0 {
            done = self.clean(done);
        }
        self.counters.clean_time += done.since(now);
        done
    }

    fn steps(&mut self) -> Option<&mut StepLog> {
        Some(self.contents.steps())
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn buffer(&self) -> BufferState {
        let was_full = self.was_full;
        BufferState { was_full, ..self.ring.state(self.counters.written_blocks) }
    }

    fn description(&self) -> &Description {
        &self.description
    }

    fn copy(&self) -> Box<dyn Drive> {
        Box::new(self.clone())
    }

    fn check(&self) {
        self.ring.check(|block| self.band(block));
    }
}
