//! What became of the I/O of a band that is written whole.

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

/// What is to follow from the I/O of a page of a band.
pub(in super::super) struct BandDone {
    /// All that was under way is done.
    pub(in super::super) goes_on: bool,
    /// It has failed, and that counts.
    pub(in super::super) failed: bool,
    /// The disk did not take a block that it had before: its number.
    pub(in super::super) doubted: Option<u64>,
}

impl<D: Data> Destages<D> {
    fn band(&mut self) -> &mut UnderWay<D> {
        self.bands.under_way.as_mut().expect("its I/O is under way")
    }

    /// A block of the band was read from the disk.
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
        let goes_on = band.left == 0;
        let at = &mut band.places[place];
        // What is to be destaged the SSD has, and what somebody else has changed meanwhile is read again.
        let wanted = at.job.is_none() && matches!(at.content, Content::Coming);
        if wanted && (result.is_ok() || ignores) {
            at.content = Content::There(data);
            return BandDone { goes_on, failed: false, doubted: None };
        }
        port.give(data);
        if wanted {
            at.content = Content::Missing;
            (band.gives_up, band.spoils) = (true, true);
        }
        BandDone { goes_on, failed: wanted, doubted: None }
    }

    /// A block of the band that is to be destaged was read from its frame. Returns what became of it, and whether all that
    /// was under way is done.
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
        let goes_on = band.left == 0;
        let key = band.places[place].job.expect("its data was read");
        let job = &self.jobs[key];
        let (slot, block) = (job.slot, job.block);
        let mapping = contents.mapping(slot);
        let current = mapping.version == job.version;
        let fits = self.bugs.has(Bug::DestageWithoutChecksum) || data.crc() == mapping.crc;
        if current && result.is_ok() && fits {
            self.band().places[place].content = Content::There(data);
            return (Read::Good { first_complete: false }, goes_on);
        }
        port.give(data);
        if !current {
            self.band_out_of_date(place, contents);
            return (Read::OutOfDate, goes_on);
        }
        self.leave_band(place);
        let job = self.end(key);
        not_destaged(&job, contents);
        contents.mark_lost(block, slot);
        self.wake(slot, false);
        let damage = if result.is_err() { Damage::Unreadable } else { Damage::Checksum };
        (Read::Damaged(damage), goes_on)
    }

    /// A block of the band is on the disk, or not.
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
        let goes_on = band.left == 0;
        if result.is_ok() || ignores {
            return BandDone { goes_on, failed: false, doubted: None };
        }
        (band.gives_up, band.spoils) = (true, true);
        let block = band.first + place as u64;
        let doubted = band.places[place].job.is_none().then_some(block);
        self.disk.failed(now);
        BandDone { goes_on, failed: true, doubted }
    }

    /// The block was written again since, and is destaged another time: of the band it is as the disk has it.
    pub(super) fn band_out_of_date(&mut self, place: usize, contents: &mut Contents) {
        let key = self.leave_band(place);
        let job = self.end(key);
        destaged(&job, contents);
        self.wake(job.slot, true);
    }

    /// What stands in its place is to be read from the disk.
    fn leave_band(&mut self, place: usize) -> JobKey {
        let place = &mut self.band().places[place];
        place.content = Content::Missing;
        place.job.take().expect("it was to be destaged")
    }

    /// The block stays dirty, and may be planned again at once.
    pub(super) fn release(&mut self, key: JobKey, contents: &mut Contents) {
        let job = self.end(key);
        not_destaged(&job, contents);
        self.wake(job.slot, true);
    }
}
