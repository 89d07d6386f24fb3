//! Hits, rewrites and I/O time over sizes of the cache, from some of the bands of a trace that is in memory.
//!
//! **What is run.** The part of each request that lies in sampled bands, through the very runs of `compare`, over a disk of
//! which the buffer, and before a cache that, is as much smaller ([`Job::scaled`]). Of 256 samples that the seed draws the one
//! is taken that has as nearly the same part of accesses, writes, different blocks and written blocks as possible.
//!
//! **How figures are made larger.** Accesses and different blocks are known of the whole trace. Only an access to a block that
//! was accessed before can hit, so hits are made larger by those that could have been (where SHARDS, Waldspurger et al., FAST
//! '15, counts what a sample has too few or too many of as hits of the hottest). What the disk does is made larger by
//! the part of the different blocks that is sampled, the time of the SSD by the part of the accesses.
//!
//! **Errors.** The four quarters of the sample are run by themselves, too. What is told is 3.18 times (95 %; Student's t with 3
//! degrees of freedom) the standard error of their mean around the figure of the whole sample. A quarter stands before a
//! cache and a buffer of a quarter, so what is wrong because these are small shows, and more than it does in the whole.
//!
//! **What is not seen.** In closed loop, as here, a sample takes as much less time as it is smaller. What lies between two
//! requests of a sample has moved the head of the disk; that is made up for (`passed.rs`), and is the least certain part.

use rayon::prelude::*;
use shingle_core::zones::ZoneMap;
use shingle_result::{CurvePoint, Estimate, RunResult, verdict};

use shingle_trace::zones::ZONE_BLOCKS;

use super::estimate::around;
use super::held::{Bands, Held, QUARTERS};
use super::{ROW_BANDS, Thinned, WHOLE};
use crate::experiment::{ExperimentError, Job, Trace};

/// A sample has at least as many bands as so many that are all asked for alike.
pub const BANDS_MIN: f64 = 100.0;

/// The smallest cache has so many blocks in a sample.
pub const CACHE_BLOCKS_MIN: u64 = 2_000;

/// The buffer of the disk has: some zones of 20 MB, of which a policy writes one or several at a time.
pub const BUFFER_BLOCKS_MIN: u64 = 20_000;

/// A sample is no smaller…
const MILLIONTHS_MIN: u64 = WHOLE / 100;

/// …nor larger: with its quarters it is run twice, and gains little over all.
const MILLIONTHS_MAX: u64 = WHOLE / 4;

/// How a sample is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// So many millionths of the bands; `None` for as many as tell enough.
    pub millionths: Option<u64>,
    /// Which.
    pub seed: u64,
}

/// What is run in the place of a trace.
pub struct Sample {
    /// `None`: the trace is run in full.
    parts: Option<Box<Parts>>,
    /// What it is.
    pub about: About,
}

/// What a sample is.
#[derive(Clone, PartialEq, Debug)]
pub struct About {
    /// The part of the bands, in millionths; all of them if the trace is run in full.
    pub millionths: u64,
    /// The part that tells enough, in millionths: above a quarter traces are run in full if nothing is asked for.
    pub wanted_millionths: u64,
    /// What wants so many: `bands` that differ, the smallest `cache` or the `buffer` of the disk; or the `disk`, of which no part
    /// is like all.
    pub wanted_for: &'static str,
    /// Bands that the trace touches.
    pub bands: u64,
    /// Bands that would differ as much among each other, were all asked for alike.
    pub alike_bands: u64,
    /// Bands sampled, of those that are touched.
    pub sampled_bands: u64,
    /// Requests of the sample.
    pub sampled_requests: u64,
}

impl About {
    /// Whether the trace is run in full.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.millionths == WHOLE
    }

    /// Whether less is run than tells enough.
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.millionths < self.wanted_millionths
    }
}

/// A sample, and the quarters of it.
struct Parts {
    whole: Part,
    quarters: [Part; QUARTERS],
}

/// A part of a trace, and how large it is.
struct Part {
    thinned: Thinned,
    /// Of the different blocks.
    blocks: f64,
    /// Of the accesses.
    accesses: f64,
    /// Of the accesses to blocks that were accessed before.
    again: f64,
}

/// Figures, in the order of those of a point.
type Figures = [f64; 6];

/// A sample of the bands of a disk, for `jobs`, which are all over it. (Of a disk without bands, of zones of 20 MB.)
///
/// # Errors
/// If a part is asked for and no part of the disk stands for it, or nothing is in the sample.
pub fn sample(trace: &Trace, jobs: &[Job], choice: Choice) -> Result<Sample, ExperimentError> {
    let disk = jobs.first().expect("a job").disk()?;
    let of_disk = disk.drive().description();
    let map = of_disk.bands.clone();
    let map = map.unwrap_or_else(|| ZoneMap::fixed(ZONE_BLOCKS, of_disk.disk_blocks));
    let bands = Bands::new(map, &trace.requests);
    let (wanted_millionths, wanted_for) = wanted(&bands, jobs);
    let whole = jobs.iter().find_map(Job::no_part);
    let millionths = match (choice.millionths, &whole) {
        (Some(asked), Some(why)) if asked < WHOLE => {
            return Err(ExperimentError::Usage(format!("--sample: {why}; --sample 100 runs all")));
        }
        (Some(asked), _) => asked,
        (None, Some(_)) => WHOLE,
        (None, None) if wanted_millionths > MILLIONTHS_MAX => WHOLE,
        (None, None) => wanted_millionths,
    };
    let mut about = About {
        millionths,
        wanted_millionths,
        wanted_for: whole.map_or(wanted_for, |_| "disk"),
        bands: bands.count(),
        alike_bands: bands.alike().round() as u64,
        sampled_bands: bands.count(),
        sampled_requests: trace.requests.len() as u64,
    };
    if millionths == WHOLE {
        return Ok(Sample { parts: None, about });
    }
    let row_bands = row_bands(&bands, millionths);
    let sampling = bands.balanced(millionths, row_bands, choice.seed);
    let held = bands.quarters(&sampling);
    if let Some(nth) = held.iter().position(|quarter| quarter.blocks == 0.0) {
        return Err(ExperimentError::Usage(format!(
            "--sample: a quarter of the sample (number {} of 4) has no request in it, of the {} bands that the \
             trace touches; give more, or leave it out",
            nth + 1,
            about.bands
        )));
    }
    let part = |held: &[Held], thinned: Thinned| {
        let sum = |of: fn(&Held) -> f64| held.iter().map(of).sum::<f64>() / of(&bands.all);
        Part {
            thinned,
            blocks: sum(|held| held.blocks),
            accesses: sum(|held| held.accesses),
            again: sum(Held::again),
        }
    };
    let [whole, quarters @ ..] = Thinned::parts(&trace.requests, &sampling);
    let whole = part(&held, whole);
    let mut nth = 0..;
    let quarters = quarters.map(|quarter| {
        let nth = nth.next().expect("four of them");
        part(&held[nth..=nth], quarter)
    });
    about.sampled_bands = bands.sampled(&sampling);
    about.sampled_requests = whole.thinned.requests.len() as u64;
    Ok(Sample { parts: Some(Box::new(Parts { whole, quarters })), about })
}

/// So many bands in a row are sampled together as leave enough rows: of a zone that lies across the end of a row a
/// policy sees a part, which is wrong alike in all samples, while few rows differ by chance.
fn row_bands(bands: &Bands, millionths: u64) -> u32 {
    let sampled = bands.alike() * millionths as f64 / WHOLE as f64;
    ((sampled / BANDS_MIN) as u32).clamp(1, ROW_BANDS)
}

/// The part of the bands that tells enough, and what it is wanted for.
fn wanted(bands: &Bands, jobs: &[Job]) -> (u64, &'static str) {
    let smallest = |of: &dyn Fn(&Job) -> u64| {
        jobs.iter().map(of).filter(|&blocks| blocks > 0).min().map_or(f64::MAX, |n| n as f64)
    };
    let cache = CACHE_BLOCKS_MIN as f64 / smallest(&|job| job.cache_blocks().into());
    let buffer = BUFFER_BLOCKS_MIN as f64 / smallest(&|job| job.buffer_blocks());
    let reasons =
        [(BANDS_MIN / bands.alike().max(1.0), "bands"), (cache, "cache"), (buffer, "buffer")];
    let most = reasons.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("reasons");
    let millionths = (most.0.min(1.0) * WHOLE as f64).ceil() as u64;
    (millionths.max(MILLIONTHS_MIN), most.1)
}

impl Sample {
    /// Requests that all runs of a job serve together.
    #[must_use]
    pub fn requests(&self, trace: &Trace) -> u64 {
        let Some(parts) = &self.parts else { return trace.requests.len() as u64 };
        parts.all().map(|part| part.thinned.requests.len() as u64).sum()
    }

    /// The points of `jobs`, on all threads of the pool in force, in the order of jobs.
    ///
    /// # Errors
    /// The first run that failed.
    pub fn points(
        &self,
        jobs: &[Job],
        trace: &Trace,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<CurvePoint>, ExperimentError> {
        let points: Vec<Result<CurvePoint, ExperimentError>> = jobs
            .par_iter()
            .map(|job| match &self.parts {
                None => Ok(exact(job, &job.run(&trace.requests[..], progress)?)),
                Some(parts) => self.estimated(job, trace, parts, progress),
            })
            .collect();
        points.into_iter().collect()
    }

    fn estimated(
        &self,
        job: &Job,
        trace: &Trace,
        parts: &Parts,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<CurvePoint, ExperimentError> {
        let accesses = trace.summary.blocks();
        let run = |part: &Part| -> Result<(RunResult, Figures), ExperimentError> {
            let millionths = (part.blocks * WHOLE as f64) as u64;
            let run = job.scaled(millionths.max(1))?.run_sampled(&part.thinned, progress)?;
            let figures = figures(&run, part, accesses);
            Ok((run, figures))
        };
        let all: Vec<&Part> = parts.all().collect();
        let all: Vec<Result<_, ExperimentError>> = all.into_par_iter().map(run).collect();
        let mut all = all.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter();
        let (result, told) = all.next().expect("the whole sample");
        let quarters: Vec<Figures> = all.map(|(_, figures)| figures).collect();
        let estimates = std::array::from_fn(|at| {
            let of_quarters = std::array::from_fn(|nth| quarters[nth][at]);
            around(told[at], of_quarters, self.about.millionths)
        });
        Ok(point(job, &result, estimates))
    }
}

impl Parts {
    /// The whole sample first.
    fn all(&self) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.whole).chain(&self.quarters)
    }
}

/// Of a run of all.
fn exact(job: &Job, run: &RunResult) -> CurvePoint {
    let accesses = run.all.accesses.read_blocks + run.all.accesses.write_blocks;
    let hits = run.all.hits.read_blocks + run.all.hits.write_blocks;
    let hits_percent = 100.0 * run.all.hits.ratio.unwrap_or(0.0);
    // (As the run has them: a sum of parts would be off by a rounding.)
    let (done, left) = (run.all.seconds.total, run.left.seconds);
    let misses = (accesses - hits) as f64;
    let figures = [
        hits_percent,
        misses,
        run.all.drive_io.rmw as f64,
        done,
        left,
        verdict::done_and_left(run),
    ];
    point(job, run, figures.map(|value| Estimate { value, error: 0.0 }))
}

/// What all accesses come to, of which a part was run.
fn figures(run: &RunResult, part: &Part, accesses: u64) -> Figures {
    let sampled = run.all.hits.read_blocks + run.all.hits.write_blocks;
    // (Where none of the sample could have hit, none has.)
    let hits = if sampled == 0 { 0.0 } else { sampled as f64 / part.again };
    let misses = accesses as f64 - hits;
    let seconds = &run.all.seconds;
    let disk = seconds.total - seconds.by_cause.ssd;
    let done = disk / part.blocks + seconds.by_cause.ssd / part.accesses;
    let left = run.left.seconds / part.blocks;
    let rmws = run.all.drive_io.rmw as f64 / part.blocks;
    [100.0 * hits / accesses.max(1) as f64, misses, rmws, done, left, done + left]
}

fn point(job: &Job, run: &RunResult, figures: [Estimate; 6]) -> CurvePoint {
    let [hits_percent, misses, rmws, done_seconds, left_seconds, done_and_left_seconds] = figures;
    CurvePoint {
        policy: job.labels().policy.clone(),
        cache_blocks: job.labels().cache_blocks,
        simulated_blocks: run.labels.cache_blocks,
        was_full: run.warm_from.is_some(),
        few_cleanings: verdict::hardly_cleaned(run),
        hits_percent,
        misses,
        rmws,
        done_seconds,
        left_seconds,
        done_and_left_seconds,
    }
}
