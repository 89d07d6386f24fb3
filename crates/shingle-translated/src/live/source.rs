//! Reading the blocks that works move.
//!
//! A block is not read at the step that reads it, but when a later step writes it. Until the next commit it stays in place: a
//! logical zone that is reset meanwhile gets another physical one, and the old one is kept. After a commit it stays in place if
//! it was the newest copy. So only 512 KiB of a zone are in memory, however long the zone is.

use std::ops::Range;

use shingle_core::units::Block;
use shingle_engine::{Buffer, IO_PAGES_MAX};
use shingle_translation::{Place, Step};
use shingle_zoned::{Reason, ZonedDisk as _};

use super::Shared;
use super::worker::{Source, Stop, Worker};
use crate::bugs::Bug;

/// Writes blocks that are in memory. The ranges, counted from the first block, could not be read and are zeros.
pub(super) type Writes<'a> =
    dyn FnMut(&mut Worker, &[Buffer], &[Range<u64>]) -> Result<(), Stop> + 'a;

impl Worker {
    /// Carries out a read: finds where its blocks are.
    pub(super) fn find(&mut self, shared: &Shared, from: Place) {
        let commit = self.commit_count;
        let plan = &shared.plan;
        for (ahead, source) in (0..).zip(self.executor.data()) {
            let place = from.after(ahead);
            *source = match place {
                Place::Nowhere => Source::Zeros,
                Place::Buffer(at) => {
                    Source::Disk { at: plan.buffer_first.after(at), place, commit }
                }
                Place::Native(at) => {
                    let (zone, offset) = plan.split(at);
                    match self.table.flawed.get(&zone) {
                        Some(&readable) if offset >= u64::from(readable) => Source::Gone,
                        _ => {
                            let physical = self.table.physical[zone as usize];
                            Source::Disk { at: plan.on_disk(physical, offset), place, commit }
                        }
                    }
                }
            };
        }
        if !self.bugs.has(Bug::NobodysTaken) {
            self.zero_unmapped(shared);
        }
    }

    /// Host blocks of the read that the map has nowhere are zeros. A zone may have data where the translation looks for them: an
    /// append that failed before the map named it. For readers that append never happened.
    fn zero_unmapped(&mut self, shared: &Shared) {
        let (map, blocks) = (shared.map(), self.blocks_of_action());
        for (source, block) in self.executor.data().iter_mut().zip(blocks) {
            // (Blocks that this work has moved are not in the map yet.)
            if let Some(block) = block
                && map.whereabouts.first(Block(block), 1).place == Place::Nowhere
                && !self.touched.has(block..block + 1)
            {
                *source = Source::Zeros;
            }
        }
    }

    /// Calls `write` with a part of the data of the current action, 512 KiB at most.
    pub(super) fn with_data(
        &mut self,
        shared: &Shared,
        range: Range<usize>,
        host: &[Buffer],
        write: &mut Writes<'_>,
    ) -> Result<(), Stop> {
        let sources = &self.executor.data()[range.clone()];
        if let Some(Source::Host(first)) = sources.first()
            && (*first..).zip(sources).all(|(at, source)| *source == Source::Host(at))
        {
            let first = *first as usize;
            return write(self, &host[first..first + range.len()], &[]);
        }
        let mut buffers = std::mem::take(&mut self.buffers);
        buffers.resize_with(buffers.len().max(range.len()), Buffer::default);
        let given = self
            .fetch(shared, range.clone(), host, &mut buffers[..range.len()])
            .and_then(|gone| write(self, &buffers[..range.len()], &gone));
        self.buffers = buffers;
        given
    }

    /// Gets data into the buffers, and returns which blocks could not be read.
    fn fetch(
        &mut self,
        shared: &Shared,
        range: Range<usize>,
        host: &[Buffer],
        buffers: &mut [Buffer],
    ) -> Result<Vec<Range<u64>>, Stop> {
        self.renew(shared, range.clone());
        let (mut done, mut all_gone) = (0, Vec::new());
        while done < buffers.len() {
            let sources = &self.executor.data()[range.start + done..range.end];
            let buffer = &mut buffers[done];
            done += match sources[0] {
                source @ (Source::Zeros | Source::Gone) => {
                    buffer.0.fill(0);
                    if source == Source::Gone {
                        all_gone.push(done as u64..done as u64 + 1);
                    }
                    1
                }
                Source::Host(which) => {
                    buffer.clone_from(&host[which as usize]);
                    1
                }
                Source::Disk { at: first, .. } => {
                    let goes_on = |(ahead, source): &(u64, &Source)| match **source {
                        Source::Disk { at, .. } => at == first.after(*ahead),
                        Source::Zeros | Source::Gone | Source::Host(_) => false,
                    };
                    let count = (0..).zip(sources).take_while(goes_on).count();
                    let there = &mut buffers[done..done + count];
                    for part in self.read_or_zero(shared, first, there)? {
                        let ahead = range.start + done + part.start as usize;
                        self.lose(shared, ahead, first.after(part.start), part.end - part.start);
                        all_gone.push(done as u64 + part.start..done as u64 + part.end);
                    }
                    count
                }
            };
        }
        Ok(all_gone)
    }

    /// Reads blocks of the disk, and returns which of them, counted from the first, could not be read; these are zeros. It is an
    /// error if one of them was written since the map of the readers changed: the map does not say which block it is, and
    /// nothing has to be lost, as the work can be done once more from its sources.
    pub(super) fn read_or_zero(
        &self,
        shared: &Shared,
        from: Block,
        buffers: &mut [Buffer],
    ) -> Result<Vec<Range<u64>>, Stop> {
        let gone = shared.read_or_zero(from, buffers)?;
        let is_fresh = |part: &Range<u64>| {
            self.unpublished_blocks.first_in(from.0 + part.start..from.0 + part.end)
        };
        match gone.iter().find_map(is_fresh) {
            Some(unpublished_blocks) if !self.bugs.has(Bug::FreshTakenForZeros) => {
                Err(Stop::FreshUnread(Block(unpublished_blocks.start)))
            }
            _ => Ok(gone),
        }
    }

    /// Looks blocks that were found before a commit up again, in the map. If the map has a block elsewhere, its old place may be
    /// given up, and the block needs no data.
    fn renew(&mut self, shared: &Shared, range: Range<usize>) {
        let now = self.commit_count;
        let is_old =
            |source: &Source| matches!(source, Source::Disk { commit, .. } if *commit != now);
        if !self.executor.data()[range.clone()].iter().any(is_old) {
            return;
        }
        let map = shared.map();
        let blocks = self.blocks_of_action();
        for (source, block) in self.executor.data()[range.clone()].iter_mut().zip(&blocks[range]) {
            let Source::Disk { place, commit, .. } = *source else { continue };
            if commit == now {
                continue;
            }
            let newest = block.map(|block| map.whereabouts.first(Block(block), 1).place);
            *source = match map.on_disk(&shared.plan, place) {
                Some(at) if newest == Some(place) => Source::Disk { at, place, commit: now },
                _ => Source::Zeros,
            };
        }
    }

    /// The current action is done: blocks of the host in it are not lost.
    pub(super) fn host_data_is_written(&mut self) {
        if self.lost_now.is_empty() {
            return;
        }
        let blocks = self.blocks_of_action();
        for (source, block) in self.executor.data().iter().zip(blocks) {
            if let (Source::Host(_), Some(block)) = (source, block) {
                self.lost_now.remove(block..block + 1);
            }
        }
    }

    /// The host blocks of the data of the current action.
    fn blocks_of_action(&self) -> Vec<Option<u64>> {
        let of = |step: &Step| match *step {
            Step::Over { count, .. } => vec![None; count as usize],
            step => step.blocks().map(Some).collect(),
        };
        self.executor.steps().iter().flat_map(of).collect()
    }

    /// `count` blocks of the current action, from index `ahead` on, could not be read at `from`. Marks the host's blocks as lost
    /// whose newest copies are there.
    fn lose(&mut self, shared: &Shared, ahead: usize, from: Block, count: u64) {
        let map = shared.map();
        let blocks = self.blocks_of_action();
        for (at, block) in (0..count).zip(&blocks[ahead..]) {
            let Some(block) = *block else { continue };
            let newest = map.whereabouts.first(Block(block), 1).place;
            if map.on_disk(&shared.plan, newest) == Some(from.after(at)) {
                // (A place of the buffer is overwritten soon.)
                let stays = matches!(newest, Place::Native(_));
                self.lose_block(block, stays.then_some(from.after(at)));
            }
        }
    }
}

impl Shared {
    /// Reads blocks of the disk, and returns which of them, counted from the first, could not be read; these are zeros.
    pub(super) fn read_or_zero(
        &self,
        from: Block,
        buffers: &mut [Buffer],
    ) -> Result<Vec<Range<u64>>, Stop> {
        let mut gone = Vec::new();
        let mut done = 0;
        while done < buffers.len() {
            // (A read may cross zones. It is split, as one of the zones may be offline.)
            let at = from.after(done as u64);
            let in_zone = (self.plan.zone_blocks - at.0 % self.plan.zone_blocks) as usize;
            let count = in_zone.min(buffers.len() - done).min(IO_PAGES_MAX);
            let part = &mut buffers[done..done + count];
            match self.disk.read(at, part) {
                Ok(()) => {}
                Err(error) if matches!(error.reason, Reason::Offline) => {
                    part.iter_mut().for_each(|buffer| buffer.0.fill(0));
                    gone.push(done as u64..(done + count) as u64);
                }
                Err(_) => {
                    for (ahead, buffer) in (done as u64..).zip(part) {
                        if !self.read_alone(from.after(ahead), buffer)? {
                            buffer.0.fill(0);
                            gone.push(ahead..ahead + 1);
                        }
                    }
                }
            }
            done += count;
        }
        Ok(gone)
    }

    /// Reads one block, in three tries. Returns false if only this block cannot be read; if the disk reads nothing at all, that is
    /// an error.
    fn read_alone(&self, at: Block, buffer: &mut Buffer) -> Result<bool, Stop> {
        let mut read = || self.disk.read(at, std::slice::from_mut(buffer));
        let Err(error) = read().or_else(|_| read()).or_else(|_| read()) else { return Ok(true) };
        if matches!(error.reason, Reason::Offline) {
            return Ok(false);
        }
        if error.may_be_the_medium() && self.answers().is_ok() {
            return Ok(false);
        }
        Err(error.into())
    }

    /// Tests whether the disk reads anything at all: one of the superblocks.
    pub(super) fn answers(&self) -> Result<(), Stop> {
        let mut buffers = [Buffer::default()];
        let mut read =
            self.plan.superblocks.map(|page| self.disk.read(page, &mut buffers)).into_iter();
        let first = read.next().unwrap_or(Ok(()));
        if first.is_ok() || read.any(|read| read.is_ok()) { Ok(()) } else { Ok(first?) }
    }
}
