//! Sweeps: grids of runs over any parameters, which survive a kill and can be spread over machines.
//!
//! [`Plan`] turns axes into cells, [`Sweep`] computes those that its folder does not hold yet, and
//! [`merge`] combines what several machines have computed. `docs/sweep.md` describes the folder.

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
