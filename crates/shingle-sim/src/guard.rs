//! A policy that breaks its contract, or any other mistake of a program in a run, ends that run with an
//! error of one line. A backtrace is printed only for those who ask for it with `RUST_BACKTRACE`.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// Where the last panic under guard was, as `file:line`.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What ends a run that nobody wants any more.
struct Cancelled;

/// Ends the run that it is called in: for whoever is told of its progress and wants no more of it. The run
/// fails with [`RunError::Cancelled`](crate::run::RunError::Cancelled).
pub fn cancel() -> ! {
    // (Past the hook: nothing is wrong.)
    panic::resume_unwind(Box::new(Cancelled))
}

/// Why guarded work ended early.
#[derive(Debug)]
pub(crate) enum Stopped {
    Cancelled,
    /// With what, and where.
    Panicked(String),
}

/// What `work` gives, or why it ended. Nothing that it borrows may be used again after an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Stopped> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let told = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if GUARDED.get()
                && let Some(at) = info.location()
            {
                PLACE.set(format!("{}:{}", at.file(), at.line()));
            }
            if !GUARDED.get() || std::env::var_os("RUST_BACKTRACE").is_some_and(|set| set != "0") {
                told(info);
            }
        }));
    });
    GUARDED.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(false);
    outcome.map_err(|panic| {
        if panic.is::<Cancelled>() {
            return Stopped::Cancelled;
        }
        // Assertions of equality have lines of their own for both sides.
        let lines: Vec<&str> = message(panic.as_ref()).lines().map(str::trim).collect();
        Stopped::Panicked(format!("{} ({})", lines.join("; "), PLACE.take()))
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}
