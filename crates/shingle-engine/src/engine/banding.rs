//! Bands that a policy wants to be written whole, and what follows from their I/O.

use shingle_core::plan::{Destage, Manner, WriteOrder};

use super::Engine;
use super::destage::{Around, Read};
use super::looks::Part;
use super::port::Failed;
use crate::bugs::Bug;
use crate::data::Data;

fn is_sorted(manner: Manner) -> bool {
    manner != Manner::Write(WriteOrder::AsGiven)
}

impl<D: Data> Engine<D> {
    /// Plans what a policy has named.
    pub(super) fn plan_group(&mut self, group: &mut [Destage], manner: Manner) {
        if let Manner::WholeBand(zone) = manner
            && self.may_write_whole()
            && let Some(blocks) = self.contents.blocks_of(zone)
            && self.destages.plan_band(group, blocks, &self.contents)
        {
            return;
        }
        self.destages.plan(group, is_sorted(manner), &self.contents);
    }

    /// Where everything has to go to the disk it goes the shortest way, and whoever waits for one block is not to wait for a
    /// band. A disk that does not take everything is tried with little.
    fn may_write_whole(&self) -> bool {
        let failing = self.destages.is_disk_failing() && !self.bugs.has(Bug::BandOvertakenKept);
        !failing && !self.drains() && !self.life.is_ending()
    }

    /// Goes on with bands, as far as it can be done now.
    pub(super) fn write_bands(&mut self) {
        if !self.destages.has_bands() {
            return;
        }
        if !self.may_write_whole() {
            self.destages.stop_bands(&mut self.contents);
        }
        self.destages.write_bands(&mut Around {
            contents: &mut self.contents,
            durability: &mut self.durability,
            disk: &mut self.disk,
            port: &mut self.port,
            service: &mut self.service,
            trimming: self.trims.under_way(),
            now: self.now,
        });
        // Who waited for a piece goes on now: the next look may come when the next piece is there.
        self.wake();
        if self.requests.has_ready() {
            self.begin_operations();
        }
    }

    /// A block of a band was read from the disk, which is to be written back.
    pub(super) fn band_read(&mut self, place: u32, result: Result<(), Failed>, buffer: D) {
        let done = self.destages.band_read(place as usize, result, buffer, &mut self.port);
        if done.failed {
            self.failure.counts().disk_reads += 1;
        }
        if done.goes_on {
            self.looks.at(Part::Destages);
        }
    }

    /// A block of a band was read from its frame.
    pub(super) fn band_slot_read(&mut self, place: u32, result: Result<(), Failed>, buffer: D) {
        let (contents, port) = (&mut self.contents, &mut self.port);
        let (read, goes_on) =
            self.destages.band_slot_read(place as usize, result, buffer, contents, port);
        match read {
            Read::Good { .. } => {}
            Read::OutOfDate => self.looks.again(),
            Read::Damaged(damage) => {
                self.looks.again();
                self.failure.count_damaged(damage);
            }
        }
        if goes_on {
            self.looks.at(Part::Destages);
        }
        self.wake();
    }

    /// A block of a band is on the disk, or not.
    pub(super) fn band_written(&mut self, place: u32, result: Result<(), Failed>, buffer: D) {
        self.port.give(buffer);
        self.disk.band_written();
        let done = self.destages.band_written(place as usize, result, self.now);
        if done.failed {
            self.looks.again();
            self.failure.counts().disk_writes += 1;
        }
        if let Some(block) = done.doubted {
            self.disk.doubt(block);
        }
        if done.goes_on {
            self.looks.at(Part::Destages);
        }
    }
}
