//! A report, the root of the format `shingle.result/1`: stable names, documented in docs/results.md.
//! Everything but `wall` and `shingle` is the same for the same input and seed.

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

/// The JSON Schema of [`Report`].
#[must_use]
pub fn schema() -> Schema {
    schema_of::<Report>(SCHEMA)
}

/// The JSON Schema of a format, which `title` names, as it is written.
pub(crate) fn schema_of<T: JsonSchema>(title: &str) -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".into(), title.into());
    schema
}

/// What `compare`, `run` and `sweep` print as JSON.
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
    /// One entry a configuration, in the order asked for.
    pub runs: Vec<RunResult>,
    /// What was varied, and where in that each run stands; `sweep` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Swept>,
    /// The smallest caches that meet what was asked for with `--target`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Smallest>,
    /// What the runs come to, in words: verdicts, warnings and notes.
    pub said: Vec<Said>,
}

/// The program that wrote a result, and how it was called.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Program {
    /// Its version.
    pub version: Cow<'static, str>,
    /// The command line that writes the result again, as one would type it.
    pub command: String,
}
