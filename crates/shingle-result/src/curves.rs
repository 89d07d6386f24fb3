//! What `shingle curve` prints as JSON: figures over sizes of the cache, from a sample of the bands.

use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::report::{Program, schema_of};
use crate::trace::TraceInfo;

/// Name and version of the format.
pub const CURVES_SCHEMA: &str = "shingle.curve/1";

/// The JSON Schema of [`Curves`].
#[must_use]
pub fn curves_schema() -> Schema {
    schema_of::<Curves>(CURVES_SCHEMA)
}

/// Curves of policies over sizes of the cache.
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
    /// One entry a drive, in the order asked for.
    pub curves: Vec<CurvesOfDrive>,
}

/// The curves over a drive.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CurvesOfDrive {
    /// The drive.
    pub drive: String,
    /// What was run in the place of the trace.
    pub sample: CurveSample,
    /// Policy by policy, each from the smallest cache to the largest.
    pub points: Vec<CurvePoint>,
}

/// What was run in the place of a trace.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CurveSample {
    /// The trace was run in full: figures are not estimates, and their errors are 0.
    pub in_full: bool,
    /// The part of the bands that was run, in percent.
    pub percent: f64,
    /// The part that tells enough, in percent.
    pub wanted_percent: f64,
    /// What wants so many: `bands` that differ, the smallest `cache` or the `buffer` of the disk; or the `disk`, of which no
    /// part is like all.
    pub wanted_for: &'static str,
    /// Bands that the trace touches.
    pub bands: u64,
    /// Bands that would differ as much among each other, were all asked for alike.
    pub alike_bands: u64,
    /// Bands sampled, of those that are touched.
    pub sampled_bands: u64,
    /// Requests of the trace.
    pub requests: u64,
    /// Requests of the sample.
    pub sampled_requests: u64,
}

/// The figures of a policy and a size of the cache.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CurvePoint {
    /// The policy.
    pub policy: String,
    /// Blocks of the cache that the figures are of.
    pub cache_blocks: u64,
    /// Blocks of the cache that was simulated, before a sample.
    pub simulated_blocks: u64,
    /// The cache, if there is one, was full.
    pub was_full: bool,
    /// The disk is shingled, and cleaned fewer than 30 bands in what was run: the figures say little about shingling.
    pub few_cleanings: bool,
    /// Accesses that found their block cached, in percent.
    pub hits_percent: Estimate,
    /// Accesses that did not.
    pub misses: Estimate,
    /// Bands rewritten by the disk, after reading them.
    pub rmws: Estimate,
    /// Time of the devices.
    pub done_seconds: Estimate,
    /// Time that the work takes that is left undone.
    pub left_seconds: Estimate,
    /// Both.
    pub done_and_left_seconds: Estimate,
}

impl CurvePoint {
    /// Its estimates with their names, in the order of its fields.
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

/// An estimate: within `error` of `value`, at 95 %.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Estimate {
    /// It.
    pub value: f64,
    /// How far it may be off, by the choice of bands. Infinite (in JSON `null`) where nothing can be said.
    #[schemars(with = "Option<f64>")]
    pub error: f64,
}
