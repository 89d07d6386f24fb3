//! What was found on the SSD becomes a cache again, as warm as it was.

use std::collections::BTreeMap;

use shingle_core::cache::CacheCore;
use shingle_core::plan::Plan;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request};

use super::super::durability::FOUND;
use super::super::open_error::OpenError;
use super::ages::Ages;
use super::hints::Hints;
use super::{Contents, Mapping, UNMAPPED};
use crate::format::{Frame, State};
use crate::table::Table;

impl Contents {
    /// Puts into `cache`, which is empty, what `live` says stands in frames.
    ///
    /// # Errors
    /// If they do not fit together.
    pub(in super::super) fn restore(
        cache: Box<dyn CacheCore>,
        table: &Table,
        live: &[(Block, Frame)],
        disk_blocks: u64,
    ) -> Result<Contents, OpenError> {
        let order = coldest_first(table, live);
        let latest = order.last().map_or(0, |&frame| table.entry(frame).hint);
        let slots = cache.slots().capacity();
        let mut contents = Contents {
            cache,
            plan: Plan::naming_dropped(),
            mappings: vec![UNMAPPED; slots as usize],
            hints: Hints::new(slots.into(), latest),
            ages: Ages::new(slots as usize),
            lost: BTreeMap::new(),
        };
        // Millions of blocks lie all over the memory: what the next ones will need is asked for together.
        const AT_A_TIME: usize = 64;
        let mut entries = Vec::with_capacity(AT_A_TIME);
        let mut requests = Vec::with_capacity(AT_A_TIME);
        for frames in order.chunks(AT_A_TIME) {
            entries.clear();
            entries.extend(frames.iter().map(|&frame| *table.entry(frame)));
            requests.clear();
            requests.extend(entries.iter().map(|entry| request_for(entry.block)));
            contents.cache.expect(&requests);
            for (entry, &frame) in entries.iter().zip(frames) {
                let block = entry.block;
                if block.0 >= disk_blocks {
                    return Err(OpenError::Beyond { block: block.0, disk_blocks });
                }
                if contents.lookup(block).is_some() {
                    return Err(OpenError::Twice(block.0));
                }
                let slot = contents.cache.restore(block, entry.state == State::Dirty);
                let slot = slot.ok_or(OpenError::TooMany(order.len()))?;
                if entry.state == State::Dirty {
                    // (Since when is known of this process only.)
                    contents.ages.dirty(slot, Nanos::ZERO);
                }
                let (frame, crc, number) = (Some(frame), entry.crc, FOUND);
                contents.mappings[slot.index()] = Mapping { block, frame, crc, version: 0, number };
            }
        }
        Ok(contents)
    }
}

/// As it would come from a client.
fn request_for(block: Block) -> Request {
    Request { at: Nanos::ZERO, offset: block.bytes(), bytes: BLOCK_BYTES, op: Op::Read }
}

/// So few are sorted sooner than all hints are counted.
const FEW: usize = 1 << 12;

/// The frames that hold something, those first that were used longest ago.
fn coldest_first(table: &Table, live: &[(Block, Frame)]) -> Vec<Frame> {
    let hint = |frame: Frame| usize::from(table.entry(frame).hint);
    if live.len() < FEW {
        let mut order: Vec<Frame> = live.iter().map(|&(_, frame)| frame).collect();
        order.sort_by_key(|&frame| hint(frame));
        return order;
    }
    // Sorted by counting: there are few hints, and may be millions of frames.
    let mut begins = vec![0_u32; usize::from(u16::MAX) + 1];
    live.iter().for_each(|&(_, frame)| begins[hint(frame)] += 1);
    begins.iter_mut().fold(0, |before, count| before + std::mem::replace(count, before));
    let mut order = vec![Frame(0); live.len()];
    for &(_, frame) in live {
        let next = &mut begins[hint(frame)];
        order[*next as usize] = frame;
        *next += 1;
    }
    order
}
