//! The status of a disk that may not answer at once: a zoned disk answers between operations, and
//! cleaning a zone takes seconds. Meanwhile callers get the last answer, and the pace of
//! operations, which is observed without asking.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use shingle_translated::{LiveDisk, Pace, Progress, Status};

use super::asking::{Asked, Asking};

/// Watches one disk. Clones watch the same disk.
#[derive(Clone)]
pub struct Watch {
    /// The recent progress of operations.
    seen: Arc<Mutex<Seen>>,
    status: Asking<Status>,
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
        let status = Asking::new("shingle-watch-disk", {
            let weak = weak.clone();
            move || weak.upgrade().map(|live| live.status())
        });
        let watch = Watch { seen: Arc::default(), status };
        // Should the disk hang before anyone has asked, there is a status to tell with its pace.
        drop(watch.ask());
        let seen = Arc::downgrade(&watch.seen);
        let look = move || {
            while let (Some(seen), Some(progress)) =
                (seen.upgrade(), weak.upgrade().map(|live| live.progress()))
            {
                hold(&seen).add(Instant::now(), progress);
                drop(seen);
                thread::sleep(EVERY);
            }
        };
        // Without a thread the status has no pace.
        let _ = thread::Builder::new().name("shingle-watch-pace".to_owned()).spawn(look);
        watch
    }

    /// The current status, or the last known one; `None` if there is none yet.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.answer(self.ask())
    }

    /// Asks for the status, without waiting for it.
    pub(crate) fn ask(&self) -> Asked<Status> {
        self.status.ask()
    }

    /// The status that was asked for.
    pub(crate) fn answer(&self, asked: Asked<Status>) -> Option<Status> {
        let status = asked.answer();
        let pace = hold(&self.seen).pace(Instant::now());
        status.map(|status| Status { pace, ..status })
    }
}

fn hold(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::RwLock;

    use shingle_core::units::{Block, Zone};
    use shingle_engine::Buffer;
    use shingle_translated::{Format, format};
    use shingle_zoned::{
        Faults, Geometry, MemoryDisk, ZoneCommand, ZoneReport, ZonedDisk, ZonedError,
    };

    use super::*;

    /// A disk that hangs while the lock is held.
    struct Hanging(MemoryDisk, Arc<RwLock<()>>);

    impl Hanging {
        fn disk(&self) -> &MemoryDisk {
            drop(self.1.read().expect("no panic"));
            &self.0
        }
    }

    impl ZonedDisk for Hanging {
        fn name(&self) -> &str {
            self.0.name()
        }
        fn geometry(&self) -> &Geometry {
            ZonedDisk::geometry(&self.0)
        }
        fn report(&self, first: Zone, count: u32) -> Result<Vec<ZoneReport>, ZonedError> {
            self.disk().report(first, count)
        }
        fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), ZonedError> {
            self.disk().read(block, buffers)
        }
        fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), ZonedError> {
            self.disk().write(block, buffers)
        }
        fn command(&self, command: ZoneCommand, zone: Zone) -> Result<(), ZonedError> {
            self.disk().command(command, zone)
        }
        fn flush(&self) -> Result<(), ZonedError> {
            self.disk().flush()
        }
    }

    /// Then it is that it has to be told.
    #[test]
    fn a_disk_that_hangs_before_anyone_asked_is_told_of() {
        let hangs = Arc::new(RwLock::new(()));
        let geometry = Geometry { conventional_zones: 4, ..Geometry::new(20, 64) };
        let disk = Hanging(MemoryDisk::new(geometry, Faults::none()), Arc::clone(&hangs));
        format(&disk, &Format { translation: "log".to_owned(), ..Format::default() })
            .expect("room");
        let live = Arc::new(LiveDisk::open(Box::new(disk)).expect("it was formatted"));
        let watch = Watch::new(&live);
        // (It answers in a thread of its own.)
        let begun = Instant::now();
        while watch.status.last().is_none() {
            assert!(begun.elapsed().as_secs() < 60, "it was not asked");
            thread::yield_now();
        }
        let held = hangs.write().expect("no panic");
        thread::scope(|scope| {
            scope.spawn(|| live.write(Block(0), &[Buffer::default()]).expect("in the end"));
            while !live.progress().under_way {
                thread::yield_now();
            }
            assert_eq!(watch.status().map(|status| status.blocks), Some(live.blocks()));
            drop(held);
        });
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
