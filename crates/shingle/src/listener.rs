//! Receives remarks and progress while work runs: a terminal, or the caller of a command's
//! function.

use crate::cli::Global;
use crate::output;
use crate::progress::Progress;

/// Receives remarks and progress. It may be called from several threads.
pub trait Listener: Sync {
    /// Receives a remark of one line.
    fn note(&self, text: &str);

    /// Begins work called `what`, of `total` units, or of 0 if the number is not known yet. The
    /// work ends when the bar is dropped.
    fn begin(&self, what: &'static str, total: u64) -> Box<dyn Bar + '_>;
}

/// Receives the progress of one piece of work.
pub trait Bar: Sync {
    /// Adds `done` finished units.
    fn add(&self, done: u64);

    /// Sets the progress to `done` of `total` units.
    fn set(&self, done: u64, total: u64);
}

impl Listener for Global {
    fn note(&self, text: &str) {
        output::note(text, self.quiet);
    }

    fn begin(&self, what: &'static str, total: u64) -> Box<dyn Bar + '_> {
        Box::new(Progress::new(what, total, self.quiet))
    }
}

impl Bar for Progress {
    fn add(&self, done: u64) {
        Progress::add(self, done);
    }

    fn set(&self, done: u64, total: u64) {
        Progress::set(self, done, total);
    }
}
