//! Where requests come from, and what every one of them is guaranteed to satisfy.

use shingle_core::units::{NS_PER_S, Nanos, Op, Request};

use crate::error::{Kind, Problem, TraceError};
use crate::reorder::{REORDER_NANOS_MAX, Reorder};

/// Requests in a batch of [`read_all`]: a call through `dyn` for each batch costs nothing.
pub const BATCH_REQUESTS: usize = 4096;

/// No request reaches past this byte.
pub use shingle_core::units::DISK_BYTES_MAX;

/// A read or write longer than this is a wrong column or unit, not a request.
pub const REQUEST_BYTES_MAX: u64 = 1 << 30;

/// A trim may cover a whole disk; this one is large enough.
pub const TRIM_BYTES_MAX: u64 = 1 << 44;

/// A trace is shorter than this: 146 years.
pub const TRACE_NANOS_MAX: u64 = 1 << 62;

/// Requests, batch by batch.
///
/// Every request satisfies: `at` starts at 0 and never goes back; reads, writes and trims have at
/// least one byte and end at or before [`DISK_BYTES_MAX`]; reads and writes are no longer than
/// [`REQUEST_BYTES_MAX`], trims than [`TRIM_BYTES_MAX`]; a flush has offset 0 and no bytes.
pub trait Source: Send {
    /// Clears `out` and fills it up to its capacity (a batch, if it has none).
    ///
    /// True: `out` holds at least one request. False: the trace has ended and `out` is empty.
    ///
    /// # Errors
    /// If the trace cannot be read on; the requests before the fault are lost or not, as it falls.
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError>;

    /// How many requests there are in all, if that is known beforehand.
    fn length_hint(&self) -> Option<u64> {
        None
    }

    /// How far reading has come: done and total, in bytes of input. For a progress bar.
    fn progress(&self) -> Option<(u64, u64)> {
        None
    }

    /// What the user should know although it is no error: sentences, complete once the end is
    /// reached.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Makes room for a batch if `out` has no capacity of its own.
pub(crate) fn ready(out: &mut Vec<Request>) {
    out.clear();
    if out.capacity() == 0 {
        out.reserve_exact(BATCH_REQUESTS);
    }
}

/// Reads a source to its end. `on_progress` sees the source after every batch.
///
/// # Errors
/// The first that the source meets.
pub fn read_all(
    source: &mut dyn Source,
    on_progress: &mut dyn FnMut(&dyn Source),
) -> Result<Vec<Request>, TraceError> {
    // The hint is a claim of the input; trust it only as far as it costs little.
    const RESERVED_REQUESTS_MAX: u64 = 1 << 20;
    let hint = source.length_hint().unwrap_or(0).min(RESERVED_REQUESTS_MAX);
    let mut all = Vec::with_capacity(usize::try_from(hint).unwrap_or(0));
    let mut batch = Vec::with_capacity(BATCH_REQUESTS);
    while source.fill(&mut batch)? {
        all.extend_from_slice(&batch);
        on_progress(source);
    }
    Ok(all)
}

/// A request as a format decoded it, not yet checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw {
    /// Nanoseconds since whatever the format counts from.
    pub(crate) ns: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) op: Op,
    /// Number of its volume, from 0 by first appearance among those that are read.
    pub(crate) volume: u32,
}

/// Lets only valid requests through: at the place where a fault can still be told with its line or
/// byte.
#[derive(Debug)]
pub(crate) struct Gate {
    reorder: Reorder,
    first_ns: Option<u64>,
    newest_ns: u64,
}

impl Gate {
    pub(crate) fn new(reorder: Reorder) -> Gate {
        Gate { reorder, first_ns: None, newest_ns: 0 }
    }

    #[inline]
    pub(crate) fn admit(&mut self, raw: Raw) -> Result<Raw, Problem> {
        self.in_time(raw.ns)?;
        if raw.op == Op::Flush {
            return Ok(Raw { offset: 0, bytes: 0, ..raw });
        }
        let bytes_max = if raw.op == Op::Trim { TRIM_BYTES_MAX } else { REQUEST_BYTES_MAX };
        let end = raw.offset.checked_add(raw.bytes);
        if raw.bytes == 0 || raw.bytes > bytes_max || end.is_none_or(|end| end > DISK_BYTES_MAX) {
            return Err(refused(raw, bytes_max));
        }
        Ok(raw)
    }

    #[inline]
    fn in_time(&mut self, ns: u64) -> Result<(), Problem> {
        let first = *self.first_ns.get_or_insert(ns);
        if ns >= self.newest_ns {
            self.newest_ns = ns;
            // What is sorted in front of the first request moves all others up by so much.
            if ns - first >= TRACE_NANOS_MAX - REORDER_NANOS_MAX {
                return Err(Problem::range(
                    "the time is more than 146 years after the first request; is the column or its \
                     unit right (--format csv:time=COLUMN/us,…)?",
                ));
            }
            return Ok(());
        }
        match self.reorder {
            Reorder::Within(window) if self.newest_ns - ns > window.0 => {
                Err(out_of_order(self.newest_ns - ns, window))
            }
            Reorder::Within(_) | Reorder::Keep => Ok(()),
        }
    }
}

#[cold]
fn out_of_order(back_ns: u64, window: Nanos) -> Problem {
    let more = match back_ns.div_ceil(NS_PER_S) {
        s if s <= REORDER_NANOS_MAX / NS_PER_S => {
            format!("sort within more with --reorder {s}s (requests below may take more), or ")
        }
        _ => String::new(),
    };
    Problem::new(
        Kind::Order,
        format!(
            "the time is {} s before that of a request above, and requests are sorted within {} s; {more}keep the \
             order of the file with --reorder keep",
            Nanos(back_ns).as_secs_f64(),
            window.as_secs_f64()
        ),
    )
}

#[cold]
fn refused(raw: Raw, bytes_max: u64) -> Problem {
    let Raw { offset, bytes, .. } = raw;
    if bytes == 0 {
        return Problem::range(
            "the size is 0, and only a flush has no bytes; is the size column right \
             (--format csv:…,size=COLUMN/bytes)?",
        );
    }
    if bytes > bytes_max {
        return Problem::range(format!(
            "the size of {bytes} bytes is over the limit of {bytes_max}; is the column or its \
             unit right (--format csv:…,size=COLUMN/bytes)?"
        ));
    }
    Problem::range(format!(
        "offset {offset} + size {bytes} is past 64 PiB, the largest disk; is the column or its \
         unit right (--format csv:…,offset=COLUMN/bytes)?"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(ns: u64, offset: u64, bytes: u64) -> Raw {
        Raw { ns, offset, bytes, op: Op::Write, volume: 0 }
    }

    #[test]
    fn what_goes_back_too_far_is_refused() {
        let mut gate = Gate::new(Reorder::Within(Nanos(100)));
        for ns in [500, 700, 600, 800] {
            gate.admit(raw(ns, 0, 1)).expect("within the window");
        }
        let problem = gate.admit(raw(699, 0, 1)).expect_err("101 ns before 800");
        assert!(problem.message.contains("--reorder 1s"), "{}", problem.message);
        // Who runs backwards needs more with each.
        for (ns, told) in [(600_000_000, "--reorder 1s (requests below"), (0, "--reorder 2s (")] {
            let mut gate = Gate::new(Reorder::Within(Nanos(100)));
            gate.admit(raw(1_500_000_000, 0, 1)).expect("the first");
            let problem = gate.admit(raw(ns, 0, 1)).expect_err("long before");
            assert!(problem.message.contains(told), "{}", problem.message);
        }
        let mut gate = Gate::new(Reorder::Keep);
        assert!([500, 0].into_iter().all(|ns| gate.admit(raw(ns, 0, 1)).is_ok()));
    }

    #[test]
    fn what_no_disk_holds_is_refused() {
        let mut gate = Gate::new(Reorder::Keep);
        for (offset, bytes, told) in [
            (0, 0, "the size is 0"),
            (0, REQUEST_BYTES_MAX + 1, "over the limit"),
            (u64::MAX, 1, "past 64 PiB"),
            (DISK_BYTES_MAX, 1, "past 64 PiB"),
        ] {
            let problem = gate.admit(raw(0, offset, bytes)).expect_err(told);
            assert!(problem.message.contains(told), "{}", problem.message);
        }
        assert!(gate.admit(raw(0, DISK_BYTES_MAX - 1, 1)).is_ok());
        assert!(gate.admit(raw(TRACE_NANOS_MAX, 0, 1)).is_err());
    }
}
