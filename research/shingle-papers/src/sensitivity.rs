//! Sensitivity of verdicts to parameters that no paper fixes: every free parameter of the made
//! traces is halved and doubled, one at a time, at a smaller scale and with one seed.

use std::iter::repeat;

use shingle_result::Pacing;
use shingle_sim::experiment::ExperimentError;

use crate::experiment::{Figure, Paper, Source};
use crate::runner::{Order, PaperError, run};
use crate::scale::Scale;
use crate::traces::Traces;
use crate::verdict::Verdict;

/// The verdicts of each variant.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Sensitivity {
    /// Describes the parameters.
    pub about: String,
    /// The statements, in the order of the findings.
    pub statements: Vec<Statement>,
    /// The variants; the first changes nothing.
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
    /// The changed parameter.
    pub label: String,
    /// For each statement: the verdict and the result in words.
    pub findings: Vec<(Verdict, String)>,
}

/// Runs the paper with each free parameter halved and doubled.
///
/// # Errors
/// As [`crate::runner::reproduce`].
pub fn sensitivity(
    order: &Order,
    scale: Scale,
    total: &dyn Fn(u64),
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Sensitivity, PaperError> {
    let varied = |figure: &&&'static Figure| is_varied(order.paper, figure);
    let figures: Vec<&'static Figure> = order.figures.iter().filter(varied).copied().collect();
    let seeds = vec![order.seeds[0]];
    let (mut variants, mut too_large) = (Vec::new(), Vec::new());
    for (label, free) in order.traces.variants(&traces(&figures), pacing(&figures))? {
        let part = Order {
            paper: order.paper,
            figures: figures.clone(),
            seeds: seeds.clone(),
            scale: Some(scale),
            traces: Traces { free, ..order.traces.clone() },
            drive: None,
            registry: order.registry,
            kept: order.kept,
        };
        let cells = match run(&part, total, progress) {
            // The default trace did fit, so this value is not plausible for the traces.
            Err(PaperError::Experiment(ExperimentError::Data(_))) => {
                too_large.push(label);
                continue;
            }
            cells => cells?,
        };
        let rows =
            figures.iter().zip(&cells).flat_map(|(f, cells)| f.rows.iter().zip(repeat(cells)));
        let found = rows.map(|(row, cells)| row.check.judge(cells));
        let findings = found.map(|finding| (finding.verdict, finding.shown)).collect();
        variants.push(Variant { label, findings });
    }
    let statement =
        |f: &&'static Figure| f.rows.iter().map(|row| Statement { figure: f.id, says: row.says });
    let statements = figures.iter().flat_map(statement).collect();
    let mut left_out = match order.paper.not_varied {
        [] => String::new(),
        ids => format!(" Left out for their length: {}.", ids.join(", ")),
    };
    if !too_large.is_empty() {
        left_out +=
            &format!(" Left out as a trace would not fit the drive: {}.", too_large.join(", "));
    }
    let about = format!(
        "Every free parameter of the workloads, halved and doubled, one at a time: {:.3} of the \
         large traces, {:.3} of single volumes, seed {}. The first column is the same with nothing \
         changed, to compare with.{left_out}",
        scale.work, scale.volumes, seeds[0]
    );
    Ok(Sensitivity { about, statements, variants })
}

/// Open loop if any of the figures uses it.
fn pacing(figures: &[&'static Figure]) -> Pacing {
    let mut grids = figures.iter().flat_map(|figure| figure.grids());
    if grids.any(|grid| grid.pacing == Pacing::Open) { Pacing::Open } else { Pacing::Closed }
}

/// Whether a figure depends on workloads, and is not too long to be varied.
fn is_varied(paper: &Paper, figure: &Figure) -> bool {
    matches!(figure.source, Source::Runs(_)) && !paper.not_varied.contains(&figure.id)
}

fn traces(figures: &[&'static Figure]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for figure in figures {
        names.extend(figure.grids().iter().flat_map(|grid| grid.traces));
    }
    names.sort_unstable();
    names.dedup();
    names
}
