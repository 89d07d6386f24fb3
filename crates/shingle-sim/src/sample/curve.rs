//! Curves of hits, rewrites and I/O time over cache sizes, estimated from some of the bands of a
//! trace that is in memory.
//!
//! `docs/curve.md` says what is run, how figures are scaled up, and what their errors mean. (SHARDS,
//! Waldspurger et al., FAST '15, instead of scaling hits by the accesses that can hit, counts the
//! sample's excess or lack of accesses as hits of the hottest blocks.) What lies between two requests
//! of a sample has moved the head of the disk: that is compensated (`passed.rs`), and is the least
//! certain part.

use rayon::prelude::*;
use shingle_core::zones::ZoneMap;
use shingle_result::{CurvePoint, Estimate, RunResult, verdict};

use shingle_trace::zones::ZONE_BLOCKS;

use super::estimate::around;
use super::held::{Bands, Held, QUARTERS};
use super::{ROW_BANDS, SampledTrace, WHOLE};
use crate::experiment::{ExperimentError, Job, Trace};

/// Least size of a sample, in equally used bands.
pub const BANDS_MIN: f64 = 100.0;

/// Least size of the smallest cache in a sample, in blocks.
pub const CACHE_BLOCKS_MIN: u64 = 2_000;

/// Least size of the disk's buffer in a sample, in blocks: some zones of 20 MB, of which a policy
/// writes one or several at a time.
pub const BUFFER_BLOCKS_MIN: u64 = 20_000;

/// Smallest sample.
const MILLIONTHS_MIN: u64 = WHOLE / 100;

/// Largest sample: with its quarters it is run twice, so a larger one saves little.
const MILLIONTHS_MAX: u64 = WHOLE / 4;

/// How a sample is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleOptions {
    /// Sampled part of the bands, in millionths; `None`: as many as needed.
    pub millionths: Option<u64>,
    /// Seed of the choice.
    pub seed: u64,
}

/// The sample that is run instead of a trace.
pub struct Sample {
    /// The parts of the sample; `None` if the trace is run in full.
    parts: Option<Box<Parts>>,
    /// Its description.
    pub about: SampleInfo,
}

/// Description of a sample.
#[derive(Clone, PartialEq, Debug)]
pub struct SampleInfo {
    /// Sampled part of the bands, in millionths; all if the trace is run in full.
    pub millionths: u64,
    /// The needed part, in millionths. If it is above a quarter, the trace is run in full unless a
    /// part was requested.
    pub wanted_millionths: u64,
    /// What needs this part: `bands` that differ, the smallest `cache`, or the `buffer` of the
    /// disk; or the `disk`, of which no part is representative.
    pub wanted_for: &'static str,
    /// Number of bands that the trace touches.
    pub bands: u64,
    /// Number of equally used bands that would differ as much from each other.
    pub alike_bands: u64,
    /// Number of touched bands in the sample.
    pub sampled_bands: u64,
    /// Number of requests in the sample.
    pub sampled_requests: u64,
}

impl SampleInfo {
    /// Returns whether the trace is run in full.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.millionths == WHOLE
    }

    /// Returns whether the sample is smaller than needed.
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.millionths < self.wanted_millionths
    }
}

struct Parts {
    whole: Part,
    quarters: [Part; QUARTERS],
}

/// A part of a trace, and its shares of the whole.
struct Part {
    thinned: SampledTrace,
    /// Share of the different blocks.
    blocks: f64,
    /// Share of the accesses.
    accesses: f64,
    /// Share of the accesses to blocks that were accessed before.
    again: f64,
}

/// The figures of a point, in order.
type Figures = [f64; 6];

/// Samples the bands of the disk of `jobs`, which all have the same one. (If the disk has no bands:
/// zones of 20 MB.)
///
/// # Errors
/// If a part is requested and no part of the disk is representative, or the sample is empty.
pub fn sample(
    trace: &Trace,
    jobs: &[Job],
    choice: SampleOptions,
) -> Result<Sample, ExperimentError> {
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
    let mut about = SampleInfo {
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
    let part = |held: &[Held], thinned: SampledTrace| {
        let sum = |of: fn(&Held) -> f64| held.iter().map(of).sum::<f64>() / of(&bands.all);
        Part {
            thinned,
            blocks: sum(|held| held.blocks),
            accesses: sum(|held| held.accesses),
            again: sum(Held::again),
        }
    };
    let [whole, quarters @ ..] = SampledTrace::parts(&trace.requests, &sampling);
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

/// Returns the number of neighbouring bands to sample together, so that there are enough rows: of a
/// zone across the end of a row a policy sees only a part, which is the same error in all samples,
/// while few rows differ by chance.
fn row_bands(bands: &Bands, millionths: u64) -> u32 {
    let sampled = bands.alike() * millionths as f64 / WHOLE as f64;
    ((sampled / BANDS_MIN) as u32).clamp(1, ROW_BANDS)
}

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
    /// Returns the requests that all runs of a job serve in total.
    #[must_use]
    pub fn requests(&self, trace: &Trace) -> u64 {
        let Some(parts) = &self.parts else { return trace.requests.len() as u64 };
        parts.all().map(|part| part.thinned.requests.len() as u64).sum()
    }

    /// Computes the points of `jobs`, on all threads of the current pool, in the order of jobs.
    ///
    /// # Errors
    /// The error of the first run that failed.
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
    /// Returns the parts, the whole sample first.
    fn all(&self) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.whole).chain(&self.quarters)
    }
}

/// Returns the point of a run of the whole trace.
fn exact(job: &Job, run: &RunResult) -> CurvePoint {
    let accesses = run.all.accesses.read_blocks + run.all.accesses.write_blocks;
    let hits = run.all.hits.read_blocks + run.all.hits.write_blocks;
    let hits_percent = 100.0 * run.all.hits.ratio.unwrap_or(0.0);
    // As the run reports them: a sum of parts would differ by a rounding.
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

/// Returns the figures of all accesses, scaled up from the run of a part.
fn figures(run: &RunResult, part: &Part, accesses: u64) -> Figures {
    let sampled = run.all.hits.read_blocks + run.all.hits.write_blocks;
    // If no access of the sample could hit, there are no hits.
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
