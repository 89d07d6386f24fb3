//! The clock of real disks, and the interruption by the user.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::target::{Nanos, TargetError};

/// A clock that starts when a disk is opened.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    begun: Instant,
    interrupted: Arc<AtomicBool>,
}

impl Clock {
    pub(crate) fn new(interrupted: Arc<AtomicBool>) -> Clock {
        Clock { begun: Instant::now(), interrupted }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.begun.elapsed().into()
    }

    /// Returns an error once the user has interrupted the probe.
    pub(crate) fn check_interrupted(&self) -> Result<(), TargetError> {
        match self.interrupted.load(Ordering::Relaxed) {
            true => Err(TargetError::Interrupted),
            false => Ok(()),
        }
    }

    /// Sleeps for `span`, and checks for an interruption every 50 ms.
    pub(crate) fn sleep(&self, span: Nanos) -> Result<(), TargetError> {
        const STEP: Nanos = Nanos::from_millis(50);
        let end = self.now() + span;
        loop {
            self.check_interrupted()?;
            let left = end.since(self.now()).min(STEP);
            if left == Nanos::ZERO {
                return Ok(());
            }
            thread::sleep(Duration::from_nanos(left.0));
        }
    }
}
