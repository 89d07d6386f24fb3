//! The state of all caches of a process.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::shared::{PATIENCE, Shared};
use crate::measures::Measures;

/// Access to the state of all caches of a process, from any thread.
#[derive(Clone, Default)]
pub struct Roster(Arc<Mutex<Vec<Arc<Shared>>>>);

impl Roster {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Arc<Shared>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves counters where they are kept, and reports devices that hang or are not where their names lead.
    pub fn save_and_check(&self) {
        let caches = self.lock().clone();
        for shared in caches {
            shared.save_counters();
            shared.report_hanging_devices();
            shared.report_misplaced_devices();
        }
    }

    /// Whether every store answers within `patience`. All are asked at once, so the waits do not
    /// add up.
    #[must_use]
    pub fn all_are_responsive(&self, patience: Duration) -> bool {
        let caches = self.lock().clone();
        let end = Instant::now() + patience;
        let asked: Vec<_> = caches.iter().map(|shared| shared.handle.begin_status()).collect();
        let in_time = |answer: &Receiver<_>| {
            answer.recv_timeout(end.saturating_duration_since(Instant::now())).is_ok()
        };
        asked.iter().all(in_time)
    }

    /// The measurements of each served cache, in the order of the export names. They are saved
    /// before. All stores are asked at once.
    #[must_use]
    pub fn measures(&self) -> Vec<Measures> {
        let mut caches = self.lock().clone();
        caches.sort_by_key(|shared| shared.export());
        let end = Instant::now() + PATIENCE;
        let asked: Vec<_> = caches.iter().map(|shared| shared.handle.begin_measures()).collect();
        let told = |(shared, answer): (&Arc<Shared>, _)| shared.measures_of(answer, end);
        caches.iter().zip(&asked).map(told).collect()
    }
}
