//! Bands that a policy wants to be written whole: planning them, and handling their I/O
//! completions.

use shingle_core::plan::{Destage, DestageMethod, WriteOrder};

use super::Engine;
use super::destage::{BandContext, Read};
use super::due::Part;
use super::port::Failed;
use crate::bugs::Bug;
use crate::data::Data;

fn is_sorted(manner: DestageMethod) -> bool {
    manner != DestageMethod::Write(WriteOrder::AsGiven)
}

impl<D: Data> Engine<D> {
    /// Plans the destages of one group that a policy has named.
    pub(super) fn plan_group(&mut self, group: &mut [Destage], manner: DestageMethod) {
        if let DestageMethod::WholeBand(zone) = manner
            && self.may_write_whole()
            && let Some(blocks) = self.contents.blocks_of(zone)
            && self.destages.plan_band(group, blocks, &self.contents)
        {
            return;
        }
        self.destages.plan(group, is_sorted(manner), &self.contents);
    }

    /// Whether bands may be written whole now. While everything is destaged (drain, end of the run)
    /// each block takes the shortest way. While the disk fails it gets little at a time.
    fn may_write_whole(&self) -> bool {
        let failing = self.destages.is_disk_failing() && !self.bugs.has(Bug::BandOvertakenKept);
        !failing && !self.is_draining() && !self.life.is_ending()
    }

    /// Takes bands as far as they can get now.
    pub(super) fn write_bands(&mut self) {
        if !self.destages.has_bands() {
            return;
        }
        if !self.may_write_whole() {
            self.destages.stop_bands(&mut self.contents);
        }
        self.destages.write_bands(&mut BandContext {
            contents: &mut self.contents,
            durability: &mut self.durability,
            disk: &mut self.disk,
            port: &mut self.port,
            service: &mut self.service,
            trimming: self.trims.under_way(),
            now: self.now,
        });
        // Requests that waited for a piece resume now: the next pass may come only when the next
        // piece is written.
        self.wake();
        if self.requests.has_ready() {
            self.begin_operations();
        }
    }

    /// Handles the completed read of a block from the disk, which is to be written back with its
    /// band.
    pub(super) fn band_read(&mut self, place: u32, result: Result<(), Failed>, buffer: D) {
        let done = self.destages.band_read(place as usize, result, buffer, &mut self.port);
        if done.failed {
            self.failure.counts().disk_reads += 1;
        }
        if done.io_done {
            self.due.mark(Part::Destages);
        }
    }

    /// Handles the completed read of a block of a band from its frame.
    pub(super) fn band_slot_read(&mut self, place: u32, result: Result<(), Failed>, buffer: D) {
        let (contents, port) = (&mut self.contents, &mut self.port);
        let (read, io_done) =
            self.destages.band_slot_read(place as usize, result, buffer, contents, port);
        match read {
            Read::Good { .. } => {}
            Read::OutOfDate => self.due.mark_all(),
            Read::Damaged(damage) => {
                self.due.mark_all();
                self.failure.count_damaged(damage);
            }
        }
        if io_done {
            self.due.mark(Part::Destages);
        }
        self.wake();
    }

    /// Handles the completed write of a block of a band to the disk.
    pub(super) fn band_written(&mut self, place: u32, result: Result<(), Failed>, buffer: D) {
        self.port.give(buffer);
        self.disk.band_written();
        let done = self.destages.band_written(place as usize, result, self.now);
        if done.failed {
            self.due.mark_all();
            self.failure.counts().disk_writes += 1;
        }
        if let Some(block) = done.doubted {
            self.disk.doubt(block);
        }
        if done.io_done {
            self.due.mark(Part::Destages);
        }
    }
}
