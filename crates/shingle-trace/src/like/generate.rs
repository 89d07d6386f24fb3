//! Generates requests from a description.
//!
//! The cells of a slice advance in parallel, each at its own times, run by run (`progress.rs`).
//! Lengths of requests are drawn so that a slice gets its number of requests.

mod progress;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use shingle_core::units::{Op, SECTOR_BYTES};

use self::progress::{BLOCK_SECTORS, Progress, Run};
use super::Description;
use super::buckets::within;
use super::tables::{EXACT_SECTORS, TableKind, by_blocks, wait_situation};
use super::zone_state::{Stamp, ZoneState};
use crate::source::DISK_BYTES_MAX;
use crate::synth::rng::{Rng, Seed};
use crate::synth::workload::{Access, Pattern};
use crate::zones::ZONE_BYTES;

/// One more length is drawn for each so many requests too many or too few, up to a limit.
const SURPLUS_REQUESTS: u64 = 32;
const DRAWS_MAX: u64 = 8;

pub(crate) struct Like {
    description: Arc<Description>,
    requests: u64,
    rng: Rng,
    times: Rng,
    wait_ns: u64,
    /// First byte of each zone, and its state once it is touched.
    zones: Vec<(u64, Option<ZoneState>)>,
    slice: usize,
    cells: Vec<Progress>,
    /// Cells by the time at which their next request is due.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Blocks of the slice; `done` of them were accessed.
    blocks: u64,
    done: u64,
    /// Requests generated in this slice; `ahead` is the surplus of all slices before.
    generated: u64,
    surplus: i64,
}

impl Like {
    pub(crate) fn new(description: Arc<Description>, requests: u64, seed: Seed) -> Like {
        let mut rng = seed.stream("like");
        let mut zone = 0;
        let zones = description.zones.iter().map(|&gap| {
            zone = (zone + within(gap, &mut rng)).min(DISK_BYTES_MAX / ZONE_BYTES - 1);
            (zone * ZONE_BYTES, None)
        });
        let mut like = Like {
            zones: zones.collect(),
            description,
            requests,
            rng,
            times: seed.stream("times"),
            wait_ns: 0,
            slice: 0,
            cells: Vec::new(),
            due: BinaryHeap::new(),
            blocks: 0,
            done: 0,
            generated: 0,
            surplus: 0,
        };
        like.begin_slice();
        like
    }

    fn begin_slice(&mut self) {
        let Description { slices, tables, .. } = &*self.description;
        (self.blocks, self.done, self.generated) = (0, 0, 0);
        self.cells.clear();
        for (number, cell) in slices[self.slice].cells.iter().enumerate() {
            let progress = Progress::new(cell, tables, &mut self.rng);
            self.blocks += progress.blocks();
            self.due.extend(progress.due(cell).map(|due| Reverse((due, number as u32))));
            self.cells.push(progress);
        }
    }

    fn next_slice(&mut self) {
        let slices = &self.description.slices;
        self.surplus += self.generated.cast_signed() - slices[self.slice].requests.cast_signed();
        self.slice += 1;
        if self.slice == slices.len() {
            self.slice = 0;
            self.zones
                .iter_mut()
                .filter_map(|(_, zone_state)| zone_state.as_mut())
                .for_each(ZoneState::start_repeat);
        }
        self.begin_slice();
    }

    /// Returns the next request of a cell.
    fn request(&mut self, number: u32) -> Access {
        let description = Arc::clone(&self.description);
        let cell = &description.slices[self.slice].cells[number as usize];
        let (start, zone_state) = &mut self.zones[cell.zone as usize];
        let (start, progress) = (*start, &mut self.cells[number as usize]);
        let mut run = progress.run.take().unwrap_or_else(|| {
            let now = (Stamp::of(self.slice, Op::Read), Stamp::of(self.slice, cell.op));
            let zone_state = zone_state.get_or_insert_with(ZoneState::new);
            progress.begin(cell, now, zone_state, &description.tables, &mut self.rng)
        });
        let rest = run.rest();
        let sectors = self.sectors(cell.op, &run);
        // A request that reaches the last block of several ends the run.
        let last = (run.end - 1) / BLOCK_SECTORS * BLOCK_SECTORS;
        if run.blocks > 1 && run.at + sectors > last {
            run.end = (run.at + sectors).min(last + BLOCK_SECTORS);
        }
        let end = (run.at + sectors).min(run.end);
        let offset = start + run.at * SECTOR_BYTES;
        let bytes = (end - run.at) * SECTOR_BYTES;
        (run.at, run.sectors) = (end, sectors);
        self.generated += 1;
        self.done += rest - run.rest().min(rest);
        let progress = &mut self.cells[number as usize];
        progress.run = (run.at < run.end).then_some(run);
        self.due.extend(progress.due(cell).map(|due| Reverse((due, number))));
        Access { offset, bytes, op: cell.op }
    }

    /// Returns the length of a run's next request, in sectors.
    ///
    /// It is the length of the previous request, or one of two that are drawn: the shorter one if
    /// there are too few requests so far, else the longer one. If both cases are equally frequent,
    /// lengths have the counted distribution.
    fn sectors(&mut self, op: Op, run: &Run) -> u64 {
        let Description { tables, slices, .. } = &*self.description;
        let situation = by_blocks(op, run.blocks);
        if run.sectors > 0
            && tables.table(TableKind::Same).draw(situation, &mut self.rng) == Some(1)
        {
            return run.sectors;
        }
        let should = u128::from(slices[self.slice].requests) * u128::from(self.done);
        let should = (should / u128::from(self.blocks)) as i64;
        let surplus = self.surplus + self.generated.cast_signed() - should;
        let sizes = tables.table(TableKind::Sizes);
        let mut draw = || match sizes.draw(situation, &mut self.rng) {
            Some(exact) if exact < EXACT_SECTORS => u64::from(exact.max(1)),
            Some(class) => within(class - EXACT_SECTORS, &mut self.rng).clamp(1, 1 << 21),
            None => BLOCK_SECTORS,
        };
        let mut sectors = draw();
        for _ in 1..(2 + surplus.unsigned_abs() / SURPLUS_REQUESTS).min(DRAWS_MAX) {
            sectors = if surplus > 0 { sectors.max(draw()) } else { sectors.min(draw()) };
        }
        sectors
    }
}

impl Pattern for Like {
    fn next(&mut self) -> Access {
        loop {
            if let Some(Reverse((_, number))) = self.due.pop() {
                return self.request(number);
            }
            self.next_slice();
        }
    }

    fn length(&self) -> u64 {
        self.requests
    }

    fn wait_ns(&mut self) -> u64 {
        let Description { tables, slices, .. } = &*self.description;
        let situation = wait_situation(self.wait_ns, slices[self.slice].mean_wait_ns());
        let class = tables.table(TableKind::Waits).draw(situation, &mut self.times);
        self.wait_ns = class.map_or(0, |class| within(class, &mut self.times));
        self.wait_ns
    }
}
