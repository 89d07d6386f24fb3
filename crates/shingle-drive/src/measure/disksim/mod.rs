//! Measured disks: the validation set of DiskSim 4.0 (Bucy, Schindler, Schlosser, Ganger 2008),
//! replayed on the project's mechanics. The set is not part of the project; the user gives its
//! folder.
//!
//! Each disk has a layout (`.model`), electronics (`.diskspecs`), seeks (`.seek`) and a trace with
//! measured response times. Taken from the files: zones and their sectors a track, surfaces, seek
//! curve, head switch, settling before a write, rotational speed, time of a sector over the bus,
//! number and size of cache segments, read-ahead; and one time of a command, the mean of their
//! eight. Not from the files: skews, which follow from seeks and head switches; one write segment,
//! which takes every write that continues it; and when the head writes it. Not modelled: spare
//! sectors, slips, defects, places within a cylinder, partial overlap of bus and medium.

mod text;

use crate::drive::Drive;
use crate::io::Io;
use crate::models::conventional::Conventional;
use crate::parts::mech::{Mech, Parts};
use crate::parts::runs::Runs;
use crate::parts::seek::SeekValues;
use crate::sheet::text::load;
use shingle_core::units::{Block as Place, Nanos, Op};
use std::fmt;
use std::path::Path;
use text::Block;

/// A request to the bare disk, and its response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Read or write.
    pub op: Op,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// How many of them.
    pub sectors: u64,
    /// Response time measured on the disk.
    pub response: Nanos,
    /// Time from its completion to the next request.
    pub pause: Nanos,
}

/// An error in a file of the set. Displays as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSimError(String);

impl DiskSimError {
    fn new(file: &Path, line: Option<usize>, what: impl fmt::Display) -> DiskSimError {
        let line = line.map_or(String::new(), |line| format!("line {line}: "));
        let text = format!("{}: {line}{what}", file.display());
        DiskSimError(text.replace(char::is_control, "\u{fffd}"))
    }
}

impl fmt::Display for DiskSimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DiskSimError {}

/// A disk of the set.
#[derive(Clone, Debug)]
pub struct Disk {
    /// Name of its files.
    pub name: String,
    sectors: u64,
    surfaces: u64,
    /// Sectors a track, and tracks.
    zones: Vec<(u64, u64)>,
    seeks: Vec<(u64, f64)>,
    head_switch_us: u64,
    settle: Nanos,
    rpm: u64,
    /// Time of a sector over the bus.
    bus: Nanos,
    command: Nanos,
    segments: u64,
    segment_sectors: u64,
    ahead_sectors: u64,
    write_segments: u64,
}

/// Bounds of what a disk may be, within which no arithmetic of the model overflows.
const MS_MAX: f64 = 100.0;
const CYLINDERS_MAX: u64 = 1_000_000;
const SEGMENT_SECTORS_MAX: u64 = 1 << 16;

impl Disk {
    /// The names of the disks in a folder: those of its files `NAME.diskspecs`, in order.
    ///
    /// # Errors
    /// If the folder cannot be read, or has none.
    pub fn names(folder: &Path) -> Result<Vec<String>, DiskSimError> {
        let wrong = |error: std::io::Error| DiskSimError::new(folder, None, error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(wrong)? {
            let name = entry.map_err(wrong)?.file_name();
            let name = name.to_str().and_then(|name| name.strip_suffix(".diskspecs"));
            names.extend(name.map(str::to_owned));
        }
        if names.is_empty() {
            return Err(DiskSimError::new(folder, None, "no file NAME.diskspecs is in it"));
        }
        names.sort();
        Ok(names)
    }

    /// The disk `name` of a folder.
    ///
    /// # Errors
    /// If a file is missing, or a line of it is no parameter that a disk can have.
    pub fn read(folder: &Path, name: &str) -> Result<Disk, DiskSimError> {
        let file = |ending: &str| folder.join(format!("{name}.{ending}"));
        let text = |ending: &str| {
            let file = file(ending);
            load(&file).map_err(|error| DiskSimError::new(&file, None, error))
        };
        let (model, specs) = (text("model")?, text("diskspecs")?);
        let model = Block::of(&file("model"), &model)?;
        let specs = Block::of(&file("diskspecs"), &specs)?;
        let seeks = seeks(&file("seek"), &text("seek")?)?;
        let in_model = |(line, what)| DiskSimError::new(&file("model"), Some(line), what);
        let in_specs = |(line, what)| DiskSimError::new(&file("diskspecs"), Some(line), what);
        Disk::of(name, &model, seeks).map_err(in_model)?.with(&specs).map_err(in_specs)
    }

    /// Reads layout and mechanics.
    fn of(name: &str, model: &Block, seeks: Vec<(u64, f64)>) -> Result<Disk, (usize, String)> {
        let sectors = model.count("Block count", 1, 1 << 40)?;
        let surfaces = model.count("Number of data surfaces", 1, 100)?;
        let layout = model.block("Layout Model")?;
        let (mut zones, mut next, mut room) = (Vec::new(), 0, 0);
        for zone in layout.blocks("Zones")? {
            let first = zone.count("First cylinder number", next, CYLINDERS_MAX)?;
            let last = zone.count("Last cylinder number", first, CYLINDERS_MAX)?;
            let per_track = zone.count("Blocks per track", 2, 100_000)?;
            let empty = zone.count("Empty space at zone front", 0, 1 << 40)? / per_track;
            let tracks = ((last + 1 - first) * surfaces).saturating_sub(empty);
            if tracks == 0 {
                return Err((zone.line(), "the zone that begins here is empty".into()));
            }
            room += tracks * per_track;
            next = last + 1;
            zones.push((per_track, tracks));
        }
        if room < sectors {
            return Err((
                layout.line(),
                format!("zones have room for {room} of {sectors} sectors"),
            ));
        }
        let mechanics = model.block("Mechanical Model")?;
        let kind = mechanics.text("Seek type")?;
        if kind != "extracted" {
            return Err((
                mechanics.line(),
                format!("seeks are `{kind}`; only `extracted` is read"),
            ));
        }
        let ms = |key| mechanics.number(key, 0.0, MS_MAX).map(nanos);
        Ok(Disk {
            name: name.to_owned(),
            sectors,
            surfaces,
            zones,
            seeks,
            head_switch_us: ms("Head switch time")?.0 / 1000,
            settle: ms("Add. write settling delay")?,
            rpm: mechanics.count("Rotation speed (in rpms)", 100, 100_000)?,
            bus: Nanos::ZERO,
            command: Nanos::ZERO,
            segments: 1,
            segment_sectors: 0,
            ahead_sectors: 0,
            write_segments: 0,
        })
    }

    /// Reads the electronics.
    fn with(mut self, specs: &Block) -> Result<Disk, (usize, String)> {
        let mut sum = 0.0;
        for what in ["Read hit", "Read miss", "Write hit", "Write miss"] {
            for after in ["read", "write"] {
                sum += specs.number(&format!("{what} over. after {after}"), 0.0, MS_MAX)?;
            }
        }
        self.command = nanos(sum / 8.0);
        self.bus = nanos(specs.number("Bulk sector transfer time", 0.0, MS_MAX)?);
        self.segments = specs.count("Number of buffer segments", 1, 1024)?;
        self.segment_sectors = specs.count("Segment size (in blks)", 1, SEGMENT_SECTORS_MAX)?;
        let on = |key: &str| Ok::<bool, (usize, String)>(specs.count(key, 0, 100)? > 0);
        if on("Buffer continuous read")? && on("Enable caching in buffer")? {
            self.ahead_sectors =
                specs.count("Maximum read-ahead (blks)", 0, SEGMENT_SECTORS_MAX)?;
        }
        if on("Fast write level")? {
            self.write_segments = specs.count("Maximum number of write segments", 1, 1024)?;
        }
        Ok(self)
    }

    /// Creates the project's conventional disk with these parameters. It counts in sectors.
    fn drive(&self) -> Conventional {
        let tracks = Runs::new(&self.zones, self.sectors);
        let cylinders = tracks.units().div_ceil(self.surfaces);
        let parts = Parts {
            rotation: Nanos((60_000_000_000 + self.rpm / 2) / self.rpm),
            head_switch_us: self.head_switch_us,
            settle: self.settle,
            command: self.command,
            bus: self.bus,
            ahead: self.ahead_sectors,
            segments: self.segments,
        };
        let seek = SeekValues::Table { seek_points: self.seeks.clone(), cylinders };
        let mech = Mech::of(tracks, &seek, &parts);
        let entries = usize::try_from(self.write_segments).unwrap_or(0);
        Conventional::bare(mech, self.sectors, entries, self.segment_sectors)
    }

    /// Replays a trace on the model, with the pauses between requests of the real disk.
    ///
    /// # Errors
    /// If the trace is empty, or does not fit the disk; says which request.
    pub fn replay(&self, trace: &[Request]) -> Result<Replay, String> {
        let mut drive = self.drive();
        let mut now = Nanos::ZERO;
        let mut pairs = Vec::with_capacity(trace.len());
        for (at, request) in trace.iter().enumerate() {
            let end = request.sector.checked_add(request.sectors);
            let (Disk { name, sectors, .. }, number) = (self, at + 1);
            if end.is_none_or(|end| end > *sectors) {
                return Err(format!("request {number}: beyond the {sectors} sectors of {name}"));
            }
            if !(1..=SEGMENT_SECTORS_MAX).contains(&request.sectors) {
                return Err(format!("request {number}: of 1 to {SEGMENT_SECTORS_MAX} sectors"));
            }
            let block = Place(request.sector);
            let io = Io { op: request.op, block, count: request.sectors };
            let served = drive.serve(now, &io, &mut []);
            pairs.push((request.op, request.response, served.done.since(now)));
            now = served.done + request.pause;
        }
        if pairs.is_empty() {
            return Err("the trace has no request".into());
        }
        let of = |op| Times::of(pairs.iter().filter(|pair| pair.0 == op));
        let (reads, writes) = (of(Op::Read), of(Op::Write));
        Ok(Replay { all: Times::of(&pairs).expect("one at least"), reads, writes })
    }
}

/// Response times of the real disk and of the model. All times are milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// How many requests.
    pub requests: u64,
    /// Mean on the disk.
    pub measured_ms: f64,
    /// Mean on the model.
    pub model_ms: f64,
    /// Root of the mean square of the horizontal distance between the two distributions (Ruemmler and Wilkes 1994).
    pub demerit_ms: f64,
}

impl Times {
    fn of<'a>(pairs: impl IntoIterator<Item = &'a (Op, Nanos, Nanos)>) -> Option<Times> {
        let ms = |time: Nanos| time.as_secs_f64() * 1e3;
        let (mut measured, mut model): (Vec<f64>, Vec<f64>) =
            pairs.into_iter().map(|&(_, measured, model)| (ms(measured), ms(model))).unzip();
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
        let (measured_ms, model_ms) = (mean(&measured), mean(&model));
        let demerit_ms = demerit(&mut measured, &mut model)?;
        Some(Times { requests: measured.len() as u64, measured_ms, model_ms, demerit_ms })
    }

    /// Returns `model / measured - 1` of the means.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        self.model_ms / self.measured_ms - 1.0
    }
}

/// The results of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replay {
    /// All requests.
    pub all: Times,
    /// Reads, if there are some.
    pub reads: Option<Times>,
    /// Writes, if there are some.
    pub writes: Option<Times>,
}

/// The demerit figure: the root of the mean square of the horizontal distance between two distributions (Ruemmler and
/// Wilkes, IEEE Computer 27(3), 1994). Sorts both. `None` if they are empty or differ in length.
fn demerit(a: &mut [f64], b: &mut [f64]) -> Option<f64> {
    if a.is_empty() || a.len() != b.len() {
        return None;
    }
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let squares: f64 = a.iter().zip(&*b).map(|(a, b)| (a - b) * (a - b)).sum();
    Some((squares / a.len() as f64).sqrt())
}

/// The demerit figure of DiskSim 4.0 itself, in milliseconds, as its validation script states it.
#[must_use]
pub fn of_disksim(disk: &str) -> Option<f64> {
    let stated_us =
        [("atlas10k", 268.0), ("atlas_III", 378.0), ("barracuda", 349.0), ("cheetah4LP", 318.0)];
    stated_us.into_iter().find(|(name, _)| *name == disk).map(|(_, us)| us / 1e3)
}

fn nanos(ms: f64) -> Nanos {
    Nanos((ms * 1e6).round() as u64)
}

/// `Seek distances measured: N`, then `cylinders, milliseconds` a line.
fn seeks(file: &Path, text: &str) -> Result<Vec<(u64, f64)>, DiskSimError> {
    let wrong = |line: usize, what: &str| DiskSimError::new(file, Some(line), what);
    let mut points: Vec<(u64, f64)> = Vec::new();
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let head =
        lines.next().and_then(|(_, line)| line.trim().strip_prefix("Seek distances measured:"));
    let count = head.and_then(|count| count.trim().parse::<usize>().ok());
    let count = count.ok_or_else(|| wrong(1, "no `Seek distances measured: N`"))?;
    for (line, text) in lines {
        let (cylinders, ms) = text.split_once(',').unwrap_or_default();
        let point = (cylinders.trim().parse::<u64>(), ms.trim().parse::<f64>());
        let (Ok(cylinders), Ok(ms)) = point else {
            return Err(wrong(line, "no `cylinders, milliseconds`"));
        };
        if !(0.0..=MS_MAX).contains(&ms) || cylinders > CYLINDERS_MAX {
            return Err(wrong(
                line,
                "a seek takes from 0 to 100 ms, over at most 1,000,000 cylinders",
            ));
        }
        if points.last().map_or(cylinders != 1, |last| last.0 >= cylinders) {
            return Err(wrong(line, "distances ascend, from 1 cylinder on"));
        }
        points.push((cylinders, ms));
    }
    if points.len() != count || count < 2 {
        return Err(wrong(
            1,
            &format!("{} distances follow, two at least are needed", points.len()),
        ));
    }
    Ok(points)
}

#[cfg(test)]
mod tests;
