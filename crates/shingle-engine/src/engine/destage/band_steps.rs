//! The way of a band that is written whole: loaded, settled, and written piece by piece.

use std::ops::Range;

use super::super::disk::Disk;
use super::super::keys::JobKey;
use super::super::port::{Completion, Device};
use super::Destages;
use super::bands::{Around, Band, Content, Place, Stage, UnderWay};
use crate::bugs::Bug;
use crate::data::Data;

/// Somebody else changes what the disk has of `block`.
fn is_changing(disk: &Disk, trimming: &Option<Range<u64>>, block: u64) -> bool {
    trimming.as_ref().is_some_and(|trimming| trimming.contains(&block))
        || disk.is_being_written(block)
}

impl<D: Data> Destages<D> {
    /// Goes on with the band that is under way, or begins one whose turn it is, until there is something to wait for.
    pub(in super::super) fn write_bands(&mut self, around: &mut Around<'_, D>) {
        loop {
            let goes_on = match &self.bands.under_way {
                None => self.begin_band(),
                Some(band) if band.left > 0 => false,
                Some(band) if band.gives_up => {
                    self.end_band_dirty(around);
                    true
                }
                Some(band) => match band.stage {
                    Stage::Loading => self.load_piece(around),
                    Stage::Settling => self.settle_band(around),
                    Stage::Between => self.close_piece(around),
                    Stage::Closed => self.write_piece(around),
                    Stage::Writing => self.end_piece(around),
                },
            };
            if !goes_on {
                return;
            }
        }
    }

    /// All runs that were planned before it have been written, so nothing else is on its way to the disk.
    fn begin_band(&mut self) -> bool {
        let turn = |band: &Band| self.first_run >= band.after_run && self.writing == 0;
        if !self.bands.waiting.front().is_some_and(turn) {
            return false;
        }
        let band = self.bands.waiting.pop_front().expect("there is one");
        let Range { start: first, end } = band.blocks;
        let mut places = Vec::new();
        let empty = || Place { job: None, content: Content::Missing };
        places.resize_with((end - first) as usize, empty);
        for key in band.jobs {
            places[(self.jobs[key].block.0 - first) as usize].job = Some(key);
        }
        let (stage, at, left) = (Stage::Loading, 0, 0);
        let (gives_up, spoils) = (false, false);
        self.bands.under_way = Some(UnderWay { first, places, stage, at, left, gives_up, spoils });
        true
    }

    /// Reads a piece: what is to be destaged from the SSD, the rest from the disk.
    fn load_piece(&mut self, around: &mut Around<'_, D>) -> bool {
        let band = self.bands.under_way.as_mut().expect("one is under way");
        let piece = band.piece(self.bands.piece_blocks);
        if piece.is_empty() {
            (band.stage, band.at) = (Stage::Settling, 0);
            return true;
        }
        band.at = piece.end;
        for place in piece.clone() {
            self.read_slot(place, around);
        }
        let band = self.bands.under_way.as_mut().expect("one is under way");
        // (What is being changed is read when the piece is written.)
        let (disk, trimming) = (&*around.disk, &around.trimming);
        let wanted = |band: &UnderWay<D>, place: usize| {
            band.places[place].job.is_none() && !is_changing(disk, trimming, band.block(place))
        };
        let first = piece.clone().find(|&place| wanted(band, place));
        let last = piece.rev().find(|&place| wanted(band, place));
        let (Some(first), Some(last)) = (first, last) else { return true };
        // What lies between is read with it: that takes less than to begin anew.
        for place in first..=last {
            if wanted(band, place) {
                band.places[place].content = Content::Coming;
            }
            around.port.read(Device::Disk, band.block(place), Completion::BandRead(place as u32));
            band.left += 1;
        }
        true
    }

    /// Reads a block that is to be destaged, if it still is.
    fn read_slot(&mut self, place: usize, around: &mut Around<'_, D>) {
        let band = self.bands.under_way.as_mut().expect("one is under way");
        let Some(key) = band.places[place].job else { return };
        let job = &mut self.jobs[key];
        let mapping = around.contents.mapping(job.slot);
        match mapping.frame.filter(|_| mapping.version == job.version) {
            Some(frame) => {
                job.number = mapping.number;
                band.places[place].content = Content::Coming;
                band.left += 1;
                let page = around.durability.frame_page(frame);
                around.port.read(Device::Ssd, page, Completion::BandSlotRead(place as u32));
            }
            None => self.band_out_of_date(place, around.contents),
        }
    }

    /// Waits for what has to be durable before.
    fn settle_band(&mut self, around: &mut Around<'_, D>) -> bool {
        // A flush while the band is being written would make some disks give it up.
        if around.disk.has_destaged() {
            return false;
        }
        let band = self.bands.under_way.as_mut().expect("one is under way");
        let jobs = band.places.iter().filter_map(|place| place.job);
        let Some(number) = jobs.map(|key| self.jobs[key].number).max() else {
            // All of it was written anew meanwhile.
            band.gives_up = true;
            return true;
        };
        // The disk may get it when the SSD says that it has it, as with any destage.
        if number > around.durability.committed() && !self.bugs.has(Bug::DestageBeforeCommit) {
            around.durability.want(number);
            return false;
        }
        band.stage = Stage::Between;
        true
    }

    /// The next piece, if the disk may get one now. Limits come before: nobody is to wait for a piece that waits for them.
    fn close_piece(&mut self, around: &mut Around<'_, D>) -> bool {
        if !around.service.may_destage(around.now) {
            return false;
        }
        self.bands.under_way.as_mut().expect("one is under way").stage = Stage::Closed;
        true
    }

    /// Writes the piece, if all of it is there and nobody else writes to it.
    fn write_piece(&mut self, around: &mut Around<'_, D>) -> bool {
        let band = self.bands.under_way.as_mut().expect("one is under way");
        let piece = band.piece(self.bands.piece_blocks);
        // (Nobody writes to the disk through the cache: those who do are few, and soon done.)
        let (disk, trimming) = (&*around.disk, &around.trimming);
        let changing = piece.clone().any(|place| is_changing(disk, trimming, band.block(place)));
        if (changing || self.writing > 0) && !self.bugs.has(Bug::BandUnheld) {
            return false;
        }
        for place in piece.clone() {
            let block = band.block(place);
            if matches!(band.places[place].content, Content::Missing) {
                band.places[place].content = Content::Coming;
                around.port.read(Device::Disk, block, Completion::BandRead(place as u32));
                band.left += 1;
            }
        }
        if band.left > 0 {
            return true;
        }
        band.left = piece.len();
        band.stage = Stage::Writing;
        for place in piece.clone() {
            let content = std::mem::replace(&mut band.places[place].content, Content::Missing);
            let Content::There(data) = content else { unreachable!("all of it was read") };
            let completion = Completion::BandWritten(place as u32);
            around.port.write(Device::Disk, band.block(place), data, completion);
        }
        around.service.destages(piece.len() as u64, around.now);
        self.bands.counts.written_blocks += piece.len() as u64;
        true
    }

    /// A piece is on the disk. After the last one the band is: its blocks are destaged.
    fn end_piece(&mut self, around: &mut Around<'_, D>) -> bool {
        self.let_go();
        let band = self.bands.under_way.as_mut().expect("one is under way");
        (band.at, band.stage) = (band.piece(self.bands.piece_blocks).end, Stage::Between);
        if band.at < band.places.len() && !self.bugs.has(Bug::BandCleanByPart) {
            return true;
        }
        let jobs: Vec<JobKey> =
            band.places.iter_mut().filter_map(|place| place.job.take()).collect();
        self.taken_blocks += jobs.len() as u64;
        for job in jobs {
            around.disk.destaged(job, false, around.now);
        }
        if band.at == band.places.len() {
            self.bands.counts.written += 1;
            self.bands.under_way = None;
        }
        true
    }

    /// The band is given up: all its blocks stay dirty.
    fn end_band_dirty(&mut self, around: &mut Around<'_, D>) {
        let band = self.bands.under_way.take().expect("one is under way");
        if band.spoils {
            self.bands.spoilt.insert(band.first);
        }
        self.bands.counts.given_up += 1;
        for Place { job, content } in band.places {
            if let Content::There(data) = content {
                around.port.give(data);
            }
            if let Some(job) = job {
                self.release(job, around.contents);
            }
        }
        self.let_go();
    }

    /// Who waited for the piece goes on.
    fn let_go(&mut self) {
        let held = self.bands.held.drain(..);
        self.woken.extend(held.map(|op| (op, true)));
    }
}
