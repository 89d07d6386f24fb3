//! Opens, shapes and reads the traces that options name.

use std::borrow::Cow;
use std::path::Path;

use shingle_core::size::show_bytes;
use shingle_core::units::{Op, Request};
use shingle_sim::experiment::Trace;
use shingle_sim::requests::{Requests, Streamed};
use shingle_trace::native;
use shingle_trace::{
    Choice, Evidence, Mode, OpenOptions, Opened, Recognised, Reorder, Shape, Source, Summary,
};

use crate::Usage;
use crate::cli::{self, SetupArgs, TraceArgs};
use crate::listener::Listener;

/// The trace of runs for which none is named.
pub(crate) const DEFAULT_TRACE: &str = "synth:mixed";

/// The source of a run's trace.
#[derive(Clone, Copy)]
pub(crate) enum Traces<'a> {
    /// The trace is read by its name.
    Named,
    /// The caller has it in memory.
    Held(&'a Trace),
}

impl<'a> Traces<'a> {
    /// Returns the trace that `args` describe.
    pub(crate) fn get(
        self,
        args: &TraceArgs,
        listener: &dyn Listener,
    ) -> anyhow::Result<Cow<'a, Trace>> {
        let Traces::Held(held) = self else { return read_trace(args, listener).map(Cow::Owned) };
        let shape = shape(args)?;
        if shape == Shape::default() {
            return Ok(Cow::Borrowed(held));
        }
        let requests = shape.apply(held.requests.clone())?;
        let summary = Summary::of(&requests);
        let (name, format) = (held.name.clone(), held.format.clone());
        Ok(Cow::Owned(Trace { name, format, requests, summary }))
    }

    /// Returns the same for runs, which need not hold it in memory: a native trace that takes more
    /// than `--memory` is read from its file.
    pub(crate) fn for_runs(
        self,
        setup: &SetupArgs,
        listener: &dyn Listener,
    ) -> anyhow::Result<Trace<Requests<'a>>> {
        if matches!(self, Traces::Named)
            && let Some(streamed) = streamed(setup, listener)?
        {
            return Ok(streamed);
        }
        Ok(match self.get(&setup.trace, listener)? {
            Cow::Borrowed(Trace { name, format, requests, summary }) => Trace {
                name: name.clone(),
                format: format.clone(),
                requests: Requests::Held(Cow::Borrowed(requests)),
                summary: summary.clone(),
            },
            Cow::Owned(Trace { name, format, requests, summary }) => {
                Trace { name, format, requests: requests.into(), summary }
            }
        })
    }
}

/// Default of `--memory`.
const MEMORY_BYTES: u64 = 1 << 30;

/// Returns the file of a native trace that would take more memory than allowed. Returns `None` for
/// all others, and for those that cannot be streamed: compressed files, and shapes that need the
/// whole trace.
fn streamed(
    setup: &SetupArgs,
    listener: &dyn Listener,
) -> anyhow::Result<Option<Trace<Requests<'static>>>> {
    let (args, shape) = (&setup.trace, shape(&setup.trace)?);
    let is_file = args.trace.as_deref().is_some_and(|name| Path::new(name).is_file());
    if !is_file || !shape.is_of_single_requests() {
        return Ok(None);
    }
    // (Other formats, and damaged files, are reported where they are read.)
    let Ok(file) = native::Indexed::open(spec(args)) else { return Ok(None) };
    let requests = file.recorded().requests.total().min(shape.requests.unwrap_or(u64::MAX));
    let (bytes, memory) = (
        requests.saturating_mul(size_of::<Request>() as u64),
        setup.memory.unwrap_or(MEMORY_BYTES),
    );
    if bytes <= memory {
        return Ok(None);
    }
    let Opened { name, recognised, .. } = open_trace(args)?;
    if recognised.name != "native" {
        return Ok(None); // the format was named otherwise
    }
    let progress = listener.begin("reading", 0);
    let read = native::Streamed::new(file, &shape, &mut |done, all| progress.set(done, all));
    let (source, summary) = read?;
    drop(progress);
    listener.note(&format!("{name}: read as {recognised}"));
    listener.note(&format!(
        "{name}: stays in its file, and each run reads it again: in memory it would take {}, more than --memory {}",
        show_bytes(bytes),
        show_bytes(memory)
    ));
    let requests = Requests::Streamed(Box::new(Streamed::new(source)));
    Ok(Some(Trace { name, format: Some(recognised), requests, summary }))
}

/// Reads and shapes the trace, and counts what it holds.
pub(crate) fn read_trace(args: &TraceArgs, listener: &dyn Listener) -> anyhow::Result<Trace> {
    let mut opened = open_trace(args)?;
    let requests = read_requests(&shape(args)?, &mut opened, listener)?;
    let summary = Summary::of(&requests);
    Ok(Trace { name: opened.name, format: Some(opened.recognised), requests, summary })
}

/// Reads and shapes the trace: its name and its requests.
pub(crate) fn read(
    args: &TraceArgs,
    listener: &dyn Listener,
) -> anyhow::Result<(String, Vec<Request>)> {
    let mut opened = open_trace(args)?;
    let requests = read_requests(&shape(args)?, &mut opened, listener)?;
    Ok((opened.name, requests))
}

pub(crate) fn open_trace(args: &TraceArgs) -> anyhow::Result<Opened> {
    Ok(shingle_trace::open(spec(args), &open_options(args)?)?)
}

pub(crate) fn spec(args: &TraceArgs) -> &str {
    args.trace.as_deref().unwrap_or(DEFAULT_TRACE)
}

pub(crate) fn open_options(args: &TraceArgs) -> anyhow::Result<OpenOptions> {
    Ok(OpenOptions {
        format: args.format.clone(),
        volume: args.volume.as_deref().map_or(Choice::Only, Choice::parse),
        reorder: match &args.reorder {
            Some(text) => Reorder::parse(text)?,
            None => Reorder::default(),
        },
        assume_op: args.assume_op.map(|op| match op {
            cli::AssumedOp::Read => Op::Read,
            cli::AssumedOp::Write => Op::Write,
        }),
        seed: seed(args),
    })
}

pub(crate) fn shape(args: &TraceArgs) -> anyhow::Result<Shape> {
    Ok(Shape {
        mode: mode(args),
        requests: args.requests,
        remap: args.remap,
        copies: match args.copies {
            Some(0) => return Err(Usage("--copies 0: give at least 1".into()).into()),
            copies => copies.unwrap_or(1),
        },
        offset: args.offset.unwrap_or(0),
    })
}

/// Reads an opened trace, and notes what the user should know of it, starting with the recognised
/// format.
pub(crate) fn read_requests(
    shape: &Shape,
    opened: &mut Opened,
    listener: &dyn Listener,
) -> anyhow::Result<Vec<Request>> {
    let Opened { name, recognised, source } = opened;
    let source = source.as_mut();
    let progress = listener.begin("reading", 0);
    let requests = shape.read(source, &mut |source| {
        if let Some((done, total)) = source.progress() {
            progress.set(done, total);
        }
    })?;
    drop(progress);
    note_reading(name, recognised, source, listener);
    Ok(requests)
}

/// Notes what the user should know of a trace that was read. It is not called if reading fails: the
/// error says enough.
pub(crate) fn note_reading(
    name: &str,
    recognised: &Recognised,
    source: &dyn Source,
    listener: &dyn Listener,
) {
    if recognised.evidence != Evidence::Workload {
        listener.note(&format!("{name}: read as {recognised}"));
    }
    for warning in source.warnings() {
        listener.note(&format!("{name}: {warning}"));
    }
}

pub(crate) fn seed(args: &TraceArgs) -> u64 {
    args.seed.unwrap_or(1)
}

pub(crate) fn mode(args: &TraceArgs) -> Mode {
    match args.mode {
        None | Some(cli::Mode::Rw) => Mode::ReadWrite,
        Some(cli::Mode::W) => Mode::Write,
        Some(cli::Mode::R) => Mode::Read,
    }
}
