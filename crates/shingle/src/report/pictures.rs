//! The pictures of a page: the results of runs, as far as they were recorded.

use shingle_core::size::show_bytes;
use shingle_report::chart::{Kind, Picture, Value};
use shingle_result::{ByCause, Heat, Point, Report, RunResult, verdict};

use super::mib;
use super::names::{CACHE, Names, SEED};

const BARS: usize = 16;
/// Most lines in a picture: more cannot be told apart.
const LINES: usize = 6;
/// The prefix of the names of heat maps.
pub(super) const HEAT: &str = "heat";
/// Most heat maps, besides that of the host's writes.
const MAPS: usize = 4;

pub(crate) type Named = (&'static str, Picture);

/// Returns all pictures that `report` has data for, with the names of their files.
pub(crate) fn pictures(report: &Report) -> Vec<Named> {
    let runs: Vec<&RunResult> = report.runs.iter().collect();
    let counterparts = match report.sweep {
        None => verdict::counterparts(&report.runs),
        Some(_) => (0..runs.len()).collect(),
    };
    let all = All {
        names: Names::of(&report.runs),
        ranking: verdict::ranking(&runs),
        counterparts,
        runs,
    };
    let mut pictures = vec![("io-time", all.io_time())];
    pictures.extend(all.by_cache());
    pictures.push(("response-times", all.response_times()));
    pictures.extend(all.histogram());
    pictures.extend(all.course());
    pictures.extend(all.heat());
    pictures
}

struct All<'a> {
    runs: Vec<&'a RunResult>,
    names: Names,
    /// The best first.
    ranking: Vec<usize>,
    /// For each run, the run of the first seed that differs only in the seed. Sizes that are a
    /// share of the trace, such as the cache, differ by seed.
    counterparts: Vec<usize>,
}

impl All<'_> {
    /// Returns the name of a run without cache size and seed, which all runs of one line share.
    fn kind(&self, run: usize) -> String {
        self.names.name(self.counterparts[run], &[CACHE, SEED])
    }

    /// Returns the best run of each kind, the best first; if there is only one kind, its best runs.
    /// So each kind has the same colour in all pictures with lines.
    fn lines(&self, count: usize, of: impl Fn(&RunResult) -> bool) -> Vec<usize> {
        let (mut best, rest) = self.by_kind(of);
        if best.len() == 1 {
            best.extend(rest);
        }
        best.truncate(count);
        best
    }

    /// Returns at most `count` runs, the best first: the best of each kind, and then the best of
    /// the rest.
    fn bars(&self, count: usize) -> Vec<usize> {
        let (mut shown, rest) = self.by_kind(|_| true);
        shown.extend(rest);
        shown.truncate(count);
        self.ranking.iter().copied().filter(|run| shown.contains(run)).collect()
    }

    /// Returns the best run of each kind, and all others, the best first.
    fn by_kind(&self, of: impl Fn(&RunResult) -> bool) -> (Vec<usize>, Vec<usize>) {
        let mut known = Vec::new();
        let ranking = self.ranking.iter().copied().filter(|&run| of(self.runs[run]));
        ranking.partition(|&run| {
            let kind = self.kind(run);
            let first = !known.contains(&kind);
            if first {
                known.push(kind);
            }
            first
        })
    }

    /// Adds to `title` how many runs are not shown.
    fn of_all(&self, title: &str, shown: usize) -> String {
        match self.runs.len() {
            all if all > shown => format!("{title} ({shown} of {all} runs)"),
            _ => title.to_owned(),
        }
    }

    fn io_time(&self) -> Picture {
        let shown = self.bars(BARS);
        type Of = fn(&ByCause) -> f64;
        let causes: [(&str, Of); 5] = [
            ("SSD", |cause| cause.ssd),
            ("disk reads", |cause| cause.read),
            ("into the buffer", |cause| cause.log),
            ("native writes", |cause| cause.write),
            ("cleaning", |cause| cause.clean),
        ];
        let series = causes.into_iter().map(|(name, of)| {
            let seconds = shown.iter().map(|&run| of(&self.runs[run].all.seconds.by_cause));
            (name.to_owned(), seconds.collect())
        });
        // Deferred work belongs to the cost of a run, but was not done yet.
        let left: Vec<f64> = shown.iter().map(|&run| self.runs[run].left.seconds).collect();
        let undone = left.iter().any(|&seconds| seconds > 0.0);
        let series = series.chain(undone.then(|| ("left undone".to_owned(), left)));
        let names = shown.iter().map(|&run| self.names.name(run, &[])).collect();
        let kind = Kind::Rows { names, x_label: "seconds".into(), series: series.collect() };
        Picture { title: self.of_all("I/O time by cause", shown.len()), kind }
    }

    /// Draws figures over the cache size.
    fn by_cache(&self) -> Vec<Named> {
        let slots = |run: usize| self.runs[self.counterparts[run]].labels.cache_blocks;
        let mut sizes: Vec<u64> = (0..self.runs.len()).map(slots).collect();
        sizes.retain(|&blocks| blocks > 0);
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.len() < 2 {
            return Vec::new();
        }
        let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
        for &run in &self.ranking {
            let name = self.kind(run);
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, runs)) => runs.push(run),
                None => groups.push((name, vec![run])),
            }
        }
        let all = groups.len();
        groups.truncate(LINES);
        let of_all = |title: &str| match all > groups.len() {
            true => format!("{title} ({} of {all} lines)", groups.len()),
            false => title.to_owned(),
        };
        let picture = |title: &str, of: &dyn Fn(&RunResult) -> f64| {
            let line = |runs: &[usize]| {
                // A run without a cache is the same for every size; seeds are averaged.
                let at = |size: u64| {
                    let here = runs.iter().filter(|&&run| [0, size].contains(&slots(run)));
                    Value::over(&here.map(|&run| of(self.runs[run])).collect::<Vec<_>>()).mean
                };
                sizes.iter().map(|&size| (mib(size), at(size))).collect::<Vec<_>>()
            };
            let series = groups.iter().map(|(name, runs)| (name.clone(), line(runs))).collect();
            let kind = Kind::Decades { x_label: "cache (MiB)".into(), series };
            Picture { title: of_all(title), kind }
        };
        let hits = |run: &RunResult| 100.0 * run.all.hits.ratio.unwrap_or(f64::NAN);
        let measure = |run: &RunResult| match run.queue {
            None => verdict::done_and_left(run),
            Some(_) => run.latency.mean_us / 1000.0,
        };
        let open = self.runs.iter().any(|run| run.queue.is_some());
        let title = if open { "Mean response time (ms)" } else { "I/O time, done and left (s)" };
        vec![
            ("hits-by-cache", picture("Hits (% of accesses) by cache size", &hits)),
            ("rmws-by-cache", picture("RMWs by cache size", &|run| run.all.drive_io.rmw as f64)),
            ("time-by-cache", picture(&format!("{title} by cache size"), &measure)),
        ]
    }

    fn response_times(&self) -> Picture {
        let shown = self.lines(LINES, |_| true);
        let places = ["50 %", "99 %", "99.9 %", "longest"].map(str::to_owned).to_vec();
        let line = |run: usize| {
            let l = &self.runs[run].latency;
            let us = [l.p50_us, l.p99_us, l.p999_us, l.max_us];
            (self.names.name(run, &[]), us.map(|us| Value::one(us / 1000.0)).to_vec())
        };
        let series = shown.iter().map(|&run| line(run)).collect();
        let title = self.of_all("Response times of requests (ms)", shown.len());
        Picture { title, kind: Kind::Steps { places, series } }
    }

    /// Draws the distribution of response times.
    fn histogram(&self) -> Option<Named> {
        let shown = self.lines(LINES, |run| !run.histogram.is_empty());
        let line = |run: usize| {
            let bars = &self.runs[run].histogram;
            let all: u64 = bars.iter().map(|bar| bar.requests).sum();
            let mut so_far = 0;
            let points = bars.iter().map(|bar| {
                so_far += bar.requests;
                (bar.up_to_us / 1000.0, 100.0 * so_far as f64 / all as f64)
            });
            (self.names.name(run, &[]), points.collect())
        };
        let series: Vec<_> = shown.iter().map(|&run| line(run)).collect();
        let title = self.of_all("Requests done (%) within a response time", shown.len());
        let kind = Kind::Decades { x_label: "milliseconds".into(), series };
        (!shown.is_empty()).then_some(("requests-within", Picture { title, kind }))
    }

    /// Draws the time series of runs.
    fn course(&self) -> Vec<Named> {
        let shown = self.lines(LINES, |run| !run.series.is_empty());
        if shown.is_empty() {
            return Vec::new();
        }
        let parts = self.runs[shown[0]].series.len();
        type Of<'a> = &'a dyn Fn(&Point) -> f64;
        let figures: [(&str, String, Of); 6] = [
            ("hits-over-time", "Hits (% of accesses)".into(), &|point| {
                100.0 * point.hit_ratio.unwrap_or(f64::NAN)
            }),
            ("rmws-over-time", format!("RMWs in each of {parts} parts"), &|p| p.rmw as f64),
            ("buffer-over-time", "In the disk's buffer and memory (MiB)".into(), &|point| {
                mib(point.buffer_blocks)
            }),
            ("bands-over-time", "Bands with blocks in the buffer".into(), &|point| {
                point.buffer_bands as f64
            }),
            ("dirty-over-time", "Dirty in the cache (MiB)".into(), &|p| mib(p.dirty_blocks)),
            ("time-over-time", format!("I/O time in each of {parts} parts (s)"), &|p| p.seconds),
        ];
        let mut pictures = Vec::new();
        for (file, title, of) in figures {
            let line = |run: usize| {
                let points =
                    self.runs[run].series.iter().map(|point| (point.requests as f64, of(point)));
                (self.names.name(run, &[]), points.collect::<Vec<_>>())
            };
            let series: Vec<_> = shown.iter().map(|&run| line(run)).collect();
            // A series that is always zero needs no picture.
            if series.iter().flat_map(|(_, points)| points).any(|&(_, y)| y > 0.0) {
                let kind = Kind::Course { x_label: "requests".into(), series };
                pictures.push((file, Picture { title: self.of_all(&title, shown.len()), kind }));
            }
        }
        pictures
    }

    /// Draws heat maps of writes.
    fn heat(&self) -> Vec<Named> {
        const FILES: [&str; MAPS] = ["heat-1", "heat-2", "heat-3", "heat-4"];
        let shown = self.lines(MAPS, |run| run.heat.is_some());
        // One scale for all, so that policies can be compared.
        let maps = shown.iter().filter_map(|&run| self.runs[run].heat.as_ref());
        let cells =
            maps.flat_map(|heat| heat.written_blocks.iter().chain(&heat.drive_written_blocks));
        let darkest = cells.flatten().copied().max();
        let map = |run: usize, title: String, of: &dyn Fn(&Heat) -> Vec<Vec<u64>>| {
            let heat = self.runs[run].heat.as_ref()?;
            let end = self.runs[run].series.last().map_or(1, |point| point.requests);
            let kind = Kind::Heat {
                x_label: "requests".into(),
                x_end: end as f64,
                rows: heat.row_first_bytes.iter().map(|&bytes| show_bytes(bytes)).collect(),
                columns: of(heat),
                unit: "blocks".into(),
                darkest,
            };
            Some(Picture { title, kind })
        };
        let mut pictures = Vec::new();
        if let Some(&best) = shown.first() {
            let title = "What the host writes, by address and time".to_owned();
            let host = map(best, title, &|heat| heat.written_blocks.clone());
            pictures.extend(host.map(|picture| ("heat-host", picture)));
        }
        for (file, &run) in FILES.iter().zip(&shown) {
            let title = format!("What the disk is sent: {}", self.names.name(run, &[]));
            let title = self.of_all(&title, shown.len());
            let disk = map(run, title, &|heat| heat.drive_written_blocks.clone());
            pictures.extend(disk.map(|picture| (*file, picture)));
        }
        pictures
    }
}
