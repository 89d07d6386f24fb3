//! Whole bands: a disk that can write a band past its buffer gets it from start to end, in order.
//! Blocks of the band that are not cached are read from the disk first, and written back in place.
//!
//! One band is in progress at a time, and no other destage is written meanwhile. An ordinary
//! destage of one of its blocks could be overwritten with older data, and a write elsewhere makes
//! some disks give up the sequential write. First the whole band is loaded into memory, then it is
//! written piece by piece. Its dirty blocks count as destaged all together, when the last piece is
//! acknowledged. A flush of the disk then makes them clean, as with any destage.
//!
//! Blocks that were read back must not undo what others write to the disk in between: clients past
//! or through the cache, and trims. So
//!
//! - a writer to a block of the band announces it, and the loaded copy is dropped and read again
//!   ([`Destages::band_touched`]);
//! - while a piece is in flight no other write to it begins ([`Destages::band_holds`]): such a
//!   write waits until that piece is written, and no longer. Before the piece is submitted, earlier
//!   writes to it are waited for, and dropped copies are read again.
//!
//! Nothing else waits. Reads find the same data on the disk before and after, and writes that the
//! SSD takes do not reach the disk.
//!
//! After any error the band is given up: its blocks stay dirty, also those already on the disk, and
//! from then on its blocks are destaged one by one. A block that cannot be read would fail the band
//! again and again.

use std::collections::VecDeque;
use std::ops::Range;

use hashbrown::HashSet;
use shingle_core::plan::Destage;
use shingle_core::service::Service;
use shingle_core::units::Nanos;

use super::super::contents::Contents;
use super::super::disk::Disk;
use super::super::durability::Durability;
use super::super::keys::{JobKey, OpKey};
use super::super::port::Port;
use super::super::status::BandCounts;
use super::{Destages, Job};
use crate::bugs::Bug;
use crate::data::Data;

/// The run number of a job that belongs to a band.
pub(super) const NO_RUN: u64 = u64::MAX;
/// If more bands than this could not be written whole, none is any more.
const EXCLUDED_MAX: usize = 4096;
/// The longest band that is written whole: 256 MiB, because all of it is in memory.
pub(crate) const BAND_BLOCKS_MAX: u64 = 1 << 16;

/// A band that waits to be written.
#[derive(Clone)]
pub(super) struct Band {
    pub(super) blocks: Range<u64>,
    /// By address.
    pub(super) jobs: Vec<JobKey>,
    /// Runs with a lower number are written before it, the others after it.
    pub(super) after_run: u64,
}

/// The data of one block of the band in progress.
#[derive(Clone)]
pub(super) enum Content<D> {
    /// To be read.
    Missing,
    Loading,
    Loaded(D),
}

#[derive(Clone)]
pub(super) struct Place<D> {
    /// The destage of this block; `None` for blocks that are only written back.
    pub(super) job: Option<JobKey>,
    pub(super) content: Content<D>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Stage {
    /// Its blocks are being read.
    Loading,
    /// Earlier destages are being flushed, and the records of its blocks committed.
    Settling,
    /// The next piece may be written.
    Between,
    /// No other write to the next piece may begin. Earlier ones are waited for, and missing blocks
    /// read.
    Closed,
    /// The piece is in flight.
    Writing,
}

#[derive(Clone)]
pub(super) struct UnderWay<D> {
    pub(super) first: u64,
    pub(super) places: Vec<Place<D>>,
    pub(super) stage: Stage,
    /// The first place of the next piece to read, or of the piece being written.
    pub(super) at: usize,
    /// Pages whose I/O is in flight.
    pub(super) left: usize,
    /// The band is given up as soon as its I/O in flight has completed.
    pub(super) gives_up: bool,
    /// The band is never written whole again.
    pub(super) excludes: bool,
}

/// The bands that are to be written whole.
#[derive(Clone)]
pub(super) struct Bands<D> {
    pub(super) waiting: VecDeque<Band>,
    pub(super) under_way: Option<UnderWay<D>>,
    /// The first blocks of bands that could not be written whole.
    pub(super) excluded: HashSet<u64>,
    /// Requests that wait to write to the piece in flight.
    pub(super) held: Vec<OpKey>,
    pub(super) piece_blocks: usize,
    pub(super) counts: BandCounts,
}

/// The parts of the engine that the steps of a band use.
pub(in super::super) struct BandContext<'a, D: Data> {
    pub(in super::super) contents: &'a mut Contents,
    pub(in super::super) durability: &'a mut Durability,
    pub(in super::super) disk: &'a mut Disk,
    pub(in super::super) port: &'a mut Port<D>,
    pub(in super::super) service: &'a mut Service,
    /// The range that is being trimmed on the disk.
    pub(in super::super) trimming: Option<Range<u64>>,
    pub(in super::super) now: Nanos,
}

impl<D: Data> UnderWay<D> {
    pub(super) fn block(&self, place: usize) -> u64 {
        self.first + place as u64
    }

    /// The piece from [`UnderWay::at`] on, as places.
    pub(super) fn piece(&self, piece_blocks: usize) -> Range<usize> {
        self.at..(self.at + piece_blocks).min(self.places.len())
    }
}

impl<D: Data> Bands<D> {
    pub(super) fn new(piece_blocks: usize) -> Bands<D> {
        Bands {
            waiting: VecDeque::new(),
            under_way: None,
            excluded: HashSet::new(),
            held: Vec::new(),
            piece_blocks,
            counts: BandCounts::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_none()
    }

    /// Whether a band has to be written before the run of this number.
    pub(super) fn precede(&self, run: u64) -> bool {
        self.under_way.is_some() || self.waiting.front().is_some_and(|band| band.after_run <= run)
    }

    /// Whether a band is about to be written and does not wait for a flush.
    pub(super) fn is_busy(&self) -> bool {
        !self.is_empty() && !self.is_settling()
    }

    /// Whether the band in progress waits for a flush of earlier destages.
    pub(super) fn is_settling(&self) -> bool {
        self.under_way.as_ref().is_some_and(|band| band.stage == Stage::Settling)
    }

    /// The blocks of the piece to which nothing else may be written now.
    fn held(&self) -> Option<Range<u64>> {
        let band = self.under_way.as_ref()?;
        let piece = band.piece(self.piece_blocks);
        let closed = matches!(band.stage, Stage::Closed | Stage::Writing);
        closed.then(|| band.block(piece.start)..band.block(piece.end))
    }

    pub(super) fn give_up(&mut self) {
        if let Some(band) = &mut self.under_way {
            band.gives_up = true;
        }
    }
}

impl<D: Data> Destages<D> {
    /// Plans a band that is to be written whole. Returns false if it may not be; its blocks are
    /// then destaged one by one.
    pub(in super::super) fn plan_band(
        &mut self,
        group: &mut [Destage],
        blocks: Range<u64>,
        contents: &Contents,
    ) -> bool {
        let excluded = &self.bands.excluded;
        let large = blocks.end - blocks.start > BAND_BLOCKS_MAX;
        if large || excluded.len() >= EXCLUDED_MAX || excluded.contains(&blocks.start) {
            return false;
        }
        // If the policy was changed, a plan of the old one may be carried out with the first plan
        // of the new one, and zones may have other numbers now.
        if !group.iter().all(|destage| blocks.contains(&destage.block.0)) {
            return false;
        }
        group.sort_unstable_by_key(|destage| destage.block);
        let jobs = group
            .iter()
            .map(|&Destage { slot, block, leaves }| {
                let version = contents.mapping(slot).version;
                let (buffer, through) = (None, None);
                let (run, number, moved) = (NO_RUN, 0, false);
                self.leaving += u32::from(leaves);
                let job = Job { slot, block, version, run, number, leaves, buffer, through, moved };
                self.jobs.insert(job)
            })
            .collect();
        let after_run = self.first_run + self.runs.len() as u64;
        self.bands.waiting.push_back(Band { blocks, jobs, after_run });
        true
    }

    /// Whether a band is planned or in progress.
    #[inline]
    pub(in super::super) fn has_bands(&self) -> bool {
        !self.bands.is_empty()
    }

    pub(in super::super) fn band_counts(&self) -> BandCounts {
        self.bands.counts
    }

    /// The blocks of a band to which nothing else may be written now.
    pub(in super::super) fn held_by_band(&self) -> Option<Range<u64>> {
        self.bands.held().filter(|_| !self.bugs.has(Bug::BandUnheld))
    }

    /// Whether `block` of the disk may not be written now. [`Destages::wait_for_band`] waits until
    /// it may.
    #[inline]
    pub(in super::super) fn band_holds(&self, block: u64) -> bool {
        self.has_bands() && self.held_by_band().is_some_and(|held| held.contains(&block))
    }

    /// Lets a request wait until the piece in flight is written.
    pub(in super::super) fn wait_for_band(&mut self, op: OpKey) {
        self.bands.held.push(op);
    }

    /// Announces that `blocks` of the disk are about to be changed: loaded copies are dropped.
    #[inline]
    pub(in super::super) fn band_touched(&mut self, blocks: Range<u64>, port: &mut Port<D>) {
        if self.bands.under_way.is_some() && !self.bugs.has(Bug::BandTouchedForgotten) {
            self.forget_loaded(blocks, port);
        }
    }

    fn forget_loaded(&mut self, blocks: Range<u64>, port: &mut Port<D>) {
        let Some(band) = &mut self.bands.under_way else { return };
        let place = |block: u64| (block.saturating_sub(band.first) as usize).min(band.places.len());
        let (from, to) = (place(blocks.start), place(blocks.end));
        // Blocks that are being destaged are on the SSD, and nothing else writes them to the disk.
        for place in band.places[from..to].iter_mut().filter(|place| place.job.is_none()) {
            if let Content::Loaded(data) = std::mem::replace(&mut place.content, Content::Missing) {
                port.give(data);
            }
        }
    }

    /// Stops writing whole bands. Waiting bands stay dirty, and so does the one in progress once
    /// its I/O has completed.
    pub(in super::super) fn stop_bands(&mut self, contents: &mut Contents) {
        for band in std::mem::take(&mut self.bands.waiting) {
            self.bands.counts.given_up += 1;
            band.jobs.into_iter().for_each(|job| self.release(job, contents));
        }
        self.bands.give_up();
    }
}
