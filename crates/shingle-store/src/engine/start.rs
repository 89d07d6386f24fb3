//! The beginning: what was found on the SSD becomes a cache again, as warm as it was.

use shingle_core::cache::CacheCore;
use shingle_core::plan::Plan;
use shingle_core::units::Nanos;
use slab::Slab;
use thiserror::Error;

use super::bugs::Bug;
use super::{Config, Engine};
use crate::format::{Frame, State};
use crate::recover::Recovered;

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
        let mut live = found.live;
        let hint = |frame| found.journal.table.entry(frame).hint;
        live.sort_by_key(|&(_, frame)| hint(frame));
        let latest = live.last().map_or(0, |&(_, frame)| hint(frame));
        let corrections = found.corrections;
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
            errors: Default::default(),
            gone: None,
            witness: None,
            journal: found.journal,
            config,
        };
        let mut used = vec![false; layout.frames as usize];
        for &(block, frame) in &live {
            if block.0 >= disk_blocks {
                return Err(OpenError::Beyond { block: block.0, disk_blocks });
            }
            if engine.cache.lookup(block).is_some() {
                return Err(OpenError::Twice(block.0));
            }
            let entry = *engine.journal.table.entry(frame);
            let slot = engine.cache.restore(block, entry.state == State::Dirty);
            let slot = slot.ok_or(OpenError::TooMany(live.len()))?;
            engine.frames.restore(slot, block, frame, entry.crc);
            used[frame.0 as usize] = true;
        }
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
}
