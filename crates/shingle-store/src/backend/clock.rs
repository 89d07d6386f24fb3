//! The clock of the engine: how long the store has run, and the local time of the day.

use std::time::{Duration, Instant};

use chrono::{Local, Timelike};
use shingle_core::units::Nanos;

/// The longest gap between two looks that counts. A running store looks far more often.
const GAP_MAX: Duration = Duration::from_secs(1);

/// How long the store has run. Time while its process, or the machine, is stopped does not count:
/// no device can make progress then, and none must be reported as slow.
pub(super) struct Clock {
    looked_at: Instant,
    ran: Duration,
}

impl Clock {
    pub(super) fn new(now: Instant) -> Clock {
        Clock { looked_at: now, ran: Duration::ZERO }
    }

    /// Returns whether the store was stopped since the last look.
    pub(super) fn look(&mut self, now: Instant) -> bool {
        let gap = now - std::mem::replace(&mut self.looked_at, now);
        self.ran += gap.min(GAP_MAX);
        gap > GAP_MAX
    }

    pub(super) fn ran(&self) -> Duration {
        self.ran
    }
}

/// The local time since midnight.
pub(super) fn time_of_day() -> Nanos {
    let seconds = Local::now().time().num_seconds_from_midnight();
    Nanos::from_millis(u64::from(seconds) * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_stopped_goes_on_where_it_was() {
        let begin = Instant::now();
        let mut clock = Clock::new(begin);
        let (tick, hour) = (Duration::from_millis(50), Duration::from_secs(3600));
        assert!(!clock.look(begin + tick));
        assert_eq!(clock.ran(), tick);
        assert!(clock.look(begin + hour));
        assert_eq!(clock.ran(), tick + GAP_MAX);
        assert!(!clock.look(begin + hour + tick));
        assert_eq!(clock.ran(), 2 * tick + GAP_MAX);
    }
}
