//! One HTML page that works offline: verdicts, figures, pictures, and how all of it was made.

use std::fmt::Write;

use crate::chart::escaped;
use crate::numbers::{figure, spread};
use crate::result::{FigureResult, Reproduction, RowResult};
use crate::sensitivity::Sensitivity;
use crate::verdict::Verdict;

/// What the page tells about its own making.
#[derive(Clone, Debug)]
pub struct Making {
    /// The command that makes it again.
    pub command: String,
    /// Version of the program.
    pub version: &'static str,
}

/// The page.
#[must_use]
pub fn page(result: &Reproduction, sensitivity: Option<&Sensitivity>, making: &Making) -> String {
    let mut html = String::new();
    head(&mut html, result);
    verdicts(&mut html, result);
    for figure in &result.figures {
        section(&mut html, figure);
    }
    if let Some(sensitivity) = sensitivity {
        matrix(&mut html, sensitivity);
    }
    let _ = writeln!(
        html,
        "<footer><p>Made by <code>{}</code>, shingle {}.</p></footer></main></body></html>",
        escaped(&making.command),
        making.version
    );
    html
}

fn head(html: &mut String, result: &Reproduction) {
    let name = result.paper.to_uppercase();
    let seeds: Vec<String> = result.seeds.iter().map(u64::to_string).collect();
    let _ = write!(
        html,
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{name}: published and measured</title><style>{STYLE}</style></head><body><main>\
         <h1>{name}: published and measured</h1><p class=\"citation\">{}</p>\
         <p>Traces: {}. Seeds: {}.</p>",
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
}

/// How many statements agree, figure by figure.
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

/// `14` is a figure; `table-5` says itself what it is.
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
            row.published.map(figure).unwrap_or_default(),
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

/// All numbers of a figure, folded away.
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

/// How each verdict moves with each free parameter.
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

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c1c1e;--paper:#fff;--line:#d7d7db;--soft:#f4f4f6;\
--yes:#0a7d4f;--no:#b3261e}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e6e9;--paper:#17181a;--line:#3a3b40;\
--soft:#212226;--yes:#5fd3a2;--no:#ff8a80}}\
body{margin:0;background:var(--paper);color:var(--ink);\
font:15px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif}\
main{max-width:1320px;margin:0 auto;padding:1.5rem}\
h1{font-size:1.7rem;margin:.2rem 0}h2{font-size:1.2rem;margin:2.2rem 0 .4rem}\
p{max-width:80ch;margin:.4rem 0}.citation{font-style:italic}\
a{color:inherit}code{background:var(--soft);padding:.1em .3em;border-radius:3px}\
section{border-top:1px solid var(--line);margin-top:1.5rem}\
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(460px,1fr));gap:.8rem}\
figure{margin:.4rem 0;max-width:640px}svg{display:block;height:auto}\
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.6rem 0;font-size:.92em}\
th,td{border-bottom:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:top}\
th{background:var(--soft)}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
.yes{color:var(--yes)}.no{color:var(--no)}.why{color:var(--ink);max-width:50ch;font-size:.92em}\
.matrix td:first-child{max-width:42ch}.matrix td{white-space:nowrap}\
.matrix td:first-child{white-space:normal}\
details{margin:.4rem 0}summary{cursor:pointer}footer{margin-top:2rem;font-size:.9em}\
@media(max-width:520px){.pictures{grid-template-columns:1fr}}\
@media print{main{max-width:none}details{display:none}section{break-inside:avoid-page}}";
