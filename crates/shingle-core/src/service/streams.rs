//! Long sequential runs, of which many may be under way side by side: a disk does them well by
//! itself, and a cache would only lose by them what is used again.

use crate::units::{Op, Request};

/// Runs remembered.
const STREAMS: usize = 32;

#[derive(Clone, Copy, Default, Debug)]
struct Stream {
    op: Option<Op>,
    end: u64,
    bytes: u64,
    used: u64,
}

/// Runs of requests, each beginning where the last one ended.
#[derive(Clone, Default, Debug)]
pub(super) struct Streams {
    streams: [Stream; STREAMS],
    clock: u64,
}

impl Streams {
    /// Whether `request` belongs to a run that is already longer than `limit`.
    pub(super) fn is_long(&mut self, request: &Request, limit: Option<u64>) -> bool {
        let Some(limit) = limit else { return false };
        self.clock += 1;
        let goes_on =
            |stream: &&mut Stream| stream.op == Some(request.op) && stream.end == request.offset;
        let (before, stream) = match self.streams.iter_mut().find(goes_on) {
            Some(stream) => (stream.bytes, stream),
            None => {
                let oldest = self.streams.iter_mut().min_by_key(|stream| stream.used);
                (0, oldest.expect("there are some"))
            }
        };
        *stream = Stream {
            op: Some(request.op),
            end: request.offset + request.bytes,
            bytes: before + request.bytes,
            used: self.clock,
        };
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
