//! How long flash operations take, and when each unit works.
//!
//! A unit does one thing at a time, and units work side by side. Each has pins of its own: data
//! moves to and from one unit while another programs.

use shingle_core::units::Nanos;
use std::collections::VecDeque;

/// How long operations on a page or an erase block take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// From the cells to the register of the unit.
    pub(crate) read: Nanos,
    /// From the register to the cells.
    pub(crate) program: Nanos,
    /// An erase block.
    pub(crate) erase: Nanos,
    /// A page over the pins of the unit, either way.
    pub(crate) transfer: Nanos,
}

impl Times {
    /// Garbage collection of an erase block of which so many pages are copied. They stay within the
    /// unit (copy-back), so that nothing goes over its pins.
    pub(crate) fn collection(&self, copied: u32) -> Nanos {
        Nanos((self.read + self.program).0 * u64::from(copied)) + self.erase
    }
}

/// Idle spans a unit remembers.
const GAPS: usize = 256;

/// When each unit works.
///
/// Work need not be given in the order of time: an executor that works a request to its end gives
/// the SSD what waits for a disk, and then the next request's hit, which comes earlier. So a unit
/// remembers where it is idle before its last work, and fits work in there. It forgets the earliest
/// of more than [`GAPS`] such spans.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    units: Vec<Unit>,
}

#[derive(Debug)]
struct Unit {
    /// End of its last work.
    free: Nanos,
    /// Idle spans before that, by time.
    gaps: VecDeque<(Nanos, Nanos)>,
}

impl Clone for Unit {
    /// With room for all idle spans, so that a copy does not allocate later.
    fn clone(&self) -> Unit {
        let mut gaps = VecDeque::with_capacity(GAPS);
        gaps.extend(&self.gaps);
        Unit { free: self.free, gaps }
    }
}

impl Schedule {
    /// `units` that have nothing to do.
    pub(crate) fn new(units: u32) -> Schedule {
        let idle = Unit { free: Nanos::ZERO, gaps: VecDeque::new() };
        Schedule { units: (0..units).map(|_| idle.clone()).collect() }
    }

    /// Has `unit` work for `span` as early as it can from `now` on. Returns when it begins.
    pub(crate) fn occupy(&mut self, unit: u32, now: Nanos, span: Nanos) -> Nanos {
        let unit = &mut self.units[unit as usize];
        if now < unit.free
            && let Some(start) = unit.fit_in(now, span)
        {
            return start;
        }
        let start = now.max(unit.free);
        unit.idle(unit.gaps.len(), unit.free, start);
        unit.free = start + span;
        start
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
    /// Works in an idle span, if one from `now` on is long enough.
    fn fit_in(&mut self, now: Nanos, span: Nanos) -> Option<Nanos> {
        let ahead = self.gaps.partition_point(|&(_, to)| to < now + span);
        let fits = |&(from, to): &(Nanos, Nanos)| from.max(now) + span <= to;
        let at = ahead + self.gaps.range(ahead..).position(fits)?;
        let (from, to) = self.gaps.remove(at)?;
        let start = from.max(now);
        self.idle(at, start + span, to);
        self.idle(at, from, start);
        Some(start)
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn units_work_side_by_side_and_one_does_one_thing_at_a_time() {
        let mut schedule = Schedule::new(2);
        assert_eq!(schedule.occupy(0, Nanos(0), Nanos(30)), Nanos(0));
        assert_eq!(schedule.occupy(1, Nanos(0), Nanos(30)), Nanos(0));
        assert_eq!(schedule.occupy(0, Nanos(10), Nanos(5)), Nanos(30));
        assert_eq!(schedule.occupy(0, Nanos(50), Nanos(5)), Nanos(50));
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
