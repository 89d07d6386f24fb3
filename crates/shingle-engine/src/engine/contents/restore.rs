//! Restores the cache from the frame table that was found on the SSD, in the order of last use: the
//! block used longest ago gets slot 0.
//!
//! There may be hundreds of millions of blocks. So threads bring what the table says of them into this
//! order, each for some of the slots, while the cache takes those of the slots before.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder, available_parallelism};

use shingle_core::cache::CacheCore;
use shingle_core::plan::Plan;
use shingle_core::units::Block;

use super::super::durability::FOUND;
use super::super::open_error::OpenError;
use super::Contents;
use super::ages::{AT_START, Ages, NEVER};
use super::hints::Hints;
use super::mappings::{Mapping, Mappings, Packed, block_of};
use crate::format::table::Entry;
use crate::format::{Frame, State};
use crate::table::Table;

/// Up to this number of blocks one thread does all, and sorting by comparison is faster than counting
/// all hints.
const FEW: usize = 1 << 12;

/// Parts of the slots that are filled one after the other, or by several threads. For each the whole
/// table is read.
const PARTS: usize = 4;

/// Blocks that the cache takes at a time.
const AT_ONCE: usize = 1 << 12;

impl Contents {
    /// Puts the blocks of `table` into `cache`, which is new.
    ///
    /// # Errors
    /// If cache and table do not fit together.
    pub(in super::super) fn restore(
        mut cache: Box<dyn CacheCore>,
        table: &Table,
        disk_blocks: u64,
    ) -> Result<Contents, OpenError> {
        let slots = cache.slots().capacity() as usize;
        let mut mappings = Mappings::new(slots);
        let mut since = vec![NEVER; slots];
        let all = Slots { first: 0, mappings: mappings.all_mut(), since: &mut since };
        let take = |slots: &Slots<'_>| slots.give(&mut *cache, disk_blocks);
        let latest = match table.live().nth(FEW) {
            None => all.fill_few(table, take)?,
            Some(_) => {
                let processors = available_parallelism().map_or(1, usize::from);
                // One is for the cache.
                all.fill_many(table, processors.clamp(2, PARTS + 1) - 1, take)?
            }
        };
        Ok(Contents {
            cache,
            plan: Plan::listing_dropped(),
            mappings,
            hints: Hints::new(slots as u64, latest),
            ages: Ages::at_start(since),
            lost: BTreeMap::new(),
        })
    }
}

/// Some neighbouring slots, to be filled.
struct Slots<'a> {
    first: usize,
    mappings: &'a mut [Packed],
    /// As in [`Ages`].
    since: &'a mut [u16],
}

impl<'a> Slots<'a> {
    /// Fills the slot with this number, if it is one of these.
    #[inline]
    fn fill(&mut self, slot: usize, frame: Frame, entry: &Entry) {
        // (Before the first one it is none of these, either.)
        let at = slot.wrapping_sub(self.first);
        let (Some(mapping), Some(since)) = (self.mappings.get_mut(at), self.since.get_mut(at))
        else {
            return;
        };
        let &Entry { block, crc, .. } = entry;
        let (frame, number) = (Some(frame), FOUND);
        *mapping = Mapping { block, frame, crc, version: 0, number }.packed();
        if entry.state == State::Dirty {
            *since = AT_START;
        }
    }

    /// Fills the slots, and has `take` take those that hold a block. Returns when the last one was used.
    fn fill_few(
        mut self,
        table: &Table,
        mut take: impl FnMut(&Slots<'_>) -> Result<(), OpenError>,
    ) -> Result<u16, OpenError> {
        let mut live: Vec<(Frame, &Entry)> = table.live().collect();
        self = self.up_to(live.len())?;
        live.sort_by_key(|(_, entry)| entry.hint);
        for (slot, (frame, entry)) in live.iter().enumerate() {
            self.fill(slot, *frame, entry);
        }
        take(&self)?;
        Ok(live.last().map_or(0, |(_, entry)| entry.hint))
    }

    /// The same by counting sort, on so many other threads: there are few hints, and maybe millions of
    /// frames.
    fn fill_many(
        mut self,
        table: &Table,
        threads: usize,
        mut take: impl FnMut(&Slots<'_>) -> Result<(), OpenError>,
    ) -> Result<u16, OpenError> {
        // How many blocks have each hint; then the first slot of each hint.
        let mut begins = vec![0_u32; usize::from(u16::MAX) + 1];
        table.live().for_each(|(_, entry)| begins[usize::from(entry.hint)] += 1);
        let latest = begins.iter().rposition(|&count| count > 0).unwrap_or(0) as u16;
        let blocks =
            begins.iter_mut().fold(0, |before, count| before + std::mem::replace(count, before));
        self = self.up_to(blocks as usize)?;
        let each = self.mappings.len().div_ceil(PARTS).max(1);
        let parts = self.mappings.chunks_mut(each).zip(self.since.chunks_mut(each));
        let parts = parts.zip((0..).step_by(each));
        let parts = parts.map(|((mappings, since), first)| Slots { first, mappings, since });
        let (parts, filled): (Vec<_>, Vec<_>) = parts
            .map(|part| {
                let (to, from) = channel();
                ((part, to), from)
            })
            .unzip();
        let parts = Mutex::new(parts.into_iter());
        let next_part = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
        let fill = || {
            while let Some((mut part, to)) = next_part() {
                let mut next = begins.clone();
                for (frame, entry) in table.live() {
                    let next = &mut next[usize::from(entry.hint)];
                    part.fill(*next as usize, frame, entry);
                    *next += 1;
                }
                // The receiver is gone if an earlier part could not be taken.
                let _ = to.send(part);
            }
        };
        thread::scope(|scope| {
            let start =
                || Builder::new().name("shingle-start".to_owned()).spawn_scoped(scope, fill);
            if (0..threads).filter(|_| start().is_ok()).count() == 0 {
                // The system gives no thread: this one does all.
                fill();
            }
            filled.into_iter().try_for_each(|part| take(&part.recv().expect("all are filled")))
        })?;
        Ok(latest)
    }

    /// The first of them, so many.
    fn up_to(self, blocks: usize) -> Result<Slots<'a>, OpenError> {
        let Slots { first, mappings, since } = self;
        let too_many = || OpenError::TooMany(blocks);
        let mappings = mappings.get_mut(..blocks).ok_or_else(too_many)?;
        Ok(Slots { first, mappings, since: &mut since[..blocks] })
    }

    /// Has `cache` take the blocks of the slots.
    fn give(&self, cache: &mut dyn CacheCore, disk_blocks: u64) -> Result<(), OpenError> {
        for (mappings, since) in self.mappings.chunks(AT_ONCE).zip(self.since.chunks(AT_ONCE)) {
            let slots = mappings.iter().zip(since);
            let blocks: Vec<(Block, bool)> =
                slots.map(|(mapping, &since)| (block_of(mapping), since == AT_START)).collect();
            let beyond = blocks.iter().position(|(block, _)| block.0 >= disk_blocks);
            let restored = cache.restore_all(&blocks[..beyond.unwrap_or(blocks.len())]);
            restored.map_err(|block| OpenError::Twice(block.0))?;
            if let Some(beyond) = beyond {
                return Err(OpenError::Beyond { block: blocks[beyond].0.0, disk_blocks });
            }
        }
        Ok(())
    }
}
