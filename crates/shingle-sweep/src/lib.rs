//! Sweeps: grids of runs over any parameters, which survive a kill and can be spread over machines.
//!
//! [`Plan`] turns axes into cells, [`Sweep`] computes those that its folder does not hold yet, and
//! [`merge`] combines what several machines have computed. `docs/sweep.md` describes the folder.
//!
//! Two policies with caches of two sizes, over one trace:
//!
//! ```
//! use std::error::Error;
//!
//! use shingle_core::registry::Registry;
//! use shingle_sim::experiment::{Options, Trace};
//! use shingle_sweep::{Order, Plan};
//! use shingle_trace::{OpenOptions, Summary, read_all};
//!
//! let order = Order {
//!     options: &Options { policies: vec!["lru".into(), "most".into()], ..Options::default() },
//!     trace: "synth:mixed?requests=1k",
//!     vary: &["cache=1%,2%".into()],
//!     registry: &Registry::default(),
//! };
//! let plan = Plan::new(&order, &mut |name, _seed| {
//!     let mut opened = shingle_trace::open(name, &OpenOptions::default())?;
//!     let requests = read_all(opened.source.as_mut(), &mut |_| {})?;
//!     let summary = Summary::of(&requests);
//!     Ok::<_, Box<dyn Error>>(Trace { name: opened.name, format: None, requests: requests.into(), summary })
//! })?;
//! assert_eq!(plan.len(), 4);
//! assert_eq!(plan.run(0, &|_| {})?.labels.policy, "lru");
//! # Ok::<(), Box<dyn Error>>(())
//! ```

mod folder;
mod grid;
pub mod journal;
mod manifest;
mod merge;
mod plan;
mod run;
mod values;

use std::path::Path;

use shingle_sim::experiment::ExperimentError;
use thiserror::Error;

pub use manifest::Shard;
pub use merge::merge;
pub use plan::{Order, Plan, PlanTrace};
pub use run::Sweep;
pub use values::range;

/// Why a sweep failed. Displays as one line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepError {
    /// A name, value or combination is wrong.
    #[error("{0}")]
    Usage(String),
    /// A folder or file is invalid.
    #[error("{0}")]
    Data(String),
    /// A finished cell could not be saved.
    #[error("cannot append to the journal of finished runs: {0}")]
    Journal(std::io::Error),
    /// A cell cannot be run, or failed.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
}

impl SweepError {
    /// Returns whether the user named something that does not exist, as opposed to bad data.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, SweepError::Usage(_) | SweepError::Experiment(ExperimentError::Usage(_)))
    }

    fn file(path: &Path, why: &str, error: std::io::Error) -> SweepError {
        SweepError::Data(format!("{}: {why}: {error}", path.display()))
    }
}
