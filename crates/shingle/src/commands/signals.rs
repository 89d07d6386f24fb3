//! Orderly ending, by signals, of commands that run until they are stopped.

use std::fmt;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Catches signals that would end the process: from its creation they only wake [`Ending::wait`].
pub(crate) struct Ending(Signals);

impl Ending {
    pub(crate) fn new() -> std::io::Result<Ending> {
        let ending = Ending::of_reloads()?;
        ending.begin()?;
        Ok(ending)
    }

    /// Catches only SIGHUP: a process that starts slowly can be ended meanwhile, but not by a
    /// request to reload what it has just read.
    pub(crate) fn of_reloads() -> std::io::Result<Ending> {
        Signals::new([SIGHUP]).map(Ending)
    }

    /// Catches the other signals, too, from now on.
    pub(crate) fn begin(&self) -> std::io::Result<()> {
        [SIGINT, SIGTERM].into_iter().try_for_each(|signal| self.0.add_signal(signal))
    }

    /// Waits for the next signal.
    pub(crate) fn wait(&mut self) -> Signal {
        match self.0.forever().next() {
            Some(SIGHUP) => Signal::HangUp,
            Some(SIGTERM) => Signal::Terminate,
            _ => Signal::Interrupt,
        }
    }
}

/// A signal that ends a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signal {
    /// SIGHUP: the terminal was closed, or a service manager requests a reload of the options.
    HangUp,
    /// SIGTERM: from `kill` and service managers.
    Terminate,
    /// SIGINT: from Ctrl-C.
    Interrupt,
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Signal::HangUp => "SIGHUP",
            Signal::Terminate => "SIGTERM",
            Signal::Interrupt => "SIGINT",
        })
    }
}
