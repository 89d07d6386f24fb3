//! A workload in a file: `shingle.workload/1`, which `docs/workloads.md` describes.
//!
//! Every table is rows of whole numbers, `[situation, value, count, value, count, …]`. What is read is held
//! against all limits, so that whatever a file says, requests can be made of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;

use serde::Deserialize;
use shingle_core::units::Op;

use super::buckets::{Counts, Table};
use super::history::CLASSES_MAX;
use super::long::{Long, RUNS_MAX, Start};
use super::moves::side;
use super::statistics::{Layout, Of, Phase, SAME, Whole};
use crate::error::{Kind, Place, Problem, TraceError};
use crate::source::REQUEST_BYTES_MAX;

const SCHEMA: &str = "shingle.workload/1";
/// A longer file is none of ours.
const FILE_BYTES_MAX: u64 = 16 << 20;
const PHASES_MAX: usize = 64;
const ZONES_MAX: u64 = 1 << 22;
const NUMBER_MAX: u64 = 1 << 44;
const COUNT_MAX: u64 = 1 << 40;

/// What is shared in place of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    pub(super) phases: Vec<Phase>,
    pub(super) layout: Layout,
    pub(super) long: Vec<Long>,
}

type Rows = Vec<Vec<u64>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    zones: u64,
    #[serde(default)]
    long: Rows,
    whole: BTreeMap<String, Rows>,
    phase: Vec<FilePhase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilePhase {
    requests: u64,
    counts: BTreeMap<String, Rows>,
}

impl Description {
    /// How many requests the trace had.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.phases.iter().map(|phase| phase.requests).sum()
    }

    /// Reads a description.
    ///
    /// # Errors
    /// If there is no such file, or it is no description.
    pub fn open(path: &str) -> Result<Description, TraceError> {
        let unread = |error: &std::io::Error| {
            let message = format!("cannot be read: {error}");
            TraceError::new(Kind::Io, path, Place::Whole, message)
        };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(|error| unread(&error))?;
        let read = file.take(FILE_BYTES_MAX).read_to_string(&mut text);
        read.map_err(|error| unread(&error))?;
        Description::parse(&text).map_err(|problem| problem.at(path, Place::Whole))
    }

    /// Reads the text of a description.
    ///
    /// # Errors
    /// If it is none; the error names `name`.
    pub fn from_text(name: &str, text: &str) -> Result<Description, TraceError> {
        Description::parse(text).map_err(|problem| problem.at(name, Place::Whole))
    }

    pub(crate) fn parse(text: &str) -> Result<Description, Problem> {
        let file: File = toml::from_str(text).map_err(|error| {
            let what = error.message().lines().next().unwrap_or("no TOML").to_owned();
            let line = error
                .span()
                .map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            wrong(&format!("line {line}: {what}"))
        })?;
        if file.schema != SCHEMA {
            return Err(wrong(&format!("its schema is not {SCHEMA}")));
        }
        if !(1..=PHASES_MAX).contains(&file.phase.len()) {
            return Err(wrong(&format!("it has {} phases, not 1 to 64", file.phase.len())));
        }
        let layout = layout(file.zones, &file.whole)?;
        let phases: Vec<Phase> = file.phase.iter().map(phase).collect::<Result<_, _>>()?;
        let requests = phases.iter().map(|phase| phase.requests).sum();
        Ok(Description { phases, layout, long: long(&file.long, requests)? })
    }

    /// The text of the description.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("schema = \"{SCHEMA}\"\nzones = {}\n", self.layout.zones);
        let long = self.long.iter().map(|long| {
            let (how, class, bytes) = match long.start {
                Start::Behind(number, bytes) => (1, number as u64, bytes),
                Start::Free(class) => (0, class as u64, 0),
            };
            vec![
                long.at,
                long.until,
                side(long.op) as u64,
                long.each,
                long.bytes,
                how,
                class,
                bytes,
            ]
        });
        write_rows(&mut text, "long", long);
        text.push_str("\n[whole]\n");
        for (of, name, _, _) in Whole::ALL {
            write_table(&mut text, name, self.layout.table(of));
        }
        for phase in &self.phases {
            let _ = write!(text, "\n[[phase]]\nrequests = {}\n[phase.counts]\n", phase.requests);
            for (of, name, _, _) in Of::ALL {
                write_table(&mut text, name, phase.table(of));
            }
        }
        text
    }
}

fn write_table(text: &mut String, name: &str, table: &Table) {
    let row = |(situation, counts): (usize, &Counts)| {
        let pairs = counts.pairs().flat_map(|(value, count)| [u64::from(value), count]);
        std::iter::once(situation as u64).chain(pairs).collect()
    };
    write_rows(text, name, table.situations().map(row));
}

fn write_rows(text: &mut String, name: &str, rows: impl Iterator<Item = Vec<u64>>) {
    let _ = writeln!(text, "{name} = [");
    for row in rows {
        let row: Vec<String> = row.iter().map(u64::to_string).collect();
        let _ = writeln!(text, "[{}],", row.join(","));
    }
    text.push_str("]\n");
}

fn wrong(what: &str) -> Problem {
    Problem::new(
        Kind::Corrupt,
        format!("no workload description: {what}; make one with shingle trace synth --like"),
    )
}

fn layout(zones: u64, tables: &BTreeMap<String, Rows>) -> Result<Layout, Problem> {
    if !(1..=ZONES_MAX).contains(&zones) {
        return Err(wrong(&format!("zones = {zones} is out of range: 1 to {ZONES_MAX}")));
    }
    let mut layout = Layout::new();
    layout.zones = zones;
    for (name, rows) in tables {
        let found = Whole::ALL.iter().find(|(_, other, _, _)| other == name);
        let &(of, name, situations, end) =
            found.ok_or_else(|| wrong("[whole] has a table of no known name"))?;
        fill(name, rows, situations, end, |situation, value, count| {
            layout.add(of, situation, value, count);
        })?;
    }
    let first = layout.table(Whole::Rows).situations().next();
    let first = first.filter(|(situation, _)| *situation == 0).map(|(_, counts)| counts);
    if first.is_none_or(|counts| counts.pairs().any(|(class, _)| class == SAME)) {
        return Err(wrong("rows of zones begin with no zone"));
    }
    Ok(layout)
}

fn phase(file: &FilePhase) -> Result<Phase, Problem> {
    let mut phase = Phase::new();
    phase.requests = file.requests;
    if !(1..=COUNT_MAX).contains(&file.requests) {
        return Err(wrong("a phase has no requests, or too many"));
    }
    for (name, rows) in &file.counts {
        let found = Of::ALL.iter().find(|(_, other, _, _)| other == name);
        let &(of, name, situations, end) =
            found.ok_or_else(|| wrong("a phase has a table of no known name"))?;
        fill(name, rows, situations, end, |situation, value, count| {
            phase.add(of, situation, value, count);
        })?;
    }
    Ok(phase)
}

fn fill(
    name: &str,
    rows: &Rows,
    situations: usize,
    end: u32,
    mut add: impl FnMut(usize, u32, u64),
) -> Result<(), Problem> {
    for row in rows {
        let (situation, pairs) =
            row.split_first().ok_or_else(|| wrong(&format!("{name} has an empty row")))?;
        let situation = usize::try_from(*situation).ok().filter(|&at| at < situations);
        let situation =
            situation.ok_or_else(|| wrong(&format!("{name} has a situation over {situations}")))?;
        if pairs.len() % 2 == 1 {
            return Err(wrong(&format!("{name} has a value without a count")));
        }
        for pair in pairs.chunks(2) {
            let value = u32::try_from(pair[0]).ok().filter(|&value| value < end);
            let value = value.ok_or_else(|| wrong(&format!("{name} has a value over {end}")))?;
            if !(1..=COUNT_MAX).contains(&pair[1]) {
                return Err(wrong(&format!("{name} has a count out of range")));
            }
            add(situation, value, pair[1]);
        }
    }
    Ok(())
}

fn long(rows: &Rows, requests: u64) -> Result<Vec<Long>, Problem> {
    let mut runs: Vec<Long> = Vec::new();
    for row in rows {
        let &[at, until, op, each, bytes, how, number, distance] = row.as_slice() else {
            return Err(wrong("a long run has not eight numbers"));
        };
        let start = match (how, usize::try_from(number)) {
            (1, Ok(number)) if number < runs.len() => Start::Behind(number, distance),
            (0, Ok(class)) if class < CLASSES_MAX => Start::Free(class),
            _ => return Err(wrong("a long run begins behind none, or in no class of zones")),
        };
        let in_order = runs.last().is_none_or(|last| last.at <= at);
        let sound =
            at <= until && until < requests && in_order && op <= 1 && distance <= NUMBER_MAX;
        if !sound || !(1..=REQUEST_BYTES_MAX).contains(&each) || !(1..=NUMBER_MAX).contains(&bytes)
        {
            return Err(wrong("a long run has a number out of range"));
        }
        let op = if op == 1 { Op::Write } else { Op::Read };
        runs.push(Long { at, until, op, each, bytes, start });
    }
    if runs.len() > RUNS_MAX {
        return Err(wrong(&format!("it has over {RUNS_MAX} long runs")));
    }
    Ok(runs)
}
