//! What may come thousands of times a second, as errors of a device that fails, for whoever looks on: of those that are
//! alike the first at once, and then at most one a second, with how many there were. None hides one of another kind.

use std::time::{Duration, Instant};

/// Those that are alike are told so often at most.
const EVERY: Duration = Duration::from_secs(1);

/// One that is to be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told<T> {
    /// The last of its kind.
    pub what: T,
    /// The first of its kind since the start.
    pub first: bool,
    /// So many of its kind were not told before it.
    pub more: u64,
}

/// All of a kind.
#[derive(Debug)]
struct Kind<K, T> {
    of: K,
    /// When one was told.
    told: Instant,
    /// The last since then, and how many came before it.
    hidden: Option<(T, u64)>,
}

/// So many kinds are remembered at most: where there are more, the one told longest ago is forgotten.
const KINDS_MAX: usize = 1_000;

/// All there were, by kinds; there should be few.
#[derive(Debug)]
pub struct Alike<K, T> {
    kinds: Vec<Kind<K, T>>,
}

impl<K, T> Default for Alike<K, T> {
    fn default() -> Alike<K, T> {
        Alike { kinds: Vec::new() }
    }
}

impl<K: PartialEq, T> Alike<K, T> {
    /// One more; it comes back if it is to be told at once.
    pub fn add(&mut self, of: K, what: T, now: Instant) -> Option<Told<T>> {
        let Some(kind) = self.kinds.iter_mut().find(|kind| kind.of == of) else {
            if self.kinds.len() == KINDS_MAX {
                let oldest = (0..KINDS_MAX).min_by_key(|&at| self.kinds[at].told);
                oldest.map(|at| self.kinds.swap_remove(at));
            }
            self.kinds.push(Kind { of, told: now, hidden: None });
            return Some(Told { what, first: true, more: 0 });
        };
        if kind.hidden.is_none() && now.duration_since(kind.told) >= EVERY {
            kind.told = now;
            return Some(Told { what, first: false, more: 0 });
        }
        let more = kind.hidden.take().map_or(0, |(_, before)| before + 1);
        kind.hidden = Some((what, more));
        None
    }

    /// Time has passed: what is to be told now.
    pub fn tick(&mut self, now: Instant) -> Vec<Told<T>> {
        self.due(now, EVERY)
    }

    /// No more come: what is left to be told.
    pub fn end(&mut self, now: Instant) -> Vec<Told<T>> {
        self.due(now, Duration::ZERO)
    }

    /// Those of whose kind none was told for so long.
    fn due(&mut self, now: Instant, after: Duration) -> Vec<Told<T>> {
        let kinds = self.kinds.iter_mut().filter(|kind| now.duration_since(kind.told) >= after);
        let due = kinds.filter_map(|kind| {
            let (what, more) = kind.hidden.take()?;
            kind.told = now;
            Some(Told { what, first: false, more })
        });
        due.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_does_not_grow_with_kinds() {
        let mut alike = Alike::default();
        let begun = Instant::now();
        let after = |millis| begun + Duration::from_millis(millis as u64);
        for kind in 0..3 * KINDS_MAX {
            assert!(alike.add(kind, (), after(kind)).is_some_and(|told| told.first));
        }
        assert_eq!(alike.kinds.len(), KINDS_MAX);
        let (last, end) = (3 * KINDS_MAX - 1, after(3 * KINDS_MAX));
        assert_eq!(alike.add(last, (), end), None, "what was told just now is remembered");
        assert!(alike.add(0, (), end).is_some_and(|told| told.first), "what was told first is not");
    }
}
