//! A description as text: `shingle.workload/2`, which `docs/workloads.md` describes.
//!
//! All data are rows of whole numbers. A file is checked against all limits when it is read, so that
//! any accepted description can generate requests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;

use serde::Deserialize;
use shingle_core::units::Op;

use super::buckets::Counts;
use super::description::{Cell, Description, PARTS, SLICES_MAX, Slice};
use super::tables::{TableKind, Tables, op_index};
use super::zone_state::Stamp;
use crate::error::{Kind, Place, Problem, TraceError};
use crate::source::TRACE_NANOS_MAX;

const SCHEMA: &str = "shingle.workload/2";
/// The largest size of a file.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// The most zones: each takes up to 5 KB when requests are generated.
const ZONES_MAX: usize = 1 << 18;
/// Exclusive limit of the classes of distances between zones.
const GAPS_END: u32 = 8 + 4 * 30;
const COUNT_MAX: u64 = 1 << 40;
const SLICE_BLOCKS_MAX: u64 = 1 << 62;

type Rows = Vec<Vec<u64>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    zones: Vec<u32>,
    tables: BTreeMap<String, Rows>,
    slice: Vec<FileSlice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSlice {
    requests: u64,
    nanos: u64,
    cells: Rows,
}

impl Description {
    /// Reads the description in a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a description.
    pub fn open(path: &str) -> Result<Description, TraceError> {
        let unread = |error: &std::io::Error| {
            let message = format!("cannot be read: {error}");
            TraceError::new(Kind::Io, path, Place::Whole, message)
        };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(|error| unread(&error))?;
        let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
        read.map_err(|error| unread(&error))?;
        Description::parse(&text).map_err(|problem| problem.at(path, Place::Whole))
    }

    /// Parses the text of a description.
    ///
    /// # Errors
    /// If it is not a description; the error names `name`.
    pub fn from_text(name: &str, text: &str) -> Result<Description, TraceError> {
        Description::parse(text).map_err(|problem| problem.at(name, Place::Whole))
    }

    pub(crate) fn parse(text: &str) -> Result<Description, Problem> {
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(wrong("it has more than 16 MiB"));
        }
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
        if !(1..=ZONES_MAX).contains(&file.zones.len()) {
            let zones = file.zones.len();
            return Err(wrong(&format!("it has {zones} zones, not 1 to {ZONES_MAX}")));
        }
        let apart = file.zones[1..].iter().all(|gap| (1..GAPS_END).contains(gap));
        if !apart || file.zones[0] != 0 {
            return Err(wrong("a zone is too near to the one before, or too far away"));
        }
        if !(1..=SLICES_MAX).contains(&file.slice.len()) {
            let slices = file.slice.len();
            return Err(wrong(&format!("it has {slices} slices, not 1 to {SLICES_MAX}")));
        }
        let slices = file.slice.iter().enumerate();
        let slices = slices.map(|(at, from)| slice(at, from, file.zones.len()));
        let slices = slices.collect::<Result<Vec<Slice>, Problem>>()?;
        let tables = tables(&file.tables)?;
        Ok(Description { zones: file.zones, tables, slices })
    }

    /// Returns the text of the description.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Description { zones, tables, slices } = self;
        let mut text = format!("schema = \"{SCHEMA}\"\nzones = {zones:?}\n");
        text.push_str("\n[tables]\n");
        for (of, name, _, _) in TableKind::ALL {
            let row = |(situation, counts): (usize, &Counts)| {
                let pairs = counts.pairs().flat_map(|(value, count)| [u64::from(value), count]);
                std::iter::once(situation as u64).chain(pairs).collect()
            };
            write_rows(&mut text, name, tables.table(of).situations().map(row));
        }
        for Slice { requests, nanos, cells } in slices {
            let _ = write!(text, "\n[[slice]]\nrequests = {requests}\nnanos = {nanos}\n");
            write_rows(&mut text, "cells", cells.iter().map(numbers));
        }
        text
    }
}

fn numbers(cell: &Cell) -> Vec<u64> {
    let Cell { zone, op, times, low, high, runs, sources } = cell;
    let mut row = vec![u64::from(*zone), op_index(*op) as u64, *runs];
    row.extend([*low, *high].map(u64::from));
    row.extend(times.map(u64::from));
    row.extend(sources.iter().flat_map(|&(stamp, blocks)| [u64::from(stamp.0), blocks]));
    row
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
        format!("is no workload description: {what}; make one with shingle trace synth --like"),
    )
}

fn slice(at: usize, from: &FileSlice, zones: usize) -> Result<Slice, Problem> {
    let FileSlice { requests, nanos, .. } = *from;
    if !(1..=COUNT_MAX).contains(&requests) || nanos > TRACE_NANOS_MAX || from.cells.is_empty() {
        return Err(wrong("a slice has no requests, no cells, or too many of something"));
    }
    let cells = from.cells.iter().map(|row| cell(at, row, zones));
    let cells = cells.collect::<Result<Vec<Cell>, Problem>>()?;
    if cells.iter().any(|cell| cell.blocks() > SLICE_BLOCKS_MAX / cells.len() as u64) {
        return Err(wrong("a slice has too many blocks"));
    }
    Ok(Slice { requests, nanos, cells })
}

fn cell(slice: usize, row: &[u64], zones: usize) -> Result<Cell, Problem> {
    let [zone, op, runs, low, high, t0, t1, t2, t3, t4, sources @ ..] = row else {
        return Err(wrong("a cell has fewer than ten numbers"));
    };
    let zone = u32::try_from(*zone).ok().filter(|&zone| (zone as usize) < zones);
    let zone = zone.ok_or_else(|| wrong("a cell is of no zone that there is"))?;
    let times = [*t0, *t1, *t2, *t3, *t4];
    let sound = *op <= 1 && times.is_sorted() && *t4 < u64::from(PARTS);
    let sound = sound && low <= high && *high < u64::from(PARTS) && (1..=COUNT_MAX).contains(runs);
    if !sound || sources.is_empty() || sources.len() % 2 == 1 {
        return Err(wrong("a cell has a number out of range"));
    }
    let mut pairs: Vec<(Stamp, u64)> = Vec::new();
    for pair in sources.chunks(2) {
        let stamp = u8::try_from(pair[0]).ok().map(Stamp);
        let stamp = stamp.filter(|&stamp| {
            let known = stamp == Stamp::FRESH
                || (Stamp::of(0, Op::Read)..=Stamp::of(slice, Op::Write)).contains(&stamp);
            known && pairs.last().is_none_or(|(before, _)| *before < stamp)
        });
        let stamp = stamp.filter(|_| (1..=COUNT_MAX).contains(&pair[1]));
        pairs.push((stamp.ok_or_else(|| wrong("a cell has blocks of no slice before"))?, pair[1]));
    }
    let op = if *op == 1 { Op::Write } else { Op::Read };
    let times = times.map(|time| time as u8);
    let (low, high) = (*low as u8, *high as u8);
    Ok(Cell { zone, op, times, low, high, runs: *runs, sources: pairs })
}

fn tables(from: &BTreeMap<String, Rows>) -> Result<Tables, Problem> {
    let mut tables = Tables::new();
    for (name, rows) in from {
        let found = TableKind::ALL.iter().find(|(_, other, _, _)| other == name);
        let &(of, name, situations, end) =
            found.ok_or_else(|| wrong("it has a table of no known name"))?;
        for row in rows {
            let (situation, pairs) =
                row.split_first().ok_or_else(|| wrong(&format!("{name} has an empty row")))?;
            let situation = usize::try_from(*situation).ok().filter(|&at| at < situations);
            let situation = situation
                .ok_or_else(|| wrong(&format!("{name} has a situation over {situations}")))?;
            if pairs.len() % 2 == 1 {
                return Err(wrong(&format!("{name} has a value without a count")));
            }
            for pair in pairs.chunks(2) {
                let value = u32::try_from(pair[0]).ok().filter(|&value| value < end);
                let value =
                    value.ok_or_else(|| wrong(&format!("{name} has a value over {end}")))?;
                if !(1..=COUNT_MAX).contains(&pair[1]) {
                    return Err(wrong(&format!("{name} has a count out of range")));
                }
                tables.add(of, situation, value, pair[1]);
            }
        }
    }
    Ok(tables)
}
