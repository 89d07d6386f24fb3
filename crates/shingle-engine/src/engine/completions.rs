//! What follows when I/O is done.

use super::Engine;
use super::port::{Completion, Failed, IoId};
use crate::data::Data;

impl<D: Data> Engine<D> {
    /// An I/O is done: so many bytes of it, from the first on, or all of a flush. Its buffers come back.
    ///
    /// # Panics
    /// If no such I/O is under way, or buffers are missing.
    pub fn done(&mut self, id: IoId, result: Result<usize, Failed>, buffers: Vec<D>) {
        self.looks.again();
        let mut done = self.port.done(id, result, buffers, self.now, self.observer.as_ref());
        if let Some(cost) = done.cost {
            self.contents.observe(&cost);
        }
        let result = done.result;
        match done.completions[..] {
            [Completion::SsdFlushed] => self.ssd_flushed(result),
            [Completion::DiskFlushed] => self.disk_flushed(result),
            [Completion::Trimmed] => self.trimmed(result),
            _ => {}
        }
        for (completion, buffer) in done.completions.iter().copied().zip(done.buffers.drain(..)) {
            match completion {
                Completion::FrameRead(op) => self.frame_read(op, result, buffer),
                Completion::DiskRead(op) => self.disk_read(op, result, buffer),
                Completion::FrameWritten(op) => self.frame_written(op, result, buffer),
                Completion::DiskWritten(op) => self.disk_written(op, result, buffer),
                Completion::DestageRead(job) => self.destage_read(job, result, buffer),
                Completion::Destaged(job) => self.destage_written(job, result, buffer),
                Completion::Meta(what) => self.meta_written(what, result, buffer),
                Completion::InvalidationWritten => self.invalidation_written(result, buffer),
                Completion::SsdFlushed | Completion::DiskFlushed | Completion::Trimmed => {
                    unreachable!("they have no pages")
                }
            }
        }
        done.completions.clear();
        self.port.recycle(done.completions, done.buffers);
    }
}
