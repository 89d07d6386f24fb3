//! The medium of an emulated disk and the times of its I/O: the papers' costs, or a conventional
//! disk, as under the prototypes.
//!
//! On a conventional disk the slots of the buffer come first and the bands after them. Both
//! prototypes work synchronously and block by block: cleaning reads the band, reads each of its
//! buffered blocks from its slot, and writes the band.

use crate::drive::Drive;
use crate::io::{Io, Served};
use crate::parts::cost::CostValues;
use shingle_core::units::{Block, Op};

/// The disk underneath (PORE §V-B: a conventional one of 7200 rpm with 500 GB).
pub(crate) const DISK: &str = "cmr7200";

/// The kernel cuts larger I/O into such pieces: 512 KiB.
const PIECE_BLOCKS: u64 = 128;

pub(crate) enum Medium {
    /// Times without a head.
    Costs(CostValues),
    /// A disk, with its first block of the bands.
    Disk {
        disk: Box<dyn Drive>,
        /// Slots of the buffer before the bands.
        slots: u64,
    },
}

impl Clone for Medium {
    fn clone(&self) -> Medium {
        match self {
            Medium::Costs(costs) => Medium::Costs(costs.clone()),
            Medium::Disk { disk, slots } => Medium::Disk { disk: disk.copy(), slots: *slots },
        }
    }
}

impl Medium {
    /// Reads `count` blocks for the host: with costs as one I/O, whatever is buffered; on a disk
    /// the caller splits them.
    pub(crate) fn read(&mut self, served: &mut Served, place: Place, count: u64) {
        match self {
            Medium::Costs(costs) => served.spend(costs.read(count)),
            Medium::Disk { disk, slots } => {
                transfer(disk.as_mut(), served, Op::Read, place.on_disk(*slots), count);
            }
        }
    }

    /// Writes one block into a slot of the buffer.
    pub(crate) fn log(&mut self, served: &mut Served, slot: u32) {
        match self {
            Medium::Costs(costs) => served.spend(costs.log(1)),
            Medium::Disk { disk, slots } => {
                let place = Place::Slot(slot).on_disk(*slots);
                transfer(disk.as_mut(), served, Op::Write, place, 1);
            }
        }
    }

    /// Reads a band, to be cleaned.
    pub(crate) fn read_band(&mut self, served: &mut Served, (first, blocks): (u64, u64)) {
        if let Medium::Disk { disk, slots } = self {
            let band = Place::Native(first).on_disk(*slots);
            pieces(disk.as_mut(), served, Op::Read, band, blocks);
        }
    }

    /// Collects one of its blocks from the buffer.
    pub(crate) fn collect(&mut self, served: &mut Served, slot: u32) {
        if let Medium::Disk { disk, slots } = self {
            let place = Place::Slot(slot).on_disk(*slots);
            transfer(disk.as_mut(), served, Op::Read, place, 1);
        }
    }

    /// Writes the band, of which `collected` blocks were collected; with costs this is the whole
    /// time of cleaning.
    pub(crate) fn write_band(
        &mut self,
        served: &mut Served,
        (first, blocks): (u64, u64),
        collected: u64,
    ) {
        match self {
            Medium::Costs(costs) => served.spend(costs.rmw(collected)),
            Medium::Disk { disk, slots } => {
                let band = Place::Native(first).on_disk(*slots);
                pieces(disk.as_mut(), served, Op::Write, band, blocks);
            }
        }
    }

    /// Flushes volatile caches.
    pub(crate) fn flush(&mut self, served: &mut Served) {
        if let Medium::Disk { disk, .. } = self {
            transfer(disk.as_mut(), served, Op::Flush, 0, 0);
        }
    }

    /// Returns whether buffered and native blocks lie in different places.
    pub(crate) fn has_places(&self) -> bool {
        matches!(self, Medium::Disk { .. })
    }
}

/// Where a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// In the buffer.
    Slot(u32),
    /// In its band.
    Native(u64),
}

impl Place {
    fn on_disk(self, slots: u64) -> u64 {
        match self {
            Place::Slot(slot) => u64::from(slot),
            Place::Native(block) => slots + block,
        }
    }
}

fn transfer(disk: &mut dyn Drive, served: &mut Served, op: Op, block: u64, count: u64) {
    let part = disk.serve(served.done, &Io { op, block: Block(block), count }, &mut []);
    served.then(&part, false);
}

fn pieces(disk: &mut dyn Drive, served: &mut Served, op: Op, first: u64, count: u64) {
    let mut done = 0;
    while done < count {
        let piece = PIECE_BLOCKS.min(count - done);
        transfer(disk, served, op, first + done, piece);
        done += piece;
    }
}
