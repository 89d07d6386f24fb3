//! The steps of a band that is written whole: load, settle, and write piece by piece.

use std::ops::Range;

use super::super::disk::Disk;
use super::super::keys::JobKey;
use super::super::port::{Completion, Device};
use super::Destages;
use super::bands::{Band, BandContext, Content, Place, Stage, UnderWay};
use crate::bugs::Bug;
use crate::data::Data;

/// Whether another write, or a trim, is changing `block` on the disk.
fn is_changing(disk: &Disk, trimming: &Option<Range<u64>>, block: u64) -> bool {
    trimming.as_ref().is_some_and(|trimming| trimming.contains(&block))
        || disk.is_being_written(block)
}

impl<D: Data> Destages<D> {
    /// Takes the band in progress, or the next one, as far as it can get without waiting.
    pub(in super::super) fn write_bands(&mut self, context: &mut BandContext<'_, D>) {
        loop {
            let progressed = match &self.bands.under_way {
                None => self.begin_band(),
                Some(band) if band.left > 0 => false,
                Some(band) if band.gives_up => {
                    self.end_band_dirty(context);
                    true
                }
                Some(band) => match band.stage {
                    Stage::Loading => self.load_piece(context),
                    Stage::Settling => self.settle_band(context),
                    Stage::Between => self.close_piece(context),
                    Stage::Closed => self.write_piece(context),
                    Stage::Writing => self.end_piece(context),
                },
            };
            if !progressed {
                return;
            }
        }
    }

    /// Begins the next band, if all runs planned before it have been written: nothing else is in
    /// flight to the disk then.
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
        let (gives_up, excludes) = (false, false);
        self.bands.under_way =
            Some(UnderWay { first, places, stage, at, left, gives_up, excludes });
        true
    }

    /// Reads a piece: blocks to be destaged from the SSD, the rest from the disk.
    fn load_piece(&mut self, context: &mut BandContext<'_, D>) -> bool {
        let band = self.bands.under_way.as_mut().expect("one is under way");
        let piece = band.piece(self.bands.piece_blocks);
        if piece.is_empty() {
            (band.stage, band.at) = (Stage::Settling, 0);
            return true;
        }
        band.at = piece.end;
        for place in piece.clone() {
            self.read_slot(place, context);
        }
        let band = self.bands.under_way.as_mut().expect("one is under way");
        // A block that is being changed is read when its piece is written.
        let (disk, trimming) = (&*context.disk, &context.trimming);
        let wanted = |band: &UnderWay<D>, place: usize| {
            band.places[place].job.is_none() && !is_changing(disk, trimming, band.block(place))
        };
        let first = piece.clone().find(|&place| wanted(band, place));
        let last = piece.rev().find(|&place| wanted(band, place));
        let (Some(first), Some(last)) = (first, last) else { return true };
        // Blocks in between are read, too: that is cheaper than a second I/O.
        for place in first..=last {
            if wanted(band, place) {
                band.places[place].content = Content::Loading;
            }
            context.port.read(Device::Disk, band.block(place), Completion::BandRead(place as u32));
            band.left += 1;
        }
        true
    }

    /// Reads a block that is to be destaged, unless it was written again.
    fn read_slot(&mut self, place: usize, context: &mut BandContext<'_, D>) {
        let band = self.bands.under_way.as_mut().expect("one is under way");
        let Some(key) = band.places[place].job else { return };
        let job = &mut self.jobs[key];
        let mapping = context.contents.mapping(job.slot);
        match mapping.frame.filter(|_| mapping.version == job.version) {
            Some(frame) => {
                job.number = mapping.number;
                band.places[place].content = Content::Loading;
                band.left += 1;
                let page = context.durability.frame_page(frame);
                context.port.read(Device::Ssd, page, Completion::BandSlotRead(place as u32));
            }
            None => self.band_out_of_date(place, context.contents),
        }
    }

    /// Waits until everything is durable that has to be before the band is written.
    fn settle_band(&mut self, context: &mut BandContext<'_, D>) -> bool {
        // A flush while the band is being written makes some disks give up the sequential write.
        if context.disk.has_destaged() {
            return false;
        }
        let band = self.bands.under_way.as_mut().expect("one is under way");
        let jobs = band.places.iter().filter_map(|place| place.job);
        let Some(number) = jobs.map(|key| self.jobs[key].number).max() else {
            // All of its blocks were written again in the meantime.
            band.gives_up = true;
            return true;
        };
        // As with any destage, the disk may get a block only when its record is committed.
        if number > context.durability.committed() && !self.bugs.has(Bug::DestageBeforeCommit) {
            context.durability.want(number);
            return false;
        }
        band.stage = Stage::Between;
        true
    }

    /// Closes the next piece to other writes, if the disk may get a piece now. The limits of the
    /// destage rate are checked first, so that no request waits for a piece that waits for them.
    fn close_piece(&mut self, context: &mut BandContext<'_, D>) -> bool {
        if !context.service.may_destage(context.now) {
            return false;
        }
        self.bands.under_way.as_mut().expect("one is under way").stage = Stage::Closed;
        true
    }

    /// Writes the piece, if all of it is loaded and no other write to it is in flight.
    fn write_piece(&mut self, context: &mut BandContext<'_, D>) -> bool {
        let band = self.bands.under_way.as_mut().expect("one is under way");
        let piece = band.piece(self.bands.piece_blocks);
        // Waits for writes past the cache: they are few, and soon done.
        let (disk, trimming) = (&*context.disk, &context.trimming);
        let changing = piece.clone().any(|place| is_changing(disk, trimming, band.block(place)));
        if (changing || self.writing > 0) && !self.bugs.has(Bug::BandUnheld) {
            return false;
        }
        for place in piece.clone() {
            let block = band.block(place);
            if matches!(band.places[place].content, Content::Missing) {
                band.places[place].content = Content::Loading;
                context.port.read(Device::Disk, block, Completion::BandRead(place as u32));
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
            let Content::Loaded(data) = content else { unreachable!("all of it was read") };
            let completion = Completion::BandWritten(place as u32);
            context.port.write(Device::Disk, band.block(place), data, completion);
        }
        context.service.destages(piece.len() as u64, context.now);
        self.bands.counts.written_blocks += piece.len() as u64;
        true
    }

    /// Handles the end of a piece. After the last one the blocks of the band count as destaged.
    fn end_piece(&mut self, context: &mut BandContext<'_, D>) -> bool {
        self.release_held();
        let band = self.bands.under_way.as_mut().expect("one is under way");
        (band.at, band.stage) = (band.piece(self.bands.piece_blocks).end, Stage::Between);
        if band.at < band.places.len() && !self.bugs.has(Bug::BandCleanByPart) {
            return true;
        }
        let jobs: Vec<JobKey> =
            band.places.iter_mut().filter_map(|place| place.job.take()).collect();
        self.taken_blocks += jobs.len() as u64;
        for job in jobs {
            context.disk.destaged(job, false, context.now);
        }
        if band.at == band.places.len() {
            self.bands.counts.written += 1;
            self.bands.under_way = None;
        }
        true
    }

    /// Gives up the band: all its blocks stay dirty.
    fn end_band_dirty(&mut self, context: &mut BandContext<'_, D>) {
        let band = self.bands.under_way.take().expect("one is under way");
        if band.excludes {
            self.bands.excluded.insert(band.first);
        }
        self.bands.counts.given_up += 1;
        for Place { job, content } in band.places {
            if let Content::Loaded(data) = content {
                context.port.give(data);
            }
            if let Some(job) = job {
                self.release(job, context.contents);
            }
        }
        self.release_held();
    }

    /// Resumes the requests that waited for the piece.
    fn release_held(&mut self) {
        let held = self.bands.held.drain(..);
        self.woken.extend(held.map(|op| (op, true)));
    }
}
