//! The pictures of `trace info`, and their page.

use std::fmt::Write;
use std::path::Path;

use shingle_core::size::{show_blocks, show_bytes};
use shingle_core::units::BLOCK_BYTES;
use shingle_report::chart::{Kind, Picture, Value, escaped};
use shingle_report::page::{self, Making};
use shingle_trace::analysis::POINTS;
use shingle_trace::analysis::curve::Curve;
use shingle_trace::analysis::histogram::Histogram;

use super::{About, ratio, text};
use crate::report;

/// Most labels that fit below a picture.
const NAMES: usize = 12;

/// Returns the pictures with the names of their files.
fn pictures(about: &About) -> Vec<(&'static str, Picture)> {
    let a = about.analysis;
    let sizes = [("reads", &a.sizes.read), ("writes", &a.sizes.write)];
    let distances = [("reuse", &a.reuse.reuse), ("update", &a.reuse.update)];
    let runs = [("reads", &a.sequential.read.lengths), ("writes", &a.sequential.write.lengths)];
    let blocks = |distance: u64| show_bytes(distance.saturating_mul(BLOCK_BYTES));
    let mut all = vec![
        ("miss-ratio", miss_ratio(about)),
        ("distances", bars("Other blocks since the last use (% of uses)", &distances, blocks)),
        ("sizes", bars("Sizes of requests (%)", &sizes, show_bytes)),
        ("runs", bars("Lengths of sequential runs (% of runs)", &runs, show_bytes)),
        ("load", load(about)),
    ];
    let periods = a.reuse.periods.points(POINTS);
    if !periods.is_empty() {
        let title = "Update periods of updated blocks (Amphisbaena, Fig. 2)";
        let labels = ("average update period (blocks)", "writes of a block");
        all.push(("periods", dots(title, labels, false, periods)));
    }
    if !a.range.points().is_empty() {
        let title = "Where is written (Amphisbaena, Fig. 3)";
        let (bytes, unit) = unit_of(about.summary.end_bytes);
        let up = |&(write, block): &(f64, f64)| (write, block * BLOCK_BYTES as f64 / bytes);
        let labels = ("writes so far", &*format!("address ({unit})"));
        all.push(("range", dots(title, labels, true, a.range.points().iter().map(up).collect())));
    }
    all
}

fn exactly(value: f64) -> Value {
    Value { mean: value, least: value, most: value }
}

/// Keeps at most [`NAMES`] of the labels: more would overlap.
fn thinned(names: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let each = names.len().div_ceil(NAMES).max(1);
    let shown = |(at, name): (usize, String)| if at % each == 0 { name } else { String::new() };
    names.enumerate().map(shown).collect()
}

/// Draws the miss ratio of caches of one block up to the whole footprint, in powers of two.
fn miss_ratio(about: &About) -> Picture {
    let last = about.summary.distinct_blocks.max(1).next_power_of_two();
    let caches: Vec<u64> = (0..=last.ilog2()).map(|power| 1 << power).collect();
    let series = |name: &str, curve: &Curve| {
        let misses = |&cache: &u64| {
            let missed = ratio(curve.at(cache).misses(), curve.accesses());
            exactly(100.0 * missed.unwrap_or(f64::NAN))
        };
        (name.to_owned(), caches.iter().map(misses).collect())
    };
    let reuse = &about.analysis.reuse;
    let series = vec![series("reads and writes", &reuse.all), series("writes only", &reuse.writes)];
    let places = thinned(caches.iter().copied().map(show_blocks));
    let title = "What LRU misses (%), by the size of the cache".to_owned();
    Picture { title, kind: Kind::Steps { places, series } }
}

/// Draws histograms side by side, each in percent of its own total.
fn bars(title: &str, of: &[(&str, &Histogram)], name: impl Fn(u64) -> String) -> Picture {
    let mut starts: Vec<u64> =
        of.iter().flat_map(|(_, histogram)| histogram.bins()).map(|bin| bin.from).collect();
    starts.sort_unstable();
    starts.dedup();
    let series = |(name, histogram): &(&str, &Histogram)| {
        let count = |&from: &u64| {
            let count = histogram.bins().find(|bin| bin.from == from).map_or(0, |bin| bin.count);
            exactly(100.0 * ratio(count, histogram.count()).unwrap_or(0.0))
        };
        ((*name).to_owned(), starts.iter().map(count).collect())
    };
    let series = of.iter().map(series).collect();
    let groups = thinned(starts.iter().map(|&from| name(from)));
    Picture { title: title.to_owned(), kind: Kind::Bars { groups, series, stacked: false } }
}

fn load(about: &About) -> Picture {
    let load = &about.analysis.load;
    let step = load.step.as_secs_f64();
    let (second, name) = time_unit(step * load.steps.len() as f64);
    let points = |bytes: &dyn Fn(usize) -> u64| {
        let at_time = |at: usize| (at as f64 + 0.5) * step / second;
        let mib = |at: usize| (at_time(at), bytes(at) as f64 / f64::from(1 << 20));
        (0..load.steps.len()).map(mib).collect()
    };
    let series = vec![
        ("read".to_owned(), points(&|at| load.steps[at].read_bytes)),
        ("written".to_owned(), points(&|at| load.steps[at].written_bytes)),
    ];
    let title = format!("MiB read and written in each {}", load.unit());
    Picture { title, kind: Kind::Course { x_label: format!("time ({name})"), series } }
}

fn dots(
    title: &str,
    (x_label, y_label): (&str, &str),
    linear: bool,
    dots: Vec<(f64, f64)>,
) -> Picture {
    let (x_label, y_label) = (x_label.to_owned(), y_label.to_owned());
    Picture { title: title.to_owned(), kind: Kind::Dots { x_label, y_label, linear, dots } }
}

/// Returns the unit that suits addresses up to `end_bytes`, in bytes and by name.
fn unit_of(end_bytes: u64) -> (f64, &'static str) {
    const UNITS: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let fits = |&(power, _): &(u32, &str)| end_bytes >> power >= 4;
    let (power, name) = UNITS.into_iter().find(fits).unwrap_or((0, "bytes"));
    ((1_u64 << power) as f64, name)
}

/// Returns the unit that suits times up to `seconds`, in seconds and by name.
fn time_unit(seconds: f64) -> (f64, &'static str) {
    match seconds {
        s if s < 300.0 => (1.0, "seconds"),
        s if s < 5.0 * 3_600.0 => (60.0, "minutes"),
        s if s < 4.0 * 86_400.0 => (3_600.0, "hours"),
        _ => (86_400.0, "days"),
    }
}

pub(super) fn page(about: &About, making: &Making) -> anyhow::Result<String> {
    let mut html = page::head(&format!("Trace {}", about.name), "");
    html.push_str("<div class=\"pictures\">");
    for (_, picture) in pictures(about) {
        let _ = write!(html, "<figure>{}</figure>", picture.svg()?);
    }
    html.push_str("</div><div class=\"wide\"><table><tbody>");
    for (name, figures) in text::pairs(about) {
        let _ = write!(html, "<tr><th>{}</th><td>{}</td></tr>", escaped(name), escaped(&figures));
    }
    html.push_str("</tbody></table></div>");
    page::foot(&mut html, making);
    Ok(html)
}

/// Saves each picture as a file of its own.
pub(super) fn save(about: &About, folder: &Path) -> anyhow::Result<()> {
    report::folder(folder)?;
    for (name, picture) in pictures(about) {
        report::save(&picture.svg()?, folder, name, false)?;
    }
    Ok(())
}
