//! The schedule of several units: parts of an SSD that each do one thing at a time, in parallel.
//!
//! Work need not be submitted in the order of time: an executor that completes one request before
//! the next submits what waits for a disk, and then the next request's hit, which comes earlier. So
//! a unit remembers its idle spans before its last work, and fits work in there. Of more than
//! [`GAPS`] such spans it forgets the earliest.

use shingle_core::units::Nanos;
use std::collections::VecDeque;

/// Number of idle spans that a unit remembers.
const GAPS: usize = 256;

#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    units: Vec<Unit>,
    end: Nanos,
    /// End of the last remembered idle span.
    idle_until: Nanos,
}

#[derive(Debug)]
struct Unit {
    /// End of its last work.
    free: Nanos,
    /// Idle spans before `free`, by time.
    gaps: VecDeque<(Nanos, Nanos)>,
    /// End of the last of them.
    idle_until: Nanos,
}

impl Clone for Unit {
    /// Keeps the capacity for all idle spans, so that a copy does not allocate later.
    fn clone(&self) -> Unit {
        let mut gaps = VecDeque::with_capacity(GAPS);
        gaps.extend(&self.gaps);
        Unit { gaps, ..*self }
    }
}

impl Schedule {
    pub(crate) fn new(units: u32) -> Schedule {
        let idle = Unit { free: Nanos::ZERO, gaps: VecDeque::new(), idle_until: Nanos::ZERO };
        let units = (0..units).map(|_| idle.clone()).collect();
        Schedule { units, end: Nanos::ZERO, idle_until: Nanos::ZERO }
    }

    pub(crate) fn units(&self) -> u32 {
        self.units.len() as u32
    }

    /// Schedules work of `span` on the unit that can do it earliest from `now` on. Returns its
    /// start.
    pub(crate) fn occupy_any(&mut self, now: Nanos, span: Nanos) -> Nanos {
        // The common case: an SSD that gets one I/O after the other.
        if self.end <= now {
            (self.end, self.idle_until) = (now + span, now);
            return self.units[0].work(None, now, span);
        }
        // With submissions in the order of time, all idle spans are over.
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

    /// Returns the first unit that is free at `now`, or else the one that is free first.
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

    /// Schedules work of `span` on `unit`, as early as possible from `now` on. Returns its start.
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
    /// Schedules work of `span` in idle span `gap` ([`Unit::find`]) or, if there is none, after all
    /// other work. Returns its start.
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

    /// Returns the first idle span that is long enough from `now` on, and the start of the work in
    /// it.
    #[inline]
    fn find(&self, now: Nanos, span: Nanos) -> Option<(usize, Nanos)> {
        // Most often all idle spans have passed.
        if self.free <= now || self.idle_until < now + span {
            return None;
        }
        let ahead = self.gaps.partition_point(|&(_, to)| to < now + span);
        let fits = |&(from, to): &(Nanos, Nanos)| from.max(now) + span <= to;
        let gap = ahead + self.gaps.range(ahead..).position(fits)?;
        Some((gap, self.gaps[gap].0.max(now)))
    }

    /// Splits an idle span by work from `start` to `end`.
    fn fit_in(&mut self, gap: usize, start: Nanos, end: Nanos) {
        let (from, to) = self.gaps[gap];
        self.gaps.remove(gap);
        self.idle(gap, end, to);
        self.idle(gap, from, start);
        self.idle_until = self.gaps.back().map_or(Nanos::ZERO, |&(_, to)| to);
    }

    /// Inserts the idle span from `from` to `to` as number `at`.
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
