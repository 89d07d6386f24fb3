//! The status of a disk that may not answer at once: a zoned disk answers between operations, and
//! cleaning a zone takes seconds. Meanwhile callers get the last answer, and the pace of
//! operations, which is observed without asking.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use shingle_translated::{LiveDisk, Pace, Progress, Status};

/// How long a caller waits. A later answer is for the next caller.
const PATIENCE: Duration = Duration::from_millis(500);

/// The status of one disk. Clones ask the same disk.
#[derive(Clone)]
pub struct Watch(Arc<Shared>);

struct Shared {
    /// The recent progress of operations.
    seen: Mutex<Seen>,
    /// Asks the disk. May take long.
    ask: Box<dyn Fn() -> Option<Status> + Send + Sync>,
    last: Mutex<Last>,
    told: Condvar,
}

#[derive(Default)]
struct Last {
    status: Option<Status>,
    /// A thread is waiting for an answer.
    asking: bool,
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, status: Option<Status>) {
        let mut last = self.last();
        last.asking = false;
        if status.is_some() {
            last.status = status;
        }
        drop(last);
        self.told.notify_all();
    }
}

/// How often progress is observed, and how long it is kept.
const EVERY: Duration = Duration::from_secs(1);
const SPAN: Duration = Duration::from_secs(10);

/// Progress at moments of the last ten seconds, the oldest first, and since when there is none.
#[derive(Default)]
struct Seen {
    moments: VecDeque<(Instant, u64)>,
    since: Option<Instant>,
}

impl Seen {
    fn add(&mut self, now: Instant, progress: Progress) {
        let last = self.moments.back().map(|(_, ios)| *ios);
        if !progress.under_way || last != Some(progress.ios) {
            self.since = None;
        }
        if progress.under_way {
            self.since.get_or_insert(now);
        }
        self.moments.push_back((now, progress.ios));
        while self.moments.front().is_some_and(|(at, _)| now.duration_since(*at) > SPAN) {
            self.moments.pop_front();
        }
    }

    fn pace(&self, now: Instant) -> Option<Pace> {
        let ((_, first), (_, last)) = (self.moments.front()?, self.moments.back()?);
        let stuck_seconds = self.since.map_or(0, |since| now.duration_since(since).as_secs());
        Some(Pace { ios_10s: last - first, stuck_seconds })
    }
}

impl Watch {
    /// Watches a disk as long as it is in use.
    #[must_use]
    pub fn new(live: &Arc<LiveDisk>) -> Watch {
        let weak = Arc::downgrade(live);
        let watch = Watch::from_fn({
            let weak = weak.clone();
            move || weak.upgrade().map(|live| live.status())
        });
        let shared = Arc::downgrade(&watch.0);
        let look = move || {
            while let (Some(shared), Some(progress)) =
                (shared.upgrade(), weak.upgrade().map(|live| live.progress()))
            {
                shared.seen().add(Instant::now(), progress);
                drop(shared);
                thread::sleep(EVERY);
            }
        };
        // Without a thread the status has no pace.
        let _ = thread::Builder::new().name("shingle-watch-pace".to_owned()).spawn(look);
        watch
    }

    /// Watches by calling `ask`, which returns `None` when the disk is not in use any more.
    fn from_fn(ask: impl Fn() -> Option<Status> + Send + Sync + 'static) -> Watch {
        let (seen, last, told) = (Mutex::default(), Mutex::default(), Condvar::new());
        Watch(Arc::new(Shared { seen, ask: Box::new(ask), last, told }))
    }

    /// The current status, or the last known one; `None` if there is none yet.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        let mut last = self.0.last();
        if !last.asking {
            let shared = self.0.clone();
            let ask = move || shared.put((shared.ask)());
            let thread = thread::Builder::new().name("shingle-watch-disk".to_owned());
            // Without a thread it is as if the disk did not answer.
            last.asking = thread.spawn(ask).is_ok();
        }
        let waited = self.0.told.wait_timeout_while(last, PATIENCE, |last| last.asking);
        let status = waited.unwrap_or_else(PoisonError::into_inner).0.status.clone();
        let pace = self.0.seen().pace(Instant::now());
        status.map(|status| Status { pace, ..status })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn who_asks_does_not_wait_for_a_disk_that_is_busy() {
        let (to, answers) = channel();
        let answers = Mutex::new(answers);
        let watch = Watch::from_fn(move || answers.lock().expect("no panic").recv().ok());
        let told = |blocks| Status { blocks, ..Status::default() };
        to.send(told(7)).expect("heard");
        assert_eq!(watch.status(), Some(told(7)));
        // The disk is busy: callers get the last answer, and no further thread is started.
        assert_eq!([watch.status(), watch.status()], [Some(told(7)), Some(told(7))]);
        to.send(told(8)).expect("heard");
        while watch.status() != Some(told(8)) {}
        drop(to);
        assert_eq!(watch.status(), Some(told(8)), "it is not used any more");
    }

    #[test]
    fn stuck_is_told_from_busy() {
        let mut seen = Seen::default();
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(seen.pace(begun), None);
        let mut add = |seconds, ios, under_way| {
            seen.add(at(seconds), Progress { ios, under_way });
            seen.pace(at(seconds)).expect("it was looked at")
        };
        let pace = |ios_10s, stuck_seconds| Pace { ios_10s, stuck_seconds };
        assert_eq!(add(0, 100, false), pace(0, 0));
        assert_eq!(add(1, 900, true), pace(800, 0));
        assert_eq!(add(2, 1800, true), pace(1700, 0), "busy");
        assert_eq!(add(3, 1800, true), pace(1700, 1));
        assert_eq!(add(30, 1800, true), pace(0, 28), "stuck");
        assert_eq!(add(31, 1801, true), pace(1, 0));
        assert_eq!(add(40, 1801, false), pace(1, 0), "at rest");
    }
}
