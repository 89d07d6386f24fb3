//! Reports of failures, as lines at a limited rate.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use shingle_device::{RepeatLimiter, Repeats};

/// Receives lines about failures.
pub type Tell = Box<dyn Fn(String) + Send + Sync>;

/// Reports failures.
pub(super) struct Failures {
    tell: Tell,
    /// Groups failures whose messages differ only in numbers, such as zones.
    limiter: Mutex<RepeatLimiter<String, String>>,
}

impl Failures {
    pub(super) fn new(tell: Tell) -> Failures {
        Failures { tell, limiter: Mutex::default() }
    }

    /// Reports the outcome if it is a failure, and returns it.
    pub(super) fn report<T>(&self, outcome: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &outcome {
            self.add(error, Instant::now());
        }
        outcome
    }

    fn add(&self, error: &io::Error, now: Instant) {
        let what = error.to_string();
        let of = what.chars().filter(|c| !c.is_ascii_digit()).collect();
        self.tell(|limiter| {
            limiter.add(of, what, now).into_iter().chain(limiter.tick(now)).collect()
        });
    }

    /// Reports what is due after a time without failures.
    pub(super) fn tick(&self, now: Instant) {
        self.tell(|limiter| limiter.tick(now));
    }

    /// Reports what is left at the end.
    pub(super) fn end(&self, now: Instant) {
        self.tell(|limiter| limiter.end(now));
    }

    fn tell(&self, due: impl FnOnce(&mut RepeatLimiter<String, String>) -> Vec<Repeats<String>>) {
        let due = due(&mut self.limiter.lock().unwrap_or_else(PoisonError::into_inner));
        for Repeats { what, more, .. } in due {
            let more = match more {
                0 => String::new(),
                more => format!("; {more} more like it"),
            };
            (self.tell)(format!("disk: {what}{more}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn lines_are_limited_and_none_hides_another() {
        let (to, told) = channel();
        let failures = Failures::new(Box::new(move |line| to.send(line).expect("heard")));
        let lines = || told.try_iter().collect::<Vec<_>>();
        let begun = Instant::now();
        let after = |millis| begun + Duration::from_millis(millis);
        for zone in 0..4 {
            failures.add(&io::Error::other(format!("zone {zone} is full")), after(zone));
        }
        failures.add(&io::Error::from_raw_os_error(5), after(10));
        assert_eq!(lines(), ["disk: zone 0 is full", "disk: Input/output error (os error 5)"]);
        failures.tick(after(999));
        assert!(lines().is_empty());
        failures.add(&io::Error::other("zone 7 is full"), after(1000));
        assert_eq!(lines(), ["disk: zone 7 is full; 3 more like it"]);
        failures.add(&io::Error::from_raw_os_error(5), after(1001));
        failures.add(&io::Error::from_raw_os_error(5), after(1002));
        failures.end(after(1003));
        assert_eq!(lines(), ["disk: Input/output error (os error 5); 1 more like it"]);
    }
}
