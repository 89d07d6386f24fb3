//! Wakes the store's thread.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// Wakes the store's thread if it sleeps. An awake thread checks for messages before it sleeps.
pub(super) struct Waker {
    doorbell: Arc<File>,
    sleeps: AtomicBool,
}

impl Waker {
    pub(super) fn new(doorbell: Arc<File>) -> Waker {
        Waker { doorbell, sleeps: AtomicBool::new(false) }
    }

    /// Wakes the thread after a message was sent.
    pub(super) fn wake(&self) {
        // Each side writes before its fence and reads behind it. So either this sees that the
        // thread sleeps, or the thread sees the message.
        fence(Ordering::SeqCst);
        if self.sleeps.load(Ordering::Relaxed) && self.sleeps.swap(false, Ordering::Relaxed) {
            // It fails only if the counter is full, which has woken the thread.
            let _ = (&*self.doorbell).write(&1_u64.to_ne_bytes());
        }
    }

    /// Announces that the thread is about to sleep. It has to check for messages once more after
    /// this; later ones wake it.
    pub(super) fn begin_sleep(&self) {
        self.sleeps.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Notes that the thread is awake.
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
        let waker = Waker::new(doorbell.clone());
        let rung = || {
            let mut count = [0; 8];
            (&*doorbell).read(&mut count).ok().map(|_| u64::from_ne_bytes(count))
        };
        waker.wake();
        assert_eq!(rung(), None, "awake");
        waker.begin_sleep();
        (0..2).for_each(|_| waker.wake());
        assert_eq!(rung(), Some(1), "asleep");
        waker.begin_sleep();
        waker.end_sleep();
        waker.wake();
        assert_eq!(rung(), None, "awake again");
    }
}
