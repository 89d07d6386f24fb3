//! The queue of the host, as far as announced: a translation that cleans may query it.

use std::collections::VecDeque;

use shingle_core::units::{Block, Nanos, Op, Request};
use shingle_drive::Io;
use shingle_translation::Queue;

/// Announced requests, in the order of their times.
#[derive(Clone, Default)]
pub(super) struct Coming {
    requests: VecDeque<Request>,
}

impl Coming {
    /// Removes the first `begun`, which are being served, and appends `coming`.
    pub(super) fn announce(&mut self, begun: usize, coming: &[Request]) {
        self.requests.drain(..begun.min(self.requests.len()));
        self.requests.extend(coming);
    }

    /// Returns the requests that have arrived by `now`, and `held_up`, which has to wait for the
    /// end of the work.
    pub(super) fn by<'a>(&'a self, now: Nanos, held_up: Option<&'a Io>) -> Arrived<'a> {
        Arrived { coming: self, now, held_up }
    }
}

/// The queue at one moment.
pub(super) struct Arrived<'a> {
    coming: &'a Coming,
    now: Nanos,
    held_up: Option<&'a Io>,
}

impl Queue for Arrived<'_> {
    fn writes(&self, hits: &dyn Fn(Block, u64) -> bool) -> bool {
        let held_up = self.held_up.filter(|io| io.op == Op::Write);
        let arrived = self.coming.requests.iter().take_while(|request| request.at <= self.now);
        held_up.is_some_and(|io| hits(io.block, io.count))
            || arrived
                .filter(|request| request.op == Op::Write)
                .any(|request| hits(request.first(), request.blocks()))
    }

    fn waits(&self) -> bool {
        let first = self.coming.requests.front();
        self.held_up.is_some() || first.is_some_and(|request| request.at <= self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(at: u64, op: Op, block: u64, count: u64) -> Request {
        Request { at: Nanos(at), offset: block * 4096, bytes: count * 4096, op }
    }

    fn writes(queue: &Arrived, block: u64, count: u64) -> bool {
        queue.writes(&|other, blocks| other.0 < block + count && block < other.0 + blocks)
    }

    #[test]
    fn what_has_arrived_and_is_not_served_waits() {
        let mut coming = Coming::default();
        assert!(!coming.by(Nanos(9), None).waits());
        coming.announce(0, &[request(1, Op::Write, 4, 2), request(2, Op::Read, 8, 1)]);
        coming.announce(0, &[request(3, Op::Write, 9, 1)]);
        assert!(!coming.by(Nanos(0), None).waits());
        assert!(writes(&coming.by(Nanos(1), None), 5, 1));
        assert!(!writes(&coming.by(Nanos(1), None), 6, 9), "9 arrives later");
        assert!(!writes(&coming.by(Nanos(2), None), 8, 1), "a read");
        coming.announce(1, &[]);
        assert!(coming.by(Nanos(2), None).waits());
        assert!(!writes(&coming.by(Nanos(3), None), 4, 2), "being served");
        assert!(writes(&coming.by(Nanos(3), None), 0, 10));
        let io = Io { op: Op::Write, block: Block(4), count: 1 };
        assert!(writes(&coming.by(Nanos(3), Some(&io)), 4, 1), "it is held up");
        coming.announce(9, &[]);
        assert!(!coming.by(Nanos(9), None).waits());
    }
}
