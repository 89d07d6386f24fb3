//! A cache over a drive is a drive itself, so caches can be stacked.

use shingle_core::units::{BLOCK_BYTES, Nanos, Request};
use shingle_drive::{BufferState, Counters, Description, Drive, Io, Served, Stamp};

use super::System;

impl Drive for System {
    fn serve(&mut self, now: Nanos, io: &Io, data: &mut [Stamp]) -> Served {
        assert!(data.is_empty(), "a system keeps its own stamps: make it checked");
        self.clock.not_before(now);
        let (offset, bytes) = (io.block.bytes(), io.count * BLOCK_BYTES);
        let (_, done) = self.request(&Request { at: now, offset, bytes, op: io.op });
        Served { done, transfer: done.since(now), ..Served::default() }
    }

    fn drain(&mut self, now: Nanos) -> Nanos {
        self.clock.not_before(now);
        self.drain_all()
    }

    fn counters(&self) -> &Counters {
        self.disk.drive().counters()
    }

    fn buffer(&self) -> BufferState {
        // What the upper cache destaged may still be on this SSD.
        BufferState { oldest: None, ..self.disk.drive().buffer() }
    }

    fn description(&self) -> &Description {
        self.disk.drive().description()
    }

    fn copy(&self) -> Box<dyn Drive> {
        Box::new(self.duplicate())
    }

    fn check(&self) {
        self.cache.check();
        self.disk.drive().check();
    }
}
