//! Dispatches completions of I/O. Each one says with which part the next pass has to begin; a
//! failure may change any part.

use super::Engine;
use super::due::Part;
use super::port::{Completion, Completions, Failed, IoId};
use crate::data::Data;

impl<D: Data> Engine<D> {
    /// Reports a completed I/O: the number of bytes transferred, from the first on, or the end of a
    /// flush or trim. Returns the buffers of the I/O to the engine.
    ///
    /// # Panics
    /// If no such I/O is under way, or buffers are missing.
    pub fn io_done(&mut self, id: IoId, result: Result<usize, Failed>, mut buffers: Vec<D>) {
        let done = self.port.done(id, result, &mut buffers, self.now, self.observer.as_ref());
        if let Some(cost) = done.cost {
            self.contents.observe(&cost);
        }
        let result = done.result;
        if result.is_err() {
            self.due.mark_all();
        }
        match done.completions {
            Completions::One(one) => match buffers.pop() {
                Some(buffer) => self.page_done(one, result, buffer),
                None => self.command_done(one, result),
            },
            Completions::Many(mut many) => {
                let pages = many.drain(..).zip(buffers.drain(..));
                pages.for_each(|(one, buffer)| self.page_done(one, result, buffer));
                self.port.recycle_many(many);
            }
        }
        if self.requests.has_runnable() {
            self.mark_requests();
        }
        self.mark_commit();
        if self.port.has_queued() {
            self.due.mark(Part::Issue);
        }
        self.port.recycle(buffers);
    }

    fn page_done(&mut self, what: Completion, result: Result<(), Failed>, buffer: D) {
        match what {
            Completion::FrameRead(op) => self.frame_read(op, result, buffer),
            Completion::DiskRead(op) => self.disk_read(op, result, buffer),
            Completion::FrameWritten(op) => self.frame_written(op, result, buffer),
            Completion::DiskWritten(op) => self.disk_written(op, result, buffer),
            Completion::DestageRead(job) => self.destage_read(job, result, buffer),
            Completion::Destaged(job) => self.destage_written(job, result, buffer),
            Completion::BandRead(place) => self.band_read(place, result, buffer),
            Completion::BandSlotRead(place) => self.band_slot_read(place, result, buffer),
            Completion::BandWritten(place) => self.band_written(place, result, buffer),
            Completion::Meta(what) => self.meta_written(what, result, buffer),
            Completion::InvalidationWritten => self.invalidation_written(result, buffer),
            Completion::SsdFlushed | Completion::DiskFlushed | Completion::Trimmed => {
                unreachable!("they have no pages")
            }
        }
    }

    /// Handles the completion of a flush or a trim.
    fn command_done(&mut self, what: Completion, result: Result<(), Failed>) {
        self.due.mark_all();
        match what {
            Completion::SsdFlushed => self.ssd_flushed(result),
            Completion::DiskFlushed => self.disk_flushed(result),
            Completion::Trimmed => self.trimmed(result),
            _ => unreachable!("they have pages"),
        }
    }
}
