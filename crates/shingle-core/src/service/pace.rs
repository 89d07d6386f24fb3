//! How much of what is destaged the disk has at a time: a window that grows by one and is halved. Who
//! reads from the disk waits behind it, and so does the flush that makes room: a disk that answers late
//! gets less, one that answers soon gets more.

use crate::units::Nanos;

/// An I/O that takes longer, waiting included, was too many.
const SOON: Nanos = Nanos::from_millis(100);
/// I/Os at a time, at most.
const IOS_MAX: usize = 64;
/// To begin with.
const IOS_FIRST: usize = 4;

/// A run of blocks on its way.
#[derive(Clone, Debug)]
struct Flying {
    run: u64,
    /// Blocks that are not there yet.
    left: usize,
    since: Nanos,
}

/// The window of destages.
#[derive(Clone, Debug)]
pub struct Pace {
    flying: Vec<Flying>,
    allowed: usize,
    /// When it was last slowed down: what was under way then says nothing new.
    slowed: Nanos,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { flying: Vec::new(), allowed: IOS_FIRST, slowed: Nanos::ZERO }
    }
}

impl Pace {
    /// Whether the disk may have one more.
    #[must_use]
    pub fn allows(&self) -> bool {
        self.flying.len() < self.allowed
    }

    /// It gets a run of `left` blocks.
    pub fn begin(&mut self, run: u64, left: usize, now: Nanos) {
        self.flying.push(Flying { run, left, since: now });
    }

    /// A block of it is there, or failed.
    pub fn block_done(&mut self, run: u64, now: Nanos) {
        let Some(at) = self.flying.iter().position(|flying| flying.run == run) else { return };
        self.flying[at].left -= 1;
        if self.flying[at].left > 0 {
            return;
        }
        let was_full = !self.allows();
        let since = self.flying.swap_remove(at).since;
        if now.since(since) > SOON {
            if since >= self.slowed {
                (self.allowed, self.slowed) = ((self.allowed / 2).max(1), now);
            }
        } else if was_full {
            self.allowed = (self.allowed + 1).min(IOS_MAX);
        }
    }
}

impl Pace {
    /// Hashes all that decides what it allows from now on, for whoever explores what can become of an engine. What is
    /// slow already is slow, however long it took.
    pub fn hash_state<H: core::hash::Hasher>(&self, now: Nanos, into: &mut H) {
        use core::hash::Hash;

        let Pace { flying, allowed, slowed } = self;
        allowed.hash(into);
        // (They are found by their runs: their order says nothing.)
        let of = |one: &Flying| {
            let age = now.since(one.since).min(Nanos(SOON.0 + 1));
            (one.left, age, one.since >= *slowed)
        };
        let mut flying: Vec<_> = flying.iter().map(of).collect();
        flying.sort_unstable();
        flying.hash(into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a disk that takes `micros` for each I/O, one at a time, all it may have, 1,000 times;
    /// returns how many it has at a time then.
    fn allowed_after(micros: u64) -> usize {
        let mut pace = Pace::default();
        let (mut now, mut next) = (Nanos::ZERO, 0);
        for run in 0..1000 {
            while pace.allows() {
                pace.begin(next, 1, now);
                next += 1;
            }
            now += Nanos::from_micros(micros);
            pace.block_done(run, now);
        }
        pace.allowed
    }

    #[test]
    fn a_slow_disk_gets_little_and_a_fast_one_much() {
        assert_eq!(allowed_after(200_000), 1);
        assert!((2..=6).contains(&allowed_after(20_000)), "100 ms are five I/Os");
        assert_eq!(allowed_after(100), IOS_MAX);
    }
}
