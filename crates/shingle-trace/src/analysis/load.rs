//! The load over time, by the hour, or in shorter steps for a short trace.

use shingle_core::units::{Nanos, Op, Request};

/// The lengths of steps, in milliseconds: 10 ms to a year.
const STEPS_MS: [u64; 10] =
    [10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000, 2_592_000_000, 31_536_000_000];

/// Index of the hour.
const HOUR: usize = 6;

/// The fewest steps that are worth a picture.
const FEW: u64 = 12;

/// The most steps that are kept.
const MANY: u64 = 10_000;

/// Load in steps of equal length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Load {
    /// Length of a step.
    pub step: Nanos,
    /// The steps from the first request on.
    pub steps: Vec<Step>,
}

/// The load of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// Requests of all kinds.
    pub requests: u64,
    /// Bytes of reads.
    pub read_bytes: u64,
    /// Bytes of writes.
    pub written_bytes: u64,
}

impl Load {
    /// Creates the load of a trace whose last request arrives at `last`: by the hour, unless that
    /// would be fewer than 12 or more than 10,000 steps.
    #[must_use]
    pub fn new(last: Nanos) -> Load {
        let steps = |index: usize| last.0 / Nanos::from_millis(STEPS_MS[index]).0 + 1;
        let mut index = HOUR;
        while index > 0 && steps(index) < FEW {
            index -= 1;
        }
        while index + 1 < STEPS_MS.len() && steps(index) > MANY {
            index += 1;
        }
        Load { step: Nanos::from_millis(STEPS_MS[index]), steps: Vec::new() }
    }

    /// Counts a request. Requests must come in the order of their times.
    #[inline]
    pub fn add(&mut self, request: &Request) {
        let at = (request.at.0 / self.step.0) as usize;
        if self.steps.len() <= at {
            self.steps.resize(at + 1, Step::default());
        }
        let step = &mut self.steps[at];
        step.requests += 1;
        match request.op {
            Op::Read => step.read_bytes += request.bytes,
            Op::Write => step.written_bytes += request.bytes,
            Op::Trim | Op::Flush => {}
        }
    }

    /// Returns the index of the step with most requests, the first one of several.
    #[must_use]
    pub fn busiest(&self) -> Option<usize> {
        (0..self.steps.len()).rev().max_by_key(|&at| self.steps[at].requests)
    }

    /// Returns the name of the step's length.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self.step.0 / 1_000_000 {
            10 => "10 ms",
            100 => "100 ms",
            1_000 => "second",
            10_000 => "10 s",
            60_000 => "minute",
            600_000 => "10 min",
            3_600_000 => "hour",
            86_400_000 => "day",
            2_592_000_000 => "30 days",
            _ => "year",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_goes_with_the_length() {
        let unit = |seconds: u64| Load::new(Nanos::from_millis(1_000 * seconds)).unit();
        assert_eq!(
            [0, 11, 120, 7_200, 39_599, 39_600, 604_800, 40_000_000, 4_600_000_000].map(unit),
            ["10 ms", "second", "10 s", "10 min", "10 min", "hour", "hour", "day", "30 days"]
        );
    }

    #[test]
    fn loads_by_hand() {
        let second =
            |ms: u64, bytes: u64, op| Request { at: Nanos::from_millis(ms), offset: 0, bytes, op };
        let mut load = Load::new(Nanos::from_millis(20_000));
        for request in [
            second(0, 5, Op::Read),
            second(999, 7, Op::Write),
            second(3_000, 0, Op::Flush),
            second(3_000, 1, Op::Write),
        ] {
            load.add(&request);
        }
        let steps = [(2, 5, 7), (0, 0, 0), (0, 0, 0), (2, 0, 1)].map(
            |(requests, read_bytes, written_bytes)| Step { requests, read_bytes, written_bytes },
        );
        assert_eq!(load.steps, steps);
        assert_eq!(load.busiest(), Some(0));
    }
}
