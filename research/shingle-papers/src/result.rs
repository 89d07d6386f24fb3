//! What a reproduction comes to.

use serde::Serialize;

use crate::verdict::{Verdict, in_unit};
use shingle_report::numbers::figure;

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction {
    /// Name and version of this format.
    pub schema: &'static str,
    /// The paper's name.
    pub paper: &'static str,
    /// Authors, title, venue.
    pub citation: &'static str,
    /// What holds for all of it.
    pub about: Vec<&'static str>,
    /// Where the traces came from.
    pub traces: String,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// The figures asked for.
    pub figures: Vec<FigureResult>,
}

/// Of a figure.
#[derive(Clone, Debug, Serialize)]
pub struct FigureResult {
    /// As on the command line.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// How it was run.
    pub how: &'static str,
    /// How much of it was run.
    pub scale: Vec<String>,
    /// Statements and verdicts.
    pub rows: Vec<RowResult>,
    /// Its numbers: a line for each trace, point and system, and those measured otherwise.
    pub numbers: Vec<Numbers>,
    /// Pictures: name and SVG.
    #[serde(skip)]
    pub pictures: Vec<(String, String)>,
}

/// Figures of one system.
#[derive(Clone, Debug, Serialize)]
pub struct Numbers {
    /// The trace.
    pub trace: String,
    /// What was varied.
    pub point: String,
    /// The system.
    pub system: String,
    /// Name, and a value a seed.
    pub values: Vec<(String, Vec<f64>)>,
}

/// Of a statement.
#[derive(Clone, Debug, Serialize)]
pub struct RowResult {
    /// Section and table or figure.
    pub at: &'static str,
    /// The paper's words or figures.
    pub says: &'static str,
    /// The published figure, if it is one.
    pub published: Option<f64>,
    /// Of it, and of ours: `%`, or nothing.
    pub unit: &'static str,
    /// Ours, for each seed.
    pub ours: Vec<f64>,
    /// Ours in words.
    pub shown: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it disagrees; empty if it does not.
    pub reason: &'static str,
}

impl RowResult {
    /// The published figure in words; nothing if it is none.
    #[must_use]
    pub fn theirs(&self) -> String {
        self.published.map_or_else(String::new, |value| in_unit(figure(value), self.unit))
    }
}

/// Name and version of the format of [`Reproduction`].
pub const SCHEMA: &str = "shingle.reproduction/1";
