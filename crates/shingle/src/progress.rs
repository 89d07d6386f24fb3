//! A progress bar on stderr, on a terminal, for work that takes over a second.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Counts finished work; is shown only when that takes long.
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    shown: Mutex<bool>,
    wanted: bool,
}

const PATIENCE: Duration = Duration::from_secs(1);

impl Progress {
    /// Creates a bar for `total` units of work called `what`.
    pub(crate) fn new(what: &'static str, total: u64, quiet: bool) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = "{msg} [{bar:40}] {percent}%, {eta} left";
        bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        bar.set_message(what);
        let wanted = !quiet && std::io::IsTerminal::is_terminal(&std::io::stderr());
        Progress { bar, begun: Instant::now(), shown: Mutex::new(false), wanted }
    }

    /// Adds `done` finished units.
    pub(crate) fn add(&self, done: u64) {
        self.bar.inc(done);
        self.show();
    }

    pub(crate) fn set(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
        self.show();
    }

    /// Adds `more` units to the total.
    #[cfg(feature = "papers")]
    pub(crate) fn extend(&self, more: u64) {
        self.bar.inc_length(more);
    }

    fn show(&self) {
        if self.wanted
            && self.begun.elapsed() > PATIENCE
            && let Ok(mut shown) = self.shown.lock()
            && !*shown
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            *shown = true;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
