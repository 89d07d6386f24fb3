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
struct RunKey<'a> {
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
        let begin = key_prefix(&build);
        if !done.is_empty() && !done.keys().all(|key| key.starts_with(&begin)) {
            let removed = std::fs::remove_file(path);
            removed.map_err(|error| SweepError::Data(format!("{}: {error}", path.display())))?;
            (journal, done) = Journal::open(path)?;
        }
        Ok(Kept { build, runs: Mutex::new(Runs { done, journal }) })
    }

    /// The number of finished runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.lock().done.len()
    }

    /// The key of a run over the first `accesses` accesses of a trace.
    pub(crate) fn key(&self, trace: &str, accesses: usize, labels: &Labels) -> String {
        let key = RunKey { build: &self.build, trace, accesses, labels };
        serde_json::to_string(&key).expect("labels are JSON")
    }

    pub(crate) fn find(&self, key: &str) -> Option<RunResult> {
        self.lock().done.get(key).cloned()
    }

    /// Records a run that is done.
    pub(crate) fn keep(&self, key: &str, result: &RunResult) -> Result<(), SweepError> {
        let mut runs = self.lock();
        runs.journal.append(&key, result).map_err(SweepError::Journal)?;
        // A run repeats if its workload does not depend on the varied parameter.
        runs.done.insert(key.to_owned(), result.clone());
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The common prefix of the keys of a build.
fn key_prefix(build: &str) -> String {
    format!("{{\"build\":{},", serde_json::Value::from(build))
}

/// The hash of a trace's requests.
pub(crate) fn hash(held: &Held) -> String {
    let (mut hasher, mut scratch) = (Hasher::default(), Vec::new());
    let all = held.first(held.len());
    for from in (0..held.len()).step_by(BATCH_REQUESTS) {
        let count = BATCH_REQUESTS.min(held.len() - from);
        hasher.add(all.part(from, count, &mut scratch));
    }
    hasher.text()
}

const BATCH_REQUESTS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_done_once_and_known_to_its_build_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("runs.jsonl");
        let labels = Labels { cache_blocks: 7, ..Labels::default() };
        let result = RunResult::without_counts(&labels, shingle_core::policy::Memory::default());
        let done = |build: &str, accesses: usize, labels: &Labels| {
            let kept = Kept::open(&path, build.into()).expect("a journal");
            let key = kept.key("xxh3:1", accesses, labels);
            if let Some(found) = kept.find(&key) {
                assert_eq!(found.labels, result.labels);
                return false;
            }
            kept.keep(&key, &result).expect("kept");
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
