//! Limits reports of events that may occur thousands of times a second, and for days, such as errors
//! of a disk that is full. Of similar events the first is reported at once, the others at growing
//! intervals, each with the number of those before it. No event hides one of another kind.

use std::time::{Duration, Instant};

/// The time between the first two reports of similar events. Each report doubles it.
const EVERY: Duration = Duration::from_secs(1);

/// The longest time between two reports while such events go on.
const EVERY_MAX: Duration = Duration::from_secs(10 * 60);

/// When there was no such event for this time, nothing stays hidden, and the next one begins anew.
const QUIET: Duration = Duration::from_secs(60);

/// An event to be reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repeats<T> {
    /// The last event of its kind.
    pub what: T,
    /// Whether it is the first of its kind since the start.
    pub first: bool,
    /// The number of similar events before it that were not reported.
    pub more: u64,
}

/// The events of one kind.
#[derive(Debug)]
struct Kind<K, T> {
    of: K,
    /// When one was last reported.
    told: Instant,
    /// The time until the next report.
    every: Duration,
    /// When the last one occurred.
    last: Instant,
    /// The last event since the report, and the number of earlier ones.
    hidden: Option<(T, u64)>,
}

impl<K, T> Kind<K, T> {
    fn is_due(&self, now: Instant) -> bool {
        now.duration_since(self.told) >= self.every || self.is_quiet(now)
    }

    fn is_quiet(&self, now: Instant) -> bool {
        now.duration_since(self.last) >= QUIET
    }

    fn tell(&mut self, now: Instant) {
        (self.told, self.every) = (now, (self.every * 2).min(EVERY_MAX));
    }
}

/// The highest number of kinds that are kept: beyond it, the one reported longest ago is dropped.
const KINDS_MAX: usize = 1_000;

/// The events, by kind; there should be few kinds.
#[derive(Debug)]
pub struct RepeatLimiter<K, T> {
    kinds: Vec<Kind<K, T>>,
}

impl<K, T> Default for RepeatLimiter<K, T> {
    fn default() -> RepeatLimiter<K, T> {
        RepeatLimiter { kinds: Vec::new() }
    }
}

impl<K: PartialEq, T> RepeatLimiter<K, T> {
    /// Adds an event. Returns it if it is to be reported at once.
    pub fn add(&mut self, of: K, what: T, now: Instant) -> Option<Repeats<T>> {
        let Some(kind) = self.kinds.iter_mut().find(|kind| kind.of == of) else {
            if self.kinds.len() == KINDS_MAX {
                let oldest = (0..KINDS_MAX).min_by_key(|&at| self.kinds[at].told);
                oldest.map(|at| self.kinds.swap_remove(at));
            }
            self.kinds.push(Kind { of, told: now, every: EVERY, last: now, hidden: None });
            return Some(Repeats { what, first: true, more: 0 });
        };
        let quiet = kind.is_quiet(now);
        kind.last = now;
        let more = kind.hidden.take().map_or(0, |(_, before)| before + 1);
        if quiet {
            (kind.told, kind.every) = (now, EVERY);
        } else if more == 0 && kind.is_due(now) {
            kind.tell(now);
        } else {
            kind.hidden = Some((what, more));
            return None;
        }
        Some(Repeats { what, first: false, more })
    }

    /// Returns the events to be reported now that time has passed.
    pub fn tick(&mut self, now: Instant) -> Vec<Repeats<T>> {
        self.hidden(now, Kind::is_due)
    }

    /// Returns the events left to be reported: no more will come.
    pub fn end(&mut self, now: Instant) -> Vec<Repeats<T>> {
        self.hidden(now, |_, _| true)
    }

    fn hidden(
        &mut self,
        now: Instant,
        is_due: impl Fn(&Kind<K, T>, Instant) -> bool,
    ) -> Vec<Repeats<T>> {
        let kinds = self.kinds.iter_mut().filter(|kind| is_due(kind, now));
        let due = kinds.filter_map(|kind| {
            let (what, more) = kind.hidden.take()?;
            kind.tell(now);
            Some(Repeats { what, first: false, more })
        });
        due.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports of events that occur once a second.
    fn reports(
        limiter: &mut RepeatLimiter<(), u64>,
        begun: Instant,
        seconds: std::ops::Range<u64>,
    ) -> Vec<(u64, u64)> {
        let mut told = Vec::new();
        for second in seconds {
            let now = begun + Duration::from_secs(second);
            let events = limiter.add((), second, now).into_iter().chain(limiter.tick(now));
            told.extend(events.map(|event| (event.what, event.more)));
        }
        told
    }

    #[test]
    fn what_goes_on_for_a_day_is_told_ever_more_rarely_and_each_event_is_counted() {
        let (mut limiter, begun) = (RepeatLimiter::default(), Instant::now());
        let day = 24 * 60 * 60;
        let told = reports(&mut limiter, begun, 0..day);
        let first = [(0, 0), (1, 0), (3, 1), (7, 3), (15, 7), (31, 15), (63, 31), (127, 63)];
        assert_eq!(told[..8], first);
        assert_eq!(told[11..13], [(1_623, 599), (2_223, 599)], "at the longest interval");
        assert_eq!(told.len(), 153);
        let left: u64 =
            limiter.end(begun + Duration::from_secs(day)).iter().map(|e| e.more + 1).sum();
        let all: u64 = told.iter().map(|(_, more)| more + 1).sum();
        assert_eq!(all + left, day);
    }

    #[test]
    fn what_comes_back_after_a_quiet_minute_is_told_at_once() {
        let (mut limiter, begun) = (RepeatLimiter::default(), Instant::now());
        reports(&mut limiter, begun, 0..1_700);
        let quiet_after = |second| begun + Duration::from_secs(second) + QUIET;
        assert!(limiter.tick(quiet_after(1_698)).is_empty());
        let left = limiter.tick(quiet_after(1_699));
        assert_eq!(left, [Repeats { what: 1_699, first: false, more: 75 }], "nothing stays hidden");
        let told = reports(&mut limiter, begun, 1_759..1_767);
        assert_eq!(told, [(1_759, 0), (1_760, 0), (1_762, 1), (1_766, 3)]);
    }

    #[test]
    fn memory_does_not_grow_with_kinds() {
        let mut limiter = RepeatLimiter::default();
        let begun = Instant::now();
        let after = |millis| begun + Duration::from_millis(millis as u64);
        for kind in 0..3 * KINDS_MAX {
            assert!(limiter.add(kind, (), after(kind)).is_some_and(|told| told.first));
        }
        assert_eq!(limiter.kinds.len(), KINDS_MAX);
        let (last, end) = (3 * KINDS_MAX - 1, after(3 * KINDS_MAX));
        assert_eq!(limiter.add(last, (), end), None, "what was told just now is remembered");
        assert!(
            limiter.add(0, (), end).is_some_and(|told| told.first),
            "what was told first is not"
        );
    }
}
