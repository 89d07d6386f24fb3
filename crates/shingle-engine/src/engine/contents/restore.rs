//! Restores the cache from the frame table that was found on the SSD, in the order of last use.
//!
//! There may be hundreds of millions of blocks, in random places of the memory: a second thread
//! gathers the next entries of the table ahead.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;
use std::thread::{self, Builder, ScopedJoinHandle};

use shingle_core::ahead::{Ahead, LOOKAHEAD, PREFETCH_REQUESTS};
use shingle_core::cache::CacheCore;
use shingle_core::plan::Plan;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request};

use super::super::durability::FOUND;
use super::super::open_error::OpenError;
use super::ages::Ages;
use super::hints::Hints;
use super::{Contents, Mapping, UNMAPPED};
use crate::format::table::Entry;
use crate::format::{Frame, State};
use crate::table::Table;

/// Up to this number of blocks one thread restores the cache, and sorting by comparison is faster
/// than counting all hints.
const FEW: usize = 1 << 12;

/// Frames that are gathered at a time.
const PART: usize = 1 << 12;
const PARTS: usize = 8;

/// A frame and its entry in the table.
type Held = (Frame, Entry);

impl Contents {
    /// Puts the blocks of `table` into `cache`, which is empty.
    ///
    /// # Errors
    /// If cache and table do not fit together.
    pub(in super::super) fn restore(
        cache: Box<dyn CacheCore>,
        table: &Table,
        disk_blocks: u64,
    ) -> Result<Contents, OpenError> {
        let slots = cache.slots().capacity();
        let (order, mappings) = if table.live().nth(FEW).is_none() {
            (coldest_of_few(table), unmapped(slots))
        } else {
            thread::scope(|scope| {
                let mappings = Builder::new().spawn_scoped(scope, || unmapped(slots));
                let order = coldest_of_many(table);
                let taken = |thread: ScopedJoinHandle<'_, _>| {
                    thread.join().expect("it takes memory, no more")
                };
                // If the system gives no thread, this one does all.
                (order, mappings.map_or_else(|_| unmapped(slots), taken))
            })
        };
        if order.len() > slots as usize {
            return Err(OpenError::TooMany(order.len()));
        }
        let latest = order.last().map_or(0, |&frame| table.entry(frame).hint);
        let mut contents = Contents {
            cache,
            plan: Plan::listing_dropped(),
            mappings,
            hints: Hints::new(slots.into(), latest),
            ages: Ages::new(slots as usize),
            lost: BTreeMap::new(),
        };
        let parts = order.chunks(PART).map(|frames| {
            let held = |&frame: &Frame| (frame, *table.entry(frame));
            frames.iter().map(held).collect::<Vec<Held>>()
        });
        if order.len() <= FEW {
            contents.insert_all(parts, disk_blocks)?;
        } else {
            thread::scope(|scope| {
                let (to, from) = sync_channel(PARTS);
                // The receiver is dropped early if a block does not fit.
                let all = parts.clone();
                let send_all = move || all.map(|part| to.send(part)).all(|sent| sent.is_ok());
                match Builder::new().spawn_scoped(scope, send_all) {
                    Ok(_) => contents.insert_all(from.into_iter(), disk_blocks),
                    Err(_) => contents.insert_all(parts, disk_blocks),
                }
            })?;
        }
        Ok(contents)
    }

    fn insert_all(
        &mut self,
        parts: impl Iterator<Item = Vec<Held>>,
        disk_blocks: u64,
    ) -> Result<(), OpenError> {
        let mut requests = Vec::with_capacity(PART);
        for part in parts {
            requests.clear();
            requests.extend(part.iter().map(|(_, entry)| request_for(entry.block)));
            let mut ahead = Ahead::default();
            for (held, first) in part.chunks(LOOKAHEAD).zip((0..).step_by(LOOKAHEAD)) {
                self.cache.prefetch(
                    &mut ahead,
                    &requests[first..requests.len().min(first + PREFETCH_REQUESTS)],
                    &mut |_| {},
                );
                held.iter()
                    .try_for_each(|(frame, entry)| self.insert(*frame, entry, disk_blocks))?;
            }
        }
        Ok(())
    }

    #[inline]
    fn insert(&mut self, frame: Frame, entry: &Entry, disk_blocks: u64) -> Result<(), OpenError> {
        let block = entry.block;
        if block.0 >= disk_blocks {
            return Err(OpenError::Beyond { block: block.0, disk_blocks });
        }
        if self.lookup(block).is_some() {
            return Err(OpenError::Twice(block.0));
        }
        let dirty = entry.state == State::Dirty;
        let slot = self.cache.restore(block, dirty).expect("there are as many slots as blocks");
        if dirty {
            // The time when it became dirty is known within one process only.
            self.ages.dirty(slot, Nanos::ZERO);
        }
        let (frame, crc, number) = (Some(frame), entry.crc, FOUND);
        self.mappings[slot.index()] = Mapping { block, frame, crc, version: 0, number };
        Ok(())
    }
}

fn unmapped(slots: u32) -> Vec<Mapping> {
    vec![UNMAPPED; slots as usize]
}

/// A read of `block`, as a client would send it.
fn request_for(block: Block) -> Request {
    Request { at: Nanos::ZERO, offset: block.bytes(), bytes: BLOCK_BYTES, op: Op::Read }
}

/// The frames in use, least recently used first.
fn coldest_of_few(table: &Table) -> Vec<Frame> {
    let mut order: Vec<Frame> = table.live().map(|(frame, _)| frame).collect();
    order.sort_by_key(|&frame| table.entry(frame).hint);
    order
}

/// The same by counting sort: there are few hints, and maybe millions of frames.
fn coldest_of_many(table: &Table) -> Vec<Frame> {
    let mut begins = vec![0_u32; usize::from(u16::MAX) + 1];
    table.live().for_each(|(_, entry)| begins[usize::from(entry.hint)] += 1);
    let count =
        begins.iter_mut().fold(0, |before, count| before + std::mem::replace(count, before));
    let mut order = vec![Frame(0); count as usize];
    for (frame, entry) in table.live() {
        let next = &mut begins[usize::from(entry.hint)];
        order[*next as usize] = frame;
        *next += 1;
    }
    order
}
