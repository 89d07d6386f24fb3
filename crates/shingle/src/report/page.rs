//! The HTML page.

use std::fmt::Write;

use serde_json::Value;
use shingle_core::duration::{show_duration, show_micros};
use shingle_core::size::{show_blocks, show_bytes};
use shingle_report::chart::escaped;
use shingle_report::numbers::grouped;
use shingle_report::page::{Making, foot, head};
use shingle_result::verdict::{self, count};
use shingle_result::{Program, Report, RunResult};

use super::Drawn;
use super::names::{Names, SEED, shown};
use super::pictures::HEAT;
use super::said;
use crate::lines::{self, blocks_of};

/// With more runs than this, all figures are left to `--csv`.
const ALL_FIGURES: usize = 12;

pub(super) fn page(report: &Report, pictures: &[Drawn]) -> anyhow::Result<String> {
    let Program { version, command } = &report.shingle;
    let making = &Making { command: command.clone(), version: version.clone() };
    let runs: Vec<&RunResult> = report.runs.iter().collect();
    let names = Names::of(&report.runs);
    let style = [STYLE, said::STYLE].concat();
    let mut html = head(&format!("shingle: {}", report.trace.name), &style);
    let _ = write!(
        html,
        "<p>{} over {} requests.</p>",
        match runs.len() {
            1 => "One run".to_owned(),
            runs => format!("{} runs", count(runs as u64)),
        },
        count(report.trace.requests),
    );
    said::section(&mut html, report, &names);
    table(&mut html, &runs, &names);
    html.push_str("<section><h2>Charts</h2>");
    let maps = pictures.iter().any(|picture| picture.file.starts_with(HEAT));
    let _ = write!(
        html,
        "<p>{} show the best run of each policy, drive and translation, in the same colour \
         everywhere; bars then the best of the rest.{}</p><div class=\"pictures\">",
        if maps { "Lines and maps" } else { "Lines" },
        if maps { MAPS } else { "" }
    );
    for picture in pictures {
        let _ = write!(html, "<figure id=\"{}\">{}</figure>", picture.file, picture.svg);
    }
    html.push_str("</div></section>");
    configuration(&mut html, report, &names);
    all_figures(&mut html, report, &names)?;
    let _ = write!(html, "<script>{SCRIPT}</script>");
    // Names of traces can be of any length; hashes are short.
    let hashes: Vec<&str> = match &report.sweep {
        None => vec![&report.trace.hash],
        Some(sweep) => sweep.traces.iter().map(|trace| trace.info.hash.as_str()).collect(),
    };
    let _ = write!(
        html,
        "<p class=\"made\">Trace <code>{}</code>, hash of its requests {}.</p>",
        escaped(&report.trace.name),
        hashes.join(", ")
    );
    foot(&mut html, making);
    Ok(html)
}

/// The note on heat maps, where there are any.
const MAPS: &str = " Maps share one scale. Cells of a map are a hundredth of the requests and a row of \
    neighbouring zones of 5,000 blocks that the trace touches; what the disk is sent are evicted dirty \
    blocks, writes that bypass the cache, and zones that the host writes back.";

/// A figure of the table: its name, its value, and its format.
type Figure = (&'static str, fn(&RunResult) -> Option<f64>, fn(f64) -> String);

const FIGURES: [Figure; 14] = [
    ("hits %", |run| run.all.hits.ratio.map(|ratio| 100.0 * ratio), |v| format!("{v:.1}")),
    ("blocks read", |run| Some(run.all.drive_io.read_blocks as f64), grouped),
    ("written", |run| Some(run.all.drive_io.written_blocks as f64), grouped),
    ("RMWs", |run| Some(run.all.drive_io.rmw as f64), grouped),
    ("wa_band", |run| run.all.wa_band, |v| format!("{v:.2}")),
    ("wa_host", |run| run.all.wa_host, |v| format!("{v:.2}")),
    ("cleaning", |run| Some(run.all.seconds.by_cause.clean), show_duration),
    ("reading", |run| Some(run.all.seconds.by_cause.read), show_duration),
    ("done", |run| Some(run.all.seconds.total), show_duration),
    ("left", |run| Some(run.left.seconds), show_duration),
    ("done + left", |run| Some(verdict::done_and_left(run)), show_duration),
    ("mean", |run| Some(run.latency.mean_us), show_micros),
    ("99 %", |run| Some(run.latency.p99_us), show_micros),
    ("longest", |run| Some(run.latency.max_us), show_micros),
];

/// Writes the table of all runs, the best first; a script sorts and filters it, if scripts run.
fn table(html: &mut String, runs: &[&RunResult], names: &Names) {
    let open = runs.iter().any(|run| run.queue.is_some());
    let by = if open { "mean response time" } else { "I/O time, done and left" };
    let _ = write!(
        html,
        "<section><h2>Runs</h2><p>The best first, by {by}. Left is what the disk still has to do \
         when the trace ends; mean, 99 % and longest are response times."
    );
    if runs.len() > 1 {
        html.push_str(" A click on the head of a column sorts by it.");
    }
    html.push_str("</p>");
    if runs.len() > 10 {
        html.push_str(
            "<p class=\"control\"><label>Show runs with <input id=\"filter\" type=\"search\" \
             placeholder=\"sac 1 GiB\"></label> <span id=\"count\"></span></p>",
        );
    }
    html.push_str("<div class=\"wide runs\"><table id=\"runs\"><thead><tr>");
    for column in &names.columns {
        let _ = write!(html, "<th>{}</th>", escaped(column));
    }
    for (name, ..) in FIGURES {
        let _ = write!(html, "<th class=\"n\">{}</th>", escaped(name));
    }
    html.push_str("</tr></thead><tbody>");
    for at in verdict::ranking(runs) {
        let run = runs[at];
        html.push_str("<tr>");
        for (column, value) in names.columns.iter().zip(&names.values[at]) {
            // Sizes sort by their value, not by their text.
            let sorted = blocks_of(value).map(|blocks| format!(" data-v=\"{blocks}\""));
            let sorted = sorted.unwrap_or_default();
            let mark = if column == "policy" && run.labels.knows_bands { " †" } else { "" };
            let value = if value.is_empty() { "–".to_owned() } else { shown(column, value) };
            let _ = write!(html, "<td{sorted}>{}{mark}</td>", escaped(&value));
        }
        for (_, of, show) in FIGURES {
            let _ = match of(run) {
                Some(value) => {
                    write!(html, "<td class=\"n\" data-v=\"{value}\">{}</td>", show(value))
                }
                None => write!(html, "<td class=\"n\">–</td>"),
            };
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    if runs.iter().any(|run| run.labels.knows_bands) {
        html.push_str("<p>† knows the bands of the drive, which no host does.</p>");
    }
    if runs.iter().any(|run| run.queue.is_some_and(|queue| queue.overloaded)) {
        html.push_str(
            "<p>In some runs the queue still grew at the end: their mean says how long the trace is.</p>",
        );
    }
    html.push_str("</section>");
}

/// Writes what was run with which settings.
fn configuration(html: &mut String, report: &Report, names: &Names) {
    let trace = &report.trace;
    let share = 100.0 * trace.write_blocks as f64 / trace.blocks.max(1) as f64;
    let mut rows = vec![
        ("seed".to_owned(), report.seed.to_string()),
        ("trace".to_owned(), trace.name.clone()),
        ("hash of its requests".to_owned(), trace.hash.clone()),
        (
            "block accesses".to_owned(),
            format!("{}, {share:.1} % of them writes", count(trace.blocks)),
        ),
        ("different blocks".to_owned(), show_blocks(trace.distinct_blocks)),
        ("zones touched".to_owned(), show_bytes(trace.accessed_zone_bytes)),
        ("zones written".to_owned(), show_bytes(trace.written_zone_bytes)),
    ];
    // The seed of runs is the seed above, or a column of the table.
    let common = names.common.iter().filter(|(name, _)| name != SEED);
    rows.extend(common.map(|(name, value)| (name.clone(), shown(name, value))));
    html.push_str("<section><h2>Configuration</h2><div class=\"wide\"><table><tbody>");
    for (name, value) in rows {
        let _ = write!(html, "<tr><th>{}</th><td>{}</td></tr>", escaped(&name), escaped(&value));
    }
    html.push_str("</tbody></table></div></section>");
}

/// Writes all figures, folded.
fn all_figures(html: &mut String, report: &Report, names: &Names) -> anyhow::Result<()> {
    html.push_str("<section><h2>All figures</h2>");
    if report.runs.len() > ALL_FIGURES {
        html.push_str("<p>With so many runs: options --json, --csv and --parquet.</p></section>");
        return Ok(());
    }
    html.push_str("<details><summary>Every counter of every run</summary><div class=\"wide\">");
    html.push_str("<table><thead><tr><th></th>");
    for run in 0..report.runs.len() {
        let _ = write!(html, "<th class=\"n\">{}</th>", escaped(&names.name(run, &[])));
    }
    html.push_str("</tr></thead><tbody>");
    for column in lines::figures(report)? {
        // A figure that no run has is left out.
        if column.values.iter().all(Value::is_null) {
            continue;
        }
        let _ = write!(html, "<tr><td>{}</td>", escaped(&column.name));
        for value in &column.values {
            let _ = write!(html, "<td class=\"n\">{}</td>", escaped(&lines::plain(value)));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div></details></section>");
    Ok(())
}

const STYLE: &str = "\
.runs{max-height:70vh;overflow:auto}.runs thead th{position:sticky;top:0}\
#runs th{cursor:pointer;white-space:nowrap}#runs td{white-space:nowrap}\
tbody tr:hover{background:var(--soft)}tbody th{font-weight:normal}\
input{font:inherit;color:inherit;background:var(--soft);border:1px solid var(--line);\
border-radius:3px;padding:.2em .5em}td{overflow-wrap:anywhere}\
@media print{.runs{max-height:none;overflow:visible}.control{display:none}\
figure{break-inside:avoid}section{break-inside:auto}table{font-size:.72em}\
#runs{font-size:.62em}#runs th,#runs td{padding:.2em .3em}}";

/// Sorts and filters the table of runs.
const SCRIPT: &str = "\
const body=document.querySelector('#runs tbody'),rows=[...body.rows];\
const value=(row,at)=>{const cell=row.cells[at],v=cell.dataset.v;\
return v===undefined?cell.textContent:Number(v)};\
const order=(a,b)=>typeof a==='number'&&typeof b==='number'?a-b:\
typeof a==='number'?-1:typeof b==='number'?1:a.localeCompare(b,'en',{numeric:true});\
let by=-1,up=1;\
document.querySelectorAll('#runs th').forEach((head,at)=>head.addEventListener('click',()=>{\
up=by===at?-up:1;by=at;\
rows.sort((a,b)=>up*order(value(a,at),value(b,at))).forEach(row=>body.append(row))}));\
const filter=document.getElementById('filter');\
filter?.addEventListener('input',()=>{\
const words=filter.value.toLowerCase().split(/\\s+/).filter(word=>word);let shown=0;\
for(const row of rows){const text=row.textContent.toLowerCase();\
row.hidden=!words.every(word=>text.includes(word));shown+=row.hidden?0:1}\
document.getElementById('count').textContent=words.length?shown+' of '+rows.length:''});";
