//! How what runs until it is ended is ended in order.

use std::fmt;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// From when it is made, signals that end a process only wake whoever waits here.
pub(crate) struct Ending(Signals);

impl Ending {
    pub(crate) fn new() -> std::io::Result<Ending> {
        let ending = Ending::of_reloads()?;
        ending.begin()?;
        Ok(ending)
    }

    /// Only SIGHUP waits: whoever takes long to start can be ended meanwhile, and not by being told to read again what he has
    /// just read.
    pub(crate) fn of_reloads() -> std::io::Result<Ending> {
        Signals::new([SIGHUP]).map(Ending)
    }

    /// From now on the others wait, too.
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
    /// A terminal has ended, by which a service manager says that options are to be read again.
    HangUp,
    /// As `kill` and service managers send.
    Terminate,
    /// As Ctrl-C sends.
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
