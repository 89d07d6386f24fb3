//! Idle times, in which a disk could clean. A trace does not record when requests complete, so
//! these are gaps between arrivals.

use shingle_core::units::Nanos;

use super::histogram::Histogram;

/// The lengths for which gaps are counted, in milliseconds: 100 ms, 1 s, 10 s, 1 min, 10 min.
pub const GAPS_MS: [u64; 5] = [100, 1_000, 10_000, 60_000, 600_000];

/// Gaps between arrivals.
#[derive(Clone, Debug, Default)]
pub struct Idle {
    /// Gaps in microseconds, rounded down.
    pub gaps_us: Histogram,
    /// For each of [`GAPS_MS`], the number of gaps at least that long.
    pub count: [u64; GAPS_MS.len()],
    /// The total time of these gaps.
    pub time: [Nanos; GAPS_MS.len()],
    last: Option<Nanos>,
}

impl Idle {
    /// Adds an arrival.
    #[inline]
    pub fn add(&mut self, at: Nanos) {
        let Some(last) = self.last.replace(at) else { return };
        let gap = at.since(last);
        self.gaps_us.add(gap.0 / 1_000);
        for (index, least) in GAPS_MS.into_iter().enumerate() {
            if gap < Nanos::from_millis(least) {
                break;
            }
            self.count[index] += 1;
            self.time[index] += gap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_by_hand() {
        let mut idle = Idle::default();
        for ms in [0, 0, 99, 199, 1_199, 20_000] {
            idle.add(Nanos::from_millis(ms));
        }
        // 0, 99, 100, 1,000 and 18,801 ms.
        assert_eq!(idle.count, [3, 2, 1, 0, 0]);
        assert_eq!(idle.time[0], Nanos::from_millis(19_901));
        assert_eq!(idle.time[2], Nanos::from_millis(18_801));
        assert_eq!(idle.gaps_us.count(), 5);
    }
}
