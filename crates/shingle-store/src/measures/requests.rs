//! Requests of clients, from their submission by a connection to the reply.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shingle_engine::CommandOp;

use super::{Histogram, SharedHistogram};

/// The kinds of requests, in the order of [`RequestTotals`].
pub const KINDS: [&str; 5] = ["read", "write", "trim", "write_zeroes", "flush"];

fn place(op: CommandOp) -> usize {
    match op {
        CommandOp::Read => 0,
        CommandOp::Write => 1,
        CommandOp::Trim => 2,
        CommandOp::WriteZeroes => 3,
        CommandOp::Flush => 4,
    }
}

/// The requests of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestTotals {
    /// The response times.
    pub times: Histogram,
    /// Bytes requested.
    pub bytes: u64,
    /// Replies that were errors.
    pub errors: u64,
}

impl RequestTotals {
    pub(super) fn plus(self, other: &RequestTotals) -> RequestTotals {
        RequestTotals {
            times: self.times.plus(&other.times),
            bytes: self.bytes + other.bytes,
            errors: self.errors + other.errors,
        }
    }
}

#[derive(Debug, Default)]
struct Kind {
    times: SharedHistogram,
    bytes: AtomicU64,
    errors: AtomicU64,
}

/// Measures requests, on the threads of connections.
#[derive(Debug, Default)]
pub(crate) struct Requests([Kind; KINDS.len()]);

impl Requests {
    pub(crate) fn answered(&self, op: CommandOp, bytes: u64, took: Duration, went_well: bool) {
        let kind = &self.0[place(op)];
        kind.times.add(took);
        kind.bytes.fetch_add(bytes, Ordering::Relaxed);
        kind.errors.fetch_add(u64::from(!went_well), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> [RequestTotals; KINDS.len()] {
        std::array::from_fn(|at| {
            let Kind { times, bytes, errors } = &self.0[at];
            let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
            RequestTotals { times: times.get(), bytes: get(bytes), errors: get(errors) }
        })
    }
}
