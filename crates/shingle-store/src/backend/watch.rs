//! How a disk is doing that may not answer at once: a zoned disk tells between works, and cleaning a zone takes
//! seconds. Whoever asks gets what was told last, then.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use shingle_translated::Status;

/// An answer that takes longer is one for the next who asks.
const PATIENCE: Duration = Duration::from_millis(500);

/// Says how a disk is doing. Clones ask the same disk.
#[derive(Clone)]
pub struct Watch(Arc<Shared>);

struct Shared {
    /// It may take as long as it likes.
    ask: Box<dyn Fn() -> Option<Status> + Send + Sync>,
    last: Mutex<Last>,
    told: Condvar,
}

#[derive(Default)]
struct Last {
    status: Option<Status>,
    /// Somebody waits for an answer.
    asks: bool,
}

impl Shared {
    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, status: Option<Status>) {
        let mut last = self.last();
        last.asks = false;
        if status.is_some() {
            last.status = status;
        }
        drop(last);
        self.told.notify_all();
    }
}

impl Watch {
    /// What `ask` tells; nothing when the disk is not used any more.
    pub fn new(ask: impl Fn() -> Option<Status> + Send + Sync + 'static) -> Watch {
        let (last, told) = (Mutex::default(), Condvar::new());
        Watch(Arc::new(Shared { ask: Box::new(ask), last, told }))
    }

    /// How it is now, or was when it was asked last; nothing if it has not told yet.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        let mut last = self.0.last();
        if !last.asks {
            let shared = self.0.clone();
            let ask = move || shared.put((shared.ask)());
            let thread = thread::Builder::new().name("shingle-watch-disk".to_owned());
            // (Without a thread it is as if it did not answer.)
            last.asks = thread.spawn(ask).is_ok();
        }
        let waited = self.0.told.wait_timeout_while(last, PATIENCE, |last| last.asks);
        waited.unwrap_or_else(PoisonError::into_inner).0.status.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn who_asks_does_not_wait_for_a_disk_that_is_busy() {
        let (to, answers) = channel();
        let answers = Mutex::new(answers);
        let watch = Watch::new(move || answers.lock().expect("no panic").recv().ok());
        let told = |blocks| Status { blocks, ..Status::default() };
        to.send(told(7)).expect("heard");
        assert_eq!(watch.status(), Some(told(7)));
        // It is busy: whoever asks is told the last, and nobody else is sent to ask.
        assert_eq!([watch.status(), watch.status()], [Some(told(7)), Some(told(7))]);
        to.send(told(8)).expect("heard");
        while watch.status() != Some(told(8)) {}
        drop(to);
        assert_eq!(watch.status(), Some(told(8)), "it is not used any more");
    }
}
