//! The disk for works: their I/Os are counted, so that the status can tell whether they make progress.

use std::sync::atomic::{AtomicU64, Ordering};

use shingle_core::units::{Block, Zone};
use shingle_device::Device;
use shingle_engine::Buffer;
use shingle_zoned::{Geometry, ZoneCommand, ZoneReport, ZonedDisk, ZonedError};

/// See the module.
pub(super) struct Watched {
    disk: Box<dyn ZonedDisk>,
    begun: AtomicU64,
    done: AtomicU64,
}

impl Watched {
    pub(super) fn new(disk: Box<dyn ZonedDisk>) -> Watched {
        Watched { disk, begun: AtomicU64::new(0), done: AtomicU64::new(0) }
    }

    /// The disk for readers, without counting.
    pub(super) fn for_readers(&self) -> &dyn ZonedDisk {
        &*self.disk
    }

    /// The numbers of I/Os begun and of I/Os done, with those that failed.
    pub(super) fn ios(&self) -> (u64, u64) {
        let done = self.done.load(Ordering::Acquire);
        (self.begun.load(Ordering::Acquire), done)
    }

    fn counted<T>(&self, call: impl FnOnce(&(dyn ZonedDisk + 'static)) -> T) -> T {
        self.begun.fetch_add(1, Ordering::AcqRel);
        let outcome = call(&*self.disk);
        self.done.fetch_add(1, Ordering::AcqRel);
        outcome
    }
}

impl ZonedDisk for Watched {
    fn name(&self) -> &str {
        self.disk.name()
    }

    fn geometry(&self) -> &Geometry {
        self.disk.geometry()
    }

    fn backing(&self) -> Option<&Device> {
        self.disk.backing()
    }

    fn report(&self, first: Zone, count: u32) -> Result<Vec<ZoneReport>, ZonedError> {
        self.counted(|disk| disk.report(first, count))
    }

    fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), ZonedError> {
        self.counted(|disk| disk.read(block, buffers))
    }

    fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), ZonedError> {
        self.counted(|disk| disk.write(block, buffers))
    }

    fn command(&self, command: ZoneCommand, zone: Zone) -> Result<(), ZonedError> {
        self.counted(|disk| disk.command(command, zone))
    }

    fn flush(&self) -> Result<(), ZonedError> {
        self.counted(|disk| disk.flush())
    }
}
