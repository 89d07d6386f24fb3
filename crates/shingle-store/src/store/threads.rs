//! Threads for work that waits for devices, or for other processes.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, ScopedJoinHandle};

use shingle_device::start_thread;

/// Calls `act` for all at once, each on a thread of its own, so that their waits do not add up. Returns the outcomes in order; that
/// of a thread that has panicked is an error.
pub(super) fn in_parallel<T: Send, R: Send>(
    name: &str,
    all: impl IntoIterator<Item = T>,
    act: impl Fn(T) -> R + Sync,
) -> Vec<thread::Result<R>> {
    let all: Vec<_> = all.into_iter().map(|one| Mutex::new(Some(one))).collect();
    let act = |one| act(take(one));
    thread::scope(|scope| {
        let begin = |one| {
            let thread = thread::Builder::new().name(name.to_owned());
            (one, thread.spawn_scoped(scope, move || act(one)))
        };
        let work: Vec<_> = all.iter().map(begin).collect();
        let outcome = |(one, work): (_, io::Result<ScopedJoinHandle<'_, _>>)| match work {
            Ok(work) => work.join(),
            // If the system gives no thread, this one does the work.
            Err(_) => Ok(act(one)),
        };
        work.into_iter().map(outcome).collect()
    })
}

/// Runs `work` on a thread of its own, or on this one if the system gives none.
pub(super) fn on_own_thread(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Option<JoinHandle<()>> {
    let here = Arc::new(Mutex::new(Some(work)));
    let there = here.clone();
    let begun = start_thread(name, move || take(&there)());
    if begun.is_err() {
        take(&here)();
    }
    begun.ok()
}

fn take<T>(held: &Mutex<Option<T>>) -> T {
    let held = held.lock().unwrap_or_else(PoisonError::into_inner).take();
    held.expect("it is done once")
}
