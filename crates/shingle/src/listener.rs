//! Who hears of work while it goes on: a terminal, or whoever calls a command as a function.

use crate::cli::Global;
use crate::output;
use crate::progress::Progress;

/// Hears remarks, and how far work has come. It may be told from several threads.
pub trait Listener: Sync {
    /// A remark: one line.
    fn note(&self, text: &str);

    /// Work begins that is called `what`, of `total` units, or of 0 if nobody knows yet. It ends when the bar is
    /// dropped.
    fn begin(&self, what: &'static str, total: u64) -> Box<dyn Bar + '_>;
}

/// Hears how far one piece of work has come.
pub trait Bar: Sync {
    /// `done` more units are done.
    fn add(&self, done: u64);

    /// `done` of `total` units are done.
    fn set(&self, done: u64, total: u64);
}

/// A terminal.
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
