//! Turns panics of the crate that reads Parquet into errors: it panics on damaged pages.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use ::parquet::errors::{ParquetError, Result};

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `read` and returns an error if it panics. After an error, nothing that `read` borrows may
/// be used.
pub(super) fn catch_panics<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CATCHING.get() {
                previous(info);
            }
        }));
    });
    CATCHING.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(read));
    CATCHING.set(false);
    outcome.unwrap_or_else(|_| {
        Err(ParquetError::General("a page does not hold what its header says".to_owned()))
    })
}
