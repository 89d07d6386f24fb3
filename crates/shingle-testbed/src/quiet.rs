//! Suppresses the output of expected panics, as there are thousands.

use std::cell::Cell;
use std::sync::Once;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Suppresses the output of this thread's panics, until it is dropped.
#[must_use]
pub struct Quiet(());

impl Quiet {
    /// Begins the suppression.
    pub fn begin() -> Quiet {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if DEPTH.get() == 0 {
                    before(panic);
                }
            }));
        });
        DEPTH.set(DEPTH.get() + 1);
        Quiet(())
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}
