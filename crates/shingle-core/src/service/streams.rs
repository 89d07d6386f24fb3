//! Detection of long sequential runs, of which many may be interleaved. A disk serves them well by
//! itself, and caching them would only evict blocks that are used again.

use crate::units::{Op, Request};

/// Number of runs remembered.
const STREAMS: usize = 32;

/// Runs of requests, each beginning where the last one ended.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    /// Key of the next request of each run: its place and operation. [`NONE`] if there is no run.
    next: [u64; STREAMS],
    /// The keys hashed to 32 bits, so that all are compared at once. Whole keys are compared only if
    /// one matches.
    marks: [u32; STREAMS],
    bytes: [u64; STREAMS],
    /// The runs in the order of use, as a ring: for each run the one used next.
    newer: [u8; STREAMS],
    older: [u8; STREAMS],
    /// The least recently used run.
    oldest: u8,
}

/// A key of no request.
const NONE: u64 = u64::MAX;

/// Returns the key of an operation that begins at this byte. (No disk has 2^62 bytes.)
fn place(op: Op, byte: u64) -> u64 {
    byte << 2 | op as u64
}

impl Default for Streams {
    fn default() -> Streams {
        let newer = std::array::from_fn(|run| ((run + 1) % STREAMS) as u8);
        let older = std::array::from_fn(|run| ((run + STREAMS - 1) % STREAMS) as u8);
        let (next, marks, bytes) = ([NONE; STREAMS], [mark(NONE); STREAMS], [0; STREAMS]);
        Streams { next, marks, bytes, newer, older, oldest: 0 }
    }
}

/// Hashes a key to 32 bits.
fn mark(place: u64) -> u32 {
    (place ^ place >> 32) as u32
}

impl Streams {
    /// Returns whether `request` belongs to a run that is already longer than `limit`.
    pub(super) fn is_long(&mut self, request: &Request, limit: Option<u64>) -> bool {
        let Some(limit) = limit else { return false };
        let begins = place(request.op, request.offset);
        let continued = self.find(begins);
        let run = continued.unwrap_or(usize::from(self.oldest));
        self.mark_used(run);
        let before = continued.map_or(0, |run| self.bytes[run]);
        self.next[run] = place(request.op, request.offset + request.bytes);
        self.marks[run] = mark(self.next[run]);
        self.bytes[run] = before + request.bytes;
        before >= limit
    }

    /// Returns the run whose next request begins at `place`.
    fn find(&self, place: u64) -> Option<usize> {
        let wanted = mark(place);
        // Without a branch, so that several are compared by one instruction.
        let some_alike = self.marks.iter().fold(false, |alike, &mark| alike | (mark == wanted));
        some_alike.then(|| self.next.iter().position(|&next| next == place)).flatten()
    }

    /// Marks `run` as used last: moves it between the newest and the oldest of the ring.
    fn mark_used(&mut self, run: usize) {
        let (oldest, newer, older) = (self.oldest, self.newer[run], self.older[run]);
        if usize::from(oldest) == run {
            // The ring turns.
            self.oldest = newer;
            return;
        }
        let newest = self.older[usize::from(oldest)];
        if usize::from(newest) == run {
            return;
        }
        (self.newer[usize::from(older)], self.older[usize::from(newer)]) = (newer, older);
        (self.newer[usize::from(newest)], self.older[usize::from(oldest)]) = (run as u8, run as u8);
        (self.newer[run], self.older[run]) = (oldest, newest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanos;

    #[test]
    fn long_runs_are_seen_side_by_side() {
        let mut streams = Streams::default();
        let mut ask = |op, offset, bytes| {
            let request = Request { at: Nanos::ZERO, offset, bytes, op };
            streams.is_long(&request, Some(100))
        };
        for n in 0..10 {
            // 32 runs, of which each brings 20 bytes a turn: the first 100 bytes are short.
            for run in 0..32 {
                assert_eq!(ask(Op::Write, run * 10_000 + n * 20, 20), n >= 5, "run {run} turn {n}");
            }
        }
        assert!(!ask(Op::Read, 200, 20), "reads are no part of a run of writes");
        assert!(!ask(Op::Write, 7, 20));
    }

    /// As plainly as can be: each is looked at, and the order is a list.
    #[test]
    fn runs_are_those_of_a_plain_list() {
        let mut streams = Streams::default();
        let mut runs = [(u64::MAX, 0); STREAMS];
        let mut oldest_first: Vec<usize> = (0..STREAMS).collect();
        let mut drawn = 1_u64;
        for turn in 0..20_000 {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let draw = drawn >> 33;
            let op = if draw.is_multiple_of(3) { Op::Read } else { Op::Write };
            // Most go on somewhere; halves of places are alike in many of the others.
            let offset = match runs.get(draw as usize % 40) {
                Some(&(end, _)) if end != u64::MAX => end >> 2,
                _ => (draw % 50) << 30 | (draw % 50),
            };
            let request = Request { at: Nanos::ZERO, offset, bytes: 1 + draw % 7, op };
            let continued = runs.iter().position(|&(end, _)| end == place(op, offset));
            let run = continued.unwrap_or(oldest_first[0]);
            oldest_first.retain(|&other| other != run);
            oldest_first.push(run);
            let before = continued.map_or(0, |run| runs[run].1);
            runs[run] = (place(op, offset + request.bytes), before + request.bytes);
            assert_eq!(streams.is_long(&request, Some(30)), before >= 30, "turn {turn}");
        }
    }
}
