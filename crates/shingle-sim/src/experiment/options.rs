//! What the user asks for, and what is wrong with it.

use shingle_core::units::{Nanos, Request};
use shingle_drive::Timing;
use shingle_result::Pacing;
use shingle_trace::{Mode, Recognised, Summary};
use thiserror::Error;

use super::assignments::Assignments;
use crate::run::RunError;

/// A trace, in memory or read as it is needed ([`crate::requests::Requests`]).
#[derive(Clone, Debug)]
pub struct Trace<R = Vec<Request>> {
    /// File name or workload.
    pub name: String,
    /// Its format and how that is known; `None` if it was not read.
    pub format: Option<Recognised>,
    /// Its requests, filtered and shaped.
    pub requests: R,
    /// What they amount to.
    pub summary: Summary,
}

/// The cache if nothing is asked for: a part of the different blocks accessed, so that it fills
/// however thinly the trace is spread over the disk.
pub const DEFAULT_CACHE: &str = "15%";

/// The policies if none are named.
pub const DEFAULT_POLICIES: [&str; 5] = ["none", "lru", "lru-band", "most", "sac"];

/// What the user asked for. Names are checked by [`super::plan`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of a synthetic trace, for the result.
    pub seed: u64,
    /// Policies; those of [`DEFAULT_POLICIES`] that go with the rest, if none are named.
    pub policies: Vec<String>,
    /// Policy to run along for comparison.
    pub baseline: Option<String>,
    /// Drives.
    pub drives: Vec<String>,
    /// Translations, each over each drive; `none` for the drive by itself.
    pub translations: Vec<String>,
    /// Cache sizes: `5%` of the different blocks accessed, `2%zones`, `2%written`, or a size.
    pub caches: Vec<String>,
    /// SSD the cache is on.
    pub ssd: String,
    /// Parameters that are set.
    pub sets: Assignments,
    /// The requests that count; the trace has been filtered already.
    pub mode: Mode,
    /// When requests come.
    pub pacing: Pacing,
    /// Open loop: speed of the trace in thousandths.
    pub speed_thousandths: u64,
    /// Runs are runs of the store, and not of the papers' executor.
    pub store: Option<StoreOptions>,
    /// Every block by itself, as the prototypes do.
    pub split: bool,
    /// Read the rest of partly written blocks.
    pub fill_partial: bool,
    /// Count the work left at the end in.
    pub drain: bool,
    /// Keep data stamps and check every read.
    pub check: bool,
    /// Points of the course of each run to record.
    pub points: u32,
    /// Rows of a heat map to record, with as many columns as points; 0 for none.
    pub heat_rows: u16,
    /// How drives are timed; `None`: as each prefers.
    pub timing: Option<Timing>,
}

/// What is done if nothing is asked for.
impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            policies: Vec::new(),
            baseline: None,
            drives: vec!["st8000as0002".into()],
            translations: vec!["none".into()],
            caches: vec![DEFAULT_CACHE.into()],
            ssd: "pcie-ssd".into(),
            sets: Assignments::default(),
            mode: Mode::ReadWrite,
            pacing: Pacing::Closed,
            speed_thousandths: 1000,
            store: None,
            split: false,
            fill_partial: true,
            drain: false,
            check: false,
            points: 0,
            heat_rows: 0,
            timing: None,
        }
    }
}

/// How a store is asked, where runs are runs of the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoreOptions {
    /// Closed loop: requests under way at a time.
    pub depth: usize,
    /// The client flushes so often; never, if `None`.
    pub flush_every: Option<Nanos>,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions { depth: 32, flush_every: None }
    }
}

/// Why something cannot be run. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A name, value or combination is wrong.
    #[error("{0}")]
    Usage(String),
    /// The trace does not fit the drive.
    #[error("{0}")]
    Data(String),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Options {
    /// Whether nobody named each policy: then those that do not go with the rest are left out.
    pub(super) fn takes_what_goes(&self) -> bool {
        self.policies.is_empty() || self.policies.iter().any(|name| name == ALL)
    }
}

pub(super) fn usage(error: impl ToString) -> ExperimentError {
    ExperimentError::Usage(error.to_string())
}

/// All policies, or translations, that go with the rest.
pub(super) const ALL: &str = "all";
