//! What works move, and how it is read.
//!
//! A block that a step reads is not read then, but when a later step writes it: until the next commit it stays where it is,
//! as a zone that is reset meanwhile moves, and the old one is kept. After a commit it does if that was its newest copy.
//! So however long a zone is, 512 KiB of it are in memory.

use std::ops::Range;

use shingle_core::units::Block;
use shingle_engine::{Buffer, IO_PAGES_MAX};
use shingle_translation::{Place, Step};
use shingle_zoned::{Reason, ZonedDisk as _};

use super::Shared;
use super::works::{Source, Stop, Works};
use crate::bugs::Bug;
use crate::saved::Areas;

/// What becomes of blocks that are in memory. Some of them, counted from the first, are gone: these are zeros.
pub(super) type Writes<'a> =
    dyn FnMut(&mut Works, &[Buffer], &[Range<u64>]) -> Result<(), Stop> + 'a;

impl Works {
    /// The read under way: says where its blocks are.
    pub(super) fn find(&mut self, shared: &Shared, from: Place) {
        let point = self.points;
        let plan = &shared.plan;
        for (ahead, source) in (0..).zip(self.executor.data()) {
            let place = from.after(ahead);
            *source = match place {
                Place::Nowhere => Source::Zeros,
                Place::Buffer(at) => Source::Disk { at: plan.buffer_first.after(at), place, point },
                Place::Native(at) => {
                    let (zone, offset) = plan.split(at);
                    match self.table.flawed.get(&zone) {
                        Some(&readable) if offset >= u64::from(readable) => Source::Gone,
                        _ => {
                            let physical = self.table.physical[zone as usize];
                            Source::Disk { at: plan.on_disk(physical, offset), place, point }
                        }
                    }
                }
            };
        }
        if !self.bugs.has(Bug::NobodysTaken) {
            self.leave_nobodys(shared);
        }
    }

    /// Of the read under way, host blocks that lie nowhere are zeros. A zone may have something where the translation looks for
    /// them: what was appended, and failed before the map named it. Readers were told that it never was.
    fn leave_nobodys(&mut self, shared: &Shared) {
        let (map, blocks) = (shared.map(), self.blocks_under_way());
        for (source, block) in self.executor.data().iter_mut().zip(blocks) {
            // (What moves in this work the map does not have yet.)
            if let Some(block) = block
                && map.whereabouts.first(Block(block), 1).place == Place::Nowhere
                && !self.touched.has(block..block + 1)
            {
                *source = Source::Zeros;
            }
        }
    }

    /// Gives `write` a part of the data of the action under way, 512 KiB at most.
    pub(super) fn give(
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
        let mut buffers = std::mem::take(&mut self.on_the_way);
        buffers.resize_with(buffers.len().max(range.len()), Buffer::default);
        let given = self
            .fetch(shared, range.clone(), host, &mut buffers[..range.len()])
            .and_then(|gone| write(self, &buffers[..range.len()], &gone));
        self.on_the_way = buffers;
        given
    }

    /// Which of the blocks are gone.
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
                    for part in self.read_what_is_there(shared, first, there)? {
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

    /// Reads blocks of the disk, and returns which of them, counted from the first, are gone for good; these are zeros. Of
    /// what readers have not been told nobody knows whose it is, and it need not be lost: the work can be done once more,
    /// from what it was made of.
    pub(super) fn read_what_is_there(
        &self,
        shared: &Shared,
        from: Block,
        buffers: &mut [Buffer],
    ) -> Result<Vec<Range<u64>>, Stop> {
        let gone = shared.read_what_is_there(from, buffers)?;
        let is_fresh =
            |part: &Range<u64>| self.fresh.first_in(from.0 + part.start..from.0 + part.end);
        match gone.iter().find_map(is_fresh) {
            Some(fresh) if !self.bugs.has(Bug::FreshTakenForZeros) => {
                Err(Stop::FreshUnread(Block(fresh.start)))
            }
            _ => Ok(gone),
        }
    }

    /// What was found before a commit is where the map has it now. If it has the block elsewhere, what was there may be given
    /// up, and is nobody's.
    fn renew(&mut self, shared: &Shared, range: Range<usize>) {
        let now = self.points;
        let is_old =
            |source: &Source| matches!(source, Source::Disk { point, .. } if *point != now);
        if !self.executor.data()[range.clone()].iter().any(is_old) {
            return;
        }
        let map = shared.map();
        let blocks = self.blocks_under_way();
        for (source, block) in self.executor.data()[range.clone()].iter_mut().zip(&blocks[range]) {
            let Source::Disk { place, point, .. } = *source else { continue };
            if point == now {
                continue;
            }
            let newest = block.map(|block| map.whereabouts.first(Block(block), 1).place);
            *source = match map.on_disk(&shared.plan, place) {
                Some(at) if newest == Some(place) => Source::Disk { at, place, point: now },
                _ => Source::Zeros,
            };
        }
    }

    /// What of the action under way the host has just written is where it was written.
    pub(super) fn hosts_are_there(&mut self) {
        if self.lost_now.is_empty() {
            return;
        }
        let blocks = self.blocks_under_way();
        for (source, block) in self.executor.data().iter().zip(blocks) {
            if let (Source::Host(_), Some(block)) = (source, block) {
                self.lost_now.remove(block..block + 1);
            }
        }
    }

    /// Whose the data of the action under way are.
    fn blocks_under_way(&self) -> Vec<Option<u64>> {
        let of = |step: &Step| match *step {
            Step::Over { count, .. } => vec![None; count as usize],
            step => step.blocks().map(Some).collect(),
        };
        self.executor.steps().iter().flat_map(of).collect()
    }

    /// `count` blocks of the action under way, from `ahead` on, which lie at `from`, are gone: the host's blocks whose newest
    /// copies were there are lost.
    fn lose(&mut self, shared: &Shared, ahead: usize, from: Block, count: u64) {
        let map = shared.map();
        let blocks = self.blocks_under_way();
        for (at, block) in (0..count).zip(&blocks[ahead..]) {
            let Some(block) = *block else { continue };
            let newest = map.whereabouts.first(Block(block), 1).place;
            if map.on_disk(&shared.plan, newest) == Some(from.after(at)) {
                // (A place of the buffer is written again soon.)
                let stays = matches!(newest, Place::Native(_));
                self.lose_block(block, stays.then_some(from.after(at)));
            }
        }
    }
}

impl Shared {
    /// Reads blocks of the disk for works, and returns which of them, counted from the first, are gone for good; these are
    /// zeros.
    pub(super) fn read_what_is_there(
        &self,
        from: Block,
        buffers: &mut [Buffer],
    ) -> Result<Vec<Range<u64>>, Stop> {
        let mut gone = Vec::new();
        let mut done = 0;
        while done < buffers.len() {
            // (Reads may cross zones, but one of these may be offline.)
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

    /// Reads one block. False if it cannot be read and others can: then it is the block, and not the disk, that has failed.
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

    /// Whether the disk reads anything at all.
    pub(super) fn answers(&self) -> Result<(), Stop> {
        let mut buffers = [Buffer::default()];
        let superblocks = Areas::superblocks(self.plan.conventional_blocks);
        let mut read = superblocks.map(|page| self.disk.read(page, &mut buffers)).into_iter();
        let first = read.next().unwrap_or(Ok(()));
        if first.is_ok() || read.any(|read| read.is_ok()) { Ok(()) } else { Ok(first?) }
    }
}
