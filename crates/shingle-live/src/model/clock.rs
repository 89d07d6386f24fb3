//! The relation of a drive's time to real time.

use std::time::{Duration, Instant};

use shingle_core::units::Nanos;

/// Converts real time to a drive's time.
#[derive(Clone, Copy, Debug)]
pub struct DriveClock {
    begun: Instant,
    /// Milliseconds of the drive in a second of real time.
    speed_thousandths: u64,
}

impl DriveClock {
    /// Starts a clock that runs at `speed_thousandths` thousandths of real time.
    #[must_use]
    pub fn new(speed_thousandths: u64) -> DriveClock {
        DriveClock { begun: Instant::now(), speed_thousandths }
    }

    /// The current time of the drive.
    #[must_use]
    pub fn now(&self) -> Nanos {
        let elapsed = self.begun.elapsed().as_nanos();
        let nanos = elapsed * u128::from(self.speed_thousandths) / 1000;
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The real time until the drive's time is `at`.
    #[must_use]
    pub fn until(&self, at: Nanos) -> Duration {
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
            let clock = DriveClock::new(speed_thousandths);
            let at = clock.now() + Nanos(speed_thousandths * 10_000);
            let left = clock.until(at);
            assert!(left <= Duration::from_millis(10) + Duration::from_micros(1), "{left:?}");
            std::thread::sleep(left);
            assert!(clock.now() >= at);
            assert_eq!(clock.until(at), Duration::ZERO);
        }
        assert!(DriveClock::new(1).until(Nanos::NEVER) > Duration::from_secs(1 << 32));
    }
}
