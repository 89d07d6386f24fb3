//! The JSON of `shingle curve`: figures over cache sizes, estimated from a sample of the bands.

use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::report::{Program, schema_of};
use crate::trace::TraceInfo;

/// Name and version of the format.
pub const CURVES_SCHEMA: &str = "shingle.curve/1";

/// Returns the JSON Schema of [`Curves`].
#[must_use]
pub fn curves_schema() -> Schema {
    schema_of::<Curves>(CURVES_SCHEMA)
}

/// Curves of policies over cache sizes.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Curves {
    /// `shingle.curve/1`.
    pub schema: &'static str,
    /// The program that wrote this.
    pub shingle: Program,
    /// Seed of everything random.
    pub seed: u64,
    /// The trace.
    pub trace: TraceInfo,
    /// One entry per drive, in the requested order.
    pub curves: Vec<CurvesOfDrive>,
}

/// The curves of one drive.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CurvesOfDrive {
    /// The drive.
    pub drive: String,
    /// The sample that was run in place of the trace.
    pub sample: CurveSample,
    /// Policy by policy, each from the smallest cache to the largest.
    pub points: Vec<CurvePoint>,
}

/// The sample that was run in place of a trace.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CurveSample {
    /// Whether the whole trace was run: figures are then no estimates, and errors are 0.
    pub in_full: bool,
    /// The share of bands that was run, in percent.
    pub percent: f64,
    /// The share that is sufficient, in percent.
    pub wanted_percent: f64,
    /// What determines that share: `bands` that differ, the smallest `cache` or the `buffer` of the
    /// disk; or the `disk`, of which no part represents the whole.
    pub wanted_for: &'static str,
    /// Bands that the trace touches.
    pub bands: u64,
    /// Effective number of bands: that many equally accessed bands would give the same sampling
    /// error.
    pub alike_bands: u64,
    /// Touched bands in the sample.
    pub sampled_bands: u64,
    /// Requests of the trace.
    pub requests: u64,
    /// Requests of the sample.
    pub sampled_requests: u64,
}

/// The figures of a policy at one cache size.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CurvePoint {
    /// The policy.
    pub policy: String,
    /// Blocks of the cache.
    pub cache_blocks: u64,
    /// Blocks of the cache that was simulated over the sample.
    pub simulated_blocks: u64,
    /// Whether the cache, if there is one, was full.
    pub was_full: bool,
    /// Whether the disk is shingled and cleaned fewer than 30 bands in the run: the figures then
    /// say little about shingling.
    pub few_cleanings: bool,
    /// Accesses that found their block cached, in percent.
    pub hits_percent: Estimate,
    /// Accesses that did not find their block cached.
    pub misses: Estimate,
    /// Bands rewritten by the disk, after reading them.
    pub rmws: Estimate,
    /// Device time.
    pub done_seconds: Estimate,
    /// Device time of the work left undone.
    pub left_seconds: Estimate,
    /// Sum of the two times.
    pub done_and_left_seconds: Estimate,
}

impl CurvePoint {
    /// Returns its estimates with their names, in the order of its fields.
    #[must_use]
    pub fn estimates(&self) -> [(&'static str, Estimate); 6] {
        [
            ("hits_percent", self.hits_percent),
            ("misses", self.misses),
            ("rmws", self.rmws),
            ("done_seconds", self.done_seconds),
            ("left_seconds", self.left_seconds),
            ("done_and_left_seconds", self.done_and_left_seconds),
        ]
    }
}

/// An estimate: within `error` of `value`, with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its error, due to the choice of bands. Infinite (in JSON `null`) if it cannot be estimated.
    #[schemars(with = "Option<f64>")]
    pub error: f64,
}
