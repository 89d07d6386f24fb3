//! The beginning: what was found on the SSD becomes a cache again, as warm as it was.

use shingle_core::cache::CacheCore;
use shingle_core::plan::Plan;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op, Request};
use slab::Slab;
use thiserror::Error;

use super::bugs::Bug;
use super::{Config, Engine};
use crate::format::table::Entry;
use crate::format::{Frame, State};
use crate::recover::Recovered;
use crate::table::Table;

/// Why an engine cannot begin.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The cache is of another size than the SSD.
    #[error("the SSD has {ssd} slots and the cache was made with {cache}")]
    Slots {
        /// According to the superblock.
        ssd: u64,
        /// Of the cache.
        cache: u64,
    },
    /// Two frames hold the same block.
    #[error("two frames hold block {0}: the SSD contradicts itself")]
    Twice(u64),
    /// A block lies beyond the end of the disk.
    #[error("the SSD holds block {block} of a disk that has {disk_blocks}")]
    Beyond {
        /// The block.
        block: u64,
        /// Of the disk.
        disk_blocks: u64,
    },
    /// More blocks than slots.
    #[error("the SSD holds {0} blocks and has fewer slots")]
    TooMany(usize),
    /// The policy needs to know the future.
    #[error("this policy needs to know the future: it runs in the simulator only")]
    Future,
}

impl Engine {
    /// Goes on with what was found on an SSD. `cache` is empty, and of the size of the SSD.
    ///
    /// # Errors
    /// If they do not fit together.
    pub fn open(
        found: Recovered,
        cache: Box<dyn CacheCore>,
        disk_blocks: u64,
        config: Config,
    ) -> Result<Engine, OpenError> {
        let layout = *found.journal.layout();
        let slots = cache.slots().capacity();
        if layout.slots != u64::from(slots) {
            return Err(OpenError::Slots { ssd: layout.slots, cache: slots.into() });
        }
        if cache.wants_future() {
            return Err(OpenError::Future);
        }
        let table = &found.journal.table;
        let order = coldest_first(table, &found.live);
        let latest = order.last().map_or(0, |&frame| table.entry(frame).hint);
        let corrections = found.corrections;
        let mut errors = super::errors::Errors::default();
        errors.status.found = found.findings;
        let mut engine = Engine {
            mode: config.mode,
            now: Nanos::ZERO,
            disk_blocks,
            cache,
            plan: Plan::naming_dropped(),
            pool: Default::default(),
            ios: Default::default(),
            replies: Vec::new(),
            commands: Default::default(),
            ops: Slab::new(),
            ready: Default::default(),
            locks: Default::default(),
            no_room: Default::default(),
            no_frame: Default::default(),
            frames: super::frames::Frames::new(slots as usize, layout.frames as usize),
            hints: super::hints::Hints::new(slots.into(), latest),
            streams: Default::default(),
            destager: Default::default(),
            disk: super::disk::Disk::new(),
            commits: super::commit::Commits::new(),
            stopping: Default::default(),
            errors,
            gone: None,
            witness: None,
            journal: found.journal,
            config,
        };
        engine.restore(&order)?;
        let holds = |entry: &Entry| entry.state != State::Free;
        let mut used: Vec<bool> = engine.journal.table.entries().iter().map(holds).collect();
        for record in &corrections {
            // Those that a correction gives up come back when it is committed.
            used[record.frame.0 as usize] = true;
            if !engine.bug(Bug::CorrectionsForgotten) {
                engine.record(*record);
            }
        }
        let free = (0..layout.frames as u32).rev().map(Frame);
        let mut free: Vec<Frame> = free.filter(|frame| !used[frame.0 as usize]).collect();
        if engine.bug(Bug::FramesUsedBeforeCorrections) {
            engine.frames.freed(&mut free);
        } else {
            // What was found has to be safe, and said, before any frame is written.
            engine.commits.withhold(free);
        }
        engine.pump();
        Ok(engine)
    }

    /// Puts back what these frames hold.
    fn restore(&mut self, order: &[Frame]) -> Result<(), OpenError> {
        // Millions of blocks lie all over the memory: what the next ones will need is asked for together.
        const AT_A_TIME: usize = 64;
        let disk_blocks = self.disk_blocks;
        let mut entries = Vec::with_capacity(AT_A_TIME);
        let mut requests = Vec::with_capacity(AT_A_TIME);
        for frames in order.chunks(AT_A_TIME) {
            entries.clear();
            entries.extend(frames.iter().map(|&frame| *self.journal.table.entry(frame)));
            requests.clear();
            requests.extend(entries.iter().map(|entry| request_for(entry.block)));
            self.cache.expect(&requests);
            for (entry, &frame) in entries.iter().zip(frames) {
                let block = entry.block;
                if block.0 >= disk_blocks {
                    return Err(OpenError::Beyond { block: block.0, disk_blocks });
                }
                if self.cache.lookup(block).is_some() {
                    return Err(OpenError::Twice(block.0));
                }
                let slot = self.cache.restore(block, entry.state == State::Dirty);
                let slot = slot.ok_or(OpenError::TooMany(order.len()))?;
                self.frames.restore(slot, block, frame, entry.crc);
            }
        }
        Ok(())
    }
}

/// As it would come from a client.
fn request_for(block: Block) -> Request {
    Request { at: Nanos::ZERO, offset: block.bytes(), bytes: BLOCK_BYTES, op: Op::Read }
}

/// The frames that hold something, those first that were used longest ago.
fn coldest_first(table: &Table, live: &[(Block, Frame)]) -> Vec<Frame> {
    // Sorted by counting: there are few hints, and may be millions of frames.
    let hint = |frame: Frame| usize::from(table.entry(frame).hint);
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
