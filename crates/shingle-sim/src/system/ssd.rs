//! The cached blocks on the SSD.
//!
//! In closed loop nothing of a request waits for a part of it, so on a uniform SSD the blocks that a
//! request reads and writes there are counted, and served together at its end.

use shingle_core::units::{Block, Nanos, Op, Slot};
use shingle_drive::{Drive, Io, Stamp};

use crate::device::Device;

/// An SSD by slots. A block without data is one whose `stamp` is empty.
pub(super) struct Ssd {
    device: Device,
    /// Blocks read and written for the request under way, if they are served together.
    pooled: Option<Pooled>,
    /// Checked and pooled: what each slot holds, as the SSD is told of no slots then.
    in_slots: Vec<Stamp>,
}

/// Blocks of one request on the SSD.
#[derive(Clone, Copy, Debug, Default)]
struct Pooled {
    read_blocks: u64,
    written_blocks: u64,
}

impl Ssd {
    /// `slots` on `drive`; in open loop it works at several I/Os side by side, if it can. With
    /// `checked`, data stamps are kept.
    pub(super) fn new(drive: Box<dyn Drive>, open: bool, slots: u32, checked: bool) -> Ssd {
        let pools = !open && drive.description().uniform;
        let stamped_slots = if pools && checked { slots } else { 0 };
        Ssd {
            device: Device::new(drive, open),
            pooled: pools.then(Pooled::default),
            in_slots: vec![0; stamped_slots as usize],
        }
    }

    /// Reads `slot` from `ready` on. Returns when that is done.
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

    /// Writes `slot` from `ready` on. Returns when that is done.
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

    /// Serves what the request under way has pooled. Returns when that is done.
    pub(super) fn serve_pooled(&mut self, ready: Nanos) -> Nanos {
        let Some(pooled) = self.pooled.as_mut().map(core::mem::take) else { return ready };
        // (What leaves for one request may be more than a small SSD holds at a time.)
        let count_max = self.device.drive().description().disk_blocks;
        let mut done = ready;
        for (op, mut left) in [(Op::Read, pooled.read_blocks), (Op::Write, pooled.written_blocks)] {
            while left > 0 {
                let count = left.min(count_max);
                done = self.device.serve(done, &Io { op, block: Block(0), count }, &mut []).done;
                left -= count;
            }
        }
        done
    }

    /// Has it make durable what it holds in a volatile cache.
    pub(super) fn flush(&mut self, ready: Nanos) -> Nanos {
        let io = Io { op: Op::Flush, block: Block(0), count: 0 };
        self.device.serve(ready, &io, &mut []).done
    }

    /// What it is on.
    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn copy(&self) -> Ssd {
        Ssd { device: self.device.copy(), pooled: self.pooled, in_slots: self.in_slots.clone() }
    }
}
