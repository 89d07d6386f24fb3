//! The output of `compare` over several seeds.

use shingle_core::duration::{show_duration as seconds, show_micros as micros};
use shingle_core::size::show_blocks;
use shingle_result::verdict::{self, count};
use shingle_result::{Report, RunResult, Said, SaidKind};

use super::fit::{Figures, wrapped};
use super::words::{heading, title};
use crate::cli::Color;

/// Formats the result of `compare` over several seeds: minimum and maximum of each figure.
/// `runs_each` is the number of runs of one seed.
pub(crate) fn over_seeds(report: &Report, runs_each: usize, color: Color) -> String {
    let seeds = report.runs.len() / runs_each;
    let mut text = heading(report);
    text +=
        &format!("figures of the first of {seeds} seeds above; below, least to most of all\n\n");
    let runs_of = |at: usize| report.runs[at..].iter().step_by(runs_each);
    let mean = |at: usize| runs_of(at).map(verdict::measure).sum::<f64>();
    let mut order: Vec<usize> = (0..runs_each).collect();
    order.sort_by(|&a, &b| mean(a).total_cmp(&mean(b)));
    let spread = |at: usize, of: &dyn Fn(&RunResult) -> f64, show: &dyn Fn(f64) -> String| {
        let least = runs_of(at).map(of).fold(f64::INFINITY, f64::min);
        let most = runs_of(at).map(of).fold(f64::NEG_INFINITY, f64::max);
        format!("{} – {}", show(least), show(most))
    };
    let cells: Vec<[String; 7]> = order
        .iter()
        .map(|&at| {
            let run = &report.runs[at];
            let open = run.queue.is_some();
            let time = |us: f64| if open { micros(us) } else { seconds(us) };
            [
                run.labels.policy.clone(),
                format!("{}, {}", title(run), show_blocks(run.labels.cache_blocks)),
                spread(at, &|run| run.all.hits.ratio.unwrap_or(0.0), &|r| {
                    format!("{:.1} %", 100.0 * r)
                }),
                spread(at, &|run| run.all.drive_io.rmw as f64, &|rmws| count(rmws as u64)),
                spread(at, &|run| run.all.wa_host.unwrap_or(0.0), &|wa| format!("{wa:.2}")),
                spread(at, &verdict::measure, &time),
                spread(at, &|run| run.left.seconds, &seconds),
            ]
        })
        .collect();
    let first = report.runs.first().is_some_and(|run| run.queue.is_some());
    let measure = if first { "mean response" } else { "done + left" };
    let header = ["policy", "drive, cache", "hits", "RMWs", "wa_host", measure, "left"];
    let mut table = Figures::new(color, &["wa_host", "RMWs", "hits"]);
    table.set_header(header);
    cells.into_iter().for_each(|row| table.add_row(row));
    text += &format!("{table}\n");
    // Verdicts on all seeds together, and warnings for any of them.
    let of_all = |said: &&Said| {
        let seed = |run: &usize| report.runs[*run].labels.seed;
        let several = said.compared.iter().any(|run| seed(run) != seed(&said.compared[0]));
        several || said.kind == SaidKind::Warning
    };
    let mut sentences: Vec<&str> = Vec::new();
    for said in report.said.iter().filter(of_all) {
        if !sentences.contains(&said.text.as_str()) {
            sentences.push(&said.text);
        }
    }
    sentences.iter().for_each(|sentence| text += &wrapped(&format!("{sentence}\n")));
    text
}
