//! Isolation of panics: a policy that breaks its contract, or any other bug in a run, ends that run
//! with an error of one line. `RUST_BACKTRACE` prints a backtrace.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// Place of the last guarded panic, as `file:line`.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The payload of a cancelled run.
struct Cancelled;

/// Cancels the current run, from within its progress callback. The run fails with
/// [`RunError::Cancelled`](crate::run::RunError::Cancelled).
pub fn cancel() -> ! {
    // Bypasses the panic hook: this is no error.
    panic::resume_unwind(Box::new(Cancelled))
}

/// The reason why guarded work ended early.
#[derive(Debug)]
pub(crate) enum Stopped {
    Cancelled,
    /// A panic: its message and place.
    Panicked(String),
}

/// Runs `work` and returns its result, or why it ended. After an error nothing that it borrows may
/// be used again.
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
        // Equality assertions have one line for each side.
        let lines: Vec<&str> = message(panic.as_ref()).lines().map(str::trim).collect();
        Stopped::Panicked(format!("{} ({})", lines.join("; "), PLACE.take()))
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}
