//! MCM: sequential and random, hot and cold data are kept apart, in three regions of the flash.
//!
//! After Chen et al., "Region-based Flash Caching with Joint Latency and Lifetime Optimization in
//! Hybrid SMR Storage Systems". Random writes go to the random data region (RDR); sequential ones of
//! hot bands to the sequential hot region (SHR), those of cold bands to the disk's persistent cache.
//! The replacement buffer region (RBR) takes what is migrated from the others when they are full, and
//! is where garbage is collected.
//!
//! | file | what |
//! |---|---|
//! | `partition.rs` | random or sequential |
//! | `td_cbf.rs` | which bands are hot |
//! | `regions.rs` | free blocks: own, borrowed, gained by migration |
//! | `gc.rs` | collecting garbage in RBR |
//!
//! A write belongs to the band of its first block. Look-ahead holds writes in the drive's memory: a
//! held write takes the time of programming its pages when it comes, as if its place was known, and
//! none later, unless it turns out to be cold and sequential: then its write to the disk is waited for
//! by the write that decides it. So look-ahead never makes a write faster than it is without; what is
//! held would be lost in a power cut unless a FLUSH comes, which ends the holding.

mod gc;
mod partition;
mod regions;
mod td_cbf;
#[cfg(test)]
mod tests;

use super::bands::BandRank;
use super::controller::Controller;
use super::scratch::Scratch;
use super::space::{Front, Space, Temperature};
use super::step::{Step, Steps};
use super::values::{Marks, Setup};
use crate::parts::flash::{EraseBlock, Geometry};
use crate::parts::runs::Runs;
use crate::sheet::DriveError;
use partition::{Class, Partition};
use serde::Deserialize;
pub(crate) use td_cbf::{Shape, TdCbf};

/// Region of sequential hot data, of random data, and of data about to leave.
pub(super) const SHR: usize = 0;
pub(super) const RDR: usize = 1;
pub(super) const RBR: usize = 2;

/// The part of the sheet that is MCM's own.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Values {
    mcm_run_writes: u64,
    mcm_look_ahead: u64,
    mcm_samples: u64,
    mcm_false_positive_percent: f64,
    mcm_hot_count: u32,
    mcm_run_counts: u64,
    mcm_alpha: f64,
    mcm_smaller_is_colder: bool,
    mcm_wear_levelling: bool,
    mcm_erases_dead: bool,
    mcm_reserve_blocks: u32,
    mcm_returns: bool,
    mcm_rewrites_bands: bool,
    mcm_shr_share: u32,
    mcm_rdr_share: u32,
    mcm_rbr_share: u32,
}

#[derive(Clone)]
pub(crate) struct Mcm {
    space: Space,
    fronts: [Front; 3],
    partition: Partition,
    /// Held writes: first block and count.
    held: Scratch<(u64, u64)>,
    filter: TdCbf,
    /// Most counts of a band by one run, and the counts by the current one.
    run_counts_max: u64,
    run_counts: u64,
    /// Free blocks of SHR that only hot pages from RBR may take.
    reserve: u32,
    /// Number of pages that may go back to SHR now.
    returns: u32,
    /// Whether pages may go back at all.
    pages_return: bool,
    wear_levelling: bool,
    erases_dead: bool,
    rewrites: bool,
    marks: Marks,
    gaining: bool,
}

impl Mcm {
    pub(super) fn new(setup: &Setup) -> Result<Mcm, DriveError> {
        let values: Values = setup.recipe.sheet.values();
        Mcm::with(&values, setup.geometry, setup.disk.bands(), setup.marks)
            .ok_or_else(|| setup.recipe.refuse(TOO_SMALL))
    }

    /// `None` if some region has too few erase blocks.
    fn with(values: &Values, geometry: Geometry, bands: &Runs, marks: Marks) -> Option<Mcm> {
        let shares = [values.mcm_shr_share, values.mcm_rdr_share, values.mcm_rbr_share];
        let alpha_milli = (values.mcm_alpha * 1000.0).round() as u64;
        let temperature = Temperature {
            invalid_milli: alpha_milli,
            erase_milli: if values.mcm_wear_levelling { 1000 - alpha_milli } else { 0 },
            smaller_is_colder: values.mcm_smaller_is_colder,
        };
        let space = Space::new(geometry, bands, &shares, BandRank::Unknown, Some(temperature));
        let fewest = (0..3).map(|region| space.free(region)).min().unwrap_or(0);
        // Each region has a full block, in addition to the open ones and those kept free.
        let lanes = fewest.checked_sub(2 + values.mcm_reserve_blocks)?.min(geometry.units);
        if lanes == 0 {
            return None;
        }
        // Blocks are freed out of full ones: with fewer than this free, not all others are open.
        let not_open = space.free(SHR) + space.free(RDR) - values.mcm_reserve_blocks - 2 * lanes;
        let high = marks.high.min(not_open);
        let marks = Marks { low: marks.low.min(high), high, ..marks };
        let p = values.mcm_false_positive_percent / 100.0;
        let shape = Shape::new(values.mcm_samples, p, bands.units());
        Some(Mcm {
            space,
            fronts: [Front::new(lanes), Front::new(lanes), Front::new(lanes)],
            partition: Partition::new(values.mcm_run_writes, values.mcm_look_ahead as usize),
            held: Scratch::new(values.mcm_look_ahead as usize),
            filter: TdCbf::new(shape, values.mcm_hot_count),
            run_counts_max: values.mcm_run_counts,
            run_counts: 0,
            reserve: values.mcm_reserve_blocks,
            returns: 0,
            pages_return: values.mcm_returns,
            wear_levelling: values.mcm_wear_levelling,
            erases_dead: values.mcm_erases_dead,
            rewrites: values.mcm_rewrites_bands,
            marks,
            gaining: false,
        })
    }

    /// Puts a write where blocks of its class go.
    fn place(&mut self, first: u64, count: u64, class: Class, held: bool, steps: &mut dyn Steps) {
        let band = self.space.band(first).0;
        let region = match class {
            Class::Random => RDR,
            Class::Sequential => {
                let hot = self.filter.hot(band);
                if self.run_counts < self.run_counts_max {
                    self.run_counts += 1;
                    self.filter.insert(band);
                }
                if !hot {
                    self.space.forget_all(first, count);
                    return steps.step(Step::ToDisk { first, count, held });
                }
                SHR
            }
        };
        for block in first..first + count {
            let to = self.room(region, steps);
            let page = self.space.program(to, block);
            steps.step(match held {
                true => Step::Settle { block, page },
                false => Step::Program { block, page },
            });
        }
    }

    /// Releases the oldest `count` held writes, which are of `class`.
    fn release(&mut self, count: usize, class: Class, steps: &mut dyn Steps) {
        for _ in 0..count {
            let (first, blocks) = self.held.remove(0);
            self.place(first, blocks, class, true, steps);
        }
    }
}

impl Controller for Mcm {
    const REGIONS: &'static [&'static str] = &["shr", "rdr", "rbr"];

    fn write(&mut self, first: u64, count: u64, steps: &mut dyn Steps) {
        let verdict = self.partition.write(self.space.band(first).0);
        if self.partition.begins_run() {
            self.run_counts = 0;
        }
        self.release(verdict.released, verdict.class, steps);
        match verdict.now {
            Some(class) => self.place(first, count, class, false, steps),
            None => {
                self.held.push((first, count));
                steps.step(Step::Hold { first, count });
            }
        }
    }

    fn trim(&mut self, first: u64, count: u64, steps: &mut dyn Steps) {
        if (first..first + count).any(|block| self.holds(block)) {
            self.flush(steps);
        }
        self.space.forget_all(first, count);
    }

    fn flush(&mut self, steps: &mut dyn Steps) {
        let held = self.partition.release();
        self.release(held, Class::Random, steps);
    }

    fn holds(&self, block: u64) -> bool {
        self.held.iter().any(|&(first, count)| (first..first + count).contains(&block))
    }

    fn wants(&self) -> bool {
        self.gaining
    }

    fn collect(&mut self, steps: &mut dyn Steps) {
        let region = if self.space.free(SHR) < self.space.free(RDR) { SHR } else { RDR };
        self.gain(region, steps);
        self.gaining = self.free() < self.marks.high;
    }

    fn prefill(&mut self) -> Option<EraseBlock> {
        let kept = self.reserve.max(self.marks.high);
        self.space.next(&mut self.fronts[RDR], RDR, &[(RDR, kept), (SHR, kept)])
    }

    fn rewrites(&self) -> bool {
        self.rewrites
    }

    fn space(&self) -> &Space {
        &self.space
    }

    fn space_mut(&mut self) -> &mut Space {
        &mut self.space
    }

    fn check(&self) {
        self.space.check();
        assert!(self.held.len() <= self.held.capacity(), "more is held than there is room for");
    }
}

const TOO_SMALL: &str = "each region of the flash has erase blocks for at least one open one, two more \
    and mcm_reserve_blocks; have more flash_bytes, a larger share of the smallest region, or less \
    mcm_reserve_blocks";
