//! The map of the readers: the places of blocks, the physical zone of each logical one, and lost blocks.
//!
//! A work changes it only at a commit and at its end. So a read in the middle of a work finds the old copies, which are still
//! there, as a translation gives them up only after a commit. A reader holds the lock during its I/O. So when the map has been
//! changed, no read from a place that it no longer names is in flight, and the work may overwrite that place.

use std::sync::atomic::Ordering;

use shingle_core::ranges::Ranges;
use shingle_core::units::Block;
use shingle_engine::{Buffer, IO_PAGES_MAX};
use shingle_translation::Place;

use super::{Plan, Shared};
use crate::error::{LiveError, LiveErrorKind};
use crate::lost::Lost;
use crate::whereabouts::Whereabouts;
use crate::zones::Table;

/// The map of the readers.
#[derive(Debug)]
pub(super) struct Map {
    pub(super) whereabouts: Whereabouts,
    /// The physical zone of each logical one.
    pub(super) physical: Vec<u32>,
    pub(super) lost: Lost,
    /// Blocks that were written and not flushed before a flush failed: the disk may have older data.
    pub(super) doubtful: Ranges,
}

impl Map {
    pub(super) fn new(whereabouts: Whereabouts, table: &Table, lost: Lost) -> Map {
        let (physical, doubtful) = (table.physical.clone(), Ranges::default());
        Map { whereabouts, physical, lost, doubtful }
    }

    /// The block of the disk at a place.
    pub(super) fn on_disk(&self, plan: &Plan, place: Place) -> Option<Block> {
        match place {
            Place::Nowhere => None,
            Place::Buffer(at) => Some(plan.buffer_first.after(at)),
            Place::Native(at) => {
                let (zone, offset) = plan.split(at);
                Some(plan.on_disk(self.physical[zone as usize], offset))
            }
        }
    }

    /// Reads blocks from `block` on by one I/O, and returns how many: at least one, at most as many as there are buffers.
    pub(super) fn read_some(
        &self,
        shared: &Shared,
        block: Block,
        buffers: &mut [Buffer],
    ) -> Result<usize, LiveError> {
        let (plan, disk) = (&shared.plan, shared.disk.for_readers());
        let most = buffers.len().min(IO_PAGES_MAX) as u64;
        let asked = block.0..block.0 + most;
        let lost = self.lost.blocks().first_in(asked.clone());
        let old_copy = self.lost.copy(block.0);
        if old_copy.is_none()
            && let Some(lost) = lost.clone().filter(|lost| lost.start == block.0)
        {
            let what =
                "what they held is lost with the zone it was in; write them anew, or trim them";
            return Err(LiveError::new(lost, LiveErrorKind::Lost, what));
        }
        if let Some(doubtful) = self.doubtful.first_in(asked) {
            let what = "they were written, and a flush failed before they were durable: the disk may have older ones; write them anew";
            return Err(LiveError::new(doubtful, LiveErrorKind::Failed, what));
        }
        if let Some(copy) = old_copy {
            disk.read(copy, &mut buffers[..1]).map_err(|error| {
                let what = format!("it could not be read when its zone was cleaned, and now: {error}; write it anew, or trim it");
                LiveError::new(block.0..block.0 + 1, LiveErrorKind::Lost, what)
            })?;
            shared.reads_again.store(true, Ordering::Relaxed);
            return Ok(1);
        }
        let most = lost.map_or(most, |lost| lost.start - block.0);
        let piece = self.whereabouts.first(block, most);
        let Some(from) = self.on_disk(plan, piece.place) else {
            let buffers = &mut buffers[..piece.count as usize];
            buffers.iter_mut().for_each(|buffer| buffer.0.fill(0));
            return Ok(buffers.len());
        };
        let count = match piece.place {
            Place::Native(at) => piece.count.min(plan.capacity - plan.split(at).1),
            _ => piece.count,
        };
        let buffers = &mut buffers[..count as usize];
        disk.read(from, buffers).map_err(|error| {
            LiveError::new(block.0..block.0 + count, LiveErrorKind::Disk, error)
        })?;
        Ok(buffers.len())
    }
}
