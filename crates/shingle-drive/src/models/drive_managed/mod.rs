//! A drive-managed shingled disk: a log at the outer edge before bands at fixed places.
//!
//! ```text
//!  outer edge                                                        inner edge
//!  ┌──────────────┬─────────┬─────────┬─────────┬───┄┄┄───┬────────┬────────┐
//!  │ log, scratch │ band 0  │ band 1  │ band 2  │         │        │ band n │   36–40 MB … 20 MB
//!  └──────────────┴─────────┴─────────┴─────────┴───┄┄┄───┴────────┴────────┘
//!    ▲ writes        ▲ reads of what the log does not hold; cleaning; whole bands in order
//! ```
//! A host write becomes an extent of the log: one map entry. When the map or the log is full, the
//! band of the oldest extent is cleaned (`clean.rs`). A band written in order from its first block
//! to its last goes straight to its place (`stream.rs`). After the drive model of Northeastern
//! University's group (Skylight, FAST 2015; "drive-managed SMR performance model", 2017), with the
//! limits and times measured by SAC; the sheets say what is from where.
//!
//! What is not modelled: a read cache beside read-ahead, defects, the layout of map and journal,
//! and where packet headers lie (their time is counted, their place is not).
//!
//! After a trim the content of the blocks is unspecified until they are written again: the buffered
//! copies are dropped, so reads may return older, native data.

mod clean;
mod inside;
mod layout;
mod log;
mod reading;
mod stream;
mod values;

use crate::counters::Counters;
use crate::drive::{BufferState, Description, Drive};
use crate::io::{Io, Served, Stamp};
use crate::parts::contents::Contents;
use crate::parts::cost::{CostValues, MeasuredValues};
use crate::parts::mech::{Mech, MechValues};
use crate::parts::ring::Ring;
use crate::parts::runs::Runs;
use crate::parts::turnover::Turnover;
use crate::sheet::{DriveError, Recipe, Timing};
use crate::steps::StepLog;
use clean::{Job, Share};
use shingle_core::drive_view::InOrder;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op};
use std::collections::VecDeque;
use std::ops::Range;
use stream::Stream;
use values::{Limits, Values, scaled};

#[derive(Clone)]
pub(crate) struct DriveManaged {
    timing: Timing,
    costs: CostValues,
    values: Values,
    times: Times,
    limits: Limits,
    ring: Ring,
    /// With the write cache off: number of the first slot of each packet in the log.
    packets: VecDeque<u64>,
    /// Packets since the map was last written to its journal.
    journal: u64,
    /// Extents in the packet being gathered in memory.
    gathered: u64,
    bands: Runs,
    turnover: Turnover,
    mech: Mech,
    /// Place of the host's block 0.
    native: u64,
    /// Whether the head has left the log.
    away: bool,
    job: Option<Job>,
    /// The reads of the log in each phase of the job.
    shares: Vec<Share>,
    stream: Stream,
    was_full: bool,
    idle_cleaning: bool,
    idle_delay: Nanos,
    /// Whether a cleaning is limited to a number of separate reads of the log. The papers' R(x) is
    /// of all dirty blocks of a band; that of a probed disk is not.
    in_parts: bool,
    description: Description,
    counters: Counters,
    contents: Contents,
}

/// Times that follow from the sheet, computed once.
#[derive(Clone, Debug)]
struct Times {
    /// Write cache on: fixed part of a log write.
    log_fixed: Nanos,
    /// Write cache on: media time of a log write by its number of blocks, header included.
    log_media: Vec<Nanos>,
    /// Write cache off: time of a log write, and its part for rotation.
    packet: Nanos,
    packet_rotation: Nanos,
    packet_bytes: u64,
    journal: Nanos,
    /// A separate read of the log in cleaning.
    collect: Nanos,
    /// Factor by which a pass over a band takes longer than by mechanics, with [`SCALE_BITS`]
    /// fraction bits.
    clean_scale: u64,
}

/// Fraction bits of a scale of times.
const SCALE_BITS: u32 = 16;

impl Times {
    fn new(values: &Values, mech: &Mech, mech_values: &MechValues) -> Times {
        let rotation = mech.rotation().0;
        let packet_rotation = Nanos(scaled(rotation, values.log_write_rotations));
        let extent = values.extent_max_bytes / BLOCK_BYTES;
        Times {
            log_fixed: Nanos::from_micros(values.log_write_fixed_us),
            log_media: (0..=extent).map(|blocks| mech.streamed(0, blocks + 1)).collect(),
            packet: Nanos::from_micros(values.log_write_command_us) + packet_rotation,
            packet_rotation,
            packet_bytes: scaled(mech_values.track_od_bytes, values.log_packet_tracks),
            journal: Nanos::from_millis(values.journal_ms),
            collect: Nanos(scaled(rotation, values.collect_rotations)),
            clean_scale: scaled(1 << SCALE_BITS, values.clean_scale.unwrap_or(1.0)),
        }
    }
}

impl DriveManaged {
    pub(crate) fn make(recipe: &Recipe) -> Result<Box<dyn Drive>, DriveError> {
        Ok(Box::new(DriveManaged::new(recipe)?))
    }

    pub(crate) fn new(recipe: &Recipe) -> Result<DriveManaged, DriveError> {
        let (values, mut mech_values): (Values, MechValues) =
            (recipe.sheet.values(), recipe.sheet.values());
        let (costs, settings): (CostValues, _) = (recipe.sheet.values(), recipe.settings);
        let limits = values.limits(recipe)?;
        let disk_blocks = mech_values.capacity_bytes / BLOCK_BYTES;
        let bands = layout::bands(recipe, &values, &mut mech_values)?;
        let count = bands.units() as usize;
        let reserved = values.reserved_tracks(&mech_values, &limits);
        let native = reserved * (mech_values.track_od_bytes / BLOCK_BYTES);
        let mech = Mech::new(&mech_values, reserved, native + disk_blocks);
        let per_write = u64::from(limits.slots.min(limits.entries));
        let buffer_blocks =
            if values.write_cache { per_write } else { per_write.min(limits.packets as u64) };
        let timing = settings.timing.unwrap_or(Timing::Mechanics);
        let measured: MeasuredValues = recipe.sheet.values();
        let planned = match recipe.bands {
            Some(_) => measured.over(costs.plan()),
            None => measured.plan(costs.plan(), timing),
        };
        let description = Description {
            bands: Some(bands.zone_map()),
            buffer_blocks,
            in_order: InOrder {
                log_blocks: u64::from(limits.slots),
                band_pass: values
                    .write_cache
                    .then(|| values.band_pass(&mech, &planned, &costs, timing)),
            },
            queued_command: Nanos::from_micros(values.queued_command_us),
            ..Description::new(disk_blocks, planned)
        };
        let largest =
            bands.all().iter().map(|run| run.unit_blocks * BLOCK_BYTES).max().unwrap_or(0);
        let phases = usize::try_from(largest.div_ceil(values.merge_bytes)).unwrap_or(0) + 1;
        Ok(DriveManaged {
            timing,
            costs,
            times: Times::new(&values, &mech, &mech_values),
            limits,
            ring: Ring::new(limits.slots, count),
            packets: VecDeque::with_capacity(if values.write_cache { 0 } else { limits.packets }),
            journal: 0,
            gathered: 0,
            bands,
            turnover: Turnover::new(count, buffer_blocks),
            mech,
            native,
            away: false,
            job: None,
            shares: vec![Share::default(); phases],
            stream: Stream::new(&values),
            was_full: false,
            idle_cleaning: settings.idle_cleaning.unwrap_or(values.idle_cleaning),
            idle_delay: settings.idle_delay.unwrap_or(Nanos::from_millis(values.idle_delay_ms)),
            in_parts: values.collect_reads_max > 0
                && (timing == Timing::Mechanics || recipe.bands.is_some()),
            values,
            description,
            counters: Counters::default(),
            contents: Contents::default(),
        })
    }

    #[inline]
    fn band(&self, block: u64) -> usize {
        self.bands.index(block)
    }

    /// Drops the buffered copies of `blocks`.
    fn discard_all(&mut self, blocks: Range<u64>) {
        let bands = &self.bands;
        self.counters.buffer_released_blocks +=
            self.ring.discard(blocks, |block| bands.index(block));
        self.release_packets();
    }
}

impl Drive for DriveManaged {
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
            Op::Trim if io.count > 0 => {
                if self.stream.touches(io) {
                    self.spill(&mut served);
                }
                self.discard_all(io.block.0..io.block.0 + io.count);
            }
            Op::Trim => {}
            Op::Flush => {
                self.spill(&mut served);
                if self.gathered > 0 {
                    let before = served.done;
                    self.close_packet(&mut served);
                    self.counters.log_time += served.done.since(before);
                }
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
        if self.ring.live() == 0 && self.job.is_none() {
            None
        } else if self.ring.entries() >= self.limits.trigger {
            Some(idle_since)
        } else {
            self.idle_cleaning.then(|| idle_since + self.idle_delay)
        }
    }

    fn prefetch(&self, block: Block) {
        self.ring.prefetch(block.0);
    }

    fn drain(&mut self, now: Nanos) -> Nanos {
        let mut served = Served { done: now, ..Served::default() };
        self.spill(&mut served);
        // Terminates: each step does a phase, and each last phase moves the tail of the log.
        while self.ring.live() > 0 || self.job.is_some() {
            let step = self.clean_step(served.done).unwrap_or(Nanos::ZERO);
            served.done += step;
            self.counters.clean_time += step;
        }
        served.done
    }

    fn steps(&mut self) -> Option<&mut StepLog> {
        Some(self.contents.steps())
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn buffer(&self) -> BufferState {
        BufferState {
            held_blocks: self.stream.held_blocks(),
            was_full: self.was_full,
            ..self.ring.state(self.counters.written_blocks)
        }
    }

    fn description(&self) -> &Description {
        &self.description
    }

    fn copy(&self) -> Box<dyn Drive> {
        Box::new(self.twin())
    }

    fn check(&self) {
        self.ring.check(|block| self.band(block));
        let counters = &self.counters;
        let left = counters.buffer_write_hits
            + counters.buffer_evicted_blocks
            + counters.buffer_released_blocks;
        assert_eq!(counters.buffer_written_blocks, u64::from(self.ring.live()) + left);
        assert!(self.packets.len() <= self.limits.packets);
        assert!(self.packets.iter().zip(self.packets.iter().skip(1)).all(|(a, b)| a < b));
        if let Some(&oldest) = self.packets.front() {
            assert!(oldest <= self.ring.tail_number() && self.ring.used() > 0);
        }
        self.stream.check(&self.bands);
    }
}
