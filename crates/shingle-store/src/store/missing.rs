//! Exports that a process is to serve, and does not: they could not be opened, or have failed.

use std::path::absolute;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::errors::ServeError;
use super::options::CacheOptions;
use crate::measures::NotServed;

/// The exports of a process that are not served, for any thread.
#[derive(Clone, Default)]
pub(super) struct Missing(Arc<Mutex<Vec<(CacheOptions, NotServed)>>>);

impl Missing {
    fn lock(&self) -> MutexGuard<'_, Vec<(CacheOptions, NotServed)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an export, in the order of the names. Returns what is known of it, and whether that is new.
    pub(super) fn put(&self, options: CacheOptions, error: &ServeError) -> (NotServed, bool) {
        let ssd = absolute(&options.ssd).unwrap_or_else(|_| options.ssd.clone());
        let one = NotServed {
            export: options.name.clone(),
            ssd: ssd.display().to_string(),
            why: error.to_string(),
            is_tried_again: error.may_pass(),
        };
        let mut all = self.lock();
        let is_new = !all.iter().any(|(_, known)| *known == one);
        all.retain(|(_, known)| known.export != one.export);
        all.push((options, one.clone()));
        all.sort_by(|(one, _), (two, _)| one.name.cmp(&two.name));
        (one, is_new)
    }

    /// Removes all but those with these names.
    pub(super) fn retain(&self, is_kept: impl Fn(&str) -> bool) {
        self.lock().retain(|(options, _)| is_kept(&options.name));
    }

    pub(super) fn all(&self) -> Vec<NotServed> {
        self.lock().iter().map(|(_, one)| one.clone()).collect()
    }

    /// Those of which the reason may pass by itself.
    pub(super) fn tried_again(&self) -> Vec<CacheOptions> {
        let all = self.lock();
        all.iter().filter(|(_, one)| one.is_tried_again).map(|(it, _)| it.clone()).collect()
    }
}
