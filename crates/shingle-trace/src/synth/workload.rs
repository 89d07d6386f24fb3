//! The definition of a workload: a pattern of requests made from parameters, and their arrival
//! times.

use shingle_core::units::{Nanos, Op, Request};

use super::arrivals::Arrivals;
use super::parameters::{COMMON, Kind, Parameter, Values};
use super::rng::Seed;
use crate::error::{Place, Problem, TraceError};
use crate::reorder::Reorder;
use crate::source::{Gate, Raw, Source, prepare_batch};

/// Prefix of the name of a trace that is a workload.
pub const PREFIX: &str = "synth:";

/// A built-in workload.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Its name, without `synth:`.
    pub name: &'static str,
    /// A description of one line for lists.
    pub about: &'static str,
    /// Its own parameters; [`Workload::parameters`] lists the common ones too.
    pub(super) own: &'static [Parameter],
    pub(super) make: Make,
}

type Make = fn(&Values, Seed) -> Result<Box<dyn Pattern>, Problem>;

impl Workload {
    /// Returns all parameters with their defaults.
    pub fn parameters(&self) -> impl Iterator<Item = &'static Parameter> {
        // Its own come first: they replace common ones of the same name, which have another
        // default.
        let own = self.own;
        // A description has its own arrival times.
        let timed = own.iter().all(|parameter| parameter.kind != Kind::File);
        let common = if timed { COMMON } else { &[] };
        let common = common.iter().filter(|c| own.iter().all(|o| o.name != c.name));
        own.iter().chain(common)
    }

    /// Opens its requests, with the defaults of its parameters overridden by `key=value&…`.
    pub(crate) fn open(&self, pairs: &str, seed: u64) -> Result<Box<dyn Source>, Problem> {
        let values = Values::of(self.parameters(), self.name, pairs)?;
        let seed = Seed { seed, workload: self.name };
        let pattern = (self.make)(&values, seed)?;
        let total = match values.count("requests") {
            0 => pattern.length(),
            requests => requests.min(pattern.length()),
        };
        let arrivals = |iops| Arrivals::new(iops, values.share("idle"), seed);
        Ok(Box::new(Synth {
            total,
            arrivals: values.number_if("iops").map(arrivals),
            now: 0,
            pattern,
            gate: Gate::new(Reorder::Keep),
            first_ns: None,
            generated: 0,
        }))
    }
}

/// A sequence of requests without arrival times.
pub(crate) trait Pattern: Send {
    fn next(&mut self) -> Access;

    /// Returns the nanoseconds between the previous request and this one, if there are no
    /// [`Arrivals`].
    fn wait_ns(&mut self) -> u64 {
        0
    }

    /// Returns the number of requests, if it is limited.
    fn length(&self) -> u64 {
        u64::MAX
    }
}

/// A request without a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) op: Op,
}

struct Synth {
    pattern: Box<dyn Pattern>,
    /// `None` if the pattern has its own waiting times.
    arrivals: Option<Arrivals>,
    now: u64,
    gate: Gate,
    first_ns: Option<u64>,
    total: u64,
    generated: u64,
}

impl Source for Synth {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<bool, TraceError> {
        prepare_batch(out);
        while out.len() < out.capacity() && self.generated < self.total {
            let Access { offset, bytes, op } = self.pattern.next();
            self.now = match &mut self.arrivals {
                Some(arrivals) => arrivals.next(),
                None => self.now.saturating_add(self.pattern.wait_ns()),
            };
            let raw = Raw { ns: self.now, offset, bytes, op, volume: 0 };
            let admitted = self.gate.admit(raw);
            self.generated += 1;
            let Raw { ns, offset, bytes, op, .. } =
                admitted.map_err(|problem| problem.at(PREFIX, Place::Record(self.generated)))?;
            let first = *self.first_ns.get_or_insert(ns);
            out.push(Request { at: Nanos(ns - first), offset, bytes, op });
        }
        Ok(!out.is_empty())
    }

    fn length_hint(&self) -> Option<u64> {
        Some(self.total)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        Some((self.generated, self.total))
    }
}
