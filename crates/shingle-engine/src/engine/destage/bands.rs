//! Whole bands: a disk that takes a band past its buffer gets it from start to end, in order. What is not cached of it is
//! read from the disk first, and written back in its place.
//!
//! One band is under way at a time, and no other destage is written meanwhile: an ordinary destage of one of its blocks could
//! be overwritten with what was read before, and a write elsewhere makes some disks give the band up. First all of it is loaded
//! into memory, then it is written, a piece after the other. Its dirty blocks count as destaged when the last piece is
//! acknowledged, all at once; then a flush of the disk makes them clean, as with any destage.
//!
//! What was read back must not undo what others write to the disk in between: clients past or through the cache, trims. So
//!
//! - whoever writes to a block of the band says so, and what was loaded of it is forgotten and loaded again
//!   ([`Destages::band_touched`]);
//! - while a piece is on its way nobody writes to it ([`Destages::band_holds`]): who wants to waits until that piece is
//!   there, and no longer. Before it is written, writes to it that were begun are waited for, and what was forgotten is
//!   loaded.
//!
//! Nobody else waits: reads find on the disk what was there before, as that is what is written; writes that the SSD takes do not
//! come near the disk.
//!
//! Whatever goes wrong, the band is given up: its blocks stay dirty, those that are on the disk already, too, and from then on
//! it is written as others are. (A block that cannot be read would fail it again and again.)

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

/// The run of a job that belongs to a band.
pub(super) const NO_RUN: u64 = u64::MAX;
/// More bands than this that could not be written whole: then none is.
const SPOILT_MAX: usize = 4096;
/// A band of more than 256 MiB is not written whole: it would be in memory as a whole.
pub(crate) const BAND_BLOCKS_MAX: u64 = 1 << 16;

/// A band that waits for its turn.
#[derive(Clone)]
pub(super) struct Band {
    pub(super) blocks: Range<u64>,
    /// By address.
    pub(super) jobs: Vec<JobKey>,
    /// Runs below this number go before it, the others after it.
    pub(super) after_run: u64,
}

/// What is known of a block of the band that is under way.
#[derive(Clone)]
pub(super) enum Content<D> {
    /// It is to be read.
    Missing,
    Coming,
    There(D),
}

#[derive(Clone)]
pub(super) struct Place<D> {
    /// Of a block that is to be destaged; the others are as the disk has them.
    pub(super) job: Option<JobKey>,
    pub(super) content: Content<D>,
}

/// How far a band is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Stage {
    /// It is read.
    Loading,
    /// What was destaged before is flushed, and the records of its blocks are committed.
    Settling,
    /// The next piece may be written.
    Between,
    /// Nobody else writes to the next piece any more; what is being written to it is waited for, and what is missing read.
    Closed,
    /// The piece is on its way.
    Writing,
}

/// The band that is under way.
#[derive(Clone)]
pub(super) struct UnderWay<D> {
    pub(super) first: u64,
    pub(super) places: Vec<Place<D>>,
    pub(super) stage: Stage,
    /// Where the next piece begins: to be read, or the one that is written.
    pub(super) at: usize,
    /// Pages that are being read or written.
    pub(super) left: usize,
    /// It is not written on; what is under way is waited for.
    pub(super) gives_up: bool,
    /// Nor is it tried again.
    pub(super) spoils: bool,
}

/// Bands that are to be written whole.
#[derive(Clone)]
pub(super) struct Bands<D> {
    pub(super) waiting: VecDeque<Band>,
    pub(super) under_way: Option<UnderWay<D>>,
    /// By first block: those that could not be written whole.
    pub(super) spoilt: HashSet<u64>,
    /// Requests that want to write to the piece that is under way.
    pub(super) held: Vec<OpKey>,
    pub(super) piece_blocks: usize,
    pub(super) counts: BandCounts,
}

/// What a band that is under way is written with.
pub(in super::super) struct Around<'a, D: Data> {
    pub(in super::super) contents: &'a mut Contents,
    pub(in super::super) durability: &'a mut Durability,
    pub(in super::super) disk: &'a mut Disk,
    pub(in super::super) port: &'a mut Port<D>,
    pub(in super::super) service: &'a mut Service,
    /// The disk is being told that nobody needs these.
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
            spoilt: HashSet::new(),
            held: Vec::new(),
            piece_blocks,
            counts: BandCounts::default(),
        }
    }

    fn are_none(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_none()
    }

    /// The run of this number is not written before a band is.
    pub(super) fn go_before(&self, run: u64) -> bool {
        self.under_way.is_some() || self.waiting.front().is_some_and(|band| band.after_run <= run)
    }

    /// More is about to be written, unless it waits for a flush.
    pub(super) fn are_busy(&self) -> bool {
        !self.are_none() && !self.settle()
    }

    /// One waits for a flush of what was destaged before.
    pub(super) fn settle(&self) -> bool {
        self.under_way.as_ref().is_some_and(|band| band.stage == Stage::Settling)
    }

    /// Blocks of the piece to which nobody else may write.
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
    /// A band is planned, which is to be written whole. Returns whether it may be: otherwise it is written as others are.
    pub(in super::super) fn plan_band(
        &mut self,
        group: &mut [Destage],
        blocks: Range<u64>,
        contents: &Contents,
    ) -> bool {
        let spoilt = &self.bands.spoilt;
        let large = blocks.end - blocks.start > BAND_BLOCKS_MAX;
        if large || spoilt.len() >= SPOILT_MAX || spoilt.contains(&blocks.start) {
            return false;
        }
        // (Where the policy was changed, what was planned under the one before is carried out with the first plan of the
        // other, and zones may have other numbers now.)
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

    /// A band is planned, or under way.
    #[inline]
    pub(in super::super) fn has_bands(&self) -> bool {
        !self.bands.are_none()
    }

    pub(in super::super) fn band_counts(&self) -> BandCounts {
        self.bands.counts
    }

    /// Blocks of a band to which nobody else may write now.
    pub(in super::super) fn held_by_band(&self) -> Option<Range<u64>> {
        self.bands.held().filter(|_| !self.bugs.has(Bug::BandUnheld))
    }

    /// Nobody may write to this block of the disk now: [`Destages::wait_for_band`] says when.
    #[inline]
    pub(in super::super) fn band_holds(&self, block: u64) -> bool {
        self.has_bands() && self.held_by_band().is_some_and(|held| held.contains(&block))
    }

    /// A request waits until the piece of the band that is on its way is there.
    pub(in super::super) fn wait_for_band(&mut self, op: OpKey) {
        self.bands.held.push(op);
    }

    /// Somebody else is about to change what the disk has of `blocks`.
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
        // (Of what is being destaged the SSD has the data: nobody else writes that to the disk.)
        for place in band.places[from..to].iter_mut().filter(|place| place.job.is_none()) {
            if let Content::There(data) = std::mem::replace(&mut place.content, Content::Missing) {
                port.give(data);
            }
        }
    }

    /// No band is written whole now: those that wait stay dirty, and so does the one that is under way, once its I/O is
    /// done.
    pub(in super::super) fn stop_bands(&mut self, contents: &mut Contents) {
        for band in std::mem::take(&mut self.bands.waiting) {
            self.bands.counts.given_up += 1;
            band.jobs.into_iter().for_each(|job| self.release(job, contents));
        }
        self.bands.give_up();
    }
}
