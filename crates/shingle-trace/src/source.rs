//! The source of requests, and the guarantees that every request satisfies.

use shingle_core::units::{NS_PER_S, Nanos, Op, Request};

use crate::error::{Kind, Problem, TraceError};
use crate::reorder::{REORDER_NANOS_MAX, Reorder};

/// Requests in a batch of [`read_all`]: large enough that a `dyn` call for each batch costs
/// nothing.
pub const BATCH_REQUESTS: usize = 4096;

/// The end of the largest disk: no request reaches past this byte.
pub use shingle_core::units::DISK_BYTES_MAX;

/// The longest read or write. A longer one means a wrong column or unit.
pub const REQUEST_BYTES_MAX: u64 = 1 << 30;

/// The longest trim, which may cover a whole disk.
pub const TRIM_BYTES_MAX: u64 = 1 << 44;

/// The longest time that a trace may span: 146 years.
pub const TRACE_NANOS_MAX: u64 = 1 << 62;

/// A source of requests, batch by batch.
///
/// Every request satisfies: `at` starts at 0 and never goes back; reads, writes and trims have at
/// least one byte and end at or before [`DISK_BYTES_MAX`]; reads and writes are no longer than
/// [`REQUEST_BYTES_MAX`], trims than [`TRIM_BYTES_MAX`]; a flush has offset 0 and no bytes.
pub trait Source: Send {
    /// Clears `out` and fills it up to its capacity (a batch, if it has none).
    ///
    /// Returns true if `out` holds at least one request, false if the trace has ended and `out` is
    /// empty.
    ///
    /// # Errors
    /// If the trace cannot be read further. Requests of this batch before the fault may be lost.
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError>;

    /// Returns the total number of requests if it is known beforehand.
    fn length_hint(&self) -> Option<u64> {
        None
    }

    /// Returns the bytes of input read and their total, for a progress bar.
    fn progress(&self) -> Option<(u64, u64)> {
        None
    }

    /// Returns what the user should know although it is no error, as sentences. The list is
    /// complete once the source has ended.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Clears `out`, and reserves a batch if it has no capacity.
pub(crate) fn prepare_batch(out: &mut Vec<Request>) {
    out.clear();
    if out.capacity() == 0 {
        out.reserve_exact(BATCH_REQUESTS);
    }
}

/// Reads a source to its end, and calls `on_progress` with the source after every batch.
///
/// # Errors
/// The first error of the source.
pub fn read_all(
    source: &mut dyn Source,
    on_progress: &mut dyn FnMut(&dyn Source),
) -> Result<Vec<Request>, TraceError> {
    // The hint comes from the input and may be wrong: reserve no more than costs little.
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
    /// Nanoseconds since the origin of the format's times.
    pub(crate) ns: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) op: Op,
    /// Number of its volume: from 0, in the order in which the selected volumes appear.
    pub(crate) volume: u32,
}

/// Checks each request where its line or byte is still known, and passes on only valid ones.
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
        self.check_time(raw.ns)?;
        if raw.op == Op::Flush {
            return Ok(Raw { offset: 0, bytes: 0, ..raw });
        }
        let bytes_max = if raw.op == Op::Trim { TRIM_BYTES_MAX } else { REQUEST_BYTES_MAX };
        let end = raw.offset.checked_add(raw.bytes);
        if raw.bytes == 0 || raw.bytes > bytes_max || end.is_none_or(|end| end > DISK_BYTES_MAX) {
            return Err(out_of_range(raw, bytes_max));
        }
        Ok(raw)
    }

    #[inline]
    fn check_time(&mut self, ns: u64) -> Result<(), Problem> {
        let first = *self.first_ns.get_or_insert(ns);
        if ns >= self.newest_ns {
            self.newest_ns = ns;
            // Sorting a request in front of the first one moves all others up by up to this window.
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
fn out_of_range(raw: Raw, bytes_max: u64) -> Problem {
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
        // A trace that runs backwards needs a wider window with each request.
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
