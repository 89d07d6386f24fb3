//! Turns decoded records into what a [`Source`] promises: requests in the order of their times,
//! several volumes side by side, and time that starts with the first request.

use shingle_core::units::{Nanos, Op, Request};

use crate::error::{Kind, Place, Problem, TraceError};
use crate::reorder::Reorder;
use crate::source::{BATCH_REQUESTS, DISK_BYTES_MAX, Raw, Source, TRACE_NANOS_MAX, prepare_batch};
use crate::volume::{Volumes, several_message};
use crate::zones::{ZONE_BYTES, side_by_side};

/// Records in the order of a file, each checked by a [`crate::source::Gate`].
pub(crate) trait Records: Send {
    /// Appends to `out`, at most up to its capacity.
    ///
    /// Returns false if the trace has ended and nothing was added.
    ///
    /// # Errors
    /// If the trace cannot be read further.
    fn fill(&mut self, out: &mut Vec<Raw>) -> Result<bool, TraceError>;

    /// Returns the name of the trace that the user gave.
    fn name(&self) -> &str;

    /// Does what [`Source::length_hint`] does.
    fn length_hint(&self) -> Option<u64> {
        None
    }

    /// Does what [`Source::progress`] does.
    fn progress(&self) -> Option<(u64, u64)> {
        None
    }

    /// Does what [`Source::warnings`] does.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the volumes seen, if the format has volumes.
    fn volumes(&self) -> Option<&Volumes> {
        None
    }

    /// Returns why the trace has no request.
    fn empty_error(&self) -> Problem {
        Problem::new(Kind::Empty, "holds no request")
    }
}

/// Implements [`Records::fill`] for formats that decode one request at a time.
#[inline]
pub(crate) fn fill_from(
    out: &mut Vec<Raw>,
    mut next: impl FnMut() -> Result<Option<Raw>, TraceError>,
) -> Result<bool, TraceError> {
    let before = out.len();
    while out.len() < out.capacity() {
        let Some(raw) = next()? else { break };
        out.push(raw);
    }
    Ok(out.len() > before)
}

/// The most requests that wait to be sorted: 320 MiB of them.
const WAITING_MAX: usize = 8 << 20;

const SORTED_MIN: usize = 4 * BATCH_REQUESTS;

/// The first byte of each volume.
#[derive(Debug)]
enum Layout {
    One,
    /// Not known before all is read.
    Unknown,
    /// First bytes by number of the volume.
    Known(Vec<u64>),
}

/// A source made of records.
pub(crate) struct Arranged {
    records: Box<dyn Records>,
    reorder: Reorder,
    layout: Layout,
    /// Requests read and not yet dropped. Those before `emitted` were passed on; those from there
    /// up to `sorted` are in the order of their times.
    waiting: Vec<Raw>,
    emitted: usize,
    sorted: usize,
    newest_ns: u64,
    /// Requests before this index may be passed on.
    releasable: usize,
    at_end: bool,
    batch: Vec<Raw>,
    first_ns: Option<u64>,
    last: Nanos,
    emitted_total: u64,
    moved: u64,
    moved_max_ns: u64,
    /// The error that every further call returns.
    volumes_error: Option<TraceError>,
}

impl Arranged {
    pub(crate) fn new(records: Box<dyn Records>, reorder: Reorder, several: bool) -> Arranged {
        Arranged {
            records,
            reorder,
            layout: if several { Layout::Unknown } else { Layout::One },
            waiting: Vec::with_capacity(SORTED_MIN),
            emitted: 0,
            sorted: 0,
            newest_ns: 0,
            releasable: 0,
            at_end: false,
            batch: Vec::with_capacity(BATCH_REQUESTS),
            first_ns: None,
            last: Nanos::ZERO,
            emitted_total: 0,
            moved: 0,
            moved_max_ns: 0,
            volumes_error: None,
        }
    }

    /// Reads until a request may be passed on, or to the end.
    fn read(&mut self) -> Result<(), TraceError> {
        while self.releasable == self.emitted && !self.at_end {
            self.compact();
            self.batch.clear();
            let filled = match self.records.fill(&mut self.batch) {
                Err(error) if error.kind == Kind::Volume => {
                    return Err(self.several_volumes_error(error));
                }
                filled => filled?,
            };
            if !filled {
                self.at_end = true;
                self.check_complete()?;
                if matches!(self.layout, Layout::Unknown) {
                    self.layout = Layout::Known(self.layout_volumes()?);
                }
            }
            self.append_batch();
            self.release();
        }
        Ok(())
    }

    /// Handles a second volume where only one is allowed: reads on, up to a limit, to report the
    /// size of each volume.
    #[cold]
    fn several_volumes_error(&mut self, error: TraceError) -> TraceError {
        const COUNTED_MAX: u64 = 1 << 20;
        let before = self.emitted_total + (self.waiting.len() - self.emitted) as u64;
        // The request of the second volume is lost with the error.
        let mut requests = vec![before, 1];
        let mut all = before + 1;
        let to_the_end = loop {
            for raw in &self.batch {
                let volume = raw.volume as usize;
                requests.resize(requests.len().max(volume + 1), 0);
                requests[volume] += 1;
            }
            all += self.batch.len() as u64;
            self.batch.clear();
            if all >= COUNTED_MAX {
                break false;
            }
            match self.records.fill(&mut self.batch) {
                Ok(true) => {}
                Ok(false) => break true,
                Err(damage) if damage.kind == Kind::Corrupt => return damage,
                Err(_) => break false,
            }
        };
        let names = self.names();
        requests.resize(names.len(), 0);
        let within = if to_the_end { String::new() } else { format!("in {all} requests, ") };
        let message = format!("holds {within}{}", several_message(names, &requests));
        let error = TraceError { place: Place::Whole, message, ..error };
        self.volumes_error = Some(error.clone());
        error
    }

    /// Checks at the end that there was a request, and one of each volume that was chosen.
    fn check_complete(&self) -> Result<(), TraceError> {
        let missing = self.records.volumes().and_then(Volumes::missing);
        let empty = self.emitted_total == 0 && self.waiting.is_empty();
        match missing.or_else(|| empty.then(|| self.records.empty_error())) {
            Some(problem) => Err(problem.at(self.records.name(), Place::Whole)),
            None => Ok(()),
        }
    }

    /// Drops requests that were passed on once they outnumber the waiting ones, so that each
    /// request moves once on average.
    fn compact(&mut self) {
        if self.emitted > self.waiting.len() - self.emitted {
            self.waiting.drain(..self.emitted);
            self.sorted -= self.emitted;
            (self.emitted, self.releasable) = (0, 0);
        }
    }

    /// Appends the batch to the waiting requests. Sorted input costs one comparison a request.
    fn append_batch(&mut self) {
        let moved_before = self.moved;
        for raw in &self.batch {
            if raw.ns < self.newest_ns {
                self.moved += 1;
                self.moved_max_ns = self.moved_max_ns.max(self.newest_ns - raw.ns);
            } else {
                self.newest_ns = raw.ns;
            }
        }
        if self.moved == moved_before && self.sorted == self.waiting.len() {
            self.sorted += self.batch.len();
        }
        self.waiting.extend_from_slice(&self.batch);
    }

    /// Decides how many requests may be passed on.
    fn release(&mut self) {
        if matches!(self.layout, Layout::Unknown) {
            return;
        }
        let all = self.waiting.len();
        let Reorder::Within(window) = self.reorder else {
            (self.sorted, self.releasable) = (all, all);
            return;
        };
        let waiting = &mut self.waiting[self.emitted..];
        let full = waiting.len() >= WAITING_MAX;
        if self.sorted < all {
            // A sort has at least as many new requests as old ones, which bounds its cost for each
            // request.
            let enough = SORTED_MIN.max(2 * (self.sorted - self.emitted));
            if !self.at_end && !full && waiting.len() < enough {
                return;
            }
            // A stable sort, which is fast on nearly sorted input.
            waiting.sort_by_key(|raw| raw.ns);
            self.sorted = all;
        }
        let settled = self.newest_ns.saturating_sub(window.0);
        self.releasable = if self.at_end {
            all
        } else if full {
            self.emitted + waiting.len() / 2
        } else {
            self.emitted + waiting.partition_point(|raw| raw.ns <= settled)
        };
    }

    /// Returns the first byte of each volume: the zone border behind the volume before.
    fn layout_volumes(&self) -> Result<Vec<u64>, TraceError> {
        let mut ends = vec![0_u64; self.names().len().max(1)];
        for raw in &self.waiting {
            let end = &mut ends[raw.volume as usize];
            *end = (*end).max(raw.offset + raw.bytes);
        }
        let (starts, zones) = side_by_side(ends.iter().map(|end| end.div_ceil(ZONE_BYTES)));
        if zones > DISK_BYTES_MAX / ZONE_BYTES {
            let message = format!(
                "{} volumes side by side go past 64 PiB, the largest disk; name fewer with --volume",
                starts.len()
            );
            return Err(TraceError::new(Kind::Volume, self.records.name(), Place::Whole, message));
        }
        Ok(starts.into_iter().map(|zone| zone * ZONE_BYTES).collect())
    }

    fn names(&self) -> &[Vec<u8>] {
        self.records.volumes().map_or(&[], Volumes::names)
    }

    #[inline]
    fn emit(&mut self, raw: Raw) -> Result<Request, TraceError> {
        let first = *self.first_ns.get_or_insert(raw.ns);
        let at = Nanos(raw.ns.saturating_sub(first));
        if at < self.last && self.reorder != Reorder::Keep {
            return Err(self.window_full_error());
        }
        debug_assert!(at.0 < TRACE_NANOS_MAX, "the gate leaves room for what is sorted in front");
        self.last = self.last.max(at);
        self.emitted_total += 1;
        let shift = match &self.layout {
            Layout::Known(begins) if raw.op != Op::Flush => begins[raw.volume as usize],
            _ => 0,
        };
        Ok(Request { at: self.last, offset: raw.offset + shift, bytes: raw.bytes, op: raw.op })
    }

    #[cold]
    fn window_full_error(&self) -> TraceError {
        let message = format!(
            "belongs in front of requests that were passed on already: no more than {WAITING_MAX} \
             wait to be sorted; give a smaller window, as in --reorder 100ms, or --reorder keep"
        );
        TraceError::new(
            Kind::Order,
            self.records.name(),
            Place::Record(self.emitted_total + 1),
            message,
        )
    }

    fn order_warning(&self) -> Option<String> {
        if self.moved == 0 {
            return None;
        }
        let by = Nanos(self.moved_max_ns).as_secs_f64();
        Some(match self.reorder {
            Reorder::Within(window) => format!(
                "{} requests came after later ones, by up to {by} s, and were sorted (--reorder \
                 {}s)",
                self.moved,
                window.as_secs_f64()
            ),
            Reorder::Keep => format!(
                "{} requests had a time before that of one above them, by up to {by} s; they keep \
                 their place and take its time (--reorder keep)",
                self.moved
            ),
        })
    }

    fn layout_warning(&self) -> Option<String> {
        const NAMED_MAX: usize = 8;
        let Layout::Known(begins) = &self.layout else { return None };
        if begins.len() < 2 {
            return None;
        }
        let named = begins.iter().zip(self.names()).take(NAMED_MAX);
        let mut places: Vec<String> = named
            .map(|(begin, name)| format!("{} from byte {begin}", String::from_utf8_lossy(name)))
            .collect();
        if begins.len() > NAMED_MAX {
            places.push("…".to_owned());
        }
        Some(format!("{} volumes lie side by side: {}", begins.len(), places.join(", ")))
    }
}

impl Source for Arranged {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        prepare_batch(out);
        if let Some(volumes_error) = &self.volumes_error {
            return Err(volumes_error.clone());
        }
        while out.len() < out.capacity() {
            if self.releasable == self.emitted {
                self.read()?;
                if self.releasable == self.emitted {
                    break;
                }
            }
            let end = self.releasable.min(self.emitted + out.capacity() - out.len());
            for index in self.emitted..end {
                let request = self.emit(self.waiting[index])?;
                out.push(request);
            }
            self.emitted = end;
        }
        Ok(!out.is_empty())
    }

    fn length_hint(&self) -> Option<u64> {
        self.records.length_hint()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.records.progress()
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.records.warnings();
        warnings.extend(self.order_warning());
        warnings.extend(self.layout_warning());
        warnings
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::{Gate, read_all};
    use crate::volume::Choice;

    struct Listed {
        records: std::vec::IntoIter<Raw>,
        gate: Gate,
        volumes: Option<Volumes>,
    }

    impl Records for Listed {
        fn fill(&mut self, out: &mut Vec<Raw>) -> Result<bool, TraceError> {
            let before = out.len();
            for raw in self.records.by_ref().take(3) {
                out.push(self.gate.admit(raw).map_err(|p| p.at("list", Place::Whole))?);
            }
            Ok(out.len() > before)
        }

        fn name(&self) -> &str {
            "list"
        }

        fn volumes(&self) -> Option<&Volumes> {
            self.volumes.as_ref()
        }
    }

    /// Arranges `(time, offset, volume)`.
    fn arranged(list: &[(u64, u64, u32)], reorder: Reorder, volumes: usize) -> Arranged {
        let raw = |&(ns, offset, volume): &(u64, u64, u32)| Raw {
            ns,
            offset,
            bytes: 512,
            op: Op::Write,
            volume,
        };
        let records: Vec<Raw> = list.iter().map(raw).collect();
        let mut all = Volumes::new(&Choice::All);
        for number in 0..volumes {
            all.select(format!("v{number}").as_bytes()).expect("few");
        }
        let volumes_met = (volumes > 0).then_some(all);
        let listed =
            Listed { records: records.into_iter(), gate: Gate::new(reorder), volumes: volumes_met };
        Arranged::new(Box::new(listed), reorder, volumes > 0)
    }

    fn read(source: &mut Arranged) -> Vec<(u64, u64)> {
        let requests = read_all(source, &mut |_| {}).expect("valid");
        requests.iter().map(|r| (r.at.0, r.offset)).collect()
    }

    #[test]
    fn requests_are_sorted_or_keep_their_place() {
        let list = [(500, 1, 0), (700, 2, 0), (600, 3, 0), (300, 4, 0), (800, 5, 0), (600, 6, 0)];
        let mut sorted = arranged(&list, Reorder::Within(Nanos(400)), 0);
        assert_eq!(read(&mut sorted), [(0, 4), (200, 1), (300, 3), (300, 6), (400, 2), (500, 5)]);
        assert!(sorted.warnings()[0].starts_with("3 requests"), "{:?}", sorted.warnings());
        let mut kept = arranged(&list, Reorder::Keep, 0);
        assert_eq!(read(&mut kept), [(0, 1), (200, 2), (200, 3), (200, 4), (300, 5), (300, 6)]);
    }

    #[test]
    fn volumes_lie_side_by_side() {
        let list = [(0, 512, 0), (1, ZONE_BYTES, 1), (2, 0, 0), (3, 0, 2)];
        let mut source = arranged(&list, Reorder::Keep, 3);
        let zone = ZONE_BYTES;
        assert_eq!(read(&mut source), [(0, 512), (1, 2 * zone), (2, 0), (3, 3 * zone)]);
        let far = [(0, DISK_BYTES_MAX - 512, 0), (0, 0, 1)];
        let error = read_all(&mut arranged(&far, Reorder::Keep, 2), &mut |_| {}).expect_err("far");
        assert!(error.to_string().contains("--volume"), "{error}");
    }

    proptest! {
        /// The output is that of a stable sort.
        #[test]
        fn sorting_in_a_window_is_sorting(
            steps in prop::collection::vec((0_u64..20, 0_u64..100), 1..60_000)
        ) {
            let mut now = 1_000;
            let list: Vec<(u64, u64, u32)> = (0..).zip(&steps).map(|(n, &(step, back))| {
                now += step;
                (now - back, n, 0)
            }).collect();
            let mut expected = list.clone();
            expected.sort_by_key(|&(ns, ..)| ns);
            let first = expected[0].0;
            let expected: Vec<(u64, u64)> =
                expected.iter().map(|&(ns, offset, _)| (ns - first, offset)).collect();
            let mut source = arranged(&list, Reorder::Within(Nanos(100)), 0);
            prop_assert_eq!(read(&mut source), expected);
        }
    }
}
