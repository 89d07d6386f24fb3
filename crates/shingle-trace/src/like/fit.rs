//! Fits a description to a trace, request by request.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request, SECTOR_BYTES};

use super::Description;
use super::buckets::class;
use super::description::{Cell, DONE_TENTHS, PARTS, SLICES_MAX, Slice};
use super::survey::Survey;
use super::tables::{
    EXACT_SECTORS, TableKind, Tables, by_blocks, op_index, signed_class, wait_situation,
};
use super::zone_state::{Stamp, ZoneState};
use crate::zones::{ZONE_BLOCKS, ZONE_BYTES};

/// The most requests between two requests of a stream.
const STREAM_REQUESTS: u64 = 256;

/// Fits a description. Memory grows with the zones touched, and with the requests of a slice.
pub struct Fit {
    slice_accesses: u64,
    accesses: u64,
    requests: u64,
    left_out: u64,
    zone_states: HashMap<u64, ZoneState>,
    slices: Vec<Slice>,
    slice_start: Nanos,
    /// Cells of the current slice, by zone and operation.
    cells: BTreeMap<(u64, usize), Cell>,
    /// Blocks of each cell by part of the slice.
    parts: BTreeMap<(u64, usize), Vec<(u8, u64)>>,
    runs: Vec<Run>,
    /// Runs by the offset at which the next request would continue.
    ends: HashMap<(u64, usize), usize>,
    last: Option<Nanos>,
    /// Nanoseconds since the previous request, for each request of the slice; `wait_ns` is the last
    /// of the slice before.
    waits: Vec<u64>,
    wait_ns: u64,
    /// Zones of all cells, in the order of cells.
    zones: Vec<u64>,
    tables: Tables,
}

/// Consecutive requests that continue each other, in one cell.
struct Run {
    cell: (u64, usize),
    begin: u64,
    end: u64,
    /// Length of each request in sectors.
    sizes: Vec<u32>,
    last: u64,
}

impl Fit {
    /// Starts the second pass over a trace.
    #[must_use]
    pub fn new(survey: Survey) -> Fit {
        Fit {
            slice_accesses: survey.slice_accesses(),
            accesses: 0,
            requests: 0,
            left_out: 0,
            zone_states: HashMap::new(),
            slices: Vec::new(),
            slice_start: Nanos(0),
            cells: BTreeMap::new(),
            parts: BTreeMap::new(),
            runs: Vec::new(),
            ends: HashMap::new(),
            last: None,
            waits: Vec::new(),
            wait_ns: 0,
            zones: Vec::new(),
            tables: Tables::new(),
        }
    }

    /// Returns the number of flushes and trims, which a description does not contain.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Counts the next request.
    pub fn add(&mut self, request: &Request) {
        if !matches!(request.op, Op::Read | Op::Write) {
            self.left_out += 1;
            return;
        }
        if self.accesses / self.slice_accesses > self.slices.len() as u64 {
            self.end_slice();
            self.slice_start = self.last.unwrap_or(request.at);
        }
        if let Some(last) = self.last {
            let wait_ns = request.at.0 - last.0;
            self.waits.push(wait_ns);
        }
        self.last = Some(request.at);
        let (mut at, end) = (request.offset, request.offset + request.bytes);
        while at < end {
            let border = end.min((at / ZONE_BYTES + 1) * ZONE_BYTES);
            self.add_part(at, border, request.op);
            at = border;
        }
        self.accesses += request.blocks();
        self.requests += 1;
    }

    /// Counts the part of a request in one zone.
    fn add_part(&mut self, at: u64, end: u64, op: Op) {
        let (zone, slice) = (at / ZONE_BYTES, self.slices.len());
        let key = (zone, op_index(op));
        let part =
            (self.accesses % self.slice_accesses * u64::from(PARTS) / self.slice_accesses) as u8;
        let cell = self.cells.entry(key).or_insert_with(|| Cell {
            zone: 0,
            op,
            times: [0; DONE_TENTHS.len()],
            low: PARTS,
            high: 0,
            runs: 0,
            sources: Vec::new(),
        });
        let run = self.ends.remove(&(at, op_index(op)));
        let run = run.filter(|&run| {
            self.runs[run].cell == key && self.requests - self.runs[run].last <= STREAM_REQUESTS
        });
        // The first block of a continued run was counted if the run continues in the middle of it.
        let first = at / BLOCK_BYTES + u64::from(run.is_some() && !at.is_multiple_of(BLOCK_BYTES));
        let run = run.unwrap_or_else(|| {
            cell.runs += 1;
            let run = Run { cell: key, begin: at, end: at, sizes: Vec::new(), last: 0 };
            self.runs.push(run);
            self.runs.len() - 1
        });
        let place = |at: u64| (at % ZONE_BYTES * u64::from(PARTS) / ZONE_BYTES) as u8;
        (cell.low, cell.high) = (cell.low.min(place(at)), cell.high.max(place(end - 1)));
        let parts = self.parts.entry(key).or_default();
        if parts.last().is_none_or(|&(last, _)| last != part) {
            parts.push((part, 0));
        }
        parts.last_mut().expect("it was just put there").1 += (end - 1) / BLOCK_BYTES + 1 - first;
        let zone_state = self.zone_states.entry(zone).or_insert_with(ZoneState::new);
        for block in first..=(end - 1) / BLOCK_BYTES {
            let within = (block % ZONE_BLOCKS) as usize;
            let stamp = zone_state.at(within);
            if stamp == Stamp::FRESH
                && self.runs[run].begin == at
                && block == first
                && let Some(end) = zone_state.last_end()
            {
                let gap = signed_class(within as i64 - end as i64);
                self.tables.count(TableKind::Gaps, op_index(op), gap);
            }
            match cell.sources.iter_mut().find(|(source, _)| *source == stamp) {
                Some((_, count)) => *count += 1,
                None => cell.sources.push((stamp, 1)),
            }
            zone_state.touch(within, Stamp::of(slice, op));
        }
        zone_state.set_last_end(((end - 1) / BLOCK_BYTES % ZONE_BLOCKS) as usize + 1);
        let sectors = u32::try_from((end - at).div_ceil(SECTOR_BYTES)).unwrap_or(u32::MAX);
        let entry = &mut self.runs[run];
        (entry.end, entry.last) = (end, self.requests);
        entry.sizes.push(sectors);
        self.ends.insert((end, op_index(op)), run);
    }

    fn end_slice(&mut self) {
        assert!(self.slices.len() < SLICES_MAX, "the survey was of another trace");
        let mut before: BTreeMap<(u64, usize), u64> = BTreeMap::new();
        for run in self.runs.drain(..) {
            let cell = &self.cells[&run.cell];
            let (op, mean) = (cell.op, cell.blocks() / cell.runs);
            let (first, last) = (run.begin / BLOCK_BYTES, (run.end - 1) / BLOCK_BYTES);
            let blocks = last - first + 1;
            let situation = by_blocks(op, blocks);
            self.tables.count(TableKind::Lengths, by_blocks(op, mean), class(blocks));
            let skipped = run.begin % BLOCK_BYTES / SECTOR_BYTES;
            let last_sector = (run.end - 1) % BLOCK_BYTES / SECTOR_BYTES;
            self.tables.count(TableKind::Edges, situation, (8 * skipped + last_sector) as u32);
            for pair in run.sizes.windows(2) {
                self.tables.count(TableKind::Same, situation, u32::from(pair[0] == pair[1]));
            }
            let differs = |&at: &usize| at == 0 || run.sizes[at] != run.sizes[at - 1];
            for at in (0..run.sizes.len()).filter(differs) {
                let sectors = run.sizes[at];
                let exact = sectors < EXACT_SECTORS;
                let size = if exact { sectors } else { EXACT_SECTORS + class(sectors.into()) };
                self.tables.count(TableKind::Sizes, situation, size);
            }
            if let Some(before) = before.insert(run.cell, run.begin) {
                self.tables.count(TableKind::Rises, op_index(op), u32::from(run.begin > before));
            }
        }
        self.ends.clear();
        let nanos = self.last.map_or(0, |last| last.0 - self.slice_start.0);
        let mut cells = Vec::new();
        let parts = std::mem::take(&mut self.parts).into_values();
        for (((zone, _), mut cell), parts) in std::mem::take(&mut self.cells).into_iter().zip(parts)
        {
            cell.times = times(&parts);
            cell.sources.sort_unstable();
            self.zones.push(zone);
            cells.push(cell);
        }
        let requests = self.requests - self.slices.iter().map(|slice| slice.requests).sum::<u64>();
        let slice = Slice { requests, nanos, cells };
        for wait_ns in self.waits.drain(..) {
            let situation = wait_situation(self.wait_ns, slice.mean_wait_ns());
            self.tables.count(TableKind::Waits, situation, class(wait_ns));
            self.wait_ns = wait_ns;
        }
        self.slices.push(slice);
    }

    /// Returns the description of what was counted; `None` if there was nothing.
    #[must_use]
    pub fn finish(mut self) -> Option<Description> {
        self.last?;
        self.end_slice();
        let mut sorted = self.zones.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let cells = self.slices.iter_mut().flat_map(|slice| &mut slice.cells);
        for (cell, zone) in cells.zip(&self.zones) {
            cell.zone = sorted.binary_search(zone).expect("it is one of them") as u32;
        }
        let gap = |at: usize| if at == 0 { 0 } else { class(sorted[at] - sorted[at - 1]) };
        let zones = (0..sorted.len()).map(gap).collect();
        Some(Description { zones, tables: self.tables, slices: self.slices })
    }
}

/// Returns the parts in which the fractions [`DONE_TENTHS`] of the blocks are reached.
fn times(parts: &[(u8, u64)]) -> [u8; DONE_TENTHS.len()] {
    let all: u64 = parts.iter().map(|(_, blocks)| blocks).sum();
    DONE_TENTHS.map(|tenths| {
        let mut done = 0;
        let part = parts.iter().find(|(_, blocks)| {
            done += blocks;
            done * 10 >= all * tenths
        });
        part.or(parts.last()).map_or(0, |&(part, _)| part)
    })
}
