//! Published measurements of real disks, run on the models.
//!
//! Each row is one published figure beside what the model gives for the same workload: uniform
//! random I/O of one size, one at a time. The role of a row says how much an agreement is worth.
//! Nothing here is tuned towards a row that is not marked as fitted.

use crate::measure::experiments::pore;
use crate::measure::experiments::sac::{self, Start};
use crate::measure::load::Load;
use crate::sheet::DriveError;
use shingle_core::units::{Nanos, Op};
use std::fmt;

/// How a row relates to the model's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A parameter was fitted to this row.
    Fit,
    /// A parameter is set to this measurement.
    TakenOver,
    /// No parameter was adjusted to this row; it should come within its aim.
    Prediction,
    /// Shown only: the source is contradictory, or says too little about the experiment.
    NotAimedAt,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Role::Fit => "fit",
            Role::TakenOver => "taken over",
            Role::Prediction => "prediction",
            Role::NotAimedAt => "not aimed at",
        })
    }
}

/// One published figure and the model's.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its publication.
    pub anchor: &'static str,
    /// The drive.
    pub drive: &'static str,
    /// The quantity measured, and the workload.
    pub quantity: String,
    /// Unit of both figures.
    pub unit: &'static str,
    /// The published figure.
    pub measured: f64,
    /// The figure of the model.
    pub model: f64,
    /// How a row came to agree.
    pub role: Role,
    /// Accepted deviation, as a part of the measured figure.
    pub aim: Option<f64>,
    /// A note for the reader; often empty.
    pub note: &'static str,
}

impl Row {
    /// Returns `model / measured - 1`.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        self.model / self.measured - 1.0
    }

    /// Returns whether the row comes within its aim; `None` if it has none.
    #[must_use]
    pub fn holds(&self) -> Option<bool> {
        self.aim.map(|aim| self.deviation().abs() <= aim)
    }
}

/// Runs every anchor, which takes some seconds. `progress` gets the name of each before it runs.
///
/// # Panics
/// If a drive of the registry cannot be made, which a test rules out.
#[must_use]
pub fn anchors(progress: &mut dyn FnMut(&str)) -> Vec<Row> {
    let mut rows = Vec::new();
    progress("SAC, Figure 1 and Table 2");
    sac_bandwidth(&mut rows);
    progress("SAC, Table 3");
    for row in &TABLE_3 {
        table_3(row, &mut rows);
    }
    for range in &RAW {
        progress(&format!("raw runs on an ST8000AS0002, {}", range.name));
        raw_run(range, &mut rows);
    }
    progress("PORE, Figure 3");
    pore_figure_3(&mut rows);
    rows
}

const SEED: u64 = 1;
const KIB: u64 = 1024;
const GIB: u64 = 1 << 30;
const TB: u64 = 1_000_000_000_000;
const WITHIN_5: Option<f64> = Some(0.05);
const WITHIN_10: Option<f64> = Some(0.10);
const WITHIN_25: Option<f64> = Some(0.25);

fn sac_bandwidth(rows: &mut Vec<Row>) {
    let mut row = |anchor, drive, quantity: &str, measured, model: f64| {
        rows.push(Row {
            anchor,
            drive,
            quantity: quantity.to_owned(),
            unit: "KB/s",
            measured,
            model: model / 1e3,
            role: Role::NotAimedAt,
            aim: None,
            note: "",
        });
    };
    let wide = |drive| made(sac::figure_1(drive, Start::Full, 600, SEED)).bandwidth().mean;
    row("SAC Fig 1", "cmr5900", "4 KB random writes over 1 TB", 830.0, wide("cmr5900"));
    let cell = |drive, op, start, seconds| made(sac::table_2(drive, op, start, seconds, SEED)).mean;
    let (table, reads) = ("SAC Table 2", "4 KB random reads over 10 GB");
    let writes = "4 KB random writes over 10 GB";
    for (drive, read, written) in [("cmr5900", 247.5, 588.8), ("st8000as0002", 373.7, 124.2)] {
        row(table, drive, reads, read, cell(drive, Op::Read, Start::Empty, 300));
        row(table, drive, writes, written, cell(drive, Op::Write, Start::Full, 3600));
    }
}

/// Unwraps the result of an experiment: the registry's own drives can be made and fit their
/// experiments.
fn made<T>(result: Result<T, DriveError>) -> T {
    result.expect("a drive of the registry")
}

/// A row of SAC's Table 3: I/O size, depth, I/O a second before and after the cliff, capacity.
struct Table3 {
    kib: u64,
    depth: u64,
    before: f64,
    after: f64,
    capacity_mb: f64,
    taken_over: bool,
}

const fn table_3_row(kib: u64, depth: u64, rates: (f64, f64), capacity_mb: f64) -> Table3 {
    Table3 { kib, depth, before: rates.0, after: rates.1, capacity_mb, taken_over: kib == 256 }
}

static TABLE_3: [Table3; 5] = [
    table_3_row(4, 1, (3156.0, 41.0), 720.0),
    table_3_row(8, 1, (3268.0, 9.0), 1450.0),
    table_3_row(4, 32, (2716.0, 225.0), 723.0),
    table_3_row(8, 32, (2684.0, 229.0), 1557.0),
    table_3_row(256, 1, (452.0, 21.0), 30_300.0),
];

fn table_3(published: &Table3, rows: &mut Vec<Row>) {
    let model = made(sac::table_3("st8000as0002", published.kib * KIB, SEED));
    let what = format!("{} KB random writes, depth {}", published.kib, published.depth);
    let mut row = |quantity: &str, unit, measured, model, role, aim, note| {
        let quantity = format!("{what}: {quantity}");
        let (anchor, drive) = ("SAC Table 3", "st8000as0002");
        rows.push(Row { anchor, drive, quantity, unit, measured, model, role, aim, note });
    };
    let capacity = if published.taken_over { Role::TakenOver } else { Role::Prediction };
    row(
        "before the cliff",
        "IOPS",
        published.before,
        model.iops_before,
        Role::Prediction,
        WITHIN_25,
        FIXED_NOTE,
    );
    let bytes = model.buffer_bytes as f64 / 1e6;
    let limit = if published.taken_over { "log_bytes is this row" } else { EXTENTS_NOTE };
    row("buffer capacity", "MB", published.capacity_mb, bytes, capacity, WITHIN_10, limit);
    row(
        "after the cliff",
        "IOPS",
        published.after,
        model.iops_after,
        Role::NotAimedAt,
        None,
        "range not published",
    );
}

/// Runs of 500 K 4 KB random writes on an ST8000AS0002 with an empty buffer (raw logs,
/// `dcstrange/smr-ssd-cache_multi-user` 3e6ef75).
struct Raw {
    name: &'static str,
    bytes: u64,
    /// Writes until the rate fell; 0 for never.
    onset: u64,
    /// Seconds for each 50 K writes.
    seconds: [u16; 10],
    /// A parameter was inferred from its rows after the cliff.
    fitted: bool,
    note: &'static str,
}

const fn raw(name: &'static str, bytes: u64, onset: u64, seconds: [u16; 10]) -> Raw {
    Raw { name, bytes, onset, seconds, fitted: false, note: "" }
}

static RAW: [Raw; 7] = [
    raw("128 MB", 128 << 20, 0, [15; 10]),
    raw("512 MB", 512 << 20, 0, [15; 10]),
    Raw {
        note: "overwrites in a dense range cost the disk about twice what they cost the model",
        ..raw("2 GB", 2 * GIB, 226_000, [14, 15, 14, 15, 255, 546, 622, 564, 493, 456])
    },
    Raw {
        fitted: true,
        note: "that a cleaning collects no more than so much was inferred from this row",
        ..raw("8 GB", 8 * GIB, 190_000, [15, 15, 16, 97, 411, 461, 442, 410, 435, 405])
    },
    raw("32 GB", 32 * GIB, 183_000, [14, 15, 15, 143, 376, 361, 367, 364, 370, 380]),
    raw("128 GB", 128 * GIB, 180_000, [15, 15, 14, 352, 740, 644, 577, 527, 490, 468]),
    raw("512 GB", 512 * GIB, 178_000, [15, 15, 16, 1090, 2399, 2037, 1802, 1622, 1491, 1413]),
];

/// The segment in which the rate falls is left out: a shift of the onset by a few per cent moves it
/// by much more, and the onset has a row of its own.
fn raw_run(published: &Raw, rows: &mut Vec<Row>) {
    let model = raw_model(published);
    let mut row = |quantity: &str, unit, measured, model, role, aim, note| {
        let quantity = format!("4 KB random writes over {}: {quantity}", published.name);
        let (anchor, drive) = ("raw 8 TB runs", "st8000as0002");
        rows.push(Row { anchor, drive, quantity, unit, measured, model, role, aim, note });
    };
    let fast = published.segments_before_cliff();
    let mean = |seconds: &[f64]| seconds.iter().sum::<f64>() / seconds.len() as f64;
    let measured: Vec<f64> = published.seconds.iter().map(|&seconds| f64::from(seconds)).collect();
    let (before, model_before) = (mean(&measured[..fast]), mean(&model.seconds[..fast]));
    let quantity = "50 K before the cliff";
    row(quantity, "s", before, model_before, Role::TakenOver, WITHIN_25, FIXED_NOTE);
    if published.onset == 0 {
        return;
    }
    let (onset, model_onset) = (published.onset as f64, model.onset as f64);
    row("onset of the cliff", "writes", onset, model_onset, Role::Prediction, WITHIN_5, "");
    let role = if published.fitted { Role::Fit } else { Role::Prediction };
    let segments = measured.iter().zip(&model.seconds).enumerate().skip(fast + 1);
    for (at, (&measured, &model)) in segments {
        let quantity = format!("{} to {} K", at * 50, at * 50 + 50);
        row(&quantity, "s", measured, model, role, WITHIN_25, published.note);
    }
}

const FIXED_NOTE: &str = "log_write_fixed_us is from the raw 8 TB runs";
const EXTENTS_NOTE: &str = "23,000 packets of an independent model, 8 extents in each inferred";

impl Raw {
    fn segments_before_cliff(&self) -> usize {
        match self.onset {
            0 => self.seconds.len(),
            onset => usize::try_from(onset / 50_000).unwrap_or(0),
        }
    }
}

/// The model's results for a run.
struct RawModel {
    seconds: [f64; 10],
    onset: u64,
}

fn raw_model(published: &Raw) -> RawModel {
    let mut load = made(Load::new("st8000as0002", published.bytes, 4 * KIB, SEED));
    let mut model = RawModel { seconds: [0.0; 10], onset: 0 };
    for (at, seconds) in (0..).zip(&mut model.seconds) {
        let start = load.now;
        for write in 0..50_000 {
            load.one(Op::Write);
            if model.onset == 0 && load.drive.counters().clean_time > Nanos::ZERO {
                model.onset = at * 50_000 + write;
            }
        }
        *seconds = load.now.since(start).as_secs_f64();
    }
    model
}

/// The paper's conventional disk, of 500 GB, cannot have been written over 1 TB: the wide range runs
/// on the 5 TB one here. What the shingled disk does after 20 GB is printed too, but not aimed at.
fn pore_figure_3(rows: &mut Vec<Row>) {
    let mut row = |drive, quantity: &str, measured, model: f64, aim: Option<f64>, note| {
        rows.push(Row {
            anchor: "PORE Fig 3",
            drive,
            quantity: quantity.to_owned(),
            unit: "MB/s",
            measured,
            model: model / 1e6,
            role: if aim.is_some() { Role::Prediction } else { Role::NotAimedAt },
            aim,
            note,
        });
    };
    let (narrow, wide) = ("8 KB random writes over 56 GB", "8 KB random writes over 1 TB");
    let conventional = |drive, range| made(pore::figure_3_conventional(drive, range, SEED));
    let queue = "depends on the write cache's depth, a design choice, and on seeks from memory";
    row("cmr7200", narrow, 1.46, conventional("cmr7200", 56 * GIB), WITHIN_25, queue);
    let other = "the paper's 500 GB disk has no 1 TB; a 5 TB disk stands in";
    row("cmr5900", wide, 1.05, conventional("cmr5900", TB), WITHIN_25, other);
    for (quantity, range, measured) in [(narrow, 56 * GIB, 1.36), (wide, TB, 0.09)] {
        let model = made(pore::figure_3_shingled("st5000as0011", range, SEED));
        let hour = format!("{quantity}, first hour after the cliff");
        row("st5000as0011", &hour, measured, model.first_hour, WITHIN_25, "");
        let later = format!("{quantity}, 20 GB later");
        row("st5000as0011", &later, measured, model.after_20_gb, None, "");
    }
}
