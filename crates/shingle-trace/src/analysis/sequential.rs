//! Sequential requests: those that begin where an earlier one ended. A trace of a disk has several
//! sequential streams at a time, so the last [`STREAMS`] ends are kept for reads and for writes.

use shingle_core::units::{Op, Request};

use super::histogram::Histogram;

/// Number of streams of each kind; a new one replaces the least recently used.
pub const STREAMS: usize = 32;

/// Sequential runs of reads and of writes.
#[derive(Clone, Debug, Default)]
pub struct Sequential {
    /// Runs of reads.
    pub read: Runs,
    /// Runs of writes.
    pub write: Runs,
}

/// Runs of requests, each of which begins where the one before it ended.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Requests that continue a run.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Lengths of completed runs, in bytes. A single request is a run, too.
    pub lengths: Histogram,
    /// Bytes of the longest run.
    pub longest_bytes: u64,
    streams: Vec<Stream>,
    clock: u64,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    end: u64,
    bytes: u64,
    last_used: u64,
}

impl Sequential {
    /// Counts a request.
    #[inline]
    pub fn add(&mut self, request: &Request) {
        match request.op {
            Op::Read => self.read.add(request.offset, request.bytes),
            Op::Write => self.write.add(request.offset, request.bytes),
            Op::Trim | Op::Flush => {}
        }
    }

    /// Completes all runs at the end of the trace.
    pub fn end(&mut self) {
        self.read.end();
        self.write.end();
    }
}

impl Runs {
    /// Returns the number of completed runs.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.lengths.count()
    }

    fn add(&mut self, offset: u64, bytes: u64) {
        self.clock += 1;
        let end = offset + bytes;
        let continued = self.streams.iter_mut().filter(|stream| stream.end == offset);
        // Of several streams the newest is continued: a range read twice at the same time is two
        // streams.
        if let Some(stream) = continued.max_by_key(|stream| stream.last_used) {
            *stream = Stream { end, bytes: stream.bytes + bytes, last_used: self.clock };
            self.requests += 1;
            self.bytes += bytes;
            return;
        }
        let stream = Stream { end, bytes, last_used: self.clock };
        if self.streams.len() < STREAMS {
            self.streams.push(stream);
            return;
        }
        let oldest = (0..STREAMS).min_by_key(|&at| self.streams[at].last_used).unwrap_or(0);
        let replaced = std::mem::replace(&mut self.streams[oldest], stream);
        self.complete(replaced.bytes);
    }

    fn complete(&mut self, bytes: u64) {
        self.lengths.add(bytes);
        self.longest_bytes = self.longest_bytes.max(bytes);
    }

    fn end(&mut self) {
        for stream in std::mem::take(&mut self.streams) {
            self.complete(stream.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(requests: impl IntoIterator<Item = (u64, u64)>) -> Runs {
        let mut runs = Runs::default();
        requests.into_iter().for_each(|(offset, bytes)| runs.add(offset, bytes));
        runs.end();
        runs
    }

    #[test]
    fn two_streams_in_turn_are_both_sequential() {
        let runs = runs([(0, 4), (100, 2), (4, 4), (102, 2), (8, 1), (50, 3), (104, 9)]);
        assert_eq!((runs.requests, runs.bytes), (4, 4 + 2 + 1 + 9));
        assert_eq!((runs.count(), runs.longest_bytes), (3, 13));
    }

    #[test]
    fn a_stream_that_rested_too_long_is_forgotten() {
        let others = |count: u64| (0..count).map(|other| (1_000 + 10 * other, 1));
        let kept = runs([(0, 5)].into_iter().chain(others(STREAMS as u64 - 1)).chain([(5, 5)]));
        assert_eq!((kept.requests, kept.longest_bytes), (1, 10));
        let lost = runs([(0, 5)].into_iter().chain(others(STREAMS as u64)).chain([(5, 5)]));
        assert_eq!((lost.requests, lost.longest_bytes), (0, 5));
        assert_eq!(lost.count(), STREAMS as u64 + 2);
    }

    #[test]
    fn of_two_streams_that_end_at_one_place_the_newer_goes_on() {
        let runs = runs([(0, 8), (4, 4), (8, 2)]);
        assert_eq!((runs.requests, runs.longest_bytes), (1, 8));
        assert_eq!(runs.lengths.bins().map(|bin| bin.count).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn reads_do_not_continue_writes() {
        use shingle_core::units::Nanos;
        let mut both = Sequential::default();
        for (offset, op) in [(0, Op::Write), (512, Op::Read), (1024, Op::Read)] {
            both.add(&Request { at: Nanos::ZERO, offset, bytes: 512, op });
        }
        both.end();
        assert_eq!((both.read.requests, both.write.requests), (1, 0));
        assert_eq!((both.read.count(), both.write.count()), (1, 1));
    }
}
