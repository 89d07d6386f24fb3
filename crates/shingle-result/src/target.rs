//! `--target`: finds the smallest cache that meets a target.

use schemars::JsonSchema;
use serde::Serialize;
use shingle_core::params::nearest;
use shingle_core::units::BLOCK_BYTES;

use crate::run::RunResult;
use crate::verdict;

/// A bound on a figure of a run, such as `p99=50ms`.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its text.
    pub text: String,
    metric: &'static Metric,
    /// In the metric's unit.
    limit: f64,
}

/// A figure that can be bounded.
#[derive(Debug)]
struct Metric {
    name: &'static str,
    kind: Kind,
    of: fn(&RunResult) -> f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Response time, in microseconds: an upper bound.
    Response,
    /// Seconds: an upper bound.
    Seconds,
    /// A number: an upper bound.
    Count,
    /// A share: a lower bound.
    Share,
}

static METRICS: &[Metric] = &[
    Metric { name: "mean", kind: Kind::Response, of: |run| run.latency.mean_us },
    Metric { name: "p50", kind: Kind::Response, of: |run| run.latency.p50_us },
    Metric { name: "p99", kind: Kind::Response, of: |run| run.latency.p99_us },
    Metric { name: "p999", kind: Kind::Response, of: |run| run.latency.p999_us },
    Metric { name: "max", kind: Kind::Response, of: |run| run.latency.max_us },
    Metric { name: "seconds", kind: Kind::Seconds, of: verdict::done_and_left },
    Metric { name: "rmw", kind: Kind::Count, of: |run| run.all.drive_io.rmw as f64 },
    // Without accesses the ratio counts as 0.
    Metric { name: "hits", kind: Kind::Share, of: |run| run.all.hits.ratio.unwrap_or(0.0) },
];

/// The smallest cache that meets a target, for a policy over a drive.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Smallest {
    /// Its text.
    pub target: String,
    /// Policy.
    pub policy: String,
    /// Drive.
    pub drive: String,
    /// Translation over the drive; null if there is none.
    pub translation: Option<String>,
    /// Slots of the smallest cache that meets the target; null if none of the tried ones does.
    pub cache_blocks: Option<u64>,
    /// The same in bytes.
    pub cache_bytes: Option<u64>,
    /// The tried sizes, smallest first.
    pub tried: Vec<Tried>,
}

/// A cache size that was tried.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Tried {
    /// Slots.
    pub cache_blocks: u64,
    /// The figure: microseconds, seconds, a number or a ratio, as in the result; over several seeds
    /// the worst.
    pub value: f64,
    /// Whether it meets the target. An overloaded run does not meet a target for response times.
    pub meets: bool,
}

impl Target {
    /// Parses `p99=50ms`, `hits=80%`, `rmw=1000`, `seconds=1200`.
    ///
    /// # Errors
    /// One line that says what is wrong, and what is allowed.
    pub fn parse(text: &str) -> Result<Target, String> {
        let (name, value) =
            text.split_once('=').ok_or("write NAME=VALUE, as in p99=50ms or hits=80%")?;
        let (name, value) = (name.trim(), value.trim());
        let Some(metric) = METRICS.iter().find(|metric| metric.name == name) else {
            let names = nearest(name, METRICS.iter().map(|metric| metric.name)).join(", ");
            return Err(format!("there is no target `{name}`; there are {names}"));
        };
        let (units, example): (&[(&str, f64)], &str) = match metric.kind {
            // The longer unit first: `ms` ends in `s`.
            Kind::Response => {
                (&[("ns", 1e-3), ("us", 1.0), ("ms", 1e3), ("s", 1e6)], "a time such as 50ms")
            }
            Kind::Seconds => (&[("s", 1.0), ("", 1.0)], "a number of seconds such as 1200"),
            Kind::Count => (&[("", 1.0)], "a number such as 1000"),
            Kind::Share => (&[("%", 1.0)], "a share such as 80%, and at most 100%"),
        };
        let number = |(unit, factor): &(&str, f64)| {
            let number: f64 = value.strip_suffix(unit)?.trim_end().parse().ok()?;
            (number.is_finite() && number >= 0.0).then_some(number * factor)
        };
        let limit = units.iter().find_map(number);
        let share = |limit: &f64| metric.kind != Kind::Share || *limit <= 100.0;
        let limit = limit.filter(share).ok_or_else(|| format!("{name}={value}: give {example}"))?;
        // (Divided, as a hundredth has no float of its own: 35 of them are more than 0.35.)
        let limit = if metric.kind == Kind::Share { limit / 100.0 } else { limit };
        Ok(Target { text: format!("{name}={value}"), metric, limit })
    }

    /// Returns whether it bounds response times, which mean something else in closed loop.
    #[must_use]
    pub fn is_response_time(&self) -> bool {
        self.metric.kind == Kind::Response
    }

    /// Returns the smallest cache among `runs` for each policy, drive and translation, in the order
    /// of runs. If the size is a share of the trace, and so differs by seed, the largest of these
    /// is returned.
    #[must_use]
    pub fn smallest(&self, runs: &[RunResult]) -> Vec<Smallest> {
        let mut found: Vec<Smallest> = Vec::new();
        // The tried sizes of each, with the number of their run of the first seed.
        let mut tried: Vec<Vec<(usize, Tried)>> = Vec::new();
        for (run, like) in runs.iter().zip(verdict::counterparts(runs)) {
            let same = |s: &Smallest| {
                (&s.policy, &s.drive, &s.translation)
                    == (&run.labels.policy, &run.labels.drive, &run.labels.translation)
            };
            let at = found.iter().position(same).unwrap_or_else(|| {
                found.push(Smallest {
                    target: self.text.clone(),
                    policy: run.labels.policy.clone(),
                    drive: run.labels.drive.clone(),
                    translation: run.labels.translation.clone(),
                    cache_blocks: None,
                    cache_bytes: None,
                    tried: Vec::new(),
                });
                tried.push(Vec::new());
                found.len() - 1
            });
            self.note(&mut tried[at], like, run);
        }
        for (smallest, tried) in found.iter_mut().zip(tried) {
            smallest.tried = tried.into_iter().map(|(_, tried)| tried).collect();
            smallest.tried.sort_by_key(|tried| tried.cache_blocks);
            let first = smallest.tried.iter().find(|tried| tried.meets);
            smallest.cache_blocks = first.map(|tried| tried.cache_blocks);
            smallest.cache_bytes = smallest.cache_blocks.map(|blocks| blocks * BLOCK_BYTES);
        }
        found
    }

    /// Adds `run` to `tried`. Of several runs that differ only in their seed, and so have the same
    /// `like`, the worst counts.
    fn note(&self, tried: &mut Vec<(usize, Tried)>, like: usize, run: &RunResult) {
        let value = (self.metric.of)(run);
        let (meets, worse): (bool, fn(f64, f64) -> f64) = match self.metric.kind {
            Kind::Share => (value >= self.limit, f64::min),
            _ => (value <= self.limit, f64::max),
        };
        // (Where the queue still grew at the end, response times say how long the trace is.)
        let meets = meets && !(self.is_response_time() && verdict::overloaded(run));
        let cache_blocks = run.labels.cache_blocks;
        match tried.iter_mut().find(|(other, _)| *other == like) {
            Some((_, tried)) => {
                tried.value = worse(tried.value, value);
                tried.meets &= meets;
                tried.cache_blocks = tried.cache_blocks.max(cache_blocks);
            }
            None => tried.push((like, Tried { cache_blocks, value, meets })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_in_their_units() {
        let limit = |text| Target::parse(text).map(|target| target.limit);
        assert_eq!(limit("p99=50ms"), Ok(50_000.0));
        assert_eq!(limit("p999 = 2 s"), Ok(2_000_000.0));
        assert_eq!(limit("mean=750us"), Ok(750.0));
        assert_eq!((limit("hits=80%"), limit("hits=35%")), (Ok(0.8), Ok(0.35)));
        assert_eq!(limit("rmw=1000"), Ok(1000.0));
        assert_eq!((limit("seconds=12"), limit("seconds=12s")), (Ok(12.0), Ok(12.0)));
    }

    #[test]
    fn wrong_targets_say_what_there_is() {
        for (text, told) in [
            ("p99", "NAME=VALUE"),
            ("p98=1ms", "no target `p98`; there are p99"),
            ("p99=50", "give a time such as 50ms"),
            ("hits=0.8", "give a share such as 80%"),
            ("hits=200%", "at most 100%"),
            ("rmw=-1", "give a number"),
            ("mean=NaNs", "give a time"),
        ] {
            let error = Target::parse(text).unwrap_err();
            assert!(error.contains(told) && error.lines().count() == 1, "{text}: {error}");
        }
    }
}
