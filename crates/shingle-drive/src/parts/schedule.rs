//! When each of several units works: parts of an SSD that do one thing at a time, side by side.
//!
//! Work need not be given in the order of time: an executor that works a request to its end gives
//! the SSD what waits for a disk, and then the next request's hit, which comes earlier. So a unit
//! remembers where it is idle before its last work, and fits work in there. It forgets the earliest
//! of more than [`GAPS`] such spans.

use shingle_core::units::Nanos;
use std::collections::VecDeque;

/// Idle spans a unit remembers.
const GAPS: usize = 256;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    units: Vec<Unit>,
    /// All work ends before.
    end: Nanos,
    /// No idle span that a unit remembers ends later.
    idle_until: Nanos,
}

#[derive(Debug)]
struct Unit {
    /// End of its last work.
    free: Nanos,
    /// Idle spans before that, by time.
    gaps: VecDeque<(Nanos, Nanos)>,
    /// End of the last of them.
    idle_until: Nanos,
}

impl Clone for Unit {
    /// With room for all idle spans, so that a copy does not allocate later.
    fn clone(&self) -> Unit {
        let mut gaps = VecDeque::with_capacity(GAPS);
        gaps.extend(&self.gaps);
        Unit { gaps, ..*self }
    }
}

impl Schedule {
    /// `units` that have nothing to do.
    pub(crate) fn new(units: u32) -> Schedule {
        let idle = Unit { free: Nanos::ZERO, gaps: VecDeque::new(), idle_until: Nanos::ZERO };
        let units = (0..units).map(|_| idle.clone()).collect();
        Schedule { units, end: Nanos::ZERO, idle_until: Nanos::ZERO }
    }

    /// How many there are.
    pub(crate) fn units(&self) -> u32 {
        self.units.len() as u32
    }

    /// Has a unit work for `span`, as early from `now` on as any can. Returns when it begins.
    pub(crate) fn occupy_any(&mut self, now: Nanos, span: Nanos) -> Nanos {
        // As a rule, of an SSD that gets one I/O after the other.
        if self.end <= now {
            (self.end, self.idle_until) = (now + span, now);
            return self.units[0].work(None, now, span);
        }
        // (Whoever asks in the order of time finds no idle span that is not over.)
        if self.idle_until < now + span {
            let first = self.free_first(now);
            return self.work(first, None, now, span);
        }
        let (mut first, mut unit_number, mut idle) = (Nanos::NEVER, 0, None);
        for (number, unit) in self.units.iter().enumerate() {
            let gap = unit.find(now, span);
            let start = gap.map_or(now.max(unit.free), |(_, start)| start);
            if start < first {
                (first, unit_number, idle) = (start, number, gap);
                if start == now {
                    break;
                }
            }
        }
        self.work(unit_number, idle, now, span)
    }

    /// The first unit that is free at `now`, or else the one that is free first.
    fn free_first(&self, now: Nanos) -> usize {
        let (mut first, mut unit_number) = (Nanos::NEVER, 0);
        for (number, unit) in self.units.iter().enumerate() {
            if unit.free <= now {
                return number;
            }
            if unit.free < first {
                (first, unit_number) = (unit.free, number);
            }
        }
        unit_number
    }

    fn work(
        &mut self,
        unit: usize,
        idle: Option<(usize, Nanos)>,
        now: Nanos,
        span: Nanos,
    ) -> Nanos {
        let unit = &mut self.units[unit];
        let start = unit.work(idle, now, span);
        self.end = self.end.max(start + span);
        self.idle_until = self.idle_until.max(unit.idle_until);
        start
    }

    /// Has `unit` work for `span` as early as it can from `now` on. Returns when it begins.
    pub(crate) fn occupy(&mut self, unit: u32, now: Nanos, span: Nanos) -> Nanos {
        let unit = unit as usize;
        let gap = match self.idle_until < now + span {
            true => None,
            false => self.units[unit].find(now, span),
        };
        self.work(unit, gap, now, span)
    }

    /// Panics unless idle spans lie one after the other, before the last work.
    pub(crate) fn check(&self) {
        for unit in &self.units {
            let mut end = Nanos::ZERO;
            for &(from, to) in &unit.gaps {
                assert!(end <= from && from < to && to <= unit.free, "an idle span out of order");
                end = to;
            }
        }
    }
}

impl Unit {
    /// Works for `span`, in that idle span ([`Unit::find`]) or, if there is none, after all else. Returns when it begins.
    #[inline]
    fn work(&mut self, gap: Option<(usize, Nanos)>, now: Nanos, span: Nanos) -> Nanos {
        if let Some((gap, start)) = gap {
            self.fit_in(gap, start, start + span);
            return start;
        }
        let start = now.max(self.free);
        if self.free < start {
            if self.gaps.len() == GAPS {
                self.gaps.pop_front();
            }
            self.gaps.push_back((self.free, start));
            self.idle_until = start;
        }
        self.free = start + span;
        start
    }

    /// The first idle span that is long enough from `now` on, and when work begins in it.
    #[inline]
    fn find(&self, now: Nanos, span: Nanos) -> Option<(usize, Nanos)> {
        // (Most often all idle spans have passed.)
        if self.free <= now || self.idle_until < now + span {
            return None;
        }
        let ahead = self.gaps.partition_point(|&(_, to)| to < now + span);
        let fits = |&(from, to): &(Nanos, Nanos)| from.max(now) + span <= to;
        let gap = ahead + self.gaps.range(ahead..).position(fits)?;
        Some((gap, self.gaps[gap].0.max(now)))
    }

    /// Works from `start` to `end` in an idle span.
    fn fit_in(&mut self, gap: usize, start: Nanos, end: Nanos) {
        let (from, to) = self.gaps[gap];
        self.gaps.remove(gap);
        self.idle(gap, end, to);
        self.idle(gap, from, start);
        self.idle_until = self.gaps.back().map_or(Nanos::ZERO, |&(_, to)| to);
    }

    /// Remembers that the unit is idle from `from` to `to`, as span number `at`.
    fn idle(&mut self, at: usize, from: Nanos, to: Nanos) {
        if from == to {
            return;
        }
        if self.gaps.len() < GAPS {
            self.gaps.insert(at, (from, to));
        } else if at > 0 {
            self.gaps.pop_front();
            self.gaps.insert(at - 1, (from, to));
        }
        self.idle_until = self.gaps.back().map_or(Nanos::ZERO, |&(_, to)| to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::rng::Rng;

    #[test]
    fn units_work_side_by_side_and_one_does_one_thing_at_a_time() {
        let mut schedule = Schedule::new(2);
        assert_eq!(schedule.occupy(0, Nanos(0), Nanos(30)), Nanos(0));
        assert_eq!(schedule.occupy(1, Nanos(0), Nanos(30)), Nanos(0));
        assert_eq!(schedule.occupy(0, Nanos(10), Nanos(5)), Nanos(30));
        assert_eq!(schedule.occupy(0, Nanos(50), Nanos(5)), Nanos(50));
    }

    #[test]
    fn any_unit_that_can_begin_first_will_do() {
        let mut schedule = Schedule::new(2);
        schedule.occupy(0, Nanos(100), Nanos(10));
        assert_eq!(schedule.occupy_any(Nanos(0), Nanos(60)), Nanos(0));
        // The first unit has 40 left before 100, the second is free.
        assert_eq!(schedule.occupy_any(Nanos(10), Nanos(50)), Nanos(10));
        assert_eq!(schedule.occupy_any(Nanos(10), Nanos(50)), Nanos(60));
        assert_eq!(schedule.occupy_any(Nanos(10), Nanos(40)), Nanos(60));
        schedule.check();
    }

    #[test]
    fn what_comes_earlier_is_fitted_in() {
        let mut schedule = Schedule::new(1);
        assert_eq!(schedule.occupy(0, Nanos(100), Nanos(10)), Nanos(100));
        // 0 to 100 is idle: 20 of it go, then 40; 50 more do not fit, but 40 do.
        assert_eq!(schedule.occupy(0, Nanos(0), Nanos(20)), Nanos(0));
        assert_eq!(schedule.occupy(0, Nanos(10), Nanos(40)), Nanos(20));
        assert_eq!(schedule.occupy(0, Nanos(10), Nanos(50)), Nanos(110));
        assert_eq!(schedule.occupy(0, Nanos(10), Nanos(40)), Nanos(60));
        assert_eq!(schedule.occupy(0, Nanos(10), Nanos(1)), Nanos(160));
        schedule.check();
    }

    #[test]
    fn work_never_overlaps_and_begins_as_early_as_it_can() {
        let mut rng = Rng::new(2);
        for _ in 0..50 {
            let (mut schedule, mut work) = (Schedule::new(1), Vec::<(u64, u64)>::new());
            for _ in 0..150 {
                let (now, span) = (rng.below(3000), 1 + rng.below(30));
                let start = schedule.occupy(0, Nanos(now), Nanos(span)).0;
                // The earliest start is `now` or the end of some work.
                let ends = work.iter().map(|&(_, end)| end).filter(|&end| end > now);
                let free = |start: &u64| {
                    work.iter().all(|&(from, to)| to <= *start || *start + span <= from)
                };
                let earliest = ends.chain([now]).filter(free).min();
                assert_eq!(Some(start), earliest);
                work.push((start, start + span));
                schedule.check();
            }
        }
    }

    #[test]
    fn the_earliest_idle_span_is_forgotten_first() {
        let mut schedule = Schedule::new(1);
        // Idle before each: one span more than there is room for.
        for turn in 0..=GAPS as u64 {
            schedule.occupy(0, Nanos(100 * turn + 50), Nanos(50));
        }
        assert_eq!(schedule.occupy(0, Nanos(0), Nanos(50)), Nanos(100));
        schedule.check();
    }
}
