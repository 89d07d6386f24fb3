//! Completions of the I/O of a band that is written whole.

use shingle_core::units::Nanos;

use super::super::contents::Contents;
use super::super::failure::Damage;
use super::super::keys::JobKey;
use super::super::port::{Failed, Port};
use super::bands::{Content, UnderWay};
use super::done::{destaged, not_destaged};
use super::{Destages, Read};
use crate::bugs::Bug;
use crate::data::Data;

/// What the caller has to do after the I/O of a page of a band.
pub(in super::super) struct BandDone {
    /// All I/O of the band has completed.
    pub(in super::super) io_done: bool,
    /// The I/O has failed, and counts as an error.
    pub(in super::super) failed: bool,
    /// The number of a block that was not dirty and whose write failed: what the disk holds of it
    /// is unknown.
    pub(in super::super) doubted: Option<u64>,
}

impl<D: Data> Destages<D> {
    fn band(&mut self) -> &mut UnderWay<D> {
        self.bands.under_way.as_mut().expect("its I/O is under way")
    }

    /// Handles the completed read of a block from the disk.
    #[must_use]
    pub(in super::super) fn band_read(
        &mut self,
        place: usize,
        result: Result<(), Failed>,
        data: D,
        port: &mut Port<D>,
    ) -> BandDone {
        let ignores = self.bugs.has(Bug::BandReadErrorIgnored);
        self.bands.counts.read_blocks += 1;
        let band = self.band();
        band.left -= 1;
        let io_done = band.left == 0;
        let at = &mut band.places[place];
        // The SSD has what is to be destaged. What a client changed in the meantime is read again.
        let wanted = at.job.is_none() && matches!(at.content, Content::Loading);
        if wanted && (result.is_ok() || ignores) {
            at.content = Content::Loaded(data);
            return BandDone { io_done, failed: false, doubted: None };
        }
        port.give(data);
        if wanted {
            at.content = Content::Missing;
            (band.gives_up, band.excludes) = (true, true);
        }
        BandDone { io_done, failed: wanted, doubted: None }
    }

    /// Handles the completed read of a block that is to be destaged from its frame. Returns the
    /// result, and whether all I/O of the band has completed.
    #[must_use]
    pub(in super::super) fn band_slot_read(
        &mut self,
        place: usize,
        result: Result<(), Failed>,
        data: D,
        contents: &mut Contents,
        port: &mut Port<D>,
    ) -> (Read, bool) {
        let band = self.band();
        band.left -= 1;
        let io_done = band.left == 0;
        let key = band.places[place].job.expect("its data was read");
        let job = &self.jobs[key];
        let (slot, block) = (job.slot, job.block);
        let mapping = contents.mapping(slot);
        let current = mapping.version == job.version;
        let fits = self.bugs.has(Bug::DestageWithoutChecksum) || data.crc() == mapping.crc;
        if current && result.is_ok() && fits {
            self.band().places[place].content = Content::Loaded(data);
            return (Read::Good { first_complete: false }, io_done);
        }
        port.give(data);
        if !current {
            self.band_out_of_date(place, contents);
            return (Read::OutOfDate, io_done);
        }
        self.leave_band(place);
        let job = self.end(key);
        not_destaged(&job, contents);
        contents.mark_lost(block, slot);
        self.wake(slot, false);
        let damage = if result.is_err() { Damage::Unreadable } else { Damage::Checksum };
        (Read::Damaged(damage), io_done)
    }

    /// Handles the completed write of a block of the band.
    #[must_use]
    pub(in super::super) fn band_written(
        &mut self,
        place: usize,
        result: Result<(), Failed>,
        now: Nanos,
    ) -> BandDone {
        let ignores = self.bugs.has(Bug::DestageErrorIgnored);
        let band = self.band();
        band.left -= 1;
        let io_done = band.left == 0;
        if result.is_ok() || ignores {
            return BandDone { io_done, failed: false, doubted: None };
        }
        (band.gives_up, band.excludes) = (true, true);
        let block = band.first + place as u64;
        let doubted = band.places[place].job.is_none().then_some(block);
        self.disk.failed(now);
        BandDone { io_done, failed: true, doubted }
    }

    /// Ends the job of a block that was written again since: the newer version is destaged another
    /// time, and the band writes back what the disk has.
    pub(super) fn band_out_of_date(&mut self, place: usize, contents: &mut Contents) {
        let key = self.leave_band(place);
        let job = self.end(key);
        destaged(&job, contents);
        self.wake(job.slot, true);
    }

    /// Takes the job from a block, which is then to be read from the disk.
    fn leave_band(&mut self, place: usize) -> JobKey {
        let place = &mut self.band().places[place];
        place.content = Content::Missing;
        place.job.take().expect("it was to be destaged")
    }

    /// Ends a job without a destage: the block stays dirty, and may be planned again at once.
    pub(super) fn release(&mut self, key: JobKey, contents: &mut Contents) {
        let job = self.end(key);
        not_destaged(&job, contents);
        self.wake(job.slot, true);
    }
}
