//! The sums of one cache, of this process and of those before it.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use shingle_engine::{DirtyAges, JournalStatus, Status};
use uuid::Uuid;

use crate::measures::saved::Place;
use crate::measures::{DevicesNow, Now, Requests, Totals, ZonedTotals};

type Tell = Box<dyn Fn(&Path, &io::Error) + Send + Sync>;

/// The counters of a cache, and where they are kept.
pub(super) struct Counters {
    requests: Arc<Requests>,
    /// Held while the file is written, so that an older report never replaces a newer one.
    kept: Mutex<Kept>,
    tell: Tell,
}

struct Kept {
    place: Option<Place>,
    /// The sums of former processes.
    earlier: Totals,
    /// The last report.
    last: (Totals, Now),
    /// The translation of a zoned disk counts from when it is opened, and may not answer.
    zoned: ZonedTotals,
    /// The number of the store's answer in that report.
    nth: u64,
}

impl Counters {
    /// Keeps counters in this folder for this cache. `tell` is called once for a folder that cannot
    /// be used.
    pub(super) fn begin(
        kept_in: Option<(&Path, Uuid)>,
        tell: impl Fn(&Path, &io::Error) + Send + Sync + 'static,
    ) -> Counters {
        let mut kept = Kept {
            place: None,
            earlier: Totals::default(),
            last: Default::default(),
            zoned: ZonedTotals::default(),
            nth: 0,
        };
        match kept_in.map(|(folder, cache)| (folder, Place::new(folder, cache))) {
            None => {}
            Some((folder, Err(error))) => tell(folder, &error),
            Some((_, Ok(place))) => {
                match place.read() {
                    Ok(earlier) => kept.earlier = earlier,
                    // A damaged file is written again, and reported once.
                    Err(error) => tell(place.path(), &error),
                }
                kept.place = Some(place);
            }
        }
        kept.last.0 = kept.earlier.clone();
        Counters { requests: Arc::default(), kept: Mutex::new(kept), tell: Box::new(tell) }
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

    /// The current report, which is saved first. If the store has `said` nothing, or nothing newer, the last report.
    pub(super) fn report(
        &self,
        said: Option<&(Status, DevicesNow)>,
        zoned: Option<&shingle_translated::Status>,
        slots: u64,
    ) -> (Totals, Now) {
        let mut kept = self.lock();
        let Some((engine, devices)) = said.filter(|(_, devices)| devices.nth > kept.nth) else {
            return kept.last.clone();
        };
        kept.nth = devices.nth;
        if let Some(zoned) = zoned {
            kept.zoned = of_zoned(zoned).no_less_than(&kept.zoned);
        }
        let own = Totals {
            starts: 1,
            requests: self.requests.get(),
            devices: devices.totals,
            counts: engine.counts,
            errors: engine.errors,
            destaged_blocks: engine.destaged_blocks,
            bands: engine.bands,
            journal_records: engine.journal.records,
            journal_commits: engine.journal.commits,
            zoned: kept.zoned,
        };
        let totals = own.plus(&kept.earlier);
        let written = kept.place.as_ref().map_or(Ok(()), |place| place.write(&totals));
        if let Err(error) = written {
            // The folder may work again later; waiting for that with each report would take too
            // long.
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
        destages_refused: engine.destage_back_off.is_some(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_is_told_by_its_name() {
        let file = tempfile::NamedTempFile::new().expect("made");
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = told.clone();
        let counters = Counters::begin(Some((file.path(), Uuid::nil())), move |path, _| {
            tell.lock().expect("had").push(path.to_owned());
        });
        assert!(!counters.are_kept());
        assert_eq!(*told.lock().expect("had"), [file.path()]);
    }

    #[test]
    fn who_is_heard_late_makes_no_sum_smaller_or_larger() {
        let counters = Counters::begin(None, |_, _| {});
        let told = |nth, destaged_blocks, cleanings| {
            let said = (
                Status { destaged_blocks, ..Status::default() },
                DevicesNow { nth, ..DevicesNow::default() },
            );
            let zoned = shingle_translated::Status { cleanings, ..Default::default() };
            let (totals, _) = counters.report(Some(&said), Some(&zoned), 0);
            (totals.destaged_blocks, totals.zoned.cleanings)
        };
        assert_eq!(told(1, 10, 1), (10, 1));
        assert_eq!(told(3, 12, 3), (12, 3));
        assert_eq!(told(2, 11, 2), (12, 3), "he had asked before");
        assert_eq!(told(4, 13, 2), (13, 3), "the disk is asked apart");
    }
}
