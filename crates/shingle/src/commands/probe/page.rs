//! The page of a probe: SAC's Figures 11, 12 and 10 of this disk.

use std::fmt::Write;

use shingle_core::units::BLOCK_BYTES;
use shingle_drive::profile::{BandFacts, Profile};
use shingle_probe::bands::{Seen, Strip};
use shingle_probe::findings::{Capacity, Findings};
use shingle_report::chart::{Kind, Picture, escaped};
use shingle_report::page::{Making, foot, head};
use shingle_result::verdict::count;

use super::render;
use crate::table::PIPED_WIDTH;

/// Bands that are drawn at most: evenly chosen.
const BANDS: usize = 6;

type Points = Vec<(f64, f64)>;

pub(super) fn page(
    findings: &Findings,
    profile: &Profile,
    making: &Making,
) -> anyhow::Result<String> {
    let mut html = head(&format!("shingle probe: {}", profile.name), STYLE);
    let _ =
        write!(html, "<pre>{}</pre>", escaped(&render::findings(findings, profile, PIPED_WIDTH)));
    section(
        &mut html,
        "Capacity of the buffer",
        "Writes at random places of an empty buffer, each place once. The cliff is the maximum of the \
         likelihood that slow writes come at one rate before it and at another after it (SAC §5.1, \
         Figure 11).",
        findings.capacities.iter().map(cliff),
    )?;
    let told: Vec<_> =
        findings.bands.iter().filter_map(|(seen, band)| Some((seen, (*band)?))).collect();
    let each = told.len().div_ceil(BANDS).max(1);
    section(
        &mut html,
        "Bands",
        "Reads in order, after blocks of the range were written and the drive was made to clean one band \
         of it: there the reads do not go to the buffer (SAC §5.2, Figure 12).",
        told.iter().step_by(each).map(|(seen, band)| band_picture(seen, band)),
    )?;
    if let Some(fit) = findings.cost_line() {
        let points: Points = findings.costs().iter().map(|&(x, us)| (x, us / 1e3)).collect();
        let last = points.iter().map(|point| point.0).fold(0.0, f64::max);
        let at = |x: f64| (x, (fit.line.intercept + fit.line.slope * x) / 1e3);
        let picture = Picture {
            title: "Drive time of a zone, ms".to_owned(),
            kind: Kind::Course {
                x_label: "blocks written of it".to_owned(),
                series: vec![
                    ("R(x)".to_owned(), vec![at(0.0), at(last)]),
                    ("measured".to_owned(), points),
                ],
            },
        };
        section(&mut html, "Cost of cleaning", "SAC §4.4, Figure 10.", std::iter::once(picture))?;
    }
    foot(&mut html, making);
    Ok(html)
}

fn section(
    html: &mut String,
    title: &str,
    about: &str,
    pictures: impl Iterator<Item = Picture>,
) -> anyhow::Result<()> {
    let mut pictures = pictures.peekable();
    if pictures.peek().is_none() {
        return Ok(());
    }
    let _ = write!(html, "<section><h2>{title}</h2><p>{about}</p><div class=\"pictures\">");
    for picture in pictures {
        let _ = write!(html, "<figure>{}</figure>", picture.svg()?);
    }
    html.push_str("</div></section>");
    Ok(())
}

/// Writes a second over time, and the cliff.
fn cliff(capacity: &Capacity) -> Picture {
    let fill = &capacity.fill;
    let bar = fill.bar_us as f64 / 1e6;
    let rate = |(at, &writes): (usize, &u32)| ((at as f64 + 0.5) * bar, f64::from(writes) / bar);
    let rates: Points = fill.course.iter().enumerate().map(rate).collect();
    let top = rates.iter().map(|point| point.1).fold(0.0, f64::max);
    let (bytes, depth) = (capacity.writes.blocks * BLOCK_BYTES, capacity.writes.depth);
    let mut series = vec![("writes a second".to_owned(), rates)];
    if let Some(change) = capacity.cliff {
        let slow = fill.slow.iter().find(|slow| slow.0 >= change.at);
        let at = slow.map_or(0.0, |slow| slow.1 as f64 / 1e6);
        let name = format!("full: {}", render::bytes(change.at * bytes));
        series.push((name, vec![(at, 0.0), (at, top)]));
    }
    let size = shingle_core::size::show_bytes(bytes);
    Picture {
        title: format!("Writes of {size}, {depth} at once"),
        kind: Kind::Course { x_label: "seconds".to_owned(), series },
    }
}

/// Latency of reads in order, and the band that was cleaned.
fn band_picture(seen: &Seen, band: &BandFacts) -> Picture {
    let origin = seen.strips.first().map_or(0, |strip| strip.first);
    let mib = |block: u64| ((block - origin) * BLOCK_BYTES) as f64 / f64::from(1 << 20);
    let points = |strip: &Strip| -> Points {
        let place = |at: usize| mib(strip.first + at as u64 * strip.step_blocks);
        strip.us.iter().enumerate().map(|(at, &us)| (place(at), us as f64 / 1e3)).collect()
    };
    let reads: Points = seen.strips.iter().flat_map(points).collect();
    let top = reads.iter().map(|point| point.1).fold(0.0, f64::max);
    let (from, to) = (mib(band.first_block), mib(band.first_block + band.blocks));
    let name = format!("cleaned: {}", render::bytes(band.blocks * BLOCK_BYTES));
    Picture {
        title: format!("Reads from block {} on, ms", count(origin)),
        kind: Kind::Course {
            x_label: "MiB from there".to_owned(),
            series: vec![
                ("read in order".to_owned(), reads),
                (name, vec![(from, 0.0), (from, top), (to, top), (to, 0.0)]),
            ],
        },
    }
}

const STYLE: &str = "pre{overflow-x:auto;background:var(--soft);padding:.8em;border-radius:3px}";
