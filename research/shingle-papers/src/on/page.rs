//! The report on a paper's orders over several traces, as one self-contained HTML page.

use std::fmt::Write;

use shingle_core::size::show_blocks;
use shingle_report::chart::{DrawError, Kind, Picture, Value, escaped};
use shingle_report::numbers::figure;
use shingle_report::page::{self, Making};

use super::{OnClaim, OnTrace, OnTraces, Outcome};

/// Makes the page.
///
/// # Errors
/// If a picture cannot be drawn.
pub fn page(result: &OnTraces, making: &Making) -> Result<String, DrawError> {
    let name = result.paper.to_uppercase();
    let mut html = page::head(&format!("{name}: its orders on these traces"), "");
    let _ = write!(
        html,
        "<p class=\"citation\">{}</p><p>The systems of the paper over each trace, with the paper's sizes or smaller \
         ones that are used up: caches of no more than a quarter of the different blocks, buffers of no more than an \
         eighth of those written. An order <em>holds</em> where each figure is strictly above the one before it. \
         Seed {}.</p>",
        escaped(result.citation),
        result.seed,
    );
    overview(&mut html, result);
    for claim in &result.claims {
        section(&mut html, result, claim)?;
    }
    page::foot(&mut html, making);
    Ok(html)
}

/// Adds a table with a row for each trace and a column for each claim.
fn overview(html: &mut String, result: &OnTraces) {
    html.push_str(
        "<h2>Where they hold</h2><div class=\"wide\"><table><thead><tr><th>Trace</th><th>Requests</th>\
         <th>Different blocks</th><th>Cache</th><th>Buffer</th>",
    );
    for claim in &result.claims {
        let _ = write!(html, "<th title=\"{}\">{}</th>", escaped(claim.says), escaped(claim.at));
    }
    html.push_str("</tr></thead><tbody>");
    for (nth, trace) in result.traces.iter().enumerate() {
        let OnTrace { name, requests, distinct_blocks, notes, .. } = trace;
        let size = |blocks: Option<u64>| blocks.map(show_blocks).unwrap_or_default();
        let notes: String = notes
            .iter()
            .map(|note| format!("<div class=\"why\">{}</div>", escaped(note)))
            .collect();
        let _ = write!(
            html,
            "<tr><td>{}{notes}</td><td class=\"n\">{requests}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td>",
            escaped(name),
            size(Some(*distinct_blocks)),
            size(trace.cache_blocks),
            size(trace.buffer_blocks),
        );
        for claim in &result.claims {
            let _ = write!(html, "{}", cell(claim.found[nth].outcome));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
}

fn cell(outcome: Outcome) -> String {
    let class = match outcome {
        Outcome::Holds => "yes",
        Outcome::DoesNotHold => "no",
        Outcome::NothingToCompare => "",
    };
    format!("<td class=\"{class}\">{}</td>", outcome.words())
}

fn section(html: &mut String, result: &OnTraces, claim: &OnClaim) -> Result<(), DrawError> {
    let chains: Vec<String> = claim.chains.iter().map(|chain| chain.join(" < ")).collect();
    let _ = write!(
        html,
        "<section><h2>{}: {}</h2><p>{}. To hold: {}.</p><div class=\"pictures\"><figure>{}</figure></div>\
         <div class=\"wide\"><table><thead><tr><th>Trace</th>",
        escaped(claim.at),
        escaped(claim.metric),
        escaped(claim.says),
        escaped(&chains.join(", ")),
        picture(result, claim).svg()?,
    );
    for system in &result.systems {
        let _ = write!(html, "<th>{}</th>", escaped(system));
    }
    html.push_str("<th>Order</th></tr></thead><tbody>");
    for (trace, found) in result.traces.iter().zip(&claim.found) {
        let _ = write!(html, "<tr><td>{}</td>", escaped(&trace.name));
        for value in &found.figures {
            let _ = write!(html, "<td class=\"n\">{}</td>", value.map(figure).unwrap_or_default());
        }
        let _ = write!(html, "{}</tr>", cell(found.outcome));
    }
    html.push_str("</tbody></table></div></section>");
    Ok(())
}

/// A bar chart with a group for each trace and a bar for each system, relative to the largest of
/// the trace.
fn picture(result: &OnTraces, claim: &OnClaim) -> Picture {
    let largest: Vec<f64> = claim
        .found
        .iter()
        .map(|found| found.figures.iter().flatten().copied().fold(0.0, f64::max))
        .collect();
    let series = result.systems.iter().enumerate().map(|(system, label)| {
        let values = claim.found.iter().zip(&largest).map(|(found, &largest)| {
            let part = found.figures[system].filter(|_| largest > 0.0).map(|value| value / largest);
            Value::over(&[part.unwrap_or(0.0)])
        });
        ((*label).to_owned(), values.collect())
    });
    Picture {
        title: format!("{}, ÷ the largest of the trace", claim.metric),
        kind: Kind::Bars {
            groups: result.traces.iter().map(|trace| trace.name.clone()).collect(),
            series: series.collect(),
            stacked: false,
        },
    }
}
