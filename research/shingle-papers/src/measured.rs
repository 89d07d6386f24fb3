//! Measurements without a cache: numbers and pictures.

use std::collections::BTreeMap;

use shingle_core::units::Request;
use shingle_drive::DriveError;
use shingle_trace::TraceError;
use shingle_trace::papers::Papers;
use thiserror::Error;

use crate::traces::Traces;
use shingle_report::chart::{Kind, Picture};

/// The results of a measurement.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Numbers by name.
    pub numbers: BTreeMap<String, f64>,
    /// Pictures by name.
    pub pictures: BTreeMap<&'static str, Picture>,
}

impl Measured {
    pub(crate) fn number(&mut self, name: impl Into<String>, value: f64) {
        self.numbers.insert(name.into(), value);
    }

    pub(crate) fn picture(&mut self, name: &'static str, title: &str, kind: Kind) {
        let picture = Picture { title: title.into(), kind };
        self.pictures.insert(name, picture);
    }
}

/// The context of a measurement.
pub struct Bench<'a> {
    /// Seed of all random decisions.
    pub seed: u64,
    /// The drive to measure, if a figure is about a single drive.
    pub drive: Option<&'a str>,
    /// The volumes.
    pub papers: &'a Papers,
    /// The source of the volumes, for other free parameters.
    pub traces: &'a Traces,
    /// Receives progress, in accesses.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl Bench<'_> {
    /// Calls `seen` with each request of a volume, in order.
    pub(crate) fn each_request(
        &self,
        name: &str,
        mut seen: impl FnMut(&Request),
    ) -> Result<(), MeasureError> {
        let (mut source, mut batch) = (self.papers.requests(name)?, Vec::new());
        while source.fill(&mut batch)? {
            batch.iter().for_each(&mut seen);
            (self.progress)(batch.len() as u64);
        }
        Ok(())
    }
}

/// The reason why a measurement failed. Displays as one line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A drive cannot be made.
    #[error(transparent)]
    Drive(#[from] DriveError),
}
