//! Tells operators what takes long.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use shingle_device::start_thread;

/// Tells, at growing intervals, what is waited for.
#[derive(Debug)]
pub struct Telling {
    done: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Telling {
    /// Calls `tell` after 2 s, and then ever more rarely, until it returns false, as nobody listens.
    #[must_use]
    pub fn begin(mut tell: impl FnMut() -> bool + Send + 'static) -> Telling {
        const FIRST: Duration = Duration::from_secs(2);
        let (done, is_done) = channel();
        let tell = move || {
            let mut patience = FIRST;
            while is_done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) && tell() {
                patience *= 2;
            }
        };
        // Without a thread nothing is told, and all else is the same.
        Telling { done, thread: start_thread("shingle-telling", tell).ok() }
    }

    /// Stops telling.
    pub fn end(self) {
        drop(self.done);
        self.thread.map(JoinHandle::join);
    }
}
