//! Limits reports of events that may occur thousands of times a second, such as errors of a failing
//! device. Of similar events the first is reported at once, and then at most one a second, with the
//! number of the others. No event hides one of another kind.

use std::time::{Duration, Instant};

/// The shortest time between two reports of similar events.
const EVERY: Duration = Duration::from_secs(1);

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
    /// The last event since then, and the number of earlier ones.
    hidden: Option<(T, u64)>,
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
            self.kinds.push(Kind { of, told: now, hidden: None });
            return Some(Repeats { what, first: true, more: 0 });
        };
        if kind.hidden.is_none() && now.duration_since(kind.told) >= EVERY {
            kind.told = now;
            return Some(Repeats { what, first: false, more: 0 });
        }
        let more = kind.hidden.take().map_or(0, |(_, before)| before + 1);
        kind.hidden = Some((what, more));
        None
    }

    /// Returns the events to be reported now that time has passed.
    pub fn tick(&mut self, now: Instant) -> Vec<Repeats<T>> {
        self.due(now, EVERY)
    }

    /// Returns the events left to be reported: no more will come.
    pub fn end(&mut self, now: Instant) -> Vec<Repeats<T>> {
        self.due(now, Duration::ZERO)
    }

    /// The events of kinds without a report for this time.
    fn due(&mut self, now: Instant, after: Duration) -> Vec<Repeats<T>> {
        let kinds = self.kinds.iter_mut().filter(|kind| now.duration_since(kind.told) >= after);
        let due = kinds.filter_map(|kind| {
            let (what, more) = kind.hidden.take()?;
            kind.told = now;
            Some(Repeats { what, first: false, more })
        });
        due.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
