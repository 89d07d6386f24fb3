//! Panics that are looked for are not printed: there are thousands of them.

use std::cell::Cell;
use std::sync::Once;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// While this lives, no panic of this thread is printed.
#[must_use]
pub struct Quiet(());

impl Quiet {
    /// From now on.
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
