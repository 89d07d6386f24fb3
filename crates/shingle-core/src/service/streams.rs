//! Long sequential runs, of which many may be under way side by side: a disk does them well by
//! itself, and a cache would only lose by them what is used again.

use crate::units::{Op, Request};

/// Runs remembered.
const STREAMS: usize = 32;

/// Runs of requests, each beginning where the last one ended.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    /// Where the next request of each run would begin, with its kind; [`NONE`] of a run that has not begun.
    next: [u64; STREAMS],
    bytes: [u64; STREAMS],
    /// Runs by number, the one unused for longest first.
    oldest: [u8; STREAMS],
}

/// No request begins there.
const NONE: u64 = u64::MAX;

/// (No disk has 2^62 bytes.)
fn place(op: Op, byte: u64) -> u64 {
    byte << 2 | op as u64
}

impl Default for Streams {
    fn default() -> Streams {
        let oldest = std::array::from_fn(|run| run as u8);
        Streams { next: [NONE; STREAMS], bytes: [0; STREAMS], oldest }
    }
}

impl Streams {
    /// Whether `request` belongs to a run that is already longer than `limit`.
    pub(super) fn is_long(&mut self, request: &Request, limit: Option<u64>) -> bool {
        let Some(limit) = limit else { return false };
        let begins = place(request.op, request.offset);
        let goes_on = self.next.iter().position(|&next| next == begins);
        let run = goes_on.unwrap_or(usize::from(self.oldest[0]));
        let at = self.oldest.iter().position(|&other| usize::from(other) == run);
        let at = at.expect("each is there");
        self.oldest.copy_within(at + 1.., at);
        self.oldest[STREAMS - 1] = run as u8;
        let before = goes_on.map_or(0, |run| self.bytes[run]);
        self.next[run] = place(request.op, request.offset + request.bytes);
        self.bytes[run] = before + request.bytes;
        before >= limit
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
}
