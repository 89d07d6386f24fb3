//! Transformations of a trace before a run: filter, limit, pack, copy, shift.
//!
//! They are applied in this order: `--mode` drops requests, `--requests` keeps the first of the
//! rest, `--remap` packs the touched zones, `--copies` lays copies side by side, `--offset` shifts
//! all. Packing and copies need all requests at once. Without these, [`Shaped`](crate::Shaped)
//! transforms requests as they come.

use shingle_core::units::{Nanos, Op, Request};

use crate::error::{Kind, Place, TraceError};
use crate::source::{BATCH_REQUESTS, DISK_BYTES_MAX, Source};
use crate::zones::ZONE_BYTES;

/// The most requests that are held in memory: they take 64 GiB.
const REQUESTS_MAX: u64 = 1 << 31;

/// The operations that are kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Mode {
    /// All operations.
    #[default]
    ReadWrite,
    /// All but reads.
    Write,
    /// All but writes and trims.
    Read,
}

impl Mode {
    /// Returns `rw`, `w` or `r`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::ReadWrite => "rw",
            Mode::Write => "w",
            Mode::Read => "r",
        }
    }

    /// Returns whether requests with this operation are kept. Flushes always are.
    #[must_use]
    pub fn keeps(self, op: Op) -> bool {
        match op {
            Op::Flush => true,
            Op::Read => self != Mode::Write,
            Op::Write | Op::Trim => self != Mode::Read,
        }
    }
}

/// The transformations of a trace. The default changes nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Operations that are kept.
    pub mode: Mode,
    /// Keep only this many requests, counted before copies are made.
    pub requests: Option<u64>,
    /// Pack the touched 5,000-block zones together, in the order of their addresses. Neighbours
    /// stay neighbours, so requests across zone borders stay whole.
    pub remap: bool,
    /// Number of copies side by side. Each is shifted by the span rounded up to whole zones. They
    /// are interleaved request by request and keep the times of the original.
    pub copies: u32,
    /// Bytes by which all requests are shifted up.
    pub offset: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Shape { mode: Mode::ReadWrite, requests: None, remap: false, copies: 1, offset: 0 }
    }
}

impl Shape {
    /// Returns whether each request can be transformed by itself: nothing is packed or copied.
    #[must_use]
    pub fn is_of_single_requests(&self) -> bool {
        !self.remap && self.copies == 1
    }

    /// Applies what needs only one request at a time: drops other operations, counts time from
    /// `first`, and shifts.
    pub(crate) fn apply_each(&self, first: Nanos, requests: &mut Vec<Request>) {
        requests.retain(|request| self.mode.keeps(request.op));
        for request in requests {
            request.at = request.at.since(first);
            // A flush has no address.
            if request.op != Op::Flush {
                request.offset = request.offset.saturating_add(self.offset);
            }
        }
    }

    /// Checks that the shifted requests fit a disk.
    pub(crate) fn check_fits(&self, requests: &[Request]) -> Result<(), TraceError> {
        let end = |request: &Request| request.offset.saturating_add(request.bytes);
        if requests.iter().any(|request| end(request) > DISK_BYTES_MAX) {
            return Err(usage(format!(
                "--offset {} shifts requests past 64 PiB, the largest disk; give a smaller one",
                self.offset
            )));
        }
        Ok(())
    }

    /// Reads a source, no further than needed, and transforms its requests.
    ///
    /// # Errors
    /// The source's errors, and those of [`Shape::apply`].
    pub fn read(
        &self,
        source: &mut dyn Source,
        on_progress: &mut dyn FnMut(&dyn Source),
    ) -> Result<Vec<Request>, TraceError> {
        let limit = self.requests.unwrap_or(u64::MAX).min(REQUESTS_MAX + 1);
        let mut kept = Vec::new();
        let mut batch = Vec::with_capacity(BATCH_REQUESTS);
        while (kept.len() as u64) < limit && source.fill(&mut batch)? {
            if kept.try_reserve(batch.len()).is_err() {
                return Err(no_room(kept.len()));
            }
            kept.extend(batch.iter().copied().filter(|request| self.mode.keeps(request.op)));
            on_progress(source);
            if self.requests.is_none() && kept.len() as u64 > REQUESTS_MAX {
                return Err(usage(format!(
                    "the trace holds more than {REQUESTS_MAX} requests, too many for the memory; \
                     limit them with --requests"
                )));
            }
        }
        self.apply(kept)
    }

    /// Transforms requests that are in memory.
    ///
    /// # Errors
    /// If nothing is left, or the result does not fit a disk or memory.
    pub fn apply(&self, mut requests: Vec<Request>) -> Result<Vec<Request>, TraceError> {
        requests.retain(|request| self.mode.keeps(request.op));
        if let Some(limit) = self.requests {
            requests.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        let Some(first) = requests.first().map(|request| request.at) else {
            return Err(self.empty_error());
        };
        // Time starts with the first request that is kept.
        for request in &mut requests {
            request.at = request.at.since(first);
        }
        if self.remap {
            pack_zones(&mut requests, ZONE_BYTES);
        }
        let requests = copies(requests, self.copies)?;
        self.shifted(requests)
    }

    fn shifted(&self, mut requests: Vec<Request>) -> Result<Vec<Request>, TraceError> {
        if self.offset > 0 {
            self.apply_each(Nanos::ZERO, &mut requests);
            self.check_fits(&requests)?;
        }
        Ok(requests)
    }

    /// Returns the error for a trace of which no request is left.
    pub(crate) fn empty_error(&self) -> TraceError {
        TraceError::new(Kind::Empty, "", Place::Whole, self.empty_message())
    }

    fn empty_message(&self) -> String {
        match (self.requests, self.mode) {
            (Some(0), _) => "--requests 0 leaves no request; give at least 1".to_owned(),
            (_, Mode::ReadWrite) => "the trace holds no request".to_owned(),
            (_, Mode::Write) => "--mode w leaves no request: the trace only reads".to_owned(),
            (_, Mode::Read) => "--mode r leaves no request: the trace only writes".to_owned(),
        }
    }
}

fn usage(message: String) -> TraceError {
    TraceError::new(Kind::Usage, "", Place::Whole, message)
}

/// Returns the error for a trace that is larger than memory.
#[cold]
fn no_room(requests: usize) -> TraceError {
    usage(format!(
        "memory has no room for more than {requests} requests; `shingle trace convert TRACE -o FILE.shingle` makes a \
         file that `run`, `compare` and `sweep` read request by request; or limit them with --requests"
    ))
}

/// Returns one past the highest byte that any request touches.
pub(crate) fn end_of(requests: &[Request]) -> u64 {
    requests.iter().map(|request| request.offset + request.bytes).max().unwrap_or(0)
}

fn copies(requests: Vec<Request>, copies: u32) -> Result<Vec<Request>, TraceError> {
    if copies == 0 {
        return Err(usage("--copies 0 leaves no request; give at least 1".to_owned()));
    }
    if copies == 1 {
        return Ok(requests);
    }
    let span = end_of(&requests).div_ceil(ZONE_BYTES) * ZONE_BYTES;
    let fits = span.checked_mul(u64::from(copies)).is_some_and(|end| end <= DISK_BYTES_MAX);
    if !fits {
        return Err(usage(format!(
            "--copies {copies} of {span} bytes go past 64 PiB, the largest disk; give fewer, or \
             pack the trace with --remap"
        )));
    }
    let total = requests.len() as u64 * u64::from(copies);
    let too_many = || {
        usage(format!(
            "--copies {copies} of {} requests do not fit the memory; give fewer or limit them \
             with --requests",
            requests.len()
        ))
    };
    if total > REQUESTS_MAX {
        return Err(too_many());
    }
    let mut mixed = Vec::new();
    mixed
        .try_reserve_exact(usize::try_from(total).unwrap_or(usize::MAX))
        .map_err(|_| too_many())?;
    for request in &requests {
        for copy in 0..u64::from(copies) {
            let shift = if request.op == Op::Flush { 0 } else { span * copy };
            mixed.push(Request { offset: request.offset + shift, ..*request });
        }
    }
    Ok(mixed)
}

/// A run of touched zones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Run {
    first: u64,
    last: u64,
}

/// Packs the touched zones of this size together, in the order of their addresses. Neighbours stay
/// neighbours, so requests across zone borders stay whole.
pub fn pack_zones(requests: &mut [Request], zone_bytes: u64) {
    let runs = touched_runs(requests.iter().copied(), zone_bytes);
    // The first zone of each run once packed.
    let mut zones = 0;
    let starts: Vec<u64> = runs
        .iter()
        .map(|run| {
            let start = zones;
            zones += run.last - run.first + 1;
            start
        })
        .collect();
    for request in requests.iter_mut().filter(|request| request.op != Op::Flush) {
        let zone = request.offset / zone_bytes;
        let index = runs.partition_point(|run| run.first <= zone) - 1;
        let moved = starts[index] + (zone - runs[index].first);
        request.offset = moved * zone_bytes + request.offset % zone_bytes;
    }
}

/// Returns the space that [`pack_zones`] needs: the bytes of all touched zones, trimmed ones too.
pub fn packed_bytes(requests: impl Iterator<Item = Request>, zone_bytes: u64) -> u64 {
    touched_runs(requests, zone_bytes).iter().map(|run| run.last - run.first + 1).sum::<u64>()
        * zone_bytes
}

/// Returns the runs of zones that requests touch, in order, none overlapping or adjacent.
fn touched_runs(requests: impl Iterator<Item = Request>, zone_bytes: u64) -> Vec<Run> {
    // Runs are joined whenever this many were added since the last time, so memory is bounded by
    // the number of joined runs.
    const LOOSE_RUNS_MAX: usize = 1 << 20;
    let mut runs: Vec<Run> = Vec::new();
    let mut joined = 0;
    for request in requests.filter(|request| request.op != Op::Flush) {
        let first = request.offset / zone_bytes;
        let last = (request.offset + request.bytes - 1) / zone_bytes;
        if runs.last().is_some_and(|run| run.first <= first && last <= run.last) {
            continue;
        }
        runs.push(Run { first, last });
        if runs.len() - joined >= LOOSE_RUNS_MAX.max(joined) {
            join_runs(&mut runs);
            joined = runs.len();
        }
    }
    join_runs(&mut runs);
    runs
}

/// Sorts runs, and joins those that overlap or are adjacent.
fn join_runs(runs: &mut Vec<Run>) {
    runs.sort_unstable();
    runs.dedup_by(|later, run| {
        let adjoins = later.first <= run.last + 1;
        if adjoins {
            run.last = run.last.max(later.last);
        }
        adjoins
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shingle_core::units::Nanos;

    use super::*;

    const ZONE: u64 = ZONE_BYTES;

    fn request(at: u64, offset: u64, bytes: u64, op: Op) -> Request {
        Request { at: Nanos(at), offset, bytes, op }
    }

    fn four() -> Vec<Request> {
        vec![
            request(5, 0, 4096, Op::Read),
            request(7, 10 * ZONE + 512, 4096, Op::Write),
            request(8, 0, 0, Op::Flush),
            request(9, 5 * ZONE - 512, 1024, Op::Write),
        ]
    }

    #[test]
    fn a_mode_drops_what_does_not_count() {
        let shape = Shape { mode: Mode::Write, ..Shape::default() };
        let kept = shape.apply(four()).expect("writes are left");
        assert_eq!(kept.iter().map(|r| r.at.0).collect::<Vec<_>>(), [0, 1, 2]);
        let shape = Shape { mode: Mode::Read, requests: Some(1), ..Shape::default() };
        assert_eq!(shape.apply(four()).expect("one is left"), [request(0, 0, 4096, Op::Read)]);
        let none = Shape { mode: Mode::Read, ..Shape::default() }
            .apply(vec![request(0, 0, 1, Op::Write)])
            .expect_err("nothing is left");
        assert_eq!(none.to_string(), "--mode r leaves no request: the trace only writes");
    }

    #[test]
    fn touched_zones_are_packed_in_order() {
        let shape = Shape { remap: true, ..Shape::default() };
        let offsets: Vec<u64> =
            shape.apply(four()).expect("fits").iter().map(|r| r.offset).collect();
        // Zones 0, 4 and 5, and 10 become 0, 1 and 2, and 3.
        assert_eq!(offsets, [0, 3 * ZONE + 512, 0, 2 * ZONE - 512]);
    }

    #[test]
    fn packed_requests_end_where_the_zones_that_they_touch_do() {
        let ends = |requests: &[Request]| packed_bytes(requests.iter().copied(), ZONE);
        let far = request(0, 7 * ZONE, 1, Op::Read);
        assert_eq!(ends(&[far, request(0, 0, 1, Op::Flush)]), ZONE);
        assert_eq!(ends(&[far, request(0, 0, 3 * ZONE, Op::Trim)]), 4 * ZONE, "trimmed zones, too");
    }

    #[test]
    fn copies_lie_side_by_side_and_mixed() {
        let shape = Shape { copies: 2, offset: 4096, ..Shape::default() };
        let requests = vec![request(0, 0, 512, Op::Read), request(3, ZONE, 512, Op::Write)];
        let made = shape.apply(requests).expect("fits");
        assert_eq!(
            made.iter().map(|r| (r.at.0, r.offset)).collect::<Vec<_>>(),
            [(0, 4096), (0, 2 * ZONE + 4096), (3, ZONE + 4096), (3, 3 * ZONE + 4096)]
        );
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let high = vec![request(0, DISK_BYTES_MAX - 512, 512, Op::Write)];
        for (shape, told) in [
            (Shape { copies: 2, ..Shape::default() }, "--remap"),
            (Shape { copies: 0, ..Shape::default() }, "at least 1"),
            (Shape { offset: 1, ..Shape::default() }, "--offset 1"),
            (Shape { requests: Some(0), ..Shape::default() }, "--requests 0"),
            (Shape { copies: u32::MAX, remap: true, ..Shape::default() }, "--copies"),
        ] {
            let error = shape.apply(high.clone()).expect_err(told).to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    proptest! {
        /// Packing changes neither which requests overlap nor where in a zone they are.
        #[test]
        fn packing_keeps_neighbours(
            starts in prop::collection::vec((0..50_u64, 0..ZONE, 1..3 * ZONE), 1..40)
        ) {
            let before: Vec<Request> = starts
                .iter()
                .map(|&(zone, within, bytes)| request(0, zone * ZONE + within, bytes, Op::Write))
                .collect();
            let mut after = before.clone();
            pack_zones(&mut after, ZONE);
            for (a, b) in before.iter().zip(&after) {
                prop_assert_eq!(a.offset % ZONE, b.offset % ZONE);
                prop_assert!(b.offset <= a.offset);
                for (c, d) in before.iter().zip(&after) {
                    let overlap = |x: &Request, y: &Request| {
                        x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes
                    };
                    prop_assert_eq!(overlap(a, c), overlap(b, d));
                    prop_assert_eq!(a.offset < c.offset, b.offset < d.offset);
                }
            }
        }
    }
}
