//! The window of destages: how many the disk has in flight at a time. It grows by one and is halved
//! (AIMD). Reads of the disk, and the flush that makes room, wait behind destages in flight. So a
//! slow disk gets fewer, and a fast disk gets more.

use crate::units::Nanos;

/// An I/O that takes longer, queueing included, halves the window.
const SOON: Nanos = Nanos::from_millis(100);
/// Largest window, in I/Os.
const IOS_MAX: usize = 64;
/// Initial window, in I/Os.
const IOS_FIRST: usize = 4;

/// A run of blocks in flight.
#[derive(Clone, Debug)]
struct InFlight {
    run: u64,
    /// Blocks not yet completed.
    left: usize,
    since: Nanos,
}

/// The window of destages.
#[derive(Clone, Debug)]
pub struct Pace {
    in_flight: Vec<InFlight>,
    allowed: usize,
    /// When the window was last halved: I/Os submitted before say nothing new.
    slowed: Nanos,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { in_flight: Vec::new(), allowed: IOS_FIRST, slowed: Nanos::ZERO }
    }
}

impl Pace {
    /// Returns whether another I/O may be submitted.
    #[must_use]
    pub fn allows(&self) -> bool {
        self.in_flight.len() < self.allowed
    }

    /// Notes the submission of a run of `left` blocks.
    pub fn begin(&mut self, run: u64, left: usize, now: Nanos) {
        self.in_flight.push(InFlight { run, left, since: now });
    }

    /// Notes that a block of `run` was written, or failed.
    pub fn block_done(&mut self, run: u64, now: Nanos) {
        let Some(at) = self.in_flight.iter().position(|in_flight| in_flight.run == run) else {
            return;
        };
        self.in_flight[at].left -= 1;
        if self.in_flight[at].left > 0 {
            return;
        }
        let was_full = !self.allows();
        let since = self.in_flight.swap_remove(at).since;
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
    /// Hashes the state that decides future answers, for tools that explore the states of an
    /// engine. All ages above the limit count as equal.
    pub fn hash_state<H: core::hash::Hasher>(&self, now: Nanos, into: &mut H) {
        use core::hash::Hash;

        let Pace { in_flight, allowed, slowed } = self;
        allowed.hash(into);
        // Runs are found by number, so their order does not matter.
        let of = |one: &InFlight| {
            let age = now.since(one.since).min(Nanos(SOON.0 + 1));
            (one.left, age, one.since >= *slowed)
        };
        let mut in_flight: Vec<_> = in_flight.iter().map(of).collect();
        in_flight.sort_unstable();
        in_flight.hash(into);
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
