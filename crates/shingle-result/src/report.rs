//! The report, the root of the format `shingle.result/1`: names are stable, and documented in
//! docs/results.md. Everything but `wall` and `shingle` is the same for the same input and seed.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::run::RunResult;
use crate::said::Said;
use crate::swept::Swept;
use crate::target::Smallest;
use crate::trace::TraceInfo;

/// Name and version of the format.
pub const SCHEMA: &str = "shingle.result/1";

/// Returns the JSON Schema of [`Report`].
#[must_use]
pub fn schema() -> Schema {
    schema_of::<Report>(SCHEMA)
}

/// Returns the JSON Schema of the serialised format, with `title`.
pub(crate) fn schema_of<T: JsonSchema>(title: &str) -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".into(), title.into());
    schema
}

/// The JSON of `compare`, `run` and `sweep`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Report {
    /// `shingle.result/1`.
    pub schema: &'static str,
    /// The program that wrote this.
    pub shingle: Program,
    /// Seed of everything random.
    pub seed: u64,
    /// The trace.
    pub trace: TraceInfo,
    /// One entry per configuration, in the requested order.
    pub runs: Vec<RunResult>,
    /// What was varied, and the place of each run; `sweep` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Swept>,
    /// The smallest caches that meet each `--target`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Smallest>,
    /// Remarks on the runs, in words: verdicts, warnings and notes.
    pub said: Vec<Said>,
}

/// The program that wrote a result, and its command line.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Program {
    /// Its version.
    pub version: Cow<'static, str>,
    /// The command line that reproduces the result, as one would type it.
    pub command: String,
}
