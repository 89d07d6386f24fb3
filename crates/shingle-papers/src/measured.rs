//! Numbers and pictures that no cache had a part in.

use std::collections::BTreeMap;

use crate::chart::Picture;

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
}

/// What a measurement gets.
#[allow(missing_debug_implementations)]
pub struct Bench<'a> {
    /// Seed of everything random.
    pub seed: u64,
    /// Part of the paper's amount of work.
    pub scale: f64,
    /// Where traces come from.
    pub traces: &'a crate::traces::Traces,
    /// Told of work done, in accesses.
    pub progress: &'a (dyn Fn(u64) + Sync),
}
