//! The sums of one cache: of this process, and of those before it.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use shingle_engine::{DirtyAges, JournalStatus, Status};

use crate::measures::saved::Place;
use crate::measures::{DevicesNow, Now, Requests, Totals, ZonedTotals};

type Tell = Box<dyn Fn(&Path, &io::Error) + Send + Sync>;

/// What counts, and where it is kept.
pub(super) struct Counters {
    requests: Arc<Requests>,
    kept: Mutex<Kept>,
    tell: Tell,
}

struct Kept {
    place: Option<Place>,
    /// Of former processes.
    earlier: Totals,
    /// What was told last.
    last: (Totals, Now),
    /// Zoned disks count from when they are opened, and may not tell.
    zoned: ZonedTotals,
}

impl Counters {
    /// `tell` is told of a place that is of no use, once.
    pub(super) fn begin(
        place: Option<io::Result<Place>>,
        tell: impl Fn(&Path, &io::Error) + Send + Sync + 'static,
    ) -> io::Result<Counters> {
        let mut kept = Kept {
            place: None,
            earlier: Totals::default(),
            last: Default::default(),
            zoned: ZonedTotals::default(),
        };
        match place.map(|place| place.and_then(|place| Ok((place.read(), place)))) {
            None => {}
            Some(Err(error)) => tell(Path::new("the folder of counters"), &error),
            Some(Ok((Ok(earlier), place))) => (kept.earlier, kept.place) = (earlier, Some(place)),
            // (What is damaged is written anew, and says so this once.)
            Some(Ok((Err(error), place))) => {
                tell(place.path(), &error);
                kept.place = Some(place);
            }
        }
        kept.last.0 = kept.earlier.clone();
        Ok(Counters { requests: Arc::default(), kept: Mutex::new(kept), tell: Box::new(tell) })
    }

    pub(super) fn requests(&self) -> Arc<Requests> {
        self.requests.clone()
    }

    pub(super) fn are_kept(&self) -> bool {
        self.lock().place.is_some()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be told now, which is saved first. Of a store that has `said` nothing it is what was told last.
    pub(super) fn told(
        &self,
        said: Option<&(Status, DevicesNow)>,
        zoned: Option<&shingle_translated::Status>,
        slots: u64,
    ) -> (Totals, Now) {
        let mut kept = self.lock();
        let Some((engine, devices)) = said else { return kept.last.clone() };
        if let Some(zoned) = zoned {
            kept.zoned = of_zoned(zoned);
        }
        let own = Totals {
            starts: 1,
            requests: self.requests.get(),
            devices: devices.totals,
            counts: engine.counts,
            errors: engine.errors,
            destaged_blocks: engine.destaged_blocks,
            journal_records: engine.journal.records,
            journal_commits: engine.journal.commits,
            zoned: kept.zoned,
        };
        let totals = own.plus(&kept.earlier);
        let written = kept.place.as_ref().map_or(Ok(()), |place| place.write(&totals));
        if let Err(error) = written {
            // (A place that fails may be well again; that is not waited for with every question.)
            let place = kept.place.take().expect("it has failed");
            (self.tell)(place.path(), &error);
        }
        kept.last = (totals, now(engine, devices, slots));
        kept.last.clone()
    }
}

fn now(engine: &Status, devices: &DevicesNow, slots: u64) -> Now {
    let DirtyAges { oldest, older } = engine.dirty_ages;
    let JournalStatus { used_pages, pages, .. } = engine.journal;
    let lost = engine.lost.len() as u64;
    let to_write = engine.dirty_blocks.saturating_sub(lost);
    let seconds = |rate: f64| to_write as f64 / rate;
    let drain_seconds = match to_write {
        0 => Some(0.0),
        _ => devices.destage_rate.filter(|&rate| rate > 0.0).map(seconds),
    };
    Now {
        slots,
        dirty_blocks: engine.dirty_blocks,
        clean_blocks: engine.clean_blocks,
        lost_blocks: lost,
        oldest_dirty_ns: oldest.0,
        dirty_older: older,
        destaging_blocks: engine.destaging_blocks,
        destage_pause_ns: engine.destage_pause.map_or(0, |pause| pause.0),
        drain_seconds,
        ios: devices.now,
        journal_used_pages: used_pages,
        journal_pages: pages,
        connections: 0,
    }
}

fn of_zoned(zoned: &shingle_translated::Status) -> ZonedTotals {
    let written = &zoned.written;
    ZonedTotals {
        cleanings: zoned.cleanings,
        cleaned_blocks: zoned.cleaned_blocks,
        written: [
            written.host_blocks,
            written.buffer_blocks,
            written.zone_blocks,
            written.map_blocks,
        ],
    }
}
