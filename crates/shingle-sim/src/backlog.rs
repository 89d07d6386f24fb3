//! The backlog of the disk: the time that earlier I/O keeps it busy, over the course of a run in
//! open loop.

use shingle_core::units::Nanos;

/// Samples of the backlog at arrivals, thinned out as they grow.
pub(crate) struct Backlog {
    /// (arrival, backlog)
    points: Vec<(Nanos, Nanos)>,
    every: u64,
    arrivals: u64,
}

/// Samples kept: at most twice this number.
const BACKLOG_POINTS: usize = 512;

impl Default for Backlog {
    fn default() -> Backlog {
        Backlog { points: Vec::new(), every: 1, arrivals: 0 }
    }
}

impl Backlog {
    /// Records the backlog at the arrival of a request.
    pub(crate) fn record(&mut self, at: Nanos, backlog: impl FnOnce() -> Nanos) {
        if self.arrivals.is_multiple_of(self.every) {
            self.points.push((at, backlog()));
            if self.points.len() == 2 * BACKLOG_POINTS {
                let mut keep = false;
                self.points.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.every *= 2;
            }
        }
        self.arrivals += 1;
    }

    /// Returns whether the queue still grows at the end.
    pub(crate) fn is_overloaded(&self) -> bool {
        overloaded(&self.points)
    }
}

/// Returns whether the queue still grows at the end: the backlog at the last arrival exceeds one
/// second and a tenth of the trace's length, and its mean in the last quarter of the time is more
/// than a tenth above that of the quarter before. A burst that the disk works off does not count. Where
/// all arrive at once, as in a trace without times, nothing is worked off before the end.
fn overloaded(backlog: &[(Nanos, Nanos)]) -> bool {
    let Some(&(length, at_end)) = backlog.last() else { return false };
    let at_once = length == backlog[0].0;
    let quarter = |from: u64| {
        let bounds = length.0 / 4 * from..=length.0 / 4 * (from + 1) + 3;
        let points = backlog.iter().filter(|(at, _)| bounds.contains(&at.0));
        let (sum, count) = points.fold((0u128, 0u128), |(sum, count), &(_, backlog)| {
            (sum + u128::from(backlog.0), count + 1)
        });
        sum / count.max(1)
    };
    let grows = || at_end.0 > length.0 / 10 && quarter(3) * 10 > quarter(2) * 11;
    at_end.0 > 1_000_000_000 && (at_once || grows())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_overloaded_when_it_grows_to_the_end() {
        let backlog = |of: fn(u64) -> u64| -> Vec<(Nanos, Nanos)> {
            (0..400).map(|i| (Nanos::from_millis(i * 100), Nanos::from_millis(of(i)))).collect()
        };
        assert!(overloaded(&backlog(|i| i * 50)));
        assert!(!overloaded(&backlog(|i| 20_000 - i * 50)), "it shrinks");
        assert!(!overloaded(&backlog(|_| 5_000)), "it is long and steady");
        assert!(!overloaded(&backlog(|i| i)), "half a second is no overload");
        assert!(!overloaded(&backlog(|i| 3_000 * (i / 399))), "a burst at the end is no overload");
        assert!(!overloaded(&[]));
        let at_once = |ms: u64| -> Vec<(Nanos, Nanos)> {
            (0..400).map(|i| (Nanos::ZERO, Nanos::from_millis(i * ms))).collect()
        };
        assert!(overloaded(&at_once(10)), "nothing has been worked off when the last arrives");
        assert!(!overloaded(&at_once(1)), "less than half a second");
    }
}
