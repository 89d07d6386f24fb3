//! How verdicts move with what no paper fixes: every free parameter of the made traces halved and
//! doubled, one at a time, on less work and with one seed.

use crate::experiment::{Figure, Paper, Source};
use crate::runner::{Order, PaperError, reproduce};
use crate::scale::Scale;
use crate::traces::Traces;
use crate::verdict::Verdict;

/// The verdicts of each variant.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Sensitivity {
    /// How it was made.
    pub about: String,
    /// The statements, in the order of the findings.
    pub statements: Vec<Statement>,
    /// The first is that with nothing changed.
    pub variants: Vec<Variant>,
}

/// A statement of a figure.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Statement {
    /// The figure.
    pub figure: &'static str,
    /// The paper's words.
    pub says: &'static str,
}

/// One setting of the free parameters.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Variant {
    /// What was changed.
    pub label: String,
    /// Verdict and result in words, for each statement.
    pub findings: Vec<(Verdict, String)>,
}

/// Runs the paper with each free parameter halved and doubled.
///
/// # Errors
/// As [`reproduce`].
pub fn sensitivity(
    order: &Order,
    scale: Scale,
    total: &dyn Fn(u64),
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Sensitivity, PaperError> {
    let all = || order.paper.figures.iter();
    let chosen: Vec<&'static Figure> =
        if order.figures.is_empty() { all().collect() } else { order.figures.clone() };
    let figures: Vec<&'static Figure> =
        chosen.into_iter().filter(|figure| is_varied(order.paper, figure)).collect();
    let variants = order.traces.variants(&traces(&figures))?;
    let seeds = vec![order.seeds[0]];
    let (mut statements, mut results) = (Vec::new(), Vec::new());
    for (label, free) in variants {
        let traces = Traces { free, ..order.traces.clone() };
        let part = Order {
            paper: order.paper,
            figures: figures.clone(),
            seeds: seeds.clone(),
            scale: Some(scale),
            traces,
            drive: None,
            registry: order.registry,
        };
        let result = reproduce(&part, total, progress)?;
        let rows = || result.figures.iter().flat_map(|f| f.rows.iter().map(move |row| (f.id, row)));
        statements = rows().map(|(figure, row)| Statement { figure, says: row.says }).collect();
        let findings = rows().map(|(_, row)| (row.verdict, row.shown.clone())).collect();
        results.push(Variant { label, findings });
    }
    let left_out = match order.paper.not_varied {
        [] => String::new(),
        ids => format!(" Left out for their length: {}.", ids.join(", ")),
    };
    let about = format!(
        "Every free parameter of the workloads, halved and doubled, one at a time: {:.3} of the \
         large traces, {:.3} of single volumes, seed {}. The first column is the same with nothing \
         changed, to compare with.{left_out}",
        scale.work, scale.volumes, seeds[0]
    );
    Ok(Sensitivity { about, statements, variants: results })
}

/// Whether a figure depends on workloads, and is not too long.
fn is_varied(paper: &Paper, figure: &Figure) -> bool {
    matches!(figure.source, Source::Runs(_)) && !paper.not_varied.contains(&figure.id)
}

/// The traces that any of the figures runs.
fn traces(figures: &[&'static Figure]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for figure in figures {
        names.extend(figure.grids().iter().flat_map(|grid| grid.traces));
    }
    names.sort_unstable();
    names.dedup();
    names
}
