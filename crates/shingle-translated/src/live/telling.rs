//! The status of a translated disk.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use shingle_translation::Counters;
use uuid::Uuid;

use super::LiveDisk;
use super::worker::Worker;
use crate::status::{BufferStatus, MapStatus, Progress, Status, WrittenStatus, ZonesStatus};

impl LiveDisk {
    /// The current status. Waits until the work under way is done.
    #[must_use]
    pub fn status(&self) -> Status {
        let worker = self.lock_worker().unwrap_or_else(PoisonError::into_inner);
        let writes_refused = self.writes_refused(&worker);
        let (plan, map) = (&self.shared.plan, self.shared.map());
        let (translation, table) = (worker.executor.translation(), &worker.table);
        let (held, before) = (translation.buffer_state(), &worker.done_before);
        let counters = &sum(before, translation.counters());
        let zones = |wanted: &dyn Fn(u64) -> bool| {
            table.pointers.iter().filter(|pointer| wanted(u64::from(**pointer))).count() as u32
        };
        let log_pages = worker.saver.superblock().areas.log_pages;
        Status {
            translation: plan.translation.clone(),
            params: plan.params.clone(),
            uuid: Uuid::from_bytes(plan.uuid).to_string(),
            blocks: plan.blocks,
            failed: worker.failed.as_ref().map(|failed| failed.what.clone()),
            failures: worker.failures,
            refused: self.refused.load(Ordering::Relaxed),
            writes_refused,
            last_failure: worker.last_failure.clone(),
            buffer: BufferStatus { blocks: plan.buffer_blocks, used: held.used, live: held.blocks },
            zones: ZonesStatus {
                empty: zones(&|pointer| pointer == 0),
                open: zones(&|pointer| pointer > 0 && pointer < plan.capacity),
                full: zones(&|pointer| pointer == plan.capacity),
                spare: table.spares.len() as u32,
                leaving: table.leaving.len() as u32,
                kept: table.kept().count() as u32,
                to_be_moved: table.flawed.len() as u32,
                bad: table.bad,
            },
            cleanings: counters.cleanings.max(counters.victims),
            cleaned_blocks: counters.evicted_blocks
                + counters.moved_blocks
                + worker.gathered_blocks,
            wants_idle: translation.wants_idle(),
            written: WrittenStatus { map_blocks: worker.saver.written_blocks, ..worker.written },
            map: MapStatus {
                runs: map.whereabouts.runs(),
                runs_max: plan.runs_max,
                memory_bytes: map.whereabouts.memory_bytes()
                    + table.memory_bytes()
                    + 4 * map.physical.capacity() as u64,
                generation: worker.saver.superblock().generation,
                gathered_blocks: worker.gathered_blocks,
                log_pages: worker.saver.log_used().into(),
                log_pages_max: log_pages.into(),
                commits: worker.commits,
                checkpoints: worker.checkpoints,
                checkpoints_beside_works: worker.background_checkpoints,
            },
            lost_ranges: map.lost.blocks().starts_and_counts(),
            doubtful_ranges: map.doubtful.starts_and_counts(),
            pace: None,
        }
    }

    /// Why writes are refused: no block more has room in the map, or the last write failed, and what
    /// it lacked is lacking still.
    fn writes_refused(&self, worker: &Worker) -> Option<String> {
        let last = self.last_refusal.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let lacks = |count: &u64| self.has_room(*count).is_err();
        let last = last.filter(|(_, blocks)| blocks.as_ref().is_none_or(lacks));
        // (Otherwise the next write makes room.)
        let full = self.has_room(1).err();
        let full = full.filter(|_| !self.is_log() || !worker.can_gather(&self.shared));
        full.or(last.map(|(why, _)| why))
    }

    /// Whether works make progress. Never waits.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let (begun, done) = self.shared.disk.ios();
        Progress { ios: done, under_way: begun > done }
    }
}

/// The sum of the counters of two translations, of those that the status shows.
pub(super) fn sum(one: &Counters, other: &Counters) -> Counters {
    Counters {
        cleanings: one.cleanings + other.cleanings,
        victims: one.victims + other.victims,
        evicted_blocks: one.evicted_blocks + other.evicted_blocks,
        moved_blocks: one.moved_blocks + other.moved_blocks,
        ..*other
    }
}
