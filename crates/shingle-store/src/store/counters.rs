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
    /// What this process had counted at the last report.
    own: Totals,
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
            own: Totals::default(),
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

    /// The current report, which is saved first. If the store has `said` nothing, the last report.
    pub(super) fn report(
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
            bands: engine.bands,
            journal_records: engine.journal.records,
            journal_commits: engine.journal.commits,
            zoned: kept.zoned,
        };
        let before = std::mem::replace(&mut kept.own, own);
        let Kept { own, earlier, .. } = &mut *kept;
        carry_over(earlier, &before, own);
        let totals = own.plus(earlier);
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

/// Carries counters over: an engine with another SSD begins some of them anew, so what it had
/// counted before is added to `earlier`.
fn carry_over(earlier: &mut Totals, before: &Totals, now: &Totals) {
    let (errors, then, of) = (&mut earlier.errors, &before.errors, &now.errors);
    let (bands, bands_then, bands_of) = (&mut earlier.bands, &before.bands, &now.bands);
    let sums = [
        (&mut errors.damaged_pages, then.damaged_pages, of.damaged_pages),
        (&mut errors.void_records, then.void_records, of.void_records),
        (&mut errors.ssd_reads, then.ssd_reads, of.ssd_reads),
        (&mut errors.checksums, then.checksums, of.checksums),
        (&mut errors.ssd_writes, then.ssd_writes, of.ssd_writes),
        (&mut errors.disk_reads, then.disk_reads, of.disk_reads),
        (&mut errors.disk_writes, then.disk_writes, of.disk_writes),
        (&mut errors.disk_trims, then.disk_trims, of.disk_trims),
        (&mut errors.disk_flushes, then.disk_flushes, of.disk_flushes),
        (&mut earlier.destaged_blocks, before.destaged_blocks, now.destaged_blocks),
        (&mut bands.written, bands_then.written, bands_of.written),
        (&mut bands.given_up, bands_then.given_up, bands_of.given_up),
        (&mut bands.read_blocks, bands_then.read_blocks, bands_of.read_blocks),
        (&mut bands.written_blocks, bands_then.written_blocks, bands_of.written_blocks),
        (&mut earlier.journal_records, before.journal_records, now.journal_records),
        (&mut earlier.journal_commits, before.journal_commits, now.journal_commits),
    ];
    for (earlier, before, now) in sums {
        *earlier += if now < before { before } else { 0 };
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
        destages_refused: engine.destage_pause.is_some(),
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
    fn an_engine_that_counts_anew_makes_no_sum_smaller() {
        let counters = Counters::begin(None, |_, _| {});
        let told = |records, commits| {
            let mut status = Status::default();
            (status.journal.records, status.journal.commits) = (records, commits);
            let (totals, _) = counters.report(Some(&(status, DevicesNow::default())), None, 0);
            (totals.journal_records, totals.journal_commits)
        };
        assert_eq!(told(10, 2), (10, 2));
        assert_eq!(told(12, 2), (12, 2));
        assert_eq!(told(3, 1), (15, 3), "another SSD");
        assert_eq!(told(4, 1), (16, 3));
    }
}
