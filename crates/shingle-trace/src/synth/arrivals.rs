//! Arrival times: bursts with pauses between them, and occasional long gaps.
//!
//! ```text
//! ||| | ||   || |||       | || |||||                                  || | |||
//! burst      burst  pause              long idle gap
//! ```
//!
//! The mean rate is `iops` over the whole trace; `idle` is the share of the time in long gaps, in
//! which a drive may clean.

use super::rng::{Rng, Seed, Share};

/// Mean number of requests between two long gaps.
const REQUESTS_PER_GAP: u64 = 4096;
const REQUESTS_PER_PAUSE: u64 = 16;

pub(super) struct Arrivals {
    rng: Rng,
    now: u64,
    within_burst_ns: u64,
    pause_ns: u64,
    gap_ns: u64,
}

impl Arrivals {
    pub(super) fn new(iops: f64, idle: Share, seed: Seed) -> Arrivals {
        let mean_ns = (1e9 / iops) as u64;
        let busy_ns = idle.rest().part(mean_ns);
        // 15 of 16 requests come four times as fast as the mean; the pause makes up for them.
        let within_burst_ns = busy_ns / 4;
        let pause_ns = REQUESTS_PER_PAUSE * busy_ns - (REQUESTS_PER_PAUSE - 1) * within_burst_ns;
        Arrivals {
            rng: seed.stream("arrivals"),
            now: 0,
            within_burst_ns,
            pause_ns,
            gap_ns: idle.part(mean_ns) * REQUESTS_PER_GAP,
        }
    }

    /// Returns the time of the next request in nanoseconds.
    pub(super) fn next(&mut self) -> u64 {
        let mean = if self.rng.below(REQUESTS_PER_PAUSE) == 0 {
            self.pause_ns
        } else {
            self.within_burst_ns
        };
        let mut wait = self.rng.exponential(mean);
        if self.rng.below(REQUESTS_PER_GAP) == 0 {
            wait += self.rng.exponential(self.gap_ns);
        }
        self.now = self.now.saturating_add(wait);
        self.now
    }
}
