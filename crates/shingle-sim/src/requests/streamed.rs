//! Requests that stay in a file and are read again by each run.

use std::sync::OnceLock;

use shingle_core::units::Request;
use shingle_trace::error::TraceError;
use shingle_trace::native::{self, Reading};

use super::RequestList;

/// The requests of a native trace, read as a run needs them.
#[derive(Debug)]
pub struct Streamed {
    source: native::Streamed,
    /// The error that ended reading. A run ends there, and has no result.
    failure: OnceLock<TraceError>,
}

impl Streamed {
    /// Creates a list of the requests in a file.
    #[must_use]
    pub fn new(source: native::Streamed) -> Streamed {
        Streamed { source, failure: OnceLock::new() }
    }

    /// Returns the file.
    #[must_use]
    pub fn source(&self) -> &native::Streamed {
        &self.source
    }
}

/// The consecutive requests that a reader holds in memory.
#[derive(Default)]
pub struct Window {
    /// Number of the first.
    first: usize,
    requests: Vec<Request>,
    /// The block read last, before it is moved to `requests`, and the state of reading.
    block: Vec<Request>,
    reading: Option<Box<Reading>>,
}

impl Window {
    fn end(&self) -> usize {
        self.first + self.requests.len()
    }

    /// Makes the window cover numbers `from` to `to`, which is not beyond the end.
    fn reach(
        &mut self,
        source: &native::Streamed,
        from: usize,
        to: usize,
    ) -> Result<(), TraceError> {
        if from < self.first || from > self.end() {
            self.first = from;
            self.requests.clear();
        }
        if to <= self.end() {
            return Ok(());
        }
        // Requests before `from` were served.
        self.requests.drain(..from - self.first);
        self.first = from;
        let reading = self.reading.get_or_insert_default();
        while self.first + self.requests.len() < to {
            let next = self.first + self.requests.len();
            let first = source.read(next as u64, reading, &mut self.block)?;
            self.requests.extend_from_slice(&self.block[next - first as usize..]);
        }
        Ok(())
    }
}

impl RequestList for Streamed {
    type Scratch = Window;

    fn len(&self) -> usize {
        self.source.requests() as usize
    }

    #[inline]
    fn part<'a>(&'a self, from: usize, count: usize, scratch: &'a mut Window) -> &'a [Request] {
        let to = self.len().min(from.saturating_add(count));
        if from >= to || self.failure.get().is_some() {
            return &[];
        }
        if (from < scratch.first || to > scratch.end())
            && let Err(error) = scratch.reach(&self.source, from, to)
        {
            // Of several runs that fail here, the first reports it.
            let _ = self.failure.set(error);
            return &[];
        }
        &scratch.requests[from - scratch.first..to - scratch.first]
    }

    fn failure(&self) -> Option<&TraceError> {
        self.failure.get()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shingle_core::units::{Nanos, Op};
    use shingle_trace::native::Indexed;
    use shingle_trace::{Mode, Shape};

    use super::super::{all, part_of};
    use super::*;

    fn requests(count: u64) -> Vec<Request> {
        let op = |n: u64| if n % 5 < 2 { Op::Read } else { Op::Write };
        (0..count)
            .map(|n| Request { at: Nanos(n), offset: n * 512, bytes: 512, op: op(n) })
            .collect()
    }

    fn written(folder: &std::path::Path, requests: &[Request]) -> String {
        let path = folder.join("a.shingle").display().to_string();
        let mut sink = shingle_trace::write::create(&path, None).expect("made");
        sink.put(requests).expect("written");
        sink.finish().expect("whole");
        path
    }

    fn streamed(path: &str, shape: &Shape) -> Streamed {
        let file = Indexed::open(path).expect("a header");
        Streamed::new(native::Streamed::new(file, shape, &mut |_, _| {}).expect("whole").0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// In any order: blocks of the file have 2,458 writes or so.
        #[test]
        fn parts_are_those_of_memory(
            asked in prop::collection::vec((0..10_000_usize, 0..9_000_usize), 1..12),
            in_order in prop::bool::ANY,
        ) {
            let folder = shingle_testbed::folder();
            let path = written(folder.path(), &requests(16_500));
            let shape = Shape { mode: Mode::Write, ..Shape::default() };
            let held = shape.apply(requests(16_500)).expect("some are left");
            let streamed = streamed(&path, &shape);
            prop_assert_eq!(RequestList::len(&streamed), held.len());
            let mut window = Window::default();
            let mut next = 0;
            for (from, count) in asked {
                let from = if in_order { next } else { from };
                let part = streamed.part(from, count, &mut window);
                prop_assert_eq!(part, part_of(&held, from, count));
                next = from + part.len();
            }
            prop_assert!(streamed.failure().is_none());
        }
    }

    #[test]
    fn what_cannot_be_read_any_more_ends_the_list() {
        let folder = shingle_testbed::folder();
        let path = written(folder.path(), &requests(9_000));
        let streamed = streamed(&path, &Shape::default());
        let mut bytes = std::fs::read(&path).expect("there");
        let last = bytes.len() - 50;
        bytes[last] ^= 1;
        std::fs::write(&path, &bytes).expect("written");
        let mut window = Window::default();
        assert_eq!(streamed.part(4_000, 16, &mut window).len(), 16);
        assert!(streamed.part(8_992, 16, &mut window).is_empty());
        assert!(streamed.failure().is_some());
        // For all who read it: no run has a result then.
        assert!(streamed.part(0, 16, &mut Window::default()).is_empty());
        assert_eq!(all(&streamed).count(), 0);
    }
}
