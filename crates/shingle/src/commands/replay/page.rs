//! The page of a replay: a chart for each policy, with the real run and its prediction.

use std::fmt::Write;

use shingle_report::chart::{Kind, Picture, escaped};
use shingle_report::page::{foot, head};
use shingle_result::{Pacing, Point, Report, RunResult, verdict::count};

use super::beside::{self, Line, Row};
use crate::report::{making, mib};

pub(super) fn page(report: &Report, rows: &[Row<'_>]) -> anyhow::Result<String> {
    let making = making();
    let mut html = head(&format!("shingle replay: {}", report.trace.name), "");
    let requests = count(report.trace.requests);
    // (Writing to a String cannot fail.)
    let _ = write!(html, "<p>{requests} requests.</p>");
    let _ = write!(html, "<section><h2>Runs</h2>{}</section>", table(rows));
    html.push_str(
        "<section><h2>Dirty blocks in the cache</h2><p>At the end of equal parts of the requests: \
         in between, as in idle time, lines are straight.</p><div class=\"pictures\">",
    );
    for row in rows {
        let _ = write!(html, "<figure>{}</figure>", dirty(row).svg()?);
    }
    html.push_str("</div></section>");
    foot(&mut html, &making);
    Ok(html)
}

fn table(rows: &[Row<'_>]) -> String {
    let cells = |line: Line| {
        let cell = |(at, text): (usize, &String)| {
            let class = if at < 2 { "" } else { " class=\"n\"" };
            format!("<td{class}>{}</td>", escaped(text))
        };
        format!("<tr>{}</tr>", line.iter().enumerate().map(cell).collect::<String>())
    };
    let names: String = beside::header().iter().map(|name| format!("<th>{name}</th>")).collect();
    let lines: String = beside::lines(rows).into_iter().map(cells).collect();
    format!("<div class=\"wide\"><table><tr>{names}</tr>{lines}</table></div>")
}

/// Draws the dirty blocks: over time in open loop, over requests in closed loop.
fn dirty(row: &Row<'_>) -> Picture {
    let timed = row.measured.labels.pacing == Pacing::Open.name();
    let line = |run: &RunResult, name: &str| {
        let point = |point: &Point| {
            let x = if timed { point.at_seconds } else { point.requests as f64 };
            (x, mib(point.dirty_blocks))
        };
        (name.to_owned(), run.series.iter().map(point).collect())
    };
    let simulated = row.simulated.map(|run| line(run, "simulated"));
    Picture {
        title: format!("{}: dirty in the cache (MiB)", row.measured.labels.policy),
        kind: Kind::Course {
            x_label: if timed { "seconds" } else { "requests" }.to_owned(),
            series: [Some(line(row.measured, "measured")), simulated]
                .into_iter()
                .flatten()
                .collect(),
        },
    }
}
