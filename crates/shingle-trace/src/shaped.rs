//! A source that transforms a trace as it comes, so that the trace is never held in memory.

use shingle_core::units::{Nanos, Request};

use crate::error::TraceError;
use crate::shape::Shape;
use crate::source::Source;

/// A source whose requests pass through a shape [of single requests](Shape::is_of_single_requests).
pub struct Shaped<'a> {
    source: &'a mut dyn Source,
    shape: Shape,
    /// Arrival of the first request that is kept, once it has come.
    first: Option<Nanos>,
    /// Number of requests still to pass on.
    remaining: u64,
}

impl<'a> Shaped<'a> {
    /// Creates a source of what `shape` keeps of `source`.
    ///
    /// # Panics
    /// If the shape needs all requests at once.
    #[must_use]
    pub fn new(source: &'a mut dyn Source, shape: Shape) -> Shaped<'a> {
        assert!(shape.is_of_single_requests(), "a shape of single requests");
        let remaining = shape.requests.unwrap_or(u64::MAX);
        Shaped { source, shape, first: None, remaining }
    }
}

impl Source for Shaped<'_> {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        while self.remaining > 0 && self.source.fill(out)? {
            let mode = self.shape.mode;
            let first = out.iter().find(|request| mode.keeps(request.op)).map(|first| first.at);
            self.first = self.first.or(first);
            let Some(first) = self.first else { continue };
            self.shape.apply_each(first, out);
            out.truncate(usize::try_from(self.remaining).unwrap_or(usize::MAX));
            self.shape.check_fits(out)?;
            if !out.is_empty() {
                self.remaining -= out.len() as u64;
                return Ok(true);
            }
        }
        out.clear();
        // A trace without a request is a mistake.
        self.first.map(|_| false).ok_or_else(|| self.shape.empty_error())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }

    fn warnings(&self) -> Vec<String> {
        self.source.warnings()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shingle_core::units::Op;

    use super::*;
    use crate::shape::Mode;
    use crate::source::{DISK_BYTES_MAX, read_all};

    /// Requests in batches of three.
    struct Held(Vec<Request>);

    impl Source for Held {
        fn fill(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
            out.clear();
            out.extend(self.0.drain(..self.0.len().min(3)));
            Ok(!out.is_empty())
        }
    }

    fn shaped(requests: &[Request], shape: &Shape) -> Result<Vec<Request>, TraceError> {
        let mut held = Held(requests.to_vec());
        read_all(&mut Shaped::new(&mut held, shape.clone()), &mut |_| ())
    }

    proptest! {
        /// The result is that of `Shape::apply` on all requests at once, or the same error.
        #[test]
        fn requests_are_shaped_as_all_at_once(
            places in prop::collection::vec((0..4_u8, 0..9_u64, 0..99_u64), 0..30),
            mode in prop::sample::select(vec![Mode::ReadWrite, Mode::Read, Mode::Write]),
            requests in prop::option::of(0..20_u64),
            offset in prop::sample::select(vec![0, 512, DISK_BYTES_MAX - 50 * 512]),
        ) {
            let mut at = Nanos::ZERO;
            let made: Vec<Request> = places
                .iter()
                .map(|&(op, wait, sector)| {
                    at = Nanos(at.0 + wait);
                    match op {
                        0 => Request { at, offset: 0, bytes: 0, op: Op::Flush },
                        1 => Request { at, offset: sector * 512, bytes: 512, op: Op::Trim },
                        2 => Request { at, offset: sector * 512, bytes: 512, op: Op::Write },
                        _ => Request { at, offset: sector * 512, bytes: 512, op: Op::Read },
                    }
                })
                .collect();
            let shape = Shape { mode, requests, offset, ..Shape::default() };
            let wanted = shape.apply(made.clone()).map_err(|error| error.to_string());
            prop_assert_eq!(shaped(&made, &shape).map_err(|error| error.to_string()), wanted);
        }
    }
}
