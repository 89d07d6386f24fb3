//! Counts the volumes of a trace, to choose one with `--volume`.

use shingle_core::units::Op;

use crate::arrange::Records;
use crate::error::TraceError;
use crate::format::{self, Decoded};
use crate::source::{BATCH_REQUESTS, Raw, Source};
use crate::volume::{Choice, Volumes};
use crate::{Input, OpenOptions, Recognised, Reorder, name_of, synth};

/// The counts of a volume.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Its name as `--volume` takes it; empty if the format has no volumes.
    pub name: String,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims and flushes.
    pub others: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// One past the highest byte of any request: the least size of the volume.
    pub end_bytes: u64,
}

impl Tally {
    /// Returns the number of requests of all kinds.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    fn add(&mut self, op: Op, offset: u64, bytes: u64) {
        match op {
            Op::Read => (self.reads, self.read_bytes) = (self.reads + 1, self.read_bytes + bytes),
            Op::Write => {
                (self.writes, self.written_bytes) = (self.writes + 1, self.written_bytes + bytes);
            }
            Op::Trim | Op::Flush => self.others += 1,
        }
        self.end_bytes = self.end_bytes.max(offset + bytes);
    }
}

/// The volumes of a trace, with their counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted {
    /// A short name of the trace.
    pub name: String,
    /// Its format, and how it was recognised.
    pub recognised: Recognised,
    /// Sorted by requests, most first; equal ones in the order of their appearance.
    pub volumes: Vec<Tally>,
}

/// Reads a trace to its end and counts the requests of each volume. Memory grows with the number of
/// volumes. `on_progress` gets the bytes read and their total, if it is known.
///
/// # Errors
/// If it cannot be opened, recognised or read.
pub fn count(
    spec: &str,
    options: &OpenOptions,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<Counted, TraceError> {
    let mut report = |progress: Option<(u64, u64)>| {
        if let Some((done, total)) = progress {
            on_progress(done, total);
        }
    };
    if spec.starts_with(synth::PREFIX) {
        let opened = crate::open(spec, options)?;
        let volumes = vec![count_source(opened.source, &mut report)?];
        return Ok(Counted { name: opened.name, recognised: opened.recognised, volumes });
    }
    // The counts do not depend on the order of requests.
    let options = OpenOptions { volume: Choice::All, reorder: Reorder::Keep, ..options.clone() };
    let first = format::blktrace::first_file(spec);
    let (recognised, decoded) = format::decoded(Input::open(&first)?, &options)?;
    let mut volumes = match decoded {
        Decoded::Records(records) => count_records(records, &mut report)?,
        Decoded::Source(source) => vec![count_source(source, &mut report)?],
    };
    volumes.sort_by_key(|volume| core::cmp::Reverse(volume.requests()));
    Ok(Counted { name: name_of(&first), recognised, volumes })
}

fn count_records(
    mut records: Box<dyn Records>,
    report: &mut dyn FnMut(Option<(u64, u64)>),
) -> Result<Vec<Tally>, TraceError> {
    let mut volumes: Vec<Tally> = Vec::new();
    let mut batch: Vec<Raw> = Vec::with_capacity(BATCH_REQUESTS);
    while records.fill(&mut batch)? {
        for raw in batch.drain(..) {
            let at = raw.volume as usize;
            if volumes.len() <= at {
                volumes.resize_with(at + 1, Tally::default);
            }
            volumes[at].add(raw.op, raw.offset, raw.bytes);
        }
        report(records.progress());
    }
    let names = records.volumes().map_or(&[][..], Volumes::names);
    for (volume, name) in volumes.iter_mut().zip(names) {
        volume.name = String::from_utf8_lossy(name).into_owned();
    }
    Ok(volumes)
}

/// Counts a trace of one volume.
fn count_source(
    mut source: Box<dyn Source>,
    report: &mut dyn FnMut(Option<(u64, u64)>),
) -> Result<Tally, TraceError> {
    let (mut tally, mut batch) = (Tally::default(), Vec::new());
    while source.fill(&mut batch)? {
        for request in &batch {
            tally.add(request.op, request.offset, request.bytes);
        }
        report(source.progress());
    }
    Ok(tally)
}
