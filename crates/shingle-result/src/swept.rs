//! What a sweep varied: `sweep` of a result.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trace::TraceInfo;

/// A grid of runs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Swept {
    /// What was varied, outermost first.
    pub axes: Vec<Axis>,
    /// The traces, each with each seed.
    pub traces: Vec<SweptTrace>,
    /// Where each entry of `runs` stands.
    pub cells: Vec<Place>,
    /// What does not go together and was not run, and why: sentences.
    pub left_out: Vec<String>,
}

/// One thing that was varied.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Axis {
    /// `cache`, `policy`, `drive`, `translation`, `ssd`, `trace`, `seed`, `pacing`, or `OWNER.NAME` as
    /// for `--set`.
    pub name: String,
    /// Its values, as one would write them.
    pub values: Vec<String>,
}

/// A trace of a sweep.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SweptTrace {
    /// Seed it was made with, if it is synthetic.
    pub seed: u64,
    /// What it holds.
    #[serde(flatten)]
    pub info: TraceInfo,
}

/// Where a run stands in the grid.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Place {
    /// Number of its trace, from 0.
    pub trace: usize,
    /// Its value on each axis. An axis that makes no difference to the run is missing: the policy
    /// `none` has no cache size.
    pub at: BTreeMap<String, String>,
}
