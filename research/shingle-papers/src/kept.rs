//! Finished runs, kept in the folder of a reproduction, so that an interrupted one resumes where it
//! ended.
//!
//! The key of a run contains everything that decides its result: the program, the hash of the
//! trace's requests, and the labels of the run. Another build of the program reuses nothing.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use shingle_result::{Labels, RunResult};
use shingle_sim::requests::RequestList as _;
use shingle_sweep::SweepError;
use shingle_sweep::journal::{Done, Journal};
use shingle_trace::hash::Hasher;

use crate::traces::Held;

/// The finished runs of a folder.
#[derive(Debug)]
pub struct Kept {
    build: String,
    runs: Mutex<Runs>,
}

#[derive(Debug)]
struct Runs {
    done: Done<String>,
    journal: Journal,
}

#[derive(Serialize)]
struct Name<'a> {
    build: &'a str,
    trace: &'a str,
    accesses: usize,
    labels: &'a Labels,
}

impl Kept {
    /// Opens the journal at `path`, for runs of the program that `build` identifies. Runs of other
    /// builds are discarded.
    ///
    /// # Errors
    /// If it cannot be read or written, or is no journal.
    pub fn open(path: &Path, build: String) -> Result<Kept, SweepError> {
        let (mut journal, mut done) = Journal::open::<String>(path)?;
        let begin = name_begins(&build);
        if !done.is_empty() && !done.keys().all(|name| name.starts_with(&begin)) {
            let removed = std::fs::remove_file(path);
            removed.map_err(|error| SweepError::Data(format!("{}: {error}", path.display())))?;
            (journal, done) = Journal::open(path)?;
        }
        Ok(Kept { build, runs: Mutex::new(Runs { done, journal }) })
    }

    /// The number of finished runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.locked().done.len()
    }

    /// The key of a run over the first `accesses` accesses of a trace.
    pub(crate) fn name(&self, trace: &str, accesses: usize, labels: &Labels) -> String {
        let name = Name { build: &self.build, trace, accesses, labels };
        serde_json::to_string(&name).expect("labels are JSON")
    }

    /// Finds the result of a run that is done.
    pub(crate) fn find(&self, name: &str) -> Option<RunResult> {
        self.locked().done.get(name).cloned()
    }

    /// Records a run that is done.
    pub(crate) fn keep(&self, name: &str, result: &RunResult) -> Result<(), SweepError> {
        let mut runs = self.locked();
        runs.journal.append(&name, result).map_err(SweepError::Journal)?;
        // A run repeats if its workload does not depend on the varied parameter.
        runs.done.insert(name.to_owned(), result.clone());
        Ok(())
    }

    fn locked(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The common prefix of the keys of a build.
fn name_begins(build: &str) -> String {
    format!("{{\"build\":{},", serde_json::Value::from(build))
}

/// The hash of a trace's requests.
pub(crate) fn hash(held: &Held) -> String {
    let (mut hasher, mut scratch) = (Hasher::default(), Vec::new());
    let all = held.first(held.len());
    for from in (0..held.len()).step_by(AT_A_TIME) {
        let count = AT_A_TIME.min(held.len() - from);
        hasher.add(all.part(from, count, &mut scratch));
    }
    hasher.text()
}

const AT_A_TIME: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_done_once_and_known_to_its_build_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("runs.jsonl");
        let labels = Labels { cache_blocks: 7, ..Labels::default() };
        let result = RunResult::uncounted(&labels, shingle_core::policy::Memory::default());
        let done = |build: &str, accesses: usize, labels: &Labels| {
            let kept = Kept::open(&path, build.into()).expect("a journal");
            let name = kept.name("xxh3:1", accesses, labels);
            if let Some(found) = kept.find(&name) {
                assert_eq!(found.labels, result.labels);
                return false;
            }
            kept.keep(&name, &result).expect("kept");
            true
        };
        assert!(done("one", 10, &labels));
        assert!(!done("one", 10, &labels), "it is kept");
        assert!(done("one", 11, &labels), "a longer run");
        assert!(done("one", 10, &Labels { seed: 2, ..labels.clone() }), "another seed");
        assert!(!done("one", 11, &labels));
        assert!(done("two", 10, &labels), "another program");
        assert!(done("one", 10, &labels), "of which nothing is left");
    }
}
