//! How what runs until it is ended is ended in order.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// From when it is made, signals that end a process only wake whoever waits here.
pub(crate) struct Ending(Signals);

impl Ending {
    pub(crate) fn new() -> std::io::Result<Ending> {
        Signals::new([SIGINT, SIGTERM, SIGHUP]).map(Ending)
    }

    /// Waits for the next signal; whether it is the one that ends a terminal, by which a service manager says
    /// that options are to be read again.
    pub(crate) fn wait(&mut self) -> bool {
        self.0.forever().next() == Some(SIGHUP)
    }
}
