//! Numbers and pictures that no cache had a part in.

use std::collections::BTreeMap;

use shingle_core::units::Request;
use shingle_drive::DriveError;
use shingle_trace::TraceError;
use shingle_trace::papers::Papers;
use thiserror::Error;

use crate::traces::Traces;
use shingle_report::chart::{Kind, Picture};

/// What a measurement came to.
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

/// What a measurement gets.
#[allow(missing_debug_implementations)]
pub struct Bench<'a> {
    /// Seed of everything random.
    pub seed: u64,
    /// The drive to measure, where a figure is about one drive.
    pub drive: Option<&'a str>,
    /// The volumes.
    pub papers: &'a Papers,
    /// Where they come from, for those with other free parameters.
    pub traces: &'a Traces,
    /// Told of work done, in accesses.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl Bench<'_> {
    /// Each request of a volume, in order.
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

/// Why nothing could be measured. Displays as one line.
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
