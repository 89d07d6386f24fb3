//! Turns panics of the crate that reads Parquet into errors: it panics on damaged pages.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use ::parquet::errors::{ParquetError, Result};

thread_local! {
    static FENCED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `read` and returns an error if it panics. After an error, nothing that `read` borrows may
/// be used.
pub(super) fn fenced<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let told = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !FENCED.get() {
                told(info);
            }
        }));
    });
    FENCED.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(read));
    FENCED.set(false);
    outcome.unwrap_or_else(|_| {
        Err(ParquetError::General("a page does not hold what its header says".to_owned()))
    })
}
