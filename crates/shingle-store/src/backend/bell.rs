//! What wakes the store's thread.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// Wakes the store's thread, if it sleeps: one that is awake looks before it sleeps.
pub(super) struct Bell {
    doorbell: Arc<File>,
    sleeps: AtomicBool,
}

impl Bell {
    pub(super) fn new(doorbell: Arc<File>) -> Bell {
        Bell { doorbell, sleeps: AtomicBool::new(false) }
    }

    /// Something was said before.
    pub(super) fn ring(&self) {
        // Each side writes before its fence and reads behind it: either this sees that the thread sleeps, or the thread sees
        // what was said.
        fence(Ordering::SeqCst);
        if self.sleeps.load(Ordering::Relaxed) && self.sleeps.swap(false, Ordering::Relaxed) {
            let _ = (&*self.doorbell).write(&1_u64.to_ne_bytes());
        }
    }

    /// The thread is about to sleep: it has to look once more after this. What is said later wakes it.
    pub(super) fn begin_sleep(&self) {
        self.sleeps.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// It is awake.
    pub(super) fn end_sleep(&self) {
        self.sleeps.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    #[test]
    fn the_bell_rings_once_for_who_sleeps_and_not_for_who_is_awake() {
        let doorbell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).expect("one");
        let doorbell = Arc::new(File::from(doorbell));
        let bell = Bell::new(doorbell.clone());
        let rung = || {
            let mut count = [0; 8];
            (&*doorbell).read(&mut count).ok().map(|_| u64::from_ne_bytes(count))
        };
        bell.ring();
        assert_eq!(rung(), None, "awake");
        bell.begin_sleep();
        (0..2).for_each(|_| bell.ring());
        assert_eq!(rung(), Some(1), "asleep");
        bell.begin_sleep();
        bell.end_sleep();
        bell.ring();
        assert_eq!(rung(), None, "awake again");
    }
}
