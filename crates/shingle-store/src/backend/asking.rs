//! A question that a device may not answer at once. Meanwhile callers get the last answer.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long callers wait, from the moment of the question. A later answer is for the next caller.
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
    /// Since when a thread has been waiting for an answer.
    asked: Option<Instant>,
}

/// A question that was asked. Whoever asks many devices asks all before it waits for one.
pub(crate) struct Asked<T> {
    shared: Arc<Shared<T>>,
    /// When, if the device has not answered yet.
    at: Option<Instant>,
}

impl<T: Clone + Send + 'static> Asking<T> {
    /// Asks by calling `ask`, which returns `None` when the device is not in use any more.
    pub(crate) fn new(
        thread: &'static str,
        ask: impl Fn() -> Option<T> + Send + Sync + 'static,
    ) -> Asking<T> {
        let last = Mutex::new(Last { answer: None, asked: None });
        Asking(Arc::new(Shared { thread, ask: Box::new(ask), last, told: Condvar::new() }))
    }

    /// Asks, unless the device still has to answer an earlier caller.
    pub(crate) fn ask(&self) -> Asked<T> {
        let mut last = self.0.last();
        if last.asked.is_none() {
            let shared = self.0.clone();
            let ask = move || shared.put((shared.ask)());
            let begun = thread::Builder::new().name(self.0.thread.to_owned()).spawn(ask);
            // Without a thread it is as if the device did not answer.
            last.asked = begun.is_ok().then(Instant::now);
        }
        Asked { shared: self.0.clone(), at: last.asked }
    }

    /// The last known answer, without asking.
    #[cfg(test)]
    pub(crate) fn last(&self) -> Option<T> {
        self.0.last().answer.clone()
    }

    /// The answer, or the last known one; `None` if there is none yet.
    pub(crate) fn answer(&self) -> Option<T> {
        self.ask().answer()
    }
}

impl<T: Clone> Asked<T> {
    /// The answer, or the last known one; `None` if there is none yet. A device that has been silent for long is not waited for.
    pub(crate) fn answer(self) -> Option<T> {
        let last = self.shared.last();
        let left = self.at.map_or(Duration::ZERO, |at| PATIENCE.saturating_sub(at.elapsed()));
        let is_silent = |last: &mut Last<T>| last.asked.is_some() && last.asked == self.at;
        let waited = self.shared.told.wait_timeout_while(last, left, is_silent);
        waited.unwrap_or_else(PoisonError::into_inner).0.answer.clone()
    }
}

impl<T> Shared<T> {
    fn last(&self) -> MutexGuard<'_, Last<T>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, answer: Option<T>) {
        let mut last = self.last();
        last.asked = None;
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

    /// Of many caches whose folder hangs, by one who asks all of them, and by many who ask one after the other.
    #[test]
    fn waits_for_devices_that_hang_do_not_add_up() {
        let (hold, held) = channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let hangs = || {
            let held = held.clone();
            Asking::new("hangs", move || held.lock().ok()?.recv().ok().map(|()| 7))
        };
        let all: Vec<_> = (0..100).map(|_| hangs()).collect();
        let begun = Instant::now();
        let asked: Vec<_> = all.iter().map(Asking::ask).collect();
        assert!(asked.into_iter().all(|asked| asked.answer().is_none()));
        assert!((0..10).flat_map(|_| &all).all(|asking| asking.answer().is_none()));
        let took = begun.elapsed();
        drop(hold);
        assert!(took < 20 * PATIENCE, "{took:?}");
    }
}
