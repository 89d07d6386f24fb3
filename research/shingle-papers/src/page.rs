//! The report of a reproduction, as one self-contained HTML page: verdicts, figures, pictures, and
//! how it was made.

use std::fmt::Write;

use shingle_report::chart::escaped;
use shingle_report::numbers::spread;
use shingle_report::page::{self, Making};

use crate::result::{FigureResult, Reproduction, RowResult};
use crate::sensitivity::Sensitivity;
use crate::verdict::Verdict;

/// Makes the page.
#[must_use]
pub fn page(result: &Reproduction, sensitivity: Option<&Sensitivity>, making: &Making) -> String {
    let name = result.paper.to_uppercase();
    let mut html = page::head(&format!("{name}: published and measured"), "");
    head(&mut html, result);
    verdicts(&mut html, result);
    for figure in &result.figures {
        section(&mut html, figure);
    }
    if let Some(sensitivity) = sensitivity {
        matrix(&mut html, sensitivity);
    }
    page::foot(&mut html, making);
    html
}

/// The caveat on reasons.
pub const REASONS: &str = "Reasons, and figures in them, are of runs at the default scale over the made volumes; at another scale, or over other \
                           traces, they may be others.";

fn head(html: &mut String, result: &Reproduction) {
    let seeds: Vec<String> = result.seeds.iter().map(u64::to_string).collect();
    let _ = write!(
        html,
        "<p class=\"citation\">{}</p><p>Traces: {}. Seeds: {}.</p>",
        escaped(result.citation),
        escaped(&result.traces),
        seeds.join(", ")
    );
    for sentence in &result.about {
        let _ = write!(html, "<p>{}</p>", escaped(sentence));
    }
    html.push_str(
        "<p>A statement <em>agrees in order</em> if every published strict order holds for all \
         seeds, and <em>agrees in size</em> if ours ÷ published lies within 1/1.5 to 1.5 for \
         factors, or within 5 points for percentages, for all seeds. Everything else \
         <em>disagrees</em>. Ranges run from the least to the most of the seeds.</p>",
    );
    let _ = write!(html, "<p>{REASONS}</p>");
}

/// Adds a table of the statements that agree, with a row for each figure.
fn verdicts(html: &mut String, result: &Reproduction) {
    html.push_str(
        "<h2>Verdicts</h2><div class=\"wide\"><table><thead><tr><th>Figure</th><th>What it shows</th>\
         <th>Statements</th><th>Agree</th><th>Scale</th></tr></thead><tbody>",
    );
    for figure in &result.figures {
        let agree = figure.rows.iter().filter(|row| row.verdict.agrees()).count();
        let _ = write!(
            html,
            "<tr><td><a href=\"#{id}\">{}</a></td><td>{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{agree}</td><td>{}</td></tr>",
            label(figure.id),
            escaped(figure.title),
            figure.rows.len(),
            escaped(&figure.scale.join("; ")),
            id = figure.id,
        );
    }
    html.push_str("</tbody></table></div>");
}

/// Formats the identifier of a figure: `14` is a figure, `table-5` a table.
#[must_use]
pub fn label(id: &str) -> String {
    match id.strip_prefix("table-") {
        Some(number) => format!("Table {number}"),
        None if id.starts_with(char::is_numeric) => format!("Figure {id}"),
        None => id.to_uppercase(),
    }
}

fn section(html: &mut String, figure: &FigureResult) {
    let _ = write!(
        html,
        "<section id=\"{}\"><h2>{}: {}</h2><p>{}</p>",
        figure.id,
        label(figure.id),
        escaped(figure.title),
        escaped(figure.how)
    );
    if !figure.scale.is_empty() {
        let _ = write!(html, "<p>Scale: {}.</p>", escaped(&figure.scale.join("; ")));
    }
    html.push_str("<div class=\"pictures\">");
    for (_, svg) in &figure.pictures {
        let _ = write!(html, "<figure>{svg}</figure>");
    }
    html.push_str("</div>");
    rows(html, &figure.rows);
    numbers(html, figure);
    html.push_str("</section>");
}

fn rows(html: &mut String, rows: &[RowResult]) {
    html.push_str(
        "<div class=\"wide\"><table><thead><tr><th>Published</th><th>Where</th><th>Theirs</th>\
         <th>Ours</th><th>Verdict</th></tr></thead><tbody>",
    );
    for row in rows {
        let class = if row.verdict == Verdict::Disagrees { "no" } else { "yes" };
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td>\
             <td class=\"{class}\">{}{}</td></tr>",
            escaped(row.says),
            escaped(row.at),
            row.theirs(),
            escaped(&row.shown),
            row.verdict.words(),
            if row.reason.is_empty() {
                String::new()
            } else {
                format!("<div class=\"why\">{}</div>", escaped(row.reason))
            }
        );
    }
    html.push_str("</tbody></table></div>");
}

/// Adds all numbers of a figure, in a collapsed element.
fn numbers(html: &mut String, of: &FigureResult) {
    let Some(first) = of.numbers.first() else { return };
    html.push_str("<details><summary>All numbers</summary><div class=\"wide\"><table>");
    if first.system.is_empty() {
        for (name, values) in &first.values {
            let value = spread(values);
            let name = escaped(name);
            let _ = write!(html, "<tr><td>{name}</td><td class=\"n\">{value}</td></tr>");
        }
    } else {
        html.push_str("<thead><tr><th>Trace</th><th></th><th>System</th>");
        for (name, _) in &first.values {
            let _ = write!(html, "<th>{}</th>", escaped(name));
        }
        html.push_str("</tr></thead><tbody>");
        for line in &of.numbers {
            let names = [&line.trace, &line.point, &line.system].map(|text| escaped(text));
            let [trace, point, system] = names;
            let _ = write!(html, "<tr><td>{trace}</td><td>{point}</td><td>{system}</td>");
            for (_, values) in &line.values {
                let _ = write!(html, "<td class=\"n\">{}</td>", spread(values));
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody>");
    }
    html.push_str("</table></div></details>");
}

/// Adds a table of verdicts by statement and free parameter.
fn matrix(html: &mut String, sensitivity: &Sensitivity) {
    let _ = write!(
        html,
        "<section id=\"sensitivity\"><h2>What no paper fixes</h2><p>{}</p>\
         <div class=\"wide\"><table class=\"matrix\"><thead><tr><th>Statement</th>",
        escaped(&sensitivity.about)
    );
    for variant in &sensitivity.variants {
        let _ = write!(html, "<th>{}</th>", escaped(&variant.label));
    }
    html.push_str("</tr></thead><tbody>");
    for (nth, statement) in sensitivity.statements.iter().enumerate() {
        let _ = write!(
            html,
            "<tr><td title=\"{}\">{}</td>",
            escaped(statement.says),
            escaped(&format!("{}: {}", label(statement.figure), statement.says))
        );
        for variant in &sensitivity.variants {
            let (verdict, shown) = &variant.findings[nth];
            let (class, mark) = if verdict.agrees() { ("yes", "✓") } else { ("no", "✗") };
            let shown = escaped(shown);
            let value = if shown.len() <= 16 { shown.as_str() } else { "" };
            let _ = write!(html, "<td class=\"{class}\" title=\"{shown}\">{mark} {value}</td>");
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div></section>");
}
