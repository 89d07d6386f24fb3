//! `shingle store top`: shows what served caches do, again and again.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::Args;
use shingle_core::size::show_blocks;
use shingle_store::measures::{Measures, Totals};
use shingle_store::store::control::{self, Answer, ControlError, Request};

use super::super::unexpected;
use super::socket;
use crate::cli::whole;
use crate::output::print;

#[derive(Debug, Args)]
pub(crate) struct Top {
    /// The SSD of a cache; several may be named. [default: all caches that this user serves]
    #[arg(long, value_name = "FILE|DEV")]
    cache: Vec<PathBuf>,
    /// Seconds between two updates: rates are averages over this time.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    every: f64,
    /// Number of updates. [default: until it is interrupted]
    #[arg(short = 'n', long, value_name = "N", value_parser = whole::<u64>)]
    times: Option<u64>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    let fits = (0.1..=3600.0).contains(&seconds);
    fits.then_some(seconds).ok_or_else(|| "from 0.1 to 3600".to_owned())
}

pub(super) fn execute(args: &Top) -> anyhow::Result<()> {
    let sockets = args.cache.iter().map(|ssd| socket(ssd));
    let named: Vec<PathBuf> = sockets.collect::<anyhow::Result<_>>()?;
    let look = || -> anyhow::Result<(Instant, Vec<Measures>)> {
        let all = if named.is_empty() { control::sockets()? } else { named.clone() };
        let mut found = Vec::new();
        for said in control::ask_all(&all, &Request::Measures) {
            found.extend(measures(said, named.is_empty())?);
        }
        found.sort_by(|one, two| (&one.export, &one.uuid).cmp(&(&two.export, &two.uuid)));
        Ok((Instant::now(), found))
    };
    let mut before = look()?;
    if before.1.is_empty() {
        bail!(
            "this user serves no cache with this XDG_RUNTIME_DIR; `shingle store serve` serves one"
        );
    }
    for _ in 0..args.times.unwrap_or(u64::MAX) {
        thread::sleep(Duration::from_secs_f64(args.every));
        let now = look()?;
        let over = now.0.duration_since(before.0).as_secs_f64();
        let text = table(&before.1, &now.1, over);
        // On a terminal each update replaces the previous one.
        let clear = if std::io::stdout().is_terminal() { "\x1b[H\x1b[2J" } else { "" };
        print(&format!("{clear}{text}"))?;
        before = now;
    }
    Ok(())
}

/// Returns the measures of an answer; `None` if the server has gone, or serves a zoned disk without a cache.
fn measures(
    said: Result<Answer, ControlError>,
    may_have_gone: bool,
) -> anyhow::Result<Option<Measures>> {
    match said {
        Ok(Answer::Measures(measures)) => Ok(Some(*measures)),
        Ok(Answer::Failed(_)) | Err(ControlError::NotServed(_)) if may_have_gone => Ok(None),
        Ok(Answer::Failed(why)) => bail!(why),
        Ok(other) => bail!(unexpected(&other)),
        Err(error) => Err(error.into()),
    }
}

const HEAD: [&str; 12] = [
    "export",
    "read/s",
    "MiB/s",
    "p99",
    "write/s",
    "MiB/s",
    "p99",
    "hits",
    "dirty",
    "oldest",
    "drain",
    "disk/user",
];

fn table(before: &[Measures], now: &[Measures], over: f64) -> String {
    let nothing = Totals::default();
    let mut rows: Vec<Vec<String>> = vec![HEAD.map(str::to_owned).to_vec()];
    let mut troubles = Vec::new();
    for one in now {
        let then = before.iter().find(|then| then.uuid == one.uuid).map(|then| &then.totals);
        rows.push(row(one, then.unwrap_or(&nothing), over));
        troubles.extend(trouble(one));
    }
    // (All caches of a server tell the same.)
    let missing = now.iter().flat_map(|one| &one.not_served);
    let missing = missing.map(|one| format!("{}: {one}", one.export));
    troubles.extend(missing.collect::<BTreeSet<_>>());
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| match at {
            0 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).chain(troubles).collect::<Vec<_>>().join("\n")
}

fn row(one: &Measures, then: &Totals, over: f64) -> Vec<String> {
    let (totals, now) = (&one.totals, &one.now);
    let requests = |at: usize| {
        let (of, then) = (&totals.requests[at], &then.requests[at]);
        let times = of.times.since(&then.times);
        let bytes = of.bytes.saturating_sub(then.bytes) as f64;
        [
            format!("{:.0}", times.count() as f64 / over),
            format!("{:.1}", bytes / over / f64::from(1 << 20)),
            times.quantile(0.99).map_or("–".to_owned(), |time| time.to_string()),
        ]
    };
    let counts = |of: &Totals| {
        let counts = &of.counts;
        let hits = counts.read_hits + counts.write_hits;
        (hits, hits + counts.read_misses + counts.write_misses)
    };
    let ((hits, all), (hits_then, all_then)) = (counts(totals), counts(then));
    let (hits, all) = (hits.saturating_sub(hits_then), all.saturating_sub(all_then));
    // Totals since the start: what is written now belongs to requests of long ago.
    let (disk, user) = (totals.devices[1].written_bytes, totals.requests[1].bytes);
    let export = if one.export.is_empty() { &one.ssd } else { &one.export };
    let [reads, read, read_p99] = requests(0);
    let [writes, written, write_p99] = requests(1);
    let ratio = |part: f64, all: f64| if all > 0.0 { Some(part / all) } else { None };
    vec![
        export.clone(),
        reads,
        read,
        read_p99,
        writes,
        written,
        write_p99,
        ratio(hits as f64, all as f64).map_or("–".to_owned(), |r| format!("{:.1} %", 100.0 * r)),
        show_blocks(now.dirty_blocks),
        time(now.oldest_dirty_ns as f64 / 1e9),
        now.drain_seconds.map_or("–".to_owned(), time),
        ratio(disk as f64, user as f64).map_or("–".to_owned(), |r| format!("{r:.2}")),
    ]
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}

/// What an operator must know besides the figures.
fn trouble(one: &Measures) -> Vec<String> {
    let (now, errors) = (&one.now, &one.totals.errors);
    let export = if one.export.is_empty() { &one.ssd } else { &one.export };
    let silent = |device: usize, name: &str| {
        let age = now.ios[device].unresponsive_for().unwrap_or_default();
        (!age.is_zero(), format!("the {name} has not answered for {}", time(age.as_secs_f64())))
    };
    let told = [
        (!one.up, "its store does not answer; all else is as it was".to_owned()),
        silent(0, "SSD"),
        silent(1, "disk"),
        (now.destages_refused, "the disk does not take what is destaged".to_owned()),
        (errors.ssd_failed, "the SSD takes no more writes".to_owned()),
        (now.lost_blocks > 0, format!("{} are lost", show_blocks(now.lost_blocks))),
    ];
    let told = told.into_iter().filter(|(is, _)| *is).map(|(_, text)| text);
    let misplaced = one.misplaced.iter().map(ToString::to_string);
    told.chain(one.writes_refused())
        .chain(misplaced)
        .map(|text| format!("{export}: {text}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use shingle_store::measures::NotServed;

    use super::*;

    #[test]
    fn rates_are_of_the_time_between_two_looks() {
        let mut now = Measures { export: "home".to_owned(), up: true, ..Measures::default() };
        now.totals.requests[1].bytes = 10 << 20;
        now.totals.devices[1].written_bytes = 5 << 20;
        for _ in 0..20 {
            now.totals.requests[1].times.add(Duration::from_micros(150));
        }
        now.totals.counts.write_hits = 3;
        now.totals.counts.write_misses = 1;
        (now.now.dirty_blocks, now.now.oldest_dirty_ns) = (256, 3_600_000_000_000);
        now.now.ios[1].oldest_ns = 41_000_000_000;
        let text = table(&[], &[now.clone()], 2.0);
        let lines: Vec<&str> = text.lines().collect();
        let words: Vec<&str> =
            lines[1].split("  ").map(str::trim).filter(|w| !w.is_empty()).collect();
        let expected = [
            "home",
            "0",
            "0.0",
            "–",
            "10",
            "5.0",
            "≤ 200µs",
            "75.0 %",
            "1 MiB",
            "60 min",
            "–",
            "0.50",
        ];
        assert_eq!(words, expected, "{text}");
        assert_eq!(lines[2], "home: the disk has not answered for 41 s");
        let missing =
            NotServed { export: "mail".to_owned(), why: "gone".to_owned(), ..NotServed::default() };
        let both = [now.clone(), now.clone()]
            .map(|one| Measures { not_served: vec![missing.clone()], ..one });
        let text = table(&[], &both, 2.0);
        let told = "mail: not served: gone; a reload (SIGHUP) tries it again";
        assert_eq!(text.lines().filter(|line| *line == told).count(), 1, "{text}");
        let writes_refused = Some("the map has no room".to_owned());
        let zoned = Some(shingle_translated::Status { writes_refused, ..Default::default() });
        let text = table(&[], &[Measures { zoned, ..now.clone() }], 2.0);
        let told = "home: writes to the disk are refused: the map has no room";
        assert!(text.lines().any(|line| line == told), "{text}");
        let again = table(&[now.clone()], &[now], 2.0);
        assert!(again.lines().nth(1).is_some_and(|line| line.contains("–")), "{again}");
    }
}
