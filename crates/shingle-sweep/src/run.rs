//! Runs the pending cells of a sweep, and makes its report.

use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use shingle_result::{Program, Report, RunResult, SCHEMA, verdict};
use shingle_sim::experiment::Options;

use crate::SweepError;
use crate::folder::Folder;
use crate::journal::Done;
use crate::manifest::{Manifest, Shard};
use crate::plan::Plan;

/// A sweep in its folder.
pub struct Sweep {
    plan: Arc<Plan>,
    manifest: Manifest,
    folder: Folder,
    done: Done,
}

impl Sweep {
    /// Begins the sweep in the folder `out`, or resumes it; `fresh` starts over.
    ///
    /// # Errors
    /// If the folder cannot be used, holds another sweep, or is in use by another process.
    pub fn open(
        plan: Arc<Plan>,
        options: &Options,
        shard: Shard,
        out: &Path,
        fresh: bool,
    ) -> Result<Sweep, SweepError> {
        let manifest = Manifest::new(&plan, options, shard);
        let (folder, done) = Folder::open(out, &manifest, fresh)?;
        Ok(Sweep { plan, manifest, folder, done })
    }

    /// Returns the number of finished cells.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done.len()
    }

    /// Returns the numbers of the cells that this shard still has to compute.
    #[must_use]
    pub fn pending(&self) -> Vec<usize> {
        let mine = |number: &usize| self.manifest.shard.has(*number);
        let cells = (0..self.plan.cells.len()).filter(mine);
        cells.filter(|number| !self.done.contains_key(number)).collect()
    }

    /// Returns the number of requests that pending cells have to serve.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.pending().into_iter().map(|number| self.plan.requests(number)).sum()
    }

    /// Saves `run` as the result of cell `number`, which another process has computed by
    /// [`Plan::run`]. A finished cell stays unchanged.
    ///
    /// # Errors
    /// If there is no such cell, or it cannot be saved.
    pub fn keep(&mut self, number: usize, run: RunResult) -> Result<(), SweepError> {
        if number >= self.plan.len() {
            let why = format!("there is no cell {number}: the sweep has {}", self.plan.len());
            return Err(SweepError::Data(why));
        }
        if let Entry::Vacant(place) = self.done.entry(number) {
            self.folder.journal.append(&number, &run).map_err(SweepError::Journal)?;
            place.insert(run);
        }
        Ok(())
    }

    /// Computes pending cells, on all threads of the current pool; `progress` is called with the
    /// number of requests served. Each finished cell is saved at once. Returns how many cells were
    /// computed.
    ///
    /// # Errors
    /// The error of the first cell, in grid order, that failed, or of the journal. Finished cells
    /// stay saved.
    pub fn run(&mut self, progress: &(dyn Fn(u64) + Sync)) -> Result<usize, SweepError> {
        let pending = self.pending();
        let next = AtomicUsize::new(0);
        let failed: Mutex<Vec<(usize, SweepError)>> = Mutex::default();
        let kept = Mutex::new((&mut self.folder.journal, &mut self.done));
        let plan = &self.plan;
        // Each thread takes the next cell when it has finished one: no thread idles while cells are
        // pending.
        rayon::broadcast(|_| {
            while let Some(&number) = pending.get(next.fetch_add(1, Ordering::Relaxed)) {
                let saved = plan.run(number, progress).and_then(|run| {
                    let mut kept = kept.lock().expect("no thread has panicked");
                    kept.0.append(&number, &run).map_err(SweepError::Journal)?;
                    kept.1.insert(number, run);
                    Ok(())
                });
                if let Err(error) = saved {
                    failed.lock().expect("no thread has panicked").push((number, error));
                    next.store(pending.len(), Ordering::Relaxed);
                }
            }
        });
        let failed = failed.into_inner().expect("no thread has panicked");
        match failed.into_iter().min_by_key(|(number, _)| *number) {
            Some((_, error)) => Err(error),
            None => Ok(pending.len()),
        }
    }

    /// Returns the report of the whole sweep by `program`, which is also written to `results.json`;
    /// `None` for a shard.
    ///
    /// # Errors
    /// If it cannot be written.
    ///
    /// # Panics
    /// If cells are missing: call [`Sweep::run`] before.
    pub fn finish(self, program: Program) -> Result<Option<Report>, SweepError> {
        if self.manifest.shard.count > 1 {
            return Ok(None);
        }
        assert!(self.pending().is_empty(), "a sweep is finished when it has run");
        save(program, self.manifest, self.done, &self.folder).map(Some)
    }
}

/// Writes the report of all cells into `folder`.
pub(crate) fn save(
    program: Program,
    manifest: Manifest,
    done: Done,
    folder: &Folder,
) -> Result<Report, SweepError> {
    let report = report(program, manifest, done);
    let text = serde_json::to_string_pretty(&report).expect("a report is JSON");
    folder.save(&(text + "\n"))?;
    Ok(report)
}

fn report(program: Program, manifest: Manifest, done: Done) -> Report {
    let runs: Vec<RunResult> = done.into_values().collect();
    Report {
        schema: SCHEMA,
        shingle: program,
        seed: manifest.seed,
        trace: manifest.sweep.traces[0].info.clone(),
        said: verdict::said_of_sweep(&runs, &manifest.sweep),
        runs,
        sweep: Some(manifest.sweep),
        targets: Vec::new(),
    }
}
