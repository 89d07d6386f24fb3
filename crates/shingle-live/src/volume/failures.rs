//! What failed, for whoever looks on: a line now and then.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Gets a line about something that failed.
pub type Tell = Box<dyn Fn(String) + Send + Sync>;

/// A disk that fails may fail thousands of times a second.
const EVERY: Duration = Duration::from_secs(1);

/// Tells of failures.
pub(super) struct Failures {
    tell: Tell,
    /// When a line was told last, and how many failures there were since.
    last: Mutex<(Option<Instant>, u64)>,
}

impl Failures {
    pub(super) fn new(tell: Tell) -> Failures {
        Failures { tell, last: Mutex::default() }
    }

    /// Tells of it if it is a failure, and gives it back.
    pub(super) fn seen<T>(&self, outcome: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &outcome {
            self.add(error, Instant::now());
        }
        outcome
    }

    fn add(&self, error: &io::Error, now: Instant) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, hidden) = *last;
        if at.is_some_and(|at| now.duration_since(at) < EVERY) {
            last.1 += 1;
            return;
        }
        *last = (Some(now), 0);
        drop(last);
        let more = match hidden {
            0 => String::new(),
            more => format!("; {more} more since the last line"),
        };
        (self.tell)(format!("disk: {error}{more}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn there_is_a_line_a_second() {
        let (to, told) = channel();
        let failures = Failures::new(Box::new(move |line| to.send(line).expect("heard")));
        let begun = Instant::now();
        for millis in [0, 1, 500, 999, 1000, 1001] {
            failures
                .add(&io::Error::other("zone 7 is full"), begun + Duration::from_millis(millis));
        }
        let lines: Vec<String> = told.try_iter().collect();
        assert_eq!(
            lines,
            ["disk: zone 7 is full", "disk: zone 7 is full; 3 more since the last line"]
        );
    }
}
