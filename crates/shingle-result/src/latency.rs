//! Response times of requests, and of I/O at the disk.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shingle_core::units::{Nanos, Op};

/// Response times of requests.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Latency {
    pub mean_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
}

/// A bar of the histogram of response times.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Bar {
    /// Upper bound of the bar's response times, inclusive; each is longer than the bound of the bar
    /// before.
    pub up_to_us: f64,
    /// Requests.
    pub requests: u64,
}

/// Response times: their distribution to two digits, mean and maximum exactly. Reads are counted
/// separately.
#[derive(Default)]
pub struct ResponseTimes {
    reads: Times,
    others: Times,
}

impl ResponseTimes {
    /// Records the response time of a request.
    #[inline]
    pub fn record(&mut self, op: Op, took: Nanos) {
        match op {
            Op::Read => self.reads.record(took),
            _ => self.others.record(took),
        }
    }

    /// Returns mean and quantiles.
    #[must_use]
    pub fn latency(&self) -> Latency {
        self.all().latency()
    }

    /// Returns the same for reads alone; `None` without any.
    #[must_use]
    pub fn read_latency(&self) -> Option<Latency> {
        (!self.reads.histogram.is_empty()).then(|| self.reads.latency())
    }

    /// Returns one bar for each doubling of the response time.
    #[must_use]
    pub fn bars(&self) -> Vec<Bar> {
        self.all().bars()
    }

    fn all(&self) -> Times {
        let mut all = self.others.clone();
        all.add(&self.reads);
        all
    }
}

#[derive(Clone)]
struct Times {
    histogram: Histogram<u64>,
    sum: u128,
    max: Nanos,
}

impl Default for Times {
    fn default() -> Times {
        // Up to 11 days.
        let histogram = Histogram::new_with_bounds(1, 1_000_000_000_000_000, 2);
        let histogram = histogram.expect("bounds and digits are in range");
        Times { histogram, sum: 0, max: Nanos::ZERO }
    }
}

impl Times {
    #[inline]
    fn record(&mut self, took: Nanos) {
        self.histogram.saturating_record(took.0);
        self.sum += u128::from(took.0);
        self.max = self.max.max(took);
    }

    fn add(&mut self, other: &Times) {
        self.histogram.add(&other.histogram).expect("of the same bounds");
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    fn latency(&self) -> Latency {
        let us = |ns: u64| ns as f64 / 1000.0;
        let count = self.histogram.len();
        let quantile = |q| us(self.histogram.value_at_quantile(q).min(self.max.0));
        Latency {
            mean_us: if count == 0 { 0.0 } else { self.sum as f64 / count as f64 / 1000.0 },
            p50_us: quantile(0.5),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: us(self.max.0),
        }
    }

    fn bars(&self) -> Vec<Bar> {
        let doublings = self.histogram.iter_log(1_000, 2.0);
        doublings
            .map(|bar| Bar {
                up_to_us: bar.value_iterated_to() as f64 / 1000.0,
                requests: bar.count_since_last_iteration(),
            })
            .filter(|bar| bar.requests > 0)
            .collect()
    }
}

/// Response times of a device, its queue included.
#[derive(Clone, Copy, Debug, Default)]
pub struct Responses {
    /// I/Os.
    pub count: u64,
    /// The sum of their times, in nanoseconds: ten million that wait for an hour exceed 64 bits.
    pub sum: u128,
    /// The longest.
    pub max: Nanos,
}

impl Responses {
    /// Records the response time of an I/O.
    #[inline]
    pub fn record(&mut self, took: Nanos) {
        self.count += 1;
        self.sum += u128::from(took.0);
        self.max = self.max.max(took);
    }
}

/// Response times of I/O at the disk.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct DriveLatency {
    pub ios: u64,
    pub mean_us: Option<f64>,
    pub max_us: f64,
}

impl DriveLatency {
    /// Computes the figures of `responses`.
    #[must_use]
    pub fn of(responses: Responses) -> DriveLatency {
        let mean = responses.sum as f64 / responses.count as f64;
        DriveLatency {
            ios: responses.count,
            mean_us: (responses.count > 0).then_some(mean / 1000.0),
            max_us: responses.max.0 as f64 / 1000.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_beyond_64_bits() {
        let mut responses = Responses::default();
        (0..4).for_each(|_| responses.record(Nanos(u64::MAX / 2)));
        let latency = DriveLatency::of(responses);
        assert_eq!((latency.ios, latency.mean_us), (4, Some(latency.max_us)));
    }

    /// Of a thousand requests one in a hundred may be longer than the 99th percentile, one than the 99.9th.
    #[test]
    fn percentiles_are_those_counted_by_hand() {
        let is = |found_us: f64, ms: f64| (0.0..0.01).contains(&(found_us / (ms * 1000.0) - 1.0));
        let quantiles = |slow: u64| {
            let mut times = ResponseTimes::default();
            for request in 0..1000 {
                let op = if request % 3 == 0 { Op::Read } else { Op::Write };
                times.record(op, Nanos::from_millis(if request < slow { 700 } else { 5 }));
            }
            times.latency()
        };
        for (slow, p99, p999) in
            [(1, 5.0, 5.0), (2, 5.0, 700.0), (10, 5.0, 700.0), (11, 700.0, 700.0)]
        {
            let found = quantiles(slow);
            assert!(is(found.p99_us, p99) && is(found.p999_us, p999), "{slow}: {found:?}");
        }
        let (few, many) = (quantiles(500), quantiles(501));
        assert!(is(few.p50_us, 5.0) && is(many.p50_us, 700.0), "{few:?}, {many:?}");
    }

    #[test]
    fn reads_are_told_apart_and_counted_with_the_rest() {
        let mut times = ResponseTimes::default();
        assert_eq!(times.read_latency(), None);
        times.record(Op::Write, Nanos::from_millis(300));
        assert_eq!(times.read_latency(), None);
        times.record(Op::Read, Nanos::from_millis(100));
        let (all, reads) = (times.latency(), times.read_latency().expect("a read"));
        assert_eq!((all.mean_us, all.max_us), (200_000.0, 300_000.0));
        assert_eq!((reads.mean_us, reads.max_us), (100_000.0, 100_000.0));
        assert_eq!(times.bars().iter().map(|bar| bar.requests).sum::<u64>(), 2);
    }
}
