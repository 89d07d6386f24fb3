//! The traces of the papers in memory: packed block accesses, or requests with their times.

use std::path::PathBuf;

use shingle_core::units::{BLOCK_BYTES, Request};
use shingle_result::Pacing;
use shingle_sim::requests::{Packed, RequestList, part_of};
use shingle_trace::papers::{LONG, Papers, Trace, free_parameters, time_parameters};
use shingle_trace::sample::ZoneSample;
use shingle_trace::shape::pack_zones;
use shingle_trace::synth::Parameter;
use shingle_trace::zones::ZONE_BLOCKS;
use shingle_trace::{Mode, Shape, Source, Summary, TraceError};

use crate::grid::Sets;

/// A trace that runs need.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wanted {
    /// A volume, `long` or `mix`.
    pub name: &'static str,
    /// Free parameters to be set, if it is made.
    pub free: Sets,
    /// The kinds of requests that are kept.
    pub mode: Mode,
    /// Open: requests at their times; closed: accesses of blocks.
    pub pacing: Pacing,
    /// The drive that requests have to fit.
    pub disk: Option<&'static str>,
    /// Number of copies of which `long` and `mix` are made.
    pub copies: u32,
    /// Keeps one zone in this number.
    pub every_zone: u64,
}

impl Wanted {
    fn trace(&self) -> Trace<'static> {
        trace(self.name, self.copies)
    }
}

fn trace(name: &'static str, copies: u32) -> Trace<'static> {
    match name {
        "long" => Trace::Long { copies },
        "mix" => Trace::Mix { copies },
        name => Trace::Volume(volume(name)),
    }
}

/// Finds a volume by its server alone, as SAC and PORE name it. Their prototypes show which volume
/// it is.
pub(crate) fn volume(name: &'static str) -> &'static str {
    let of_server = |full: &&&str| full.split_once('_').is_some_and(|(server, _)| server == name);
    match name {
        "src" => "src1_2",
        _ => LONG.iter().find(of_server).copied().unwrap_or(name),
    }
}

/// A trace in memory.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// Its requests or accesses.
    pub contents: Contents,
    /// Counts and ranges; for packed accesses, distinct blocks are not counted.
    pub summary: Summary,
}

/// The content of a trace in memory.
#[derive(Clone, Debug)]
pub enum Contents {
    /// Accesses to blocks, packed, without times.
    Blocks(Vec<u64>),
    /// Requests with times.
    Requests(Vec<Request>),
}

/// The first part of a trace.
#[derive(Clone, Copy, Debug)]
pub enum Beginning<'a> {
    /// Packed accesses.
    Blocks(Packed<'a>),
    /// Requests.
    Requests(&'a [Request]),
}

impl Held {
    /// The first `count` accesses or requests.
    #[must_use]
    pub fn first(&self, count: usize) -> Beginning<'_> {
        let count = count.min(self.len());
        match &self.contents {
            Contents::Blocks(blocks) => Beginning::Blocks(Packed(&blocks[..count])),
            Contents::Requests(requests) => Beginning::Requests(&requests[..count]),
        }
    }

    /// The number of accesses or requests.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.contents {
            Contents::Blocks(blocks) => blocks.len(),
            Contents::Requests(requests) => requests.len(),
        }
    }

    /// Whether the trace is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Packs the touched zones of a trace that reaches beyond a disk. Block accesses are not
    /// changed: only requests of single volumes are replayed over such small disks.
    ///
    /// Returns whether that was needed.
    pub fn fit(&mut self, disk_bytes: u64, zone_bytes: u64) -> bool {
        let Contents::Requests(requests) = &mut self.contents else { return false };
        if self.summary.end_bytes <= disk_bytes {
            return false;
        }
        pack_zones(requests, zone_bytes);
        self.summary = Summary::of(requests);
        true
    }
}

impl RequestList for Beginning<'_> {
    type Scratch = Vec<Request>;

    fn len(&self) -> usize {
        match self {
            Beginning::Blocks(blocks) => blocks.len(),
            Beginning::Requests(requests) => requests.len(),
        }
    }

    #[inline]
    fn part<'a>(
        &'a self,
        from: usize,
        count: usize,
        scratch: &'a mut Vec<Request>,
    ) -> &'a [Request] {
        match self {
            Beginning::Blocks(blocks) => blocks.part(from, count, scratch),
            Beginning::Requests(requests) => part_of(requests, from, count),
        }
    }
}

/// Values of free parameters by their names.
pub type Free = Vec<(String, String)>;

/// The source of traces.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// A directory with the traces as SNIA distributes them; `None` to make them.
    pub directory: Option<PathBuf>,
    /// Free parameters of made traces that differ from their defaults.
    pub free: Free,
}

impl Traces {
    /// Changes the values of some free parameters.
    #[must_use]
    pub fn with(&self, free: Sets) -> Traces {
        let free = free.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let directory = self.directory.clone();
        Traces { directory, free: self.free.iter().cloned().chain(free).collect() }
    }

    /// Opens the volumes for a seed.
    ///
    /// # Errors
    /// If the directory cannot be read, or a name is no free parameter.
    pub fn of_seed(&self, seed: u64) -> Result<Papers, TraceError> {
        if let Some(directory) = &self.directory {
            return Papers::recorded(seed, directory);
        }
        let free: Vec<(&str, &str)> =
            self.free.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        Papers::generated(seed, &free)
    }

    /// Makes settings of the free parameters of these traces: the defaults, then each parameter
    /// halved and doubled, within its limits.
    ///
    /// # Errors
    /// If there is no such trace.
    pub fn variants(
        &self,
        names: &[&'static str],
        pacing: Pacing,
    ) -> Result<Vec<(String, Free)>, TraceError> {
        let mut found: Vec<Parameter> = Vec::new();
        for &name in names {
            found.extend(free_parameters(trace(name, 1))?);
        }
        if pacing == Pacing::Open {
            found.extend(time_parameters());
        }
        let mut variants = vec![("as it is".to_owned(), self.free.clone())];
        let mut seen: Vec<&str> = Vec::new();
        for parameter in &found {
            if seen.contains(&parameter.name) {
                continue;
            }
            seen.push(parameter.name);
            let Some((low, high)) = parameter.kind.limits() else { continue };
            let default: f64 = parameter.default.parse().unwrap_or(low);
            let mut same = found.iter().filter(|other| other.name == parameter.name);
            let same = same.all(|other| other.default == parameter.default);
            for factor in [0.5, 2.0] {
                let value = (default * factor).clamp(low, high);
                if value != default {
                    // If volumes have different defaults, each is multiplied.
                    let value = if same { value.to_string() } else { format!("x{factor}") };
                    let mut free = self.free.clone();
                    variants.push((format!("{} {value}", parameter.name), {
                        free.push((parameter.name.into(), value));
                        free
                    }));
                }
            }
        }
        Ok(variants)
    }

    /// Describes the source in words.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.directory {
            Some(directory) => format!("those in {}", directory.display()),
            None => "synthetic workloads, shaped by the published figures of each volume".into(),
        }
    }
}

/// Makes or reads a trace of at most `most` accesses or requests of the wanted kinds.
///
/// # Errors
/// If it cannot be made or read.
pub fn hold(papers: &Papers, wanted: &Wanted, most: Option<u64>) -> Result<Held, TraceError> {
    let (contents, summary) = match wanted.pacing {
        Pacing::Closed => {
            let blocks = blocks(papers, wanted, most)?;
            let summary = summary(&blocks);
            (Contents::Blocks(blocks), summary)
        }
        Pacing::Open => {
            let shape = Shape { mode: wanted.mode, requests: most, ..Shape::default() };
            let mut source = papers.requests(volume(wanted.name))?;
            let requests = shape.read(&mut *source, &mut |_| {})?;
            let summary = Summary::of(&requests);
            (Contents::Requests(requests), summary)
        }
    };
    Ok(Held { name: wanted.name.into(), contents, summary })
}

/// Reads the packed accesses of the wanted kinds, at most `most` of them.
///
/// # Errors
/// If it cannot be made or read.
pub fn blocks(papers: &Papers, wanted: &Wanted, most: Option<u64>) -> Result<Vec<u64>, TraceError> {
    let every = wanted.every_zone.max(1);
    // The number of accesses that are dropped is not known in advance, so more are read.
    let most_read = most.map_or(u64::MAX, |most| most.saturating_mul(every));
    let mut blocks = papers.read(wanted.trace(), wanted.mode, most_read)?.blocks;
    if every > 1 {
        keep_zones(&mut blocks, ZoneSample::new(every, papers.seed()));
    }
    blocks.truncate(usize::try_from(most.unwrap_or(u64::MAX)).unwrap_or(usize::MAX));
    blocks.shrink_to_fit();
    Ok(blocks)
}

/// The number of accesses or requests of a whole trace, without making it.
///
/// # Errors
/// If it cannot be opened.
pub fn length(papers: &Papers, wanted: &Wanted) -> Result<u64, TraceError> {
    if wanted.pacing == Pacing::Closed {
        return Ok(papers.stream(wanted.trace())?.remaining());
    }
    let mut source = papers.requests(volume(wanted.name))?;
    match source.length_hint() {
        Some(requests) => Ok(requests),
        None => count(&mut *source),
    }
}

/// Counts the requests of a file that does not contain their number.
fn count(source: &mut dyn Source) -> Result<u64, TraceError> {
    let (mut batch, mut count) = (Vec::new(), 0);
    while source.fill(&mut batch)? {
        count += batch.len() as u64;
    }
    Ok(count)
}

/// Keeps a sample of the zones, and packs them.
fn keep_zones(blocks: &mut Vec<u64>, sample: ZoneSample) {
    blocks.retain(|packed| sample.keeps((packed >> 1) / ZONE_BLOCKS));
    for packed in blocks {
        let (block, write) = (*packed >> 1, *packed & 1);
        let (zone, place) = (block / ZONE_BLOCKS, block % ZONE_BLOCKS);
        *packed = (sample.place(zone) * ZONE_BLOCKS + place) << 1 | write;
    }
}

/// Counts packed accesses and touched zones. Distinct blocks are not counted, as that takes as long
/// as making the trace.
fn summary(blocks: &[u64]) -> Summary {
    let end = blocks.iter().map(|packed| (packed >> 1) + 1).max().unwrap_or(0);
    let zones = usize::try_from(end.div_ceil(ZONE_BLOCKS)).unwrap_or(usize::MAX);
    let mut touched = vec![0u8; zones]; // bit 0: accessed, bit 1: written
    let mut writes = 0;
    for packed in blocks {
        let write = packed & 1;
        writes += write;
        touched[((packed >> 1) / ZONE_BLOCKS) as usize] |= 1 | (write as u8) << 1;
    }
    let with = |bit: u8| touched.iter().filter(|zone| *zone & bit != 0).count() as u64;
    let mut summary = Summary {
        read_blocks: blocks.len() as u64 - writes,
        write_blocks: writes,
        accessed_zones: with(1),
        written_zones: with(2),
        end_bytes: end * BLOCK_BYTES,
        ..Summary::default()
    };
    (summary.requests.read, summary.requests.write) = (summary.read_blocks, writes);
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_trace::papers::packed;

    #[test]
    fn servers_are_volumes() {
        assert_eq!([volume("src"), volume("web"), volume("rsrch")], ["src1_2", "web_0", "rsrch_0"]);
    }

    #[test]
    fn one_zone_of_two_is_half_the_range() {
        let sample = ZoneSample::new(2, 1);
        // One access to each of four zones. One of the first two zones is kept, and one of the
        // other two.
        let mut blocks: Vec<u64> =
            (0..4).map(|zone| packed(5_000 * zone + zone, zone > 1)).collect();
        keep_zones(&mut blocks, sample);
        let of_two = |first: u64| if sample.keeps(first) { first } else { first + 1 };
        assert_eq!(blocks, [packed(of_two(0), false), packed(5_000 + of_two(2), true)]);
        let found = summary(&blocks);
        assert_eq!((found.accessed_zones, found.written_zones), (2, 1));
        assert_eq!((found.read_blocks, found.write_blocks), (1, 1));
        assert_eq!(found.end_bytes, (5_001 + of_two(2)) * 4096);
    }

    #[test]
    fn each_free_parameter_is_halved_and_doubled_once() {
        let variants = |names: &[&'static str], pacing| {
            Traces::default().variants(names, pacing).expect("known volumes")
        };
        let timed = variants(&["proj_0", "src2_2"], Pacing::Open);
        for label in ["idle 0.15", "idle 0.6", "density x0.5", "density x2", "neighbours 8"] {
            assert!(timed.iter().any(|(found, _)| found == label), "{label}: {timed:?}");
        }
        let variants = variants(&["wdev", "ts"], Pacing::Closed);
        let labels: Vec<&str> = variants.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels[0], "as it is");
        assert!(labels.contains(&"zone-skew 16") && labels.contains(&"zone-skew 64"), "{labels:?}");
        let mut once = labels.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), labels.len());
    }
}
