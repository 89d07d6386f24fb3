//! Mixes several traces into one: side by side or overlaid, in copies, by time or shuffled.
//!
//! Side by side, each trace begins at the zone behind the one before, and copies follow behind all
//! of them, as SAC and PORE build their long traces (SAC §6.1, PORE §V-G; [`crate::papers`] makes
//! those without times).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use shingle_core::units::{Nanos, Op, Request};

use crate::error::{Kind, Place, TraceError};
use crate::shape::end_of;
use crate::shuffle::Shuffle;
use crate::source::{DISK_BYTES_MAX, Source, TRACE_NANOS_MAX, prepare_batch};
use crate::synth::rng::Seed;
use crate::zones::{ZONE_BYTES, side_by_side};

/// The most copies of traces: they take 100 MB.
const PARTS_MAX: u64 = 1 << 20;

/// The order of requests of different traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// By time. At equal times, the request with fewer before it in its own trace comes first.
    #[default]
    Time,
    /// Every interleaving is equally likely; each trace keeps its own order. The times of all
    /// requests are assigned again in order.
    Shuffled {
        /// Seed of the draw.
        seed: u64,
    },
}

/// The parameters of a mix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mixing {
    /// Number of copies of all traces, at least one.
    pub copies: u32,
    /// Bytes from the start of each trace or copy to the next; `None` lays them side by side.
    pub shift_bytes: Option<u64>,
    /// The order of requests.
    pub order: Order,
    /// Factor of all times, in thousandths.
    pub time_thousandths: u64,
}

impl Default for Mixing {
    fn default() -> Self {
        Mixing { copies: 1, shift_bytes: None, order: Order::Time, time_thousandths: 1_000 }
    }
}

/// Mixed requests, generated on demand, so that copies take almost no memory.
pub struct Mixed {
    parts: Vec<Part>,
    times: ByTime,
    shuffled: Option<(Shuffle, Vec<usize>)>,
    time_thousandths: u64,
    remaining: u64,
}

struct Part {
    requests: Arc<[Request]>,
    shift: u64,
}

/// The next request of each part, ordered by time.
struct ByTime(BinaryHeap<Reverse<(Nanos, usize, usize)>>);

impl ByTime {
    fn new(parts: &[Part]) -> ByTime {
        let first = |(at, part): (usize, &Part)| Some(Reverse((part.requests.first()?.at, 0, at)));
        ByTime(parts.iter().enumerate().filter_map(first).collect())
    }

    /// Returns time, part and index of the next request. Something must be left.
    fn next(&mut self, parts: &[Part]) -> (Nanos, usize, usize) {
        let Reverse((time, nth, part)) = self.0.pop().expect("something is left");
        if let Some(request) = parts[part].requests.get(nth + 1) {
            self.0.push(Reverse((request.at, nth + 1, part)));
        }
        (time, part, nth)
    }
}

impl Mixing {
    /// Mixes traces.
    ///
    /// # Errors
    /// If nothing is left, or the result does not fit a disk or the range of times.
    pub fn of(&self, traces: Vec<Vec<Request>>) -> Result<Mixed, TraceError> {
        if self.copies == 0 {
            return Err(usage("--copies 0 leaves no request; give at least 1".to_owned()));
        }
        if traces.iter().all(Vec::is_empty) {
            return Err(TraceError::new(
                Kind::Empty,
                "",
                Place::Whole,
                "the traces hold no request",
            ));
        }
        // Each copy of a trace takes a little memory, though its requests are shared.
        let copies = u64::from(self.copies);
        if copies.saturating_mul(traces.len() as u64) > PARTS_MAX {
            return Err(usage(format!(
                "--copies {copies} of {} traces are more than {PARTS_MAX} parts; give fewer copies",
                traces.len()
            )));
        }
        let ends: Vec<u64> = traces.iter().map(|requests| end_of(requests)).collect();
        let starts = self.starts(&ends).ok_or_else(|| {
            usage(
                "the traces lie past 64 PiB, the largest disk; give fewer copies, a smaller --shift, \
                 or pack them with --remap"
                    .to_owned(),
            )
        })?;
        let last = traces.iter().filter_map(|requests| requests.last()).map(|r| r.at.0).max();
        if u128::from(last.unwrap_or(0)) * u128::from(self.time_thousandths)
            >= 1_000 * u128::from(TRACE_NANOS_MAX)
        {
            return Err(usage("--time-scale makes the trace longer than 146 years".to_owned()));
        }
        let traces: Vec<Arc<[Request]>> = traces.into_iter().map(Arc::from).collect();
        let parts: Vec<Part> = starts
            .into_iter()
            .zip(traces.iter().cycle())
            .map(|(shift, requests)| Part { requests: requests.clone(), shift })
            .collect();
        let shuffled = match self.order {
            Order::Time => None,
            Order::Shuffled { seed } => {
                let rng = Seed { seed, workload: "mix" }.stream("order");
                let lengths = parts.iter().map(|part| part.requests.len() as u64);
                Some((Shuffle::new(lengths, rng), vec![0; parts.len()]))
            }
        };
        let remaining = parts.iter().map(|part| part.requests.len() as u64).sum();
        let times = ByTime::new(&parts);
        Ok(Mixed { parts, times, shuffled, time_thousandths: self.time_thousandths, remaining })
    }

    /// Returns the first byte of each part, or `None` if one ends past the largest disk.
    fn starts(&self, ends: &[u64]) -> Option<Vec<u64>> {
        let (starts, zones) = side_by_side(ends.iter().map(|end| end.div_ceil(ZONE_BYTES)));
        let mut all = Vec::new();
        for copy in 0..u64::from(self.copies) {
            for (nth, (start, end)) in starts.iter().zip(ends).enumerate() {
                let begin = match self.shift_bytes {
                    None => {
                        copy.checked_mul(zones)?.checked_add(*start)?.checked_mul(ZONE_BYTES)?
                    }
                    Some(shift) => {
                        let before =
                            copy.checked_mul(ends.len() as u64)?.checked_add(nth as u64)?;
                        before.checked_mul(shift)?
                    }
                };
                if begin.checked_add(*end)? > DISK_BYTES_MAX {
                    return None;
                }
                all.push(begin);
            }
        }
        Some(all)
    }
}

fn usage(message: String) -> TraceError {
    TraceError::new(Kind::Usage, "", Place::Whole, message)
}

impl Mixed {
    /// Returns the first bytes of the traces, then of their copies.
    pub fn starts(&self) -> impl Iterator<Item = u64> + '_ {
        self.parts.iter().map(|part| part.shift)
    }

    fn next(&mut self) -> Request {
        let (time, mut part, mut nth) = self.times.next(&self.parts);
        if let Some((turns, places)) = &mut self.shuffled {
            part = turns.next();
            nth = places[part];
            places[part] += 1;
        }
        let Part { requests, shift } = &self.parts[part];
        let request = requests[nth];
        let shift = if request.op == Op::Flush { 0 } else { *shift };
        let at = u128::from(time.0) * u128::from(self.time_thousandths) / 1_000;
        let at = Nanos(u64::try_from(at).expect("was checked when the mix was made"));
        Request { at, offset: request.offset + shift, ..request }
    }
}

impl Source for Mixed {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        prepare_batch(out);
        for _ in 0..self.remaining.min(out.capacity() as u64) {
            let request = self.next();
            out.push(request);
        }
        self.remaining -= out.len() as u64;
        Ok(!out.is_empty())
    }

    fn length_hint(&self) -> Option<u64> {
        Some(self.remaining)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::read_all;
    use crate::{Mode, Shape};

    fn request(at: u64, offset: u64, op: Op) -> Request {
        let bytes = if op == Op::Flush { 0 } else { 512 };
        Request { at: Nanos(at), offset, bytes, op }
    }

    fn mixed(mixing: &Mixing, traces: &[Vec<Request>]) -> Vec<Request> {
        let mut mixed = mixing.of(traces.to_vec()).expect("fits");
        read_all(&mut mixed, &mut |_| {}).expect("made, not read")
    }

    #[test]
    fn traces_lie_side_by_side_and_copies_behind_them() {
        let traces = [
            vec![request(0, 0, Op::Read), request(10, ZONE_BYTES, Op::Write)],
            vec![request(0, 0, Op::Flush), request(4, 512, Op::Write)],
        ];
        let mixing = Mixing { copies: 2, time_thousandths: 2_500, ..Mixing::default() };
        let found: Vec<_> = mixed(&mixing, &traces).iter().map(|r| (r.at.0, r.offset)).collect();
        let zone = |zones: u64| zones * ZONE_BYTES;
        let expected = [
            (0, 0),
            (0, 0), // the flush
            (0, zone(3)),
            (0, 0), // and its copy
            (10, zone(2) + 512),
            (10, zone(5) + 512),
            (25, zone(1)),
            (25, zone(4)),
        ];
        assert_eq!(found, expected);
        let mixing = Mixing { shift_bytes: Some(4096), ..Mixing::default() };
        let found: Vec<_> = mixed(&mixing, &traces).iter().map(|r| (r.at.0, r.offset)).collect();
        assert_eq!(found, [(0, 0), (0, 0), (4, 4608), (10, ZONE_BYTES)]);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let high = vec![vec![request(5, DISK_BYTES_MAX - 512, Op::Write)]];
        let late = vec![vec![request(TRACE_NANOS_MAX - 1, 0, Op::Write)]];
        for (mixing, traces, told) in [
            (Mixing { copies: 2, ..Mixing::default() }, &high, "64 PiB"),
            (
                Mixing { copies: 100, shift_bytes: Some(1 << 60), ..Mixing::default() },
                &high,
                "64 PiB",
            ),
            (Mixing { copies: u32::MAX, ..Mixing::default() }, &high, "give fewer copies"),
            (Mixing { copies: 0, ..Mixing::default() }, &high, "at least 1"),
            (Mixing { time_thousandths: 1_001, ..Mixing::default() }, &late, "146 years"),
            (Mixing::default(), &vec![vec![]], "no request"),
        ] {
            let error = mixing.of(traces.clone()).err().expect(told).to_string();
            assert!(error.contains(told), "{error}");
        }
        let top = Mixing { copies: 2, shift_bytes: Some(0), ..Mixing::default() };
        assert!(top.of(high).is_ok(), "on top of each other they fit");
    }

    fn traces() -> impl Strategy<Value = Vec<Vec<Request>>> {
        let trace = prop::collection::vec((0..20_u64, 0..3 * ZONE_BYTES, 0..5_u8), 1..60);
        prop::collection::vec(trace, 1..5).prop_map(|traces| {
            let made = |gaps: Vec<(u64, u64, u8)>| {
                let mut at = 0;
                let next = |(nth, (gap, offset, op)): (usize, (u64, u64, u8))| {
                    at += if nth == 0 { 0 } else { gap };
                    match op {
                        0 => request(at, 0, Op::Flush),
                        1 | 2 => request(at, offset, Op::Read),
                        _ => request(at, offset, Op::Write),
                    }
                };
                gaps.into_iter().enumerate().map(next).collect()
            };
            traces.into_iter().map(made).collect()
        })
    }

    proptest! {
        /// By time, copies of one trace are what `--copies` makes.
        #[test]
        fn copies_are_those_of_the_shape(trace in traces(), copies in 1_u32..4) {
            let shape = Shape { copies, mode: Mode::ReadWrite, ..Shape::default() };
            let mixing = Mixing { copies, ..Mixing::default() };
            prop_assert_eq!(mixed(&mixing, &trace[..1]), shape.apply(trace[0].clone()).expect("fits"));
        }

        /// In any order, each trace comes whole, shifted and in its own order, and times never go
        /// back.
        #[test]
        fn nothing_is_lost_or_reordered(traces in traces(), copies in 1_u32..4, seed in any::<Option<u64>>()) {
            // The shift is so large that the offset of a request identifies its part.
            let shift = 8 * ZONE_BYTES;
            let order = seed.map_or(Order::Time, |seed| Order::Shuffled { seed });
            let mixing = Mixing { copies, shift_bytes: Some(shift), order, ..Mixing::default() };
            let all = mixed(&mixing, &traces);
            prop_assert!(all.is_sorted_by_key(|request| request.at));
            let mut times: Vec<Nanos> = traces.iter().flatten().map(|request| request.at).collect();
            times = times.repeat(copies as usize);
            times.sort_unstable();
            prop_assert_eq!(all.iter().map(|r| r.at).collect::<Vec<_>>(), times);
            let flushes = all.iter().filter(|request| request.op == Op::Flush).count();
            let mut parts = vec![Vec::new(); traces.len() * copies as usize];
            for request in all.iter().filter(|request| request.op != Op::Flush) {
                let at = if seed.is_none() { request.at.0 } else { 0 };
                parts[(request.offset / shift) as usize].push((at, request.offset % shift, request.op));
            }
            let held = |request: &&Request| request.op != Op::Flush;
            for (part, trace) in parts.iter().zip(traces.iter().cycle()) {
                let at = |request: &Request| if seed.is_none() { request.at.0 } else { 0 };
                let expected: Vec<_> =
                    trace.iter().filter(held).map(|r| (at(r), r.offset, r.op)).collect();
                prop_assert_eq!(part, &expected);
            }
            let all_held = traces.iter().flatten().filter(held).count() * copies as usize;
            prop_assert_eq!(flushes, all.len() - all_held);
        }
    }
}
