//! The options of the user, and the errors in them.

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
    /// Its format and how that was recognised; `None` if it was not read from a file.
    pub format: Option<Recognised>,
    /// Its requests, filtered and shaped.
    pub requests: R,
    /// Their totals.
    pub summary: Summary,
}

/// The default cache: a part of the different blocks accessed, so that it fills however sparse the
/// trace is.
pub const DEFAULT_CACHE: &str = "15%";

/// The default policies.
pub const DEFAULT_POLICIES: [&str; 5] = ["none", "lru", "lru-band", "most", "sac"];

/// The options of the user. Names are checked by [`super::plan`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of a synthetic trace, for the result.
    pub seed: u64,
    /// Policies. If empty: those of [`DEFAULT_POLICIES`] that work with the rest.
    pub policies: Vec<String>,
    /// Policy that is also run, for comparison.
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
    /// The requests that are kept; the trace has been filtered already.
    pub mode: Mode,
    /// When requests arrive.
    pub pacing: Pacing,
    /// Open loop: speed of the trace in thousandths.
    pub speed_thousandths: u64,
    /// Options for runs of the store; `None` for the papers' executor.
    pub store: Option<StoreOptions>,
    /// One I/O per block, as in the prototypes.
    pub split: bool,
    /// Read the rest of partly written blocks.
    pub fill_partial: bool,
    /// Include the work left at the end.
    pub drain: bool,
    /// Keep data stamps and check every read.
    pub check: bool,
    /// Number of points of the time series to record.
    pub points: u32,
    /// Rows of a heat map to record, with as many columns as points; 0 for none.
    pub heat_rows: u16,
    /// Timing of drives; `None`: the default of each.
    pub timing: Option<Timing>,
}

/// The options if nothing is requested.
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

/// Options of the client, if runs are runs of the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoreOptions {
    /// Closed loop: requests in flight at a time.
    pub depth: usize,
    /// Interval of flushes by the client; never, if `None`.
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
    /// Returns whether policies were left to the defaults or `all`: then those that do not work
    /// with the rest are left out.
    pub(super) fn takes_what_goes(&self) -> bool {
        self.policies.is_empty() || self.policies.iter().any(|name| name == ALL)
    }
}

pub(super) fn usage(error: impl ToString) -> ExperimentError {
    ExperimentError::Usage(error.to_string())
}

/// All policies, or translations, that work with the rest.
pub(super) const ALL: &str = "all";
