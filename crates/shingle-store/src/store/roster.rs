//! The state of all caches of a process.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::missing::Missing;
use super::shared::Shared;
use crate::measures::{Measures, NotServed};

/// Access to the state of all caches of a process, from any thread.
#[derive(Clone, Default)]
pub struct Roster {
    served: Arc<Mutex<Vec<Arc<Shared>>>>,
    missing: Missing,
}

impl Roster {
    pub(super) fn new(missing: Missing) -> Roster {
        Roster { missing, ..Roster::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Arc<Shared>>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves counters where they are kept, and reports devices that hang or are not where their names lead.
    pub fn save_and_check(&self) {
        for (shared, measures) in self.measured() {
            shared.report_devices(&measures);
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
    /// before.
    #[must_use]
    pub fn measures(&self) -> Vec<Measures> {
        self.measured().into_iter().map(|(_, measures)| measures).collect()
    }

    /// The same, with the caches. All are asked at once, so the waits do not add up.
    fn measured(&self) -> Vec<(Arc<Shared>, Measures)> {
        let mut caches = self.lock().clone();
        caches.sort_by_key(|shared| shared.export());
        let asked: Vec<_> = caches.iter().map(|shared| shared.ask()).collect();
        let measures: Vec<_> = asked.into_iter().map(|asked| asked.measures()).collect();
        caches.into_iter().zip(measures).collect()
    }

    /// The exports that are to be served and are not, in the order of their names.
    #[must_use]
    pub fn not_served(&self) -> Vec<NotServed> {
        self.missing.all()
    }

    /// How many exports are served.
    #[must_use]
    pub fn served(&self) -> usize {
        self.lock().len()
    }
}
