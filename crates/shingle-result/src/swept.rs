//! The axes and cells of a sweep: `sweep` of a result.

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
    /// The place of each entry of `runs`.
    pub cells: Vec<Place>,
    /// Combinations that do not work and were not run, and why: sentences.
    pub left_out: Vec<String>,
}

/// One axis: what was varied.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Axis {
    /// `cache`, `policy`, `drive`, `translation`, `ssd`, `trace`, `seed`, `pacing`, or `OWNER.NAME` as
    /// for `--set`.
    pub name: String,
    /// Its values, as on the command line.
    pub values: Vec<String>,
}

/// A trace of a sweep.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SweptTrace {
    /// Its seed, if it is synthetic.
    pub seed: u64,
    /// Its figures.
    #[serde(flatten)]
    pub info: TraceInfo,
}

/// The place of a run in the grid.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Place {
    /// Number of its trace, from 0.
    pub trace: usize,
    /// Its value on each axis. An axis that makes no difference to the run is missing: the policy
    /// `none` has no cache size.
    pub at: BTreeMap<String, String>,
}
