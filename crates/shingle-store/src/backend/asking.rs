//! A question that a device may not answer at once. Meanwhile callers get the last answer.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a caller waits. A later answer is for the next caller.
const PATIENCE: Duration = Duration::from_millis(500);

/// A question to one device, by any number of callers. One thread at most waits for the device.
/// Clones share the answer.
pub(crate) struct Asking<T>(Arc<Shared<T>>);

impl<T> Clone for Asking<T> {
    fn clone(&self) -> Asking<T> {
        Asking(self.0.clone())
    }
}

struct Shared<T> {
    /// The name of the thread that asks.
    thread: &'static str,
    /// May take long.
    ask: Box<dyn Fn() -> Option<T> + Send + Sync>,
    last: Mutex<Last<T>>,
    told: Condvar,
}

struct Last<T> {
    answer: Option<T>,
    /// A thread is waiting for an answer.
    asking: bool,
}

impl<T: Clone + Send + 'static> Asking<T> {
    /// Asks by calling `ask`, which returns `None` when the device is not in use any more.
    pub(crate) fn new(
        thread: &'static str,
        ask: impl Fn() -> Option<T> + Send + Sync + 'static,
    ) -> Asking<T> {
        let last = Mutex::new(Last { answer: None, asking: false });
        Asking(Arc::new(Shared { thread, ask: Box::new(ask), last, told: Condvar::new() }))
    }

    /// The answer, or the last known one; `None` if there is none yet.
    pub(crate) fn answer(&self) -> Option<T> {
        let mut last = self.0.last();
        if !last.asking {
            let shared = self.0.clone();
            let ask = move || shared.put((shared.ask)());
            // Without a thread it is as if the device did not answer.
            last.asking = thread::Builder::new().name(self.0.thread.to_owned()).spawn(ask).is_ok();
        }
        let waited = self.0.told.wait_timeout_while(last, PATIENCE, |last| last.asking);
        waited.unwrap_or_else(PoisonError::into_inner).0.answer.clone()
    }
}

impl<T> Shared<T> {
    fn last(&self) -> MutexGuard<'_, Last<T>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, answer: Option<T>) {
        let mut last = self.last();
        last.asking = false;
        if answer.is_some() {
            last.answer = answer;
        }
        drop(last);
        self.told.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn who_asks_does_not_wait_for_a_device_that_is_busy() {
        let (to, answers) = channel();
        let answers = Mutex::new(answers);
        let asking = Asking::new("asks", move || answers.lock().expect("no panic").recv().ok());
        to.send(7).expect("heard");
        assert_eq!(asking.answer(), Some(7));
        // The device is busy: callers get the last answer, and no further thread is started.
        assert_eq!([asking.answer(), asking.answer()], [Some(7), Some(7)]);
        to.send(8).expect("heard");
        while asking.answer() != Some(8) {}
        drop(to);
        assert_eq!(asking.answer(), Some(8), "it is not used any more");
    }
}
