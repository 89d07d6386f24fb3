//! Counts a trace, request by request.

use hashbrown::HashMap;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};

use super::Description;
use super::buckets::class;
use super::history::{CLASSES_MAX, History, Target, Which, sector};
use super::long::{self, Long};
use super::moves::{MOVES, Move, Size, side};
use super::statistics::{
    EXACT_SECTORS, Layout, Of, Phase, SAME, Whole, beginning, by_class, far, pause, signed_class,
};
use super::zones::Survey;
use crate::zones::{ZONE_BLOCKS, ZONE_BYTES};

/// Phases at the end are between half as many and these.
const PHASES_MAX: usize = 16;
/// Requests of a phase, at least.
const PHASE_REQUESTS: u64 = 256;

/// Fits a description. Memory goes with the different blocks, and with 20 bytes a request.
pub struct Fit {
    history: History,
    phases: Vec<Phase>,
    phase_requests: u64,
    /// Zones in the order of first touches, and whether a jump went there.
    zones: Vec<(u64, bool)>,
    layout: Layout,
    last: Option<Nanos>,
    wait_ns: u64,
    left_out: u64,
    run_ends: std::vec::IntoIter<u64>,
    long_from: u64,
    long: Vec<Long>,
    /// By where the next request begins.
    long_ends: HashMap<(u64, bool), usize>,
    /// Beginnings and lengths.
    long_places: Vec<(u64, u64)>,
}

impl Fit {
    /// Begins the second pass over a trace.
    #[must_use]
    pub fn new(mut survey: Survey) -> Fit {
        let run_ends = survey.run_ends();
        let long_from = survey.long_from(&run_ends);
        Fit {
            long_from,
            long: Vec::new(),
            long_ends: HashMap::new(),
            long_places: Vec::new(),
            run_ends: run_ends.into_iter(),
            history: History::new(survey.classes()),
            phases: vec![Phase::new()],
            phase_requests: PHASE_REQUESTS,
            zones: Vec::new(),
            layout: Layout::new(),
            last: None,
            wait_ns: 0,
            left_out: 0,
        }
    }

    /// Flushes and trims, which a description does not hold.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Counts the next request.
    pub fn add(&mut self, request: &Request) {
        if !matches!(request.op, Op::Read | Op::Write) {
            self.left_out += 1;
            return;
        }
        if self.phases.last().is_some_and(|phase| phase.requests == self.phase_requests) {
            self.next_phase();
        }
        let end = request.offset + request.bytes;
        let left = self.run_ends.next().map_or(0, |run_end| run_end - end);
        let at = self.phases.iter().map(|phase| phase.requests).sum();
        let phase = self.phases.last_mut().expect("there is always a phase");
        phase.requests += 1;
        if let Some(last) = self.last {
            let wait_ns = request.at.0 - last.0;
            phase.count(Of::Waits, pause(self.wait_ns), class(wait_ns));
            self.wait_ns = wait_ns;
        }
        self.last = Some(request.at);
        if self.is_long(request, left, at) {
            return;
        }
        let situation = self.history.situation();
        let (kind, target) = self.history.locate(request.offset, request.bytes, request.op);
        let done = Move { kind, op: request.op };
        let expected = expected(&self.history, done, request.offset);
        let (number, op) = (done.number(), side(request.op));
        self.note_zones(request, target == Target::New);
        let phase = self.phases.last_mut().expect("there is always a phase");
        phase.count(Of::Moves, situation.number(), number as u32);
        if !kind.continues() {
            let touched = self.history.touched(request.offset / BLOCK_BYTES);
            let place = self.history.at(request.offset);
            let before = place.map_or(0, |place| place.run);
            let size = place.map_or(Size::of(request.bytes), |place| place.size());
            let situation = beginning(request.op, request.bytes, size, touched);
            let run = request.bytes + left;
            let fresh = self.history.fresh(request.offset, run);
            let grows = touched && fresh > 0;
            if touched {
                phase.count(Of::Grows, situation, class(fresh));
            }
            if before > 0 {
                phase.count(Of::Again, situation, u32::from(before == run));
            }
            if before != run {
                let situation = 2 * situation + usize::from(grows);
                let sectors = if left == 0 { 0 } else { size_class(run) };
                phase.count(Of::Runs, situation, sectors);
            }
        }
        match target {
            Target::Continue | Target::Follow | Target::New => {}
            Target::Resume { rank } | Target::Precede { rank } => {
                phase.count(Of::Ranks, number, rank.min(255) as u32);
            }
            Target::Back { zone, .. } | Target::Inside { zone, .. } | Target::Near { zone, .. } => {
                let of = self.history.class(request.offset / ZONE_BYTES);
                match zone {
                    Which::Same => phase.count(Of::Classes, number, SAME),
                    Which::Of { class: of, rank } => {
                        phase.count(Of::Classes, number, of as u32);
                        self.layout.count(Whole::Zones, by_class(number, of), class(rank));
                    }
                }
                match target {
                    Target::Near { blocks, .. } => {
                        self.layout.count(Whole::Gaps, by_class(number, of), signed_class(blocks));
                    }
                    Target::Back { place, .. } | Target::Inside { place, .. } => {
                        self.layout.count(Whole::Places, far(number, of, zone), class(place));
                    }
                    _ => unreachable!("those are the ones with a zone"),
                }
            }
        }
        if target == Target::New {
            let of = self.history.class(request.offset / ZONE_BYTES);
            phase.count(Of::Classes, number, of as u32);
        }
        if let Target::Inside { blocks, .. } = target {
            phase.count(Of::Inside, op, class(blocks));
        }
        if matches!(target, Target::Inside { .. } | Target::Near { .. } | Target::New) {
            phase.count(Of::Sectors, op, sector(request.offset));
        }
        let expected_situation = same_situation(&self.history, done, request.offset);
        if let Some(bytes) = expected {
            phase.count(Of::Same, expected_situation, u32::from(bytes == request.bytes));
        }
        if expected != Some(request.bytes) {
            let situation = size_situation(&self.history, done, request.offset);
            phase.count(Of::Sizes, situation, size_class(request.bytes));
        }
        self.history.record(request.offset, request.bytes, done, left);
    }

    /// Whether a request belongs to a long run. If so, it is listed.
    fn is_long(&mut self, request: &Request, left: u64, at: u64) -> bool {
        let begin = (request.offset, request.op == Op::Write);
        let bytes = request.bytes + left;
        let number = if let Some(number) = self.long_ends.remove(&begin) {
            number
        } else if bytes >= self.long_from && self.history.stream_at(begin.0, request.op).is_none() {
            let class = self.history.class(request.offset / ZONE_BYTES);
            let start = long::start(request.offset, class, &self.long_places);
            self.long.push(Long { at, until: at, op: request.op, each: 0, bytes, start });
            self.long_places.push((request.offset, bytes));
            self.long.len() - 1
        } else {
            return false;
        };
        let long = &mut self.long[number];
        long.until = at;
        long.each = long.each.max(request.bytes);
        if left > 0 {
            self.long_ends.insert((begin.0 + request.bytes, begin.1), number);
        }
        let run = long.bytes;
        self.note_zones(request, false);
        self.history.record_long(request.offset, request.bytes, request.op, run);
        true
    }

    fn note_zones(&mut self, request: &Request, jumped: bool) {
        let zone = request.offset / ZONE_BYTES;
        if jumped {
            let within = request.offset / BLOCK_BYTES % ZONE_BLOCKS;
            let of = self.history.class(zone);
            self.layout.count(Whole::Sixteenths, of, (within * 16 / ZONE_BLOCKS) as u32);
            self.zones.push((zone, true));
        }
        let first = if jumped { zone + 1 } else { zone };
        for next in first..=(request.offset + request.bytes - 1) / ZONE_BYTES {
            if !self.history.knows_zone(next) {
                self.zones.push((next, false));
            }
        }
    }

    /// When there are too many phases, two become one.
    fn next_phase(&mut self) {
        if self.phases.len() == PHASES_MAX {
            let pairs = self.phases.chunks(2).map(|pair| {
                let mut phase = pair[0].clone();
                pair[1..].iter().for_each(|next| phase.append(next));
                phase
            });
            self.phases = pairs.collect();
            self.phase_requests *= 2;
        }
        self.phases.push(Phase::new());
    }

    /// The description of what was counted; `None` if nothing was.
    #[must_use]
    pub fn finish(mut self) -> Option<Description> {
        self.last?;
        let mut sorted: Vec<(u64, usize)> = Vec::new();
        sorted.extend(self.zones.iter().map(|&(zone, _)| (zone, self.history.class(zone))));
        sorted.sort_unstable();
        let mut before: Option<(u64, usize)> = None;
        for &(zone, of) in &sorted {
            let mut situation = 0;
            if let Some((last, class_before)) = before {
                situation = class_before + 1;
                if zone > last + 1 {
                    self.layout.count(Whole::Rows, situation, SAME);
                    self.layout.count(Whole::Between, 0, class(zone - last - 1));
                    situation = 0;
                }
            }
            self.layout.count(Whole::Rows, situation, of as u32);
            before = Some((zone, of));
        }
        if let Some((_, of)) = before {
            self.layout.count(Whole::Rows, of + 1, SAME);
        }
        // Steps are counted in zones of the class that is gone to.
        let mut members: Vec<Vec<u64>> = vec![Vec::new(); CLASSES_MAX];
        for &(zone, of) in &sorted {
            members[of].push(zone);
        }
        for pair in self.zones.windows(2).filter(|pair| pair[1].1) {
            let of = self.history.class(pair[1].0);
            let index = |zone| members[of].partition_point(|&other| other < zone) as i64;
            let step = index(pair[1].0) - index(pair[0].0);
            self.layout.count(Whole::Steps, of, signed_class(step));
        }
        self.layout.zones = sorted.len() as u64;
        Some(Description { phases: self.phases, layout: self.layout, long: self.long })
    }
}

/// How long a request may be expected to be: as the one before in its stream, or as the last one from
/// there.
pub(super) fn expected(history: &History, done: Move, offset: u64) -> Option<u64> {
    if done.kind.continues() {
        return Some(history.stream_at(offset, done.op)?.bytes);
    }
    Some(history.at(offset)?.bytes)
}

/// The situation of [`Of::Sizes`].
pub(super) fn size_situation(history: &History, done: Move, offset: u64) -> usize {
    match next(history, done, offset) {
        Some(next) => 4 + next,
        None => new_size(done.op, history.touched(offset / BLOCK_BYTES)),
    }
}

/// That of a run that begins.
pub(super) fn new_size(op: Op, touched: bool) -> usize {
    2 * side(op) + usize::from(touched)
}

/// The situation of [`Of::Same`].
pub(super) fn same_situation(history: &History, done: Move, offset: u64) -> usize {
    next(history, done, offset).map_or(done.number(), |next| MOVES + next)
}

fn next(history: &History, done: Move, offset: u64) -> Option<usize> {
    let stream = history.stream_at(offset, done.op).filter(|_| done.kind.continues());
    stream.map(|stream| stream.next())
}

fn size_class(bytes: u64) -> u32 {
    let sectors = bytes.div_ceil(512);
    match u32::try_from(sectors) {
        Ok(sectors) if sectors < EXACT_SECTORS => sectors,
        _ => EXACT_SECTORS + class(sectors),
    }
}
