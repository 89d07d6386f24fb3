//! SIGHUP: the file of `--config` is read again, and its changes are applied.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};

use shingle_device::start_thread;
use shingle_nbd::listen::Address;
use shingle_store::store::serve::{Changes, Options, Roster, Stopper};
use tracing::{error, info};

use super::file::{File, Given, LogOptions};
use super::{is_reachable, open_to_all, service, shown, warn_of};
use crate::log::{Format, Level, Levels};

/// What a reload of the options needs.
pub(super) struct Reload {
    pub(super) path: PathBuf,
    /// A service manager has passed sockets.
    pub(super) handed_over: bool,
    pub(super) levels: Levels,
    pub(super) kept: Kept,
    /// `--quiet` was given.
    pub(super) quieter: bool,
    pub(super) roster: Roster,
}

/// Options that only a restart can change.
pub(super) struct Kept {
    metrics: Option<Address>,
    counters: Option<PathBuf>,
    format: Format,
}

impl Kept {
    pub(super) fn of(options: &Options, metrics: Option<&Address>, log: LogOptions) -> Kept {
        let counters = options.counters.clone();
        Kept { metrics: metrics.cloned(), counters, format: log.format }
    }

    /// Returns the names of the options that differ in `new`.
    fn differs_from(&self, new: &Kept) -> Vec<&'static str> {
        let all = [
            ("`metrics`", self.metrics != new.metrics),
            ("`counters`", self.counters != new.counters),
            ("`format` of `[log]`", self.format != new.format),
        ];
        all.into_iter().filter(|&(_, differs)| differs).map(|(name, _)| name).collect()
    }
}

impl Reload {
    /// Reads the options again on each message, on a thread of its own: a device may delay that, and a signal that ends the
    /// process must not wait for it. Once does for all messages that have come by then.
    pub(super) fn begin(self, stopper: Stopper) -> io::Result<Sender<()>> {
        let (to, told) = channel();
        start_thread("shingle-reload", move || {
            while told.recv().is_ok() {
                told.try_iter().for_each(drop);
                self.again(&stopper);
            }
        })?;
        Ok(to)
    }

    /// Reads the file again, and logs what that has changed.
    fn again(&self, stopper: &Stopper) {
        service::reloading();
        match self.apply(stopper) {
            Ok(reloaded) => {
                info!("{} is read again: {reloaded}", self.path.display());
                let Reloaded { changes, open, .. } = reloaded;
                if changes.certificates || !changes.begun.is_empty() || !changes.changed.is_empty()
                {
                    warn_of(&open);
                }
                service::ready(&self.roster);
            }
            // (Errors in the file itself begin with its path.)
            Err(error) => {
                error!("nothing is changed: {error:#}");
                service::still_ready();
            }
        }
    }

    /// Applies the file. An invalid one changes nothing.
    fn apply(&self, stopper: &Stopper) -> anyhow::Result<Reloaded> {
        let Given { options, metrics, log } = File::read(&self.path)?.given()?;
        is_reachable(&options, self.handed_over, "`listen`")?;
        let open = open_to_all(&options);
        let kept = self.kept.differs_from(&Kept::of(&options, metrics.as_ref(), log));
        let changes = stopper.reload(options)?;
        let level = shown(log.level, self.quieter);
        let level = self.levels.set(level).then_some(level);
        Ok(Reloaded { changes, level, kept, open })
    }
}

/// The outcome of a reload.
struct Reloaded {
    changes: Changes,
    /// The new level of the log, if it is another one.
    level: Option<Level>,
    /// The options that differ and stay as before.
    kept: Vec<&'static str>,
    /// The exports that any client with a valid certificate may open.
    open: Vec<String>,
}

impl fmt::Display for Reloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reloaded { changes, level, kept, .. } = self;
        let others = *changes != Changes::default() || (level.is_none() && kept.is_empty());
        let others = others.then(|| changes.to_string());
        let level = level.map(|level| format!("the log has lines of level {level} and above"));
        let kept =
            (!kept.is_empty()).then(|| format!("as before until a restart: {}", kept.join(", ")));
        let told: Vec<String> = [others, level, kept].into_iter().flatten().collect();
        f.write_str(&told.join("; "))
    }
}
