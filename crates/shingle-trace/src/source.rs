//! Where requests come from, and what every one of them is guaranteed to satisfy.

use shingle_core::units::{Nanos, Op, Request};

use crate::error::{Kind, Problem, TraceError, shown};

/// Requests in a batch of [`read_all`]: a call through `dyn` for each batch costs nothing.
pub const BATCH_REQUESTS: usize = 4096;

/// No request reaches past this byte: 64 PiB, so that zone numbers fit 32 bits.
pub const DISK_BYTES_MAX: u64 = 1 << 56;

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
}

/// Lets only valid requests through, and turns time into time since the first.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    first_ns: Option<u64>,
    last: Nanos,
    clamped: u64,
}

impl Gate {
    #[inline]
    pub(crate) fn admit(&mut self, raw: Raw) -> Result<Request, Problem> {
        if raw.op == Op::Flush {
            let at = self.at(raw.ns)?;
            return Ok(Request { at, offset: 0, bytes: 0, op: raw.op });
        }
        let bytes_max = if raw.op == Op::Trim { TRIM_BYTES_MAX } else { REQUEST_BYTES_MAX };
        let end = raw.offset.checked_add(raw.bytes);
        if raw.bytes == 0 || raw.bytes > bytes_max || end.is_none_or(|end| end > DISK_BYTES_MAX) {
            return Err(refused(raw, bytes_max));
        }
        let at = self.at(raw.ns)?;
        Ok(Request { at, offset: raw.offset, bytes: raw.bytes, op: raw.op })
    }

    /// File order is the order of requests; a timestamp that goes back becomes the one before it.
    #[inline]
    fn at(&mut self, ns: u64) -> Result<Nanos, Problem> {
        let first = *self.first_ns.get_or_insert(ns);
        let at = Nanos(ns.saturating_sub(first));
        if at.0 >= TRACE_NANOS_MAX {
            return Err(Problem::range(
                "the time is more than 146 years after the first request; is the column or its \
                 unit right (--format csv:time=COLUMN/us,…)?",
            ));
        }
        if ns < first || at < self.last {
            self.clamped += 1;
        } else {
            self.last = at;
        }
        Ok(self.last)
    }

    pub(crate) fn warning(&self) -> Option<String> {
        (self.clamped > 0).then(|| {
            format!(
                "{} requests had a time before that of the request above them; they keep their \
                 place and take its time",
                self.clamped
            )
        })
    }
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

/// Which volume of several is read. Addresses of different disks are never mixed silently.
#[derive(Debug)]
pub(crate) struct Volumes {
    /// The one asked for; `None` takes the first and refuses a second.
    wanted: Option<Vec<u8>>,
    /// The first one met that is taken.
    taken: Option<Vec<u8>>,
    /// Volumes passed over, the first few, to name them if the wanted one never comes.
    others: Vec<Vec<u8>>,
}

impl Volumes {
    const NAMED_MAX: usize = 8;

    pub(crate) fn new(wanted: Option<&str>) -> Self {
        Volumes { wanted: wanted.map(|w| w.as_bytes().to_vec()), taken: None, others: Vec::new() }
    }

    /// Whether a request of `volume` is to be read.
    #[inline]
    pub(crate) fn takes(&mut self, volume: &[u8]) -> Result<bool, Problem> {
        if self.taken.as_deref() == Some(volume) {
            return Ok(true);
        }
        self.decides(volume)
    }

    fn decides(&mut self, volume: &[u8]) -> Result<bool, Problem> {
        match (&self.wanted, &self.taken) {
            (Some(wanted), _) if wanted == volume => {}
            (Some(_), _) => {
                if self.others.len() < Self::NAMED_MAX && !self.others.iter().any(|o| o == volume) {
                    self.others.push(volume.to_vec());
                }
                return Ok(false);
            }
            (None, None) => {}
            (None, Some(taken)) => {
                let (taken, volume) = (String::from_utf8_lossy(taken), shown(volume));
                return Err(Problem::new(
                    Kind::Volume,
                    format!(
                        "a second volume, {volume}, after '{taken}': addresses of different \
                         disks cannot be mixed; choose one, e.g. --volume {taken}"
                    ),
                ));
            }
        }
        self.taken = Some(volume.to_vec());
        Ok(true)
    }

    /// Why nothing was read, if that is because the wanted volume is not there.
    pub(crate) fn missing(&self) -> Option<Problem> {
        let wanted = self.wanted.as_ref().filter(|_| self.taken.is_none())?;
        let mut others: Vec<String> =
            self.others.iter().map(|o| String::from_utf8_lossy(o).into_owned()).collect();
        if others.len() == Self::NAMED_MAX {
            others.push("…".to_owned());
        }
        Some(Problem::new(
            Kind::Volume,
            format!("no request of volume {}; there are: {}", shown(wanted), others.join(", ")),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(ns: u64, offset: u64, bytes: u64) -> Raw {
        Raw { ns, offset, bytes, op: Op::Write }
    }

    #[test]
    fn time_is_relative_and_never_goes_back() {
        let mut gate = Gate::default();
        let at: Vec<u64> = [500, 700, 600, 300, 800]
            .map(|ns| gate.admit(raw(ns, 0, 1)).expect("valid").at.0)
            .to_vec();
        assert_eq!(at, [0, 200, 200, 200, 300]);
        assert!(gate.warning().expect("two went back").starts_with("2 requests"));
    }

    #[test]
    fn what_no_disk_holds_is_refused() {
        let mut gate = Gate::default();
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

    #[test]
    fn one_volume_is_taken_and_a_second_refused() {
        let mut any = Volumes::new(None);
        assert!(any.takes(b"hm.0").expect("first"));
        assert!(any.takes(b"hm.0").expect("again"));
        assert!(any.takes(b"hm.1").expect_err("second").message.contains("--volume hm.0"));
        let mut one = Volumes::new(Some("hm.1"));
        assert!(!one.takes(b"hm.0").expect("passed over"));
        assert!(one.missing().expect("not met").message.contains("there are: hm.0"));
        assert!(one.takes(b"hm.1").expect("wanted"));
        assert!(one.missing().is_none());
    }
}
