//! Histograms of times.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The upper bounds of the buckets, in microseconds: from a hit in the memory of an SSD to a disk
/// that hangs.
pub const BOUNDS_US: [u64; 20] = [
    20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 2_000_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

const BUCKETS: usize = BOUNDS_US.len() + 1;

fn bucket(time: Duration) -> usize {
    let us = u64::try_from(time.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX);
    BOUNDS_US.partition_point(|&bound| bound < us)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The number of times in each bucket, and their sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// The count of each bucket. The last one is for times above all bounds.
    pub buckets: [u64; BUCKETS],
    /// The sum of all times.
    pub sum_ns: u64,
}

impl Histogram {
    /// Adds a time.
    pub fn add(&mut self, time: Duration) {
        self.buckets[bucket(time)] += 1;
        self.sum_ns = self.sum_ns.saturating_add(nanos(time));
    }

    /// The number of times.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The sum of both histograms.
    #[must_use]
    pub fn plus(mut self, other: &Histogram) -> Histogram {
        self.buckets.iter_mut().zip(other.buckets).for_each(|(one, other)| *one += other);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self
    }

    /// The difference to an earlier state of the same histogram.
    #[must_use]
    pub fn since(mut self, before: &Histogram) -> Histogram {
        let less = |(one, before): (&mut u64, u64)| *one = one.saturating_sub(before);
        self.buckets.iter_mut().zip(before.buckets).for_each(less);
        self.sum_ns = self.sum_ns.saturating_sub(before.sum_ns);
        self
    }

    /// The time that this share of all times does not exceed; `None` if there are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Quantile> {
        let count = self.count();
        let wanted = ((count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let within = |&&of: &&u64| {
            seen += of;
            seen < wanted
        };
        let at = self.buckets.iter().take_while(within).count();
        let last = BOUNDS_US[BOUNDS_US.len() - 1];
        let found = match BOUNDS_US.get(at) {
            Some(&us) => Quantile::AtMost(Duration::from_micros(us)),
            None => Quantile::Beyond(Duration::from_micros(last)),
        };
        (count > 0).then_some(found)
    }
}

/// A quantile, as precise as the buckets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantile {
    /// At most this bound of a bucket.
    AtMost(Duration),
    /// More than this, the last of all bounds.
    Beyond(Duration),
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quantile::AtMost(time) => write!(f, "≤ {time:?}"),
            Quantile::Beyond(time) => write!(f, "> {time:?}"),
        }
    }
}

/// A histogram that many threads add to.
#[derive(Debug, Default)]
pub(crate) struct SharedHistogram {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

impl SharedHistogram {
    pub(crate) fn add(&self, time: Duration) {
        self.buckets[bucket(time)].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(nanos(time), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Histogram {
        let buckets = std::array::from_fn(|at| self.buckets[at].load(Ordering::Relaxed));
        Histogram { buckets, sum_ns: self.sum_ns.load(Ordering::Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_within_its_bucket() {
        let mut histogram = Histogram::default();
        let shared = SharedHistogram::default();
        for ns in [0, 20_000, 20_001, 100_000, 60_000_000_000, 60_000_000_001] {
            histogram.add(Duration::from_nanos(ns));
            shared.add(Duration::from_nanos(ns));
        }
        let filled = |at: usize| (at, histogram.buckets[at]);
        assert_eq!([0, 1, 2, 19, 20].map(filled), [(0, 2), (1, 1), (2, 1), (19, 1), (20, 1)]);
        assert_eq!((histogram.count(), histogram.sum_ns), (6, 120_000_140_002));
        assert_eq!(shared.get(), histogram);
        assert_eq!(histogram.plus(&histogram).since(&histogram), histogram);
    }

    #[test]
    fn a_quantile_is_the_bound_that_holds_the_share() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        for _ in 0..99 {
            histogram.add(Duration::from_micros(150));
        }
        histogram.add(Duration::from_millis(3));
        let shown =
            |histogram: &Histogram, share| histogram.quantile(share).expect("there").to_string();
        assert_eq!(shown(&histogram, 0.5), "≤ 200µs");
        assert_eq!(shown(&histogram, 0.99), "≤ 200µs");
        assert_eq!(shown(&histogram, 0.999), "≤ 5ms");
        // As with a disk that hangs.
        histogram.add(Duration::from_secs(100));
        assert_eq!(shown(&histogram, 1.0), "> 60s");
    }
}
