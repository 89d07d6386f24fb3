//! How a drive's own time goes beside the clock's.

use std::time::{Duration, Instant};

use shingle_core::units::Nanos;

/// How the drive's time goes beside the clock's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    begun: Instant,
    /// Milliseconds of the drive in a second of the clock.
    speed_thousandths: u64,
}

impl Pace {
    /// Begins now.
    pub(super) fn new(speed_thousandths: u64) -> Pace {
        Pace { begun: Instant::now(), speed_thousandths }
    }

    /// Now, in the drive's time.
    pub(super) fn now(&self) -> Nanos {
        let elapsed = self.begun.elapsed().as_nanos();
        let nanos = elapsed * u128::from(self.speed_thousandths) / 1000;
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How long until the drive's time is `at`.
    pub(super) fn until(&self, at: Nanos) -> Duration {
        let nanos = (u128::from(at.0) * 1000).div_ceil(u128::from(self.speed_thousandths));
        let from_begin = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        from_begin.saturating_sub(self.begun.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drive_s_time_is_the_clock_s_at_another_speed() {
        for speed_thousandths in [1, 500, 1000, 1_000_000_000] {
            let pace = Pace::new(speed_thousandths);
            let at = pace.now() + Nanos(speed_thousandths * 10_000);
            let left = pace.until(at);
            assert!(left <= Duration::from_millis(10) + Duration::from_micros(1), "{left:?}");
            std::thread::sleep(left);
            assert!(pace.now() >= at);
            assert_eq!(pace.until(at), Duration::ZERO);
        }
        assert!(Pace::new(1).until(Nanos::NEVER) > Duration::from_secs(1 << 32));
    }
}
