//! Tables for people. Every figure in them is in the JSON too.

mod fit;
mod grid;
#[cfg(feature = "papers")]
mod reproduction;

use comfy_table::presets::{NOTHING, UTF8_FULL_CONDENSED};
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table};
use shingle_core::duration::{show_duration as seconds, show_micros as micros};
use shingle_core::size::show_bytes;
use shingle_core::units::BLOCK_BYTES;
use shingle_drive::drive::Translating;
use shingle_result::{
    Counts, Erases, Flash, Measured, Point, Report, RunResult, Said, SaidKind,
    verdict::{self, Group, count},
};

use crate::cli::Color;
use fit::Figures;
pub(crate) use fit::wrapped;
pub(crate) use grid::{sweep, targets};
#[cfg(feature = "papers")]
pub(crate) use reproduction::reproduction;

fn table(color: Color) -> Table {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(fit::width()).unwrap_or(u16::MAX));
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match color {
        Color::Always => {
            table.enforce_styling();
        }
        Color::Auto if !plain => {}
        Color::Auto | Color::Never => {
            table.force_no_tty();
        }
    }
    table
}

/// Names and what they stand for.
pub(crate) fn pairs(rows: &[(impl ToString, String)], color: Color) -> String {
    let mut table = table(color);
    table.load_style(NOTHING);
    for (name, text) in rows {
        table.add_row(vec![
            Cell::new(name.to_string()).add_attribute(Attribute::Bold),
            Cell::new(text),
        ]);
    }
    table.trim_fmt()
}

/// A plain table.
pub(crate) fn rows<const N: usize>(
    header: [&str; N],
    rows: &[[String; N]],
    color: Color,
) -> String {
    let mut table = table(color);
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    table.to_string()
}

/// A table of figures with a name for each row.
pub(crate) fn figure_rows<const N: usize>(
    header: [&str; N],
    rows: &[[String; N]],
    color: Color,
) -> String {
    let mut table = Figures::new(color, &[]);
    table.set_header(header);
    for row in rows {
        let cell = |(at, text): (usize, &String)| {
            let side = if at == 0 { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(text).set_alignment(side)
        };
        table.add_row(row.iter().enumerate().map(cell));
    }
    table.to_string()
}

/// The result of `compare`: a table for each drive and cache size, and what it says in words.
pub(crate) fn comparison(report: &Report, baselines: &[bool], color: Color) -> String {
    let mut text = heading(report);
    for group in verdict::groups(&report.runs) {
        text += &one_group(report, &group, baselines, color);
    }
    text
}

/// What is said of runs that were compared with each other, a line each.
fn said(report: &Report, compared: &[usize]) -> String {
    let said = report.said.iter().filter(|said| said.compared == compared);
    said.map(|said| wrapped(&said.text) + "\n").collect()
}

/// The result of `compare` over several seeds: least and most of each figure. `runs_each` is the
/// number of runs of one seed.
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
                format!("{}, {}", title(run), show_bytes(run.labels.cache_blocks * BLOCK_BYTES)),
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
    // Verdicts on all seeds together, and what is to be taken with care under any of them.
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

/// The drive, and what is over it.
fn title(run: &RunResult) -> String {
    match &run.labels.translation {
        None => run.labels.drive.clone(),
        Some(translation) => format!("{translation} over {}", run.labels.drive),
    }
}

fn heading(report: &Report) -> String {
    let trace = &report.trace;
    wrapped(&format!(
        "{}: {} requests, {} block accesses ({:.1} % writes), zones touched {}, seed {}\n",
        trace.name,
        count(trace.requests),
        count(trace.blocks),
        100.0 * trace.write_blocks as f64 / trace.blocks.max(1) as f64,
        show_bytes(trace.accessed_zone_bytes),
        report.seed,
    ))
}

/// Columns of a comparison that narrow lines do without, the first of them first.
const DISPENSABLE: &[&str] =
    &["written", "blocks read", "wa_host", "disk busy", "cleaning", "hits", "RMWs"];

fn one_group(report: &Report, group: &Group, baselines: &[bool], color: Color) -> String {
    let runs: Vec<&RunResult> = group.runs.iter().map(|&i| &report.runs[i]).collect();
    let first = runs[0];
    let open = first.queue.is_some();
    let translations = runs.iter().any(|run| run.labels.translation != first.labels.translation);
    let over = if translations { first.labels.drive.clone() } else { title(first) };
    let mut text = format!("\n{over}, cache {}", show_bytes(group.cache_blocks * BLOCK_BYTES));
    match first.labels.drive_parameters.get("pb").map(String::as_str) {
        Some("real") => text += ", buffer as built",
        Some(blocks) => {
            let blocks: u64 = blocks.trim_end_matches('b').parse().unwrap_or(0);
            text += &format!(", buffer {}", show_bytes(blocks * BLOCK_BYTES));
        }
        None => {}
    }
    // (A disk without a cache, beside them, is served one request after another.)
    let depth = runs.iter().find_map(|run| run.labels.parameters.get("depth"));
    let stores = runs.iter().any(|run| run.labels.parameters.contains_key("as"));
    text += if stores { ", as a store" } else { "" };
    text += &match depth {
        _ if open => ", at the trace's own pace\n".to_owned(),
        Some(depth) => format!(", {depth} requests at a time\n"),
        None => ", one request after another\n".to_owned(),
    };

    let mut table = Figures::new(color, DISPENSABLE);
    let mut header = vec!["policy"];
    header.extend(translations.then_some("translation"));
    header.extend(["hits", "blocks read", "written", "RMWs", "wa_host"]);
    header.extend(if open {
        ["mean", "99 %", "disk busy", "left"]
    } else {
        ["cleaning", "done", "left", "done + left"]
    });
    table.set_header(header);
    for at in verdict::ranking(&runs) {
        let run = runs[at];
        let bands = if run.labels.knows_bands { " †" } else { "" };
        let mut cells = vec![Cell::new(format!("{}{bands}", run.labels.policy))];
        if translations {
            cells.push(Cell::new(run.labels.translation.as_deref().unwrap_or("-")));
        }
        let figures = figures(run);
        cells.extend(figures.into_iter().map(|f| Cell::new(f).set_alignment(CellAlignment::Right)));
        if baselines.get(group.runs[at]).copied().unwrap_or(false) {
            cells = cells.into_iter().map(|cell| cell.add_attribute(Attribute::Dim)).collect();
        }
        table.add_row(cells);
    }
    text += &table.to_string();
    text.push('\n');
    if runs.iter().any(|run| run.labels.knows_bands) {
        text += "† knows the bands of the drive, which no host does\n";
    }
    text + &said(report, &group.runs)
}

fn figures(run: &RunResult) -> Vec<String> {
    let c = &run.all;
    let mut figures = vec![
        c.hits.ratio.map_or("-".into(), |ratio| format!("{:.1} %", 100.0 * ratio)),
        count(c.drive_io.read_blocks),
        count(c.drive_io.written_blocks),
        count(c.drive_io.rmw),
        ratio(c.wa_host),
    ];
    match run.queue {
        Some(queue) => figures.extend([
            micros(run.latency.mean_us) + if queue.overloaded { " !" } else { "" },
            micros(run.latency.p99_us),
            format!("{:.1} %", 100.0 * queue.disk_utilisation),
            seconds(run.left.seconds),
        ]),
        None => figures.extend([
            seconds(c.seconds.by_cause.clean),
            seconds(c.seconds.total),
            seconds(run.left.seconds),
            seconds(verdict::done_and_left(run)),
        ]),
    }
    figures
}

fn ratio(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.2}"))
}

/// The result of `run`.
pub(crate) fn run(report: &Report, color: Color) -> String {
    let mut text = heading(report);
    for run in &report.runs {
        text += &one_run(run, color);
    }
    for group in verdict::groups(&report.runs) {
        text += &said(report, &group.runs);
    }
    text
}

fn one_run(run: &RunResult, color: Color) -> String {
    let settings = |of: &std::collections::BTreeMap<String, String>| {
        of.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    // (A drive that is no model has none.)
    let line = |of: &str, set| match settings(set) {
        none if none.is_empty() => none,
        some => format!("  {of}: {some}\n"),
    };
    let mut text = wrapped(&format!(
        "{} on {}, cache {} of {}, {} loop\n  {}\n{}{}\n",
        run.labels.policy,
        title(run),
        show_bytes(run.labels.cache_blocks * BLOCK_BYTES),
        run.labels.ssd,
        if run.labels.pacing == "closed" { "closed" } else { "open" },
        settings(&run.labels.parameters),
        line("drive", &run.labels.drive_parameters),
        run.labels
            .translation_parameters
            .as_ref()
            .map_or(String::new(), |set| line("translation", set)),
    ));
    let (zones, flash) = (has_zones(&run.all), run.all.wa_flash.is_some());
    let modelled = run.measured.as_ref().is_none_or(|measured| measured.emulated);
    let shown = |c: &Counts| {
        let mut lines = counters(c);
        if !modelled {
            lines.retain(|(name, _)| !WITHIN_THE_DISK.contains(name));
        }
        lines.extend(if zones { of_zones(c) } else { Vec::new() });
        lines.extend(if flash { of_flash(c) } else { Vec::new() });
        lines
    };
    let all = shown(&run.all);
    let warm = run.warm_from.map(|_| shown(&run.warm));
    let filled: Vec<[String; 3]> = all
        .iter()
        .enumerate()
        .map(|(at, (name, value))| {
            let warm = warm.as_ref().map_or("-".into(), |warm| warm[at].1.clone());
            [(*name).to_owned(), value.clone(), warm]
        })
        .collect();
    text += &rows(["counter", "all", "since the cache was full"], &filled, color);
    text += "\n\n";
    text += &wrapped(&in_words(run, modelled));
    text += &format!("\n{}\n", histogram(run, color));
    if run.series.is_empty() { text } else { text + "\n" + &series(run, color) + "\n" }
}

/// What is left, how long requests took, and what else is not a counter.
fn in_words(run: &RunResult, modelled: bool) -> String {
    let mut text =
        format!("left undone: {} dirty blocks in the cache", count(run.left.dirty_blocks));
    if modelled {
        let (blocks, bands) = (count(run.left.buffer_blocks), count(run.left.buffer_bands));
        text += &format!(", {blocks} blocks of {bands} bands in the buffer");
    }
    if run.measured.is_none() || run.left.seconds > 0.0 {
        text += &format!("; {}", seconds(run.left.seconds));
    }
    text.push('\n');
    if let Some(bytes) = run.memory.bytes_per_slot {
        text += &format!(
            "memory: {bytes:.0} bytes a slot, {} for zones\n",
            show_bytes(run.memory.zone_bytes)
        );
    }
    let l = &run.latency;
    text += &format!(
        "response times: mean {}, 50 % {}, 99 % {}, 99.9 % {}, longest {}\n",
        micros(l.mean_us),
        micros(l.p50_us),
        micros(l.p99_us),
        micros(l.p999_us),
        micros(l.max_us),
    );
    if let Some(measured) = &run.measured {
        text += &measured_in(run, measured);
    }
    if let Some(queue) = run.queue {
        text += &format!(
            "disk busy {:.1} %, SSD busy {:.1} %, longest queue {}{}\n",
            100.0 * queue.disk_utilisation,
            100.0 * queue.ssd_utilisation,
            count(queue.longest),
            if queue.overloaded { ", OVERLOADED: the queue still grew at the end" } else { "" },
        );
    }
    if let Some(flash) = &run.flash {
        text += &inside(flash);
    }
    if let Some(did) = &run.translation_counters {
        text += &translated(did);
    }
    if let Some(reads) = run.checked_reads {
        text += &format!("{} blocks read were checked: each was the last written\n", count(reads));
    }
    text
}

/// Counters that only a model of the disk has.
const WITHIN_THE_DISK: &[&str] = &[
    "RMWs; cleanings without reading",
    "of these, truncated",
    "cleaning: read, written to bands",
    "written in place; to the buffer",
    "buffer: blocks read, written",
    "buffer: rewritten, evicted",
    "wa_band, wa_drive, wa_host",
    "by cause: buffer, in place",
    "by cause: cleaning; in idle time",
];

/// What only a real run has.
fn measured_in(run: &RunResult, measured: &Measured) -> String {
    let mut text = format!("measured: {} in all", seconds(run.wall.seconds));
    if let Some(depth) = measured.depth {
        text += &format!(", {depth} requests under way at a time");
    }
    if measured.failed_requests + measured.failed_ios > 0 {
        let (requests, ios) = (count(measured.failed_requests), count(measured.failed_ios));
        text += &format!("; {requests} requests and {ios} I/Os failed");
    }
    text + "\n"
}

/// What the flash inside the disk did, and how worn it is.
fn inside(flash: &Flash) -> String {
    let spread = |erases: &Erases| {
        format!(
            "{} of {} erase blocks each, {:.1} on average, deviation {:.1}",
            match erases.min == erases.max {
                true => erases.min.to_string(),
                false => format!("{} to {}", erases.min, erases.max),
            },
            count(erases.blocks),
            erases.mean,
            erases.stddev,
        )
    };
    let mut text = format!(
        "flash inside: {} blocks written, {} read, {} written back; {} pages copied, of these {} to \
         another region; wa_flash {}\nerases: {}; {}\n",
        count(flash.written_blocks),
        count(flash.read_blocks),
        count(flash.evicted_blocks),
        count(flash.copied_blocks),
        count(flash.migrated_blocks),
        ratio(flash.wa_flash),
        count(flash.erases),
        spread(&flash.all),
    );
    if flash.regions.len() > 1 {
        for region in &flash.regions {
            text += &format!("  {}: {}\n", region.name, spread(&region.erases));
        }
    }
    if let Some(lifetime) = flash.lifetime {
        text += &format!(
            "lasts for {} written with {} erases a block, {} if they were spread evenly\n",
            show_bytes(lifetime.worst_bytes as u64),
            count(u64::from(flash.endurance)),
            show_bytes(lifetime.even_bytes as u64),
        );
    }
    text
}

/// What the translation did, in the terms of Amphisbaena's figures 13 to 17 and 24.
fn translated(did: &Translating) -> String {
    let share = |part: u64, whole: u64| match whole {
        0 => "-".into(),
        whole => format!("{:.2} %", 100.0 * part as f64 / whole as f64),
    };
    let mean = did.evicted_blocks as f64 / did.victims.max(1) as f64;
    format!(
        "translation: write hits {}, of all writes {} in the buffer for hot blocks; {} cleanings \
         wrote {} zones back, {:.1} blocks each, {} collections stopped early\npadding: {} blocks in \
         gaps, {} with all rewritings; {} blocks moved within the buffer; chunks to hot {}, back \
         {}; memory {}\n",
        share(did.write_hits, did.written_blocks),
        share(did.hot_hits, did.written_blocks),
        count(did.cleanings),
        count(did.victims),
        mean,
        count(did.aborted),
        count(did.padded_first_blocks),
        count(did.padded_blocks),
        count(did.moved_blocks),
        count(did.chunks_to_hot),
        count(did.chunks_to_cold),
        show_bytes(did.memory_bytes),
    )
}

fn histogram(run: &RunResult, color: Color) -> String {
    let most = run.histogram.iter().map(|bar| bar.requests).max().unwrap_or(1);
    let bars: Vec<[String; 3]> = run
        .histogram
        .iter()
        .map(|bar| {
            let length = (bar.requests * 40).div_ceil(most) as usize;
            [micros(bar.up_to_us), count(bar.requests), "▒".repeat(length)]
        })
        .collect();
    rows(["up to", "requests", ""], &bars, color)
}

/// Lines of the course of a run.
const COURSE_LINES: usize = 20;

fn series(run: &RunResult, color: Color) -> String {
    let several = run.series.chunks(run.series.len().div_ceil(COURSE_LINES).max(1));
    let points: Vec<[String; 7]> = several
        .filter_map(|several| {
            let end = several.last()?;
            let sum = |of: fn(&Point) -> f64| several.iter().map(of).sum::<f64>();
            let blocks = sum(|point| point.blocks as f64);
            let hits = sum(|point| point.hit_ratio.unwrap_or(0.0) * point.blocks as f64);
            Some([
                count(end.requests),
                seconds(sum(|point| point.seconds)),
                seconds(sum(|point| point.clean_seconds)),
                if blocks > 0.0 { format!("{:.1} %", 100.0 * hits / blocks) } else { "-".into() },
                count(several.iter().map(|point| point.rmw).sum()),
                count(end.dirty_blocks),
                count(end.buffer_blocks),
            ])
        })
        .collect();
    let header = [
        "requests so far",
        "I/O time",
        "cleaning",
        "hits",
        "RMWs",
        "dirty blocks",
        "in the buffer",
    ];
    rows(header, &points, color)
}

/// Whether something happened that only drives with write pointers know.
fn has_zones(c: &Counts) -> bool {
    let disk = &c.drive_io;
    let made_up = disk.synthesized_blocks + disk.beyond_pointer_blocks;
    disk.zone_resets + disk.zone_closes + made_up + c.pb.moved_blocks > 0
}

/// What only drives with write pointers count.
fn of_zones(c: &Counts) -> Vec<(&'static str, String)> {
    let (disk, host) = (&c.drive_io, &c.host_rmw);
    vec![
        (
            "host RMWs: zones; blocks read, written",
            format!(
                "{}; {}, {}",
                count(host.zones),
                count(host.read_blocks),
                count(host.written_blocks)
            ),
        ),
        (
            "zones reset, closed for others",
            format!("{}, {}", count(disk.zone_resets), count(disk.zone_closes)),
        ),
        (
            "blocks made up: in gaps, for reads",
            format!("{}, {}", count(disk.synthesized_blocks), count(disk.beyond_pointer_blocks)),
        ),
        ("blocks moved within the buffer", count(c.pb.moved_blocks)),
    ]
}

/// What only SSDs with flash inside count.
fn of_flash(c: &Counts) -> Vec<(&'static str, String)> {
    vec![
        (
            "flash: pages programmed, of these copied",
            format!("{}, {}", count(c.ssd.programmed_blocks), count(c.ssd.copied_blocks)),
        ),
        (
            "flash: blocks erased; wa_flash",
            format!("{}; {}", count(c.ssd.erases), ratio(c.wa_flash)),
        ),
    ]
}

fn counters(c: &Counts) -> Vec<(&'static str, String)> {
    let bytes = show_bytes;
    vec![
        (
            "requests: reads, writes",
            format!("{}, {}", count(c.requests.read), count(c.requests.write)),
        ),
        (
            "requests: trims, flushes",
            format!("{}, {}", count(c.requests.trim), count(c.requests.flush)),
        ),
        (
            "hits: blocks read, written",
            format!("{}, {}", count(c.hits.read_blocks), count(c.hits.write_blocks)),
        ),
        ("hit ratio", c.hits.ratio.map_or("-".into(), |ratio| format!("{:.2} %", 100.0 * ratio))),
        (
            "bypass: blocks read, written",
            format!("{}, {}", count(c.bypass.read_blocks), count(c.bypass.write_blocks)),
        ),
        ("fills of partly written blocks", count(c.fills)),
        (
            "evicted: clean, dirty",
            format!("{}, {}", count(c.evictions.clean_blocks), count(c.evictions.dirty_blocks)),
        ),
        (
            "SSD: blocks read, written",
            format!("{}, {}", count(c.ssd.read_blocks), count(c.ssd.written_blocks)),
        ),
        (
            "disk: blocks read, written",
            format!("{}, {}", count(c.drive_io.read_blocks), count(c.drive_io.written_blocks)),
        ),
        (
            "RMWs; cleanings without reading",
            format!("{}; {}", count(c.drive_io.rmw), count(c.drive_io.rmw_free)),
        ),
        ("of these, truncated", count(c.drive_io.truncated)),
        (
            "cleaning: read, written to bands",
            format!(
                "{}, {}",
                bytes(c.drive_io.rmw_read_bytes),
                bytes(c.drive_io.band_bytes_written)
            ),
        ),
        (
            "written in place; to the buffer",
            format!(
                "{}; {}",
                bytes(c.drive_io.native_bytes_written),
                bytes(c.drive_io.log_bytes_written)
            ),
        ),
        (
            "buffer: blocks read, written",
            format!("{}, {}", count(c.pb.read_blocks), count(c.pb.written_blocks)),
        ),
        (
            "buffer: rewritten, evicted",
            format!("{}, {}", count(c.pb.write_hits), count(c.pb.evicted_blocks)),
        ),
        (
            "wa_band, wa_drive, wa_host",
            format!("{}, {}, {}", ratio(c.wa_band), ratio(c.wa_drive), ratio(c.wa_host)),
        ),
        ("device time", seconds(c.seconds.total)),
        (
            "by call: SSD read, write",
            format!(
                "{}, {}",
                seconds(c.seconds.by_call.ssd_read),
                seconds(c.seconds.by_call.ssd_write)
            ),
        ),
        (
            "by call: disk read, write",
            format!(
                "{}, {}",
                seconds(c.seconds.by_call.drive_read),
                seconds(c.seconds.by_call.drive_write)
            ),
        ),
        (
            "by cause: SSD, reading",
            format!("{}, {}", seconds(c.seconds.by_cause.ssd), seconds(c.seconds.by_cause.read)),
        ),
        (
            "by cause: buffer, in place",
            format!("{}, {}", seconds(c.seconds.by_cause.log), seconds(c.seconds.by_cause.write)),
        ),
        (
            "by cause: cleaning; in idle time",
            format!(
                "{}; {}",
                seconds(c.seconds.by_cause.clean),
                seconds(c.seconds.by_cause.idle_clean)
            ),
        ),
    ]
}
