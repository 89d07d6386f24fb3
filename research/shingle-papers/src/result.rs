//! The result of a reproduction.

use serde::Serialize;

use crate::verdict::{Verdict, in_unit};
use shingle_report::numbers::figure;

/// The result of a reproduction.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction {
    /// Name and version of this format.
    pub schema: &'static str,
    /// The paper's name.
    pub paper: &'static str,
    /// Authors, title, venue.
    pub citation: &'static str,
    /// Notes on the paper's experiments.
    pub about: Vec<&'static str>,
    /// The source of the traces.
    pub traces: String,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// The results of the requested figures.
    pub figures: Vec<FigureResult>,
}

/// The result of a figure.
#[derive(Clone, Debug, Serialize)]
pub struct FigureResult {
    /// Identifier on the command line.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// How it was run.
    pub how: &'static str,
    /// The scale at which it was run.
    pub scale: Vec<String>,
    /// Statements and verdicts.
    pub rows: Vec<RowResult>,
    /// Its numbers: one element for each trace, point and system, and one for other measurements.
    pub numbers: Vec<Numbers>,
    /// Pictures: name and SVG.
    #[serde(skip)]
    pub pictures: Vec<(String, String)>,
}

/// The values of one system.
#[derive(Clone, Debug, Serialize)]
pub struct Numbers {
    /// The trace.
    pub trace: String,
    /// The varied value.
    pub point: String,
    /// The system.
    pub system: String,
    /// Name of each metric, with a value for each seed.
    pub values: Vec<(String, Vec<f64>)>,
}

/// The result of a statement.
#[derive(Clone, Debug, Serialize)]
pub struct RowResult {
    /// Section and table or figure.
    pub at: &'static str,
    /// The paper's words or figures.
    pub says: &'static str,
    /// The published value; `None` for an order.
    pub published: Option<f64>,
    /// The unit of both values: `%`, or empty.
    pub unit: &'static str,
    /// Our value, for each seed.
    pub ours: Vec<f64>,
    /// Our result in words.
    pub shown: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason for a disagreement; empty if there is none.
    pub reason: &'static str,
}

impl RowResult {
    /// Formats the published value; empty for an order.
    #[must_use]
    pub fn theirs(&self) -> String {
        self.published.map_or_else(String::new, |value| in_unit(figure(value), self.unit))
    }
}

/// Name and version of the format of [`Reproduction`].
pub const SCHEMA: &str = "shingle.reproduction/1";
