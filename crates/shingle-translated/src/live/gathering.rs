//! Gathering: in a log that is written in small pieces here and there, blocks that follow one another come to lie apart, and
//! each is a run of the map. When the map has no room for more, those of a part of the disk that has many runs are read and
//! written again, one behind the other, and are one run.
//!
//! To the translation this is a write of the host; but the disk has these blocks already, so that nothing is lost with it.

use shingle_core::units::Block;
use shingle_engine::Buffer;
use shingle_translation::{Queue, Work};

use super::worker::{Stop, Worker};
use super::{LiveDisk, Shared};
use crate::error::{LiveError, LiveErrorKind};

/// Blocks that are gathered at a time, at most: 512 KiB. Cleaning keeps as many together.
const BLOCKS_MAX: u64 = 128;

/// Fewest runs that are gathered. Two may be left of them, where a zone ends, and one before or behind them.
const RUNS_MIN: usize = 4;

/// Parts that cannot be read and are passed over in one step, at most: the disk may read nothing.
const UNREAD_MAX: usize = 4;

/// Steps before one write, at most.
pub(super) const STEPS_MAX: usize = 64;

impl Worker {
    /// Whether there is something to gather.
    pub(super) fn can_gather(&self, shared: &Shared) -> bool {
        let most = BLOCKS_MAX.min(shared.plan.capacity);
        shared.map().whereabouts.most_runs(most, RUNS_MIN, &self.ungathered).is_some()
    }

    /// Gathers a part of the disk, if there is one to gather.
    pub(super) fn gather(&mut self, shared: &Shared, queue: &dyn Queue) -> Result<(), Stop> {
        // (With a limit on active zones no work may write more than a zone.)
        let most = BLOCKS_MAX.min(shared.plan.capacity);
        for _ in 0..UNREAD_MAX {
            let found = shared.map().whereabouts.most_runs(most, RUNS_MIN, &self.ungathered);
            let Some(part) = found else { return Ok(()) };
            let (block, count) = (Block(part.start), part.end - part.start);
            let mut data = vec![Buffer::default(); count as usize];
            if shared.read(block, &mut data).is_err() {
                // Some of it is lost, or the disk cannot read it: until the next start it stays as it is.
                self.ungathered.insert(part);
                continue;
            }
            self.work_of(shared, Work::Write { block, count }, &data, 0..0, queue)?;
            self.gathered_blocks += count;
            return Ok(());
        }
        Ok(())
    }
}

impl LiveDisk {
    /// Whether idle time gathers: a quarter of the room is kept for writes, which then need not wait.
    pub(super) fn is_to_gather(&self, worker: &Worker) -> bool {
        self.is_log()
            && self.has_room(self.shared.plan.runs_max / 4).is_err()
            && worker.can_gather(&self.shared)
    }

    /// Makes room in the map for a write of so many blocks.
    pub(super) fn make_room(&self, worker: &mut Worker, count: u64) -> Result<(), LiveError> {
        for _ in 0..STEPS_MAX {
            if self.has_room(count).is_ok() {
                return Ok(());
            }
            if !self.gather(worker)? {
                break;
            }
        }
        self.has_room(count).map_err(|what| LiveError::new(0..0, LiveErrorKind::Full, what))
    }

    /// Gathers a part of the disk now, for tests.
    ///
    /// # Errors
    /// If the disk fails.
    #[cfg(feature = "bugs")]
    #[doc(hidden)]
    pub fn gather_now(&self) -> Result<bool, LiveError> {
        let mut worker = self.begin(&(0..0))?;
        self.gather(&mut worker)
    }

    /// Gathers a part of the disk. Returns false if there is none.
    pub(super) fn gather(&self, worker: &mut Worker) -> Result<bool, LiveError> {
        let before = worker.gathered_blocks;
        if self.is_log() {
            self.run(worker, 0..0, |worker, shared, queue| worker.gather(shared, queue))?;
        }
        Ok(worker.gathered_blocks > before)
    }
}
