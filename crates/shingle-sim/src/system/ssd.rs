//! The cached blocks on the SSD.
//!
//! In closed loop no part of a request waits for another, so on a uniform SSD the blocks that a
//! request reads and writes there are counted, and served together at its end.

use shingle_core::units::{Block, Nanos, Op, Slot};
use shingle_drive::{Drive, Io, Stamp};

use crate::device::Device;

/// The SSD, addressed by slot. `stamp` is empty if data is not checked.
pub(super) struct Ssd {
    device: Device,
    /// Blocks read and written for the current request, if they are served together.
    pooled: Option<Pooled>,
    /// Checked and pooled: the contents of each slot, as the SSD does not see slots then.
    in_slots: Vec<Stamp>,
}

/// Blocks of one request on the SSD.
#[derive(Clone, Copy, Debug, Default)]
struct Pooled {
    read_blocks: u64,
    written_blocks: u64,
}

impl Ssd {
    /// Creates it with `slots` on `drive`. In open loop it serves several I/Os at a time, if it
    /// can. With `checked`, data stamps are kept.
    pub(super) fn new(drive: Box<dyn Drive>, open: bool, slots: u32, checked: bool) -> Ssd {
        let pools = drive.description().uniform.is_some() && !open;
        let stamped_slots = if pools && checked { slots } else { 0 };
        Ssd {
            device: Device::new(drive, open),
            pooled: pools.then(Pooled::default),
            in_slots: vec![0; stamped_slots as usize],
        }
    }

    /// Counts a block that is read (`Op::Read`) or written, if blocks are served together and no data are
    /// checked: [`Ssd::serve_pooled`] does the rest.
    #[inline]
    pub(super) fn pool(&mut self, op: Op) -> bool {
        let Some(pooled) = self.pooled.as_mut().filter(|_| self.in_slots.is_empty()) else {
            return false;
        };
        match op {
            Op::Read => pooled.read_blocks += 1,
            _ => pooled.written_blocks += 1,
        }
        true
    }

    /// Reads `slot` from `ready` on. Returns the completion.
    #[inline]
    pub(super) fn read(&mut self, ready: Nanos, slot: Slot, stamp: &mut [Stamp]) -> Nanos {
        if let Some(pooled) = &mut self.pooled {
            pooled.read_blocks += 1;
            if let [stamp] = stamp {
                *stamp = self.in_slots[slot.index()];
            }
            return ready;
        }
        let io = Io { op: Op::Read, block: Block(u64::from(slot.0)), count: 1 };
        self.device.serve(ready, &io, stamp).done
    }

    /// Writes `slot` from `ready` on. Returns the completion.
    #[inline]
    pub(super) fn write(&mut self, ready: Nanos, slot: Slot, stamp: &mut [Stamp]) -> Nanos {
        if let Some(pooled) = &mut self.pooled {
            pooled.written_blocks += 1;
            if let [stamp] = stamp {
                self.in_slots[slot.index()] = *stamp;
            }
            return ready;
        }
        let io = Io { op: Op::Write, block: Block(u64::from(slot.0)), count: 1 };
        self.device.serve(ready, &io, stamp).done
    }

    /// Serves the pooled I/O of the current request. Returns the completion.
    #[inline]
    pub(super) fn serve_pooled(&mut self, ready: Nanos) -> Nanos {
        let Some(pooled) = &mut self.pooled else { return ready };
        let Pooled { read_blocks, written_blocks } = core::mem::take(pooled);
        let mut done = ready;
        if read_blocks > 0 {
            done = self.device.serve_anywhere(done, Op::Read, read_blocks);
        }
        if written_blocks > 0 {
            done = self.device.serve_anywhere(done, Op::Write, written_blocks);
        }
        done
    }

    /// Flushes its volatile cache.
    pub(super) fn flush(&mut self, ready: Nanos) -> Nanos {
        let io = Io { op: Op::Flush, block: Block(0), count: 0 };
        self.device.serve(ready, &io, &mut []).done
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn copy(&self) -> Ssd {
        Ssd { device: self.device.copy(), pooled: self.pooled, in_slots: self.in_slots.clone() }
    }
}
