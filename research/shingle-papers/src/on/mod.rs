//! Runs a paper's main comparison over any trace, and checks which of the claimed orders hold.
//!
//! Sizes are the paper's, but small enough to be used up: a cache of at most a quarter of the
//! distinct blocks, and a buffer of at most an eighth of the written ones. The comparison needs
//! both to be full, as a cache that holds everything decides nothing. Zones and bands keep their
//! size. So over a small trace the buffer holds only a few of them, and one more or less matters; a
//! note says so.

pub mod page;

use rayon::prelude::*;
use serde::Serialize;
use shingle_core::registry::Registry;
use shingle_core::units::Request;
use shingle_drive::{self as drives, Settings};
use shingle_report::numbers::figure;
use shingle_result::RunResult;
use shingle_sim::experiment::ExperimentError;
use shingle_trace::Summary;
use shingle_trace::zones::ZONE_BLOCKS;

use crate::experiment::{Claim, Comparison, Paper};
use crate::grid::{Grid, System};
use crate::measured::MeasureError;
use crate::runner::{self, Key, PaperError};
use crate::scale::{Scale, Scaled, ZONES_MIN};
use crate::traces::{Contents, Held};

/// Name and version of the format of [`OnTraces`].
pub const SCHEMA: &str = "shingle.on-traces/1";

/// A paper's comparison over some traces.
#[derive(Clone, Debug, Serialize)]
pub struct OnTraces {
    /// Name and version of this format.
    pub schema: &'static str,
    /// The paper's name.
    pub paper: &'static str,
    /// Authors, title, venue.
    pub citation: &'static str,
    /// Seed of all random decisions.
    pub seed: u64,
    /// Labels of the systems.
    pub systems: Vec<&'static str>,
    /// The paper's claims, and whether they hold.
    pub claims: Vec<OnClaim>,
    /// The traces.
    pub traces: Vec<OnTrace>,
}

/// A claim, checked on all traces.
#[derive(Clone, Debug, Serialize)]
pub struct OnClaim {
    /// Section and figure.
    pub at: &'static str,
    /// The paper's words.
    pub says: &'static str,
    /// The compared metric.
    pub metric: &'static str,
    /// Chains of systems; the metric should rise strictly in each.
    pub chains: Vec<Vec<&'static str>>,
    /// The finding for each trace.
    pub found: Vec<Found>,
}

/// A claim, checked on one trace.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Found {
    /// Whether it holds.
    pub outcome: Outcome,
    /// The metric of each system, in the order of [`OnTraces::systems`]; `None` if it is not
    /// finite.
    pub figures: Vec<Option<f64>>,
}

/// Whether a claim holds on a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It holds.
    Holds,
    /// It does not hold.
    DoesNotHold,
    /// All compared figures are equal, or there are none.
    NothingToCompare,
}

impl Outcome {
    /// Describes the outcome in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::DoesNotHold => "does not",
            Outcome::NothingToCompare => "all the same",
        }
    }
}

/// A trace that was run.
#[derive(Clone, Debug, Serialize)]
pub struct OnTrace {
    /// Its name.
    pub name: String,
    /// Requests that are served.
    pub requests: u64,
    /// Distinct blocks of 4 KiB.
    pub distinct_blocks: u64,
    /// Distinct blocks that are written.
    pub distinct_written_blocks: u64,
    /// The size of the cache, for systems with a cache: on the SSD, or the flash inside the drive.
    pub cache_blocks: Option<u64>,
    /// The size of the drive's buffer.
    pub buffer_blocks: Option<u64>,
    /// Remarks: what never filled, or whether the trace was packed.
    pub notes: Vec<String>,
}

/// A trace, and the figures of each claim on it.
#[derive(Debug)]
pub struct Done {
    trace: OnTrace,
    found: Vec<Found>,
}

/// Runs a paper's systems over a trace. `progress` gets the number of accesses since its last call;
/// [`work`] is their total.
///
/// # Errors
/// If a run cannot be made or fails.
pub fn run(
    paper: &'static Paper,
    name: &str,
    requests: Vec<Request>,
    seed: u64,
    registry: &Registry,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Done, PaperError> {
    let Comparison { grid, claims } = &paper.comparison;
    let summary = Summary::of(&requests);
    let mut held = Held { name: name.to_owned(), contents: Contents::Requests(requests), summary };
    let mut notes = Vec::new();
    for drive in grid.systems.iter().map(|system| system.drive.unwrap_or(grid.drive)) {
        // (After it fits the smallest drive it fits the others.)
        if runner::pack_to_fit(&mut held, drive)? {
            notes.push(format!("it reaches beyond {drive}: the zones it touches are packed"));
            if runner::pack_to_fit(&mut held, drive)? {
                let why = format!("{name}: it touches more zones than {drive} has");
                return Err(PaperError::Scale(why));
            }
        }
    }
    let keys: Vec<Key> =
        grid.systems.iter().map(|system| key(grid, system, &held)).collect::<Result<_, _>>()?;
    let jobs =
        keys.iter().map(|key| runner::job(key, &held, (grid.mode, grid.pacing), seed, registry));
    let jobs: Vec<_> = jobs.collect::<Result<_, _>>()?;
    let runs: Vec<RunResult> = jobs
        .into_par_iter()
        .map(|job| job.run(&held.first(held.len()), progress))
        .collect::<Result<_, ExperimentError>>()?;
    notes.extend(few_zones(&keys));
    notes.extend(never_full(grid, &runs));
    let found = claims.iter().map(|claim| claim.find(grid, &runs)).collect();
    let sizes = |of: fn(&Key) -> u64| keys.iter().map(of).max().filter(|&blocks| blocks > 0);
    let trace = OnTrace {
        name: name.to_owned(),
        requests: held.len() as u64,
        distinct_blocks: held.summary.distinct_blocks,
        distinct_written_blocks: held.summary.distinct_written_blocks,
        cache_blocks: sizes(|key| key.cache_blocks.max(key.flash_blocks.unwrap_or(0))),
        buffer_blocks: sizes(|key| key.buffer_blocks.unwrap_or(0)),
        notes,
    };
    Ok(Done { trace, found })
}

/// The approximate number of accesses that the runs over a trace of `requests` requests serve.
#[must_use]
pub fn work(paper: &Paper, requests: u64) -> u64 {
    requests * paper.comparison.grid.systems.len() as u64
}

/// Combines the results of all traces.
#[must_use]
pub fn together(paper: &'static Paper, seed: u64, done: Vec<Done>) -> OnTraces {
    let Comparison { grid, claims } = &paper.comparison;
    let claim = |(nth, claim): (usize, &Claim)| OnClaim {
        at: claim.at,
        says: claim.says,
        metric: claim.metric.name,
        chains: claim.chains.iter().map(|chain| chain.to_vec()).collect(),
        found: done.iter().map(|done| done.found[nth].clone()).collect(),
    };
    OnTraces {
        schema: SCHEMA,
        paper: paper.name,
        citation: paper.citation,
        seed,
        systems: grid.systems.iter().map(|system| system.label).collect(),
        claims: claims.iter().enumerate().map(claim).collect(),
        traces: done.into_iter().map(|done| done.trace).collect(),
    }
}

/// Makes the key of a run with the paper's sizes, or with smaller ones that are used up.
fn key(grid: &Grid, system: &System, held: &Held) -> Result<Key, PaperError> {
    let scaled = Scaled::new(grid, Some(Scale::of(1.0)));
    let mut key = runner::key(grid, &scaled, system, &grid.points[0], held, held.len());
    let (blocks, written) = (held.summary.distinct_blocks, held.summary.distinct_written_blocks);
    key.cache_blocks = key.cache_blocks.min((blocks / 4).max(1));
    if drives::entry(key.drive).is_ok_and(|entry| entry.shingled) {
        let own = match key.buffer_blocks {
            Some(blocks) => blocks,
            None => {
                let drive = drives::make(key.drive, &Settings::default());
                drive.map_err(MeasureError::from)?.description().buffer_blocks
            }
        };
        key.buffer_blocks = Some(own.min((written / 8).max(1)));
    }
    Ok(key)
}

/// A remark if the buffer holds so few zones that one more or less matters.
fn few_zones(keys: &[Key]) -> Option<String> {
    let blocks = keys.iter().filter_map(|key| key.buffer_blocks).max()?;
    let zones = blocks as f64 / ZONE_BLOCKS as f64;
    (zones < ZONES_MIN as f64)
        .then(|| format!("the buffer holds {} zones of 5,000 blocks", figure(zones)))
}

/// Remarks on what was never full or never cleaned, so that the comparison shows nothing.
fn never_full(grid: &Grid, runs: &[RunResult]) -> Vec<String> {
    let mut notes = Vec::new();
    let cached = || grid.systems.iter().zip(runs).filter(|(system, _)| system.policy != "none");
    if cached().next().is_some() && cached().all(|(_, run)| run.warm_from.is_none()) {
        notes.push("no cache was ever full".to_owned());
    }
    if runs.iter().all(|run| run.all.drive_io.rmw + run.all.drive_io.rmw_free == 0) {
        notes.push("no band was ever cleaned".to_owned());
    }
    let flash = || runs.iter().filter_map(|run| run.flash.as_ref());
    if flash().next().is_some() && flash().all(|flash| flash.erases == 0) {
        notes.push("no flash was ever erased".to_owned());
    }
    notes
}

impl Claim {
    fn find(&self, grid: &Grid, runs: &[RunResult]) -> Found {
        let all: Vec<f64> = runs.iter().map(|run| (self.metric.of)(run)).collect();
        let at = |label: &str| {
            let place = grid.systems.iter().position(|system| system.label == label);
            all[place.expect("claims are about systems of the grid; a test looks")]
        };
        let chains: Vec<Vec<f64>> =
            self.chains.iter().map(|chain| chain.iter().map(|label| at(label)).collect()).collect();
        let figures = all.iter().map(|figure| Some(*figure).filter(|figure| figure.is_finite()));
        Found { outcome: outcome(&chains), figures: figures.collect() }
    }
}

fn outcome(chains: &[Vec<f64>]) -> Outcome {
    let mut figures = chains.iter().flatten();
    let first = figures.next().copied().unwrap_or(f64::NAN);
    if first.is_nan() || figures.all(|&other| other == first) {
        return Outcome::NothingToCompare;
    }
    let rises = |chain: &Vec<f64>| chain.windows(2).all(|pair| pair[0] < pair[1]);
    if chains.iter().all(rises) { Outcome::Holds } else { Outcome::DoesNotHold }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers;

    #[test]
    fn claims_are_about_systems_that_are_run() {
        for paper in papers::ALL {
            let name = paper.name;
            let Comparison { grid, claims } = &paper.comparison;
            let labels: Vec<&str> = grid.systems.iter().map(|system| system.label).collect();
            assert!(!claims.is_empty() && grid.points.len() == 1, "{name}");
            for claim in *claims {
                assert!(!claim.chains.is_empty(), "{name}: {}", claim.says);
                for chain in claim.chains {
                    assert!(chain.len() > 1, "{name}: {}", claim.says);
                    assert!(chain.iter().all(|label| labels.contains(label)), "{chain:?}");
                }
            }
        }
    }

    #[test]
    fn an_order_holds_only_where_all_chains_rise_strictly() {
        let of = |chains: &[&[f64]]| {
            outcome(&chains.iter().map(|chain| chain.to_vec()).collect::<Vec<_>>())
        };
        assert_eq!(of(&[&[1.0, 2.0], &[1.0, 1.5]]), Outcome::Holds);
        assert_eq!(of(&[&[1.0, 2.0], &[1.0, 1.0]]), Outcome::DoesNotHold);
        assert_eq!(of(&[&[1.0, 2.0, 1.5]]), Outcome::DoesNotHold);
        assert_eq!(of(&[&[0.0, 0.0], &[0.0, 0.0]]), Outcome::NothingToCompare);
        assert_eq!(of(&[&[f64::NAN, 1.0]]), Outcome::NothingToCompare);
        assert_eq!(of(&[&[1.0, f64::NAN]]), Outcome::DoesNotHold);
    }
}
