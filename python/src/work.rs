//! Work without the interpreter's lock, which Ctrl-C ends and of which Python hears while it goes on.
//!
//! The work has a thread of its own. The calling thread waits for it, and now and then takes the lock: to see
//! whether a signal came, and to tell what there is to tell. A signal ends the runs at their next report of
//! progress.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use shingle::api::{Bar, Listener};

use crate::errors::{of_class, raised};

/// How long a signal may wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// What Python hears of work.
#[derive(Debug, Default)]
pub(crate) struct Callbacks {
    /// Called with a remark.
    pub(crate) note: Option<Py<PyAny>>,
    /// Called with the name of the work, what is done of it, and all of it.
    pub(crate) progress: Option<Py<PyAny>>,
}

impl Callbacks {
    /// From an object with these attributes, or `None`.
    pub(crate) fn of(told: Option<&Bound<'_, PyAny>>) -> PyResult<Callbacks> {
        let Some(told) = told else { return Ok(Callbacks::default()) };
        let get = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            let value = told.getattr(name)?;
            Ok((!value.is_none()).then(|| value.unbind()))
        };
        Ok(Callbacks { note: get("note")?, progress: get("progress")? })
    }
}

/// Listens to work, and ends it when it is cancelled.
#[derive(Default)]
pub(crate) struct Watch {
    cancelled: AtomicBool,
    notes: Mutex<Vec<String>>,
    /// What is being done.
    what: Mutex<&'static str>,
    done: AtomicU64,
    total: AtomicU64,
}

impl Watch {
    fn check(&self) {
        if self.cancelled.load(Ordering::Relaxed) {
            shingle_sim::cancel();
        }
    }

    fn what(&self) -> &'static str {
        *self.what.lock().expect("nobody panics with it")
    }
}

impl Listener for Watch {
    fn note(&self, text: &str) {
        self.notes.lock().expect("nobody panics with it").push(text.to_owned());
    }

    fn begin(&self, what: &'static str, total: u64) -> Box<dyn Bar + '_> {
        *self.what.lock().expect("nobody panics with it") = what;
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        Box::new(Counted(self))
    }
}

struct Counted<'a>(&'a Watch);

impl Bar for Counted<'_> {
    fn add(&self, done: u64) {
        self.0.done.fetch_add(done, Ordering::Relaxed);
        self.0.check();
    }

    fn set(&self, done: u64, total: u64) {
        self.0.done.store(done, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
        self.0.check();
    }
}

/// Does `work` while Python goes on.
///
/// # Errors
/// Those of the work; an exception of a signal or a callback; a panic, which is a mistake of the program.
pub(crate) fn work<T: Send>(
    py: Python<'_>,
    told: &Callbacks,
    work: impl FnOnce(&Watch) -> anyhow::Result<T> + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    let (outcome, interrupted) = py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = channel::<()>();
            let watch = &watch;
            let worker = scope.spawn(move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| work(watch)));
                drop(sender);
                outcome
            });
            let mut interrupted = None;
            while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(PATIENCE) {
                if interrupted.is_none() {
                    interrupted = Python::attach(|py| tell(py, told, watch)).err();
                    watch.cancelled.store(interrupted.is_some(), Ordering::Relaxed);
                }
            }
            (worker.join().unwrap_or_else(Err), interrupted)
        })
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    let outcome = outcome.map_err(|panic| of_class(py, "ShingleError", &panicked(&*panic)))?;
    tell_notes(py, told, &watch)?;
    if let (Some(progress), Ok(_)) = (&told.progress, &outcome) {
        let total = watch.total.load(Ordering::Relaxed);
        progress.call1(py, (watch.what(), total, total))?;
    }
    outcome.map_err(|error| raised(py, &error))
}

fn tell(py: Python<'_>, told: &Callbacks, watch: &Watch) -> PyResult<()> {
    py.check_signals()?;
    tell_notes(py, told, watch)?;
    if let Some(progress) = &told.progress {
        let [done, total] = [&watch.done, &watch.total].map(|count| count.load(Ordering::Relaxed));
        progress.call1(py, (watch.what(), done, total))?;
    }
    Ok(())
}

fn tell_notes(py: Python<'_>, told: &Callbacks, watch: &Watch) -> PyResult<()> {
    let notes = std::mem::take(&mut *watch.notes.lock().expect("nobody panics with it"));
    let Some(note) = &told.note else { return Ok(()) };
    notes.into_iter().try_for_each(|text| note.call1(py, (text,)).map(drop))
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("a mistake in shingle: {text}; please report it with the call that shows it")
}
