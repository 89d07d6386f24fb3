//! The accesses of a trace, in the form that the bounds need.

use std::collections::BTreeMap;

use rayon::prelude::*;
use shingle_core::units::{Block, Op, Request};
use shingle_core::zones::ZoneMap;

use super::band::{Band, Costs, NEVER, Write};
use super::cheapest::cheapest;
use super::room::{Form, Room};
use super::search::{At, peak};
use super::{Bound, Prices};

/// The accesses of a trace.
#[derive(Clone, Debug)]
pub struct Accesses {
    /// Writes, by band.
    bands: Vec<Band>,
    /// Number of block writes, overwrites included.
    pub written_blocks: u64,
    /// For each read of a block that was accessed before: accesses since then, sorted, and their
    /// prefix sums.
    since: Vec<u64>,
    sums: Vec<f64>,
    /// Number of blocks whose first access is a read.
    first_reads: u64,
    count: u64,
}

/// State of a block: its last access, and the newest write whose data is still valid.
#[derive(Clone, Copy, Default)]
struct Known {
    at: Option<u64>,
    newest: Option<(u32, usize)>,
}

/// Collects accesses in order.
struct Collector<'a> {
    zones: &'a ZoneMap,
    bands: BTreeMap<u32, Vec<Write>>,
    /// The block of each write, in the order of `bands`.
    blocks: BTreeMap<u32, Vec<u64>>,
    known: BTreeMap<u64, Known>,
    since: Vec<u64>,
    first_reads: u64,
    count: u64,
}

impl Collector<'_> {
    /// Ends the validity of the newest write of a block.
    fn end(&mut self, newest: Option<(u32, usize)>) {
        if let Some((band, number)) = newest {
            self.bands.get_mut(&band).expect("the band was written")[number].until = self.count;
        }
    }

    fn write(&mut self, block: u64) {
        let before = self.known.get(&block).copied().unwrap_or_default();
        self.end(before.newest);
        let band = self.zones.zone(Block(block)).0;
        let writes = self.bands.entry(band).or_default();
        let newest = Some((band, writes.len()));
        writes.push(Write { at: self.count, read: self.count, until: NEVER, run: 1 });
        self.blocks.entry(band).or_default().push(block);
        self.known.insert(block, Known { at: Some(self.count), newest });
        self.count += 1;
    }

    fn read(&mut self, block: u64) {
        let known = self.known.entry(block).or_default();
        match known.at.replace(self.count) {
            Some(before) => self.since.push(self.count - before),
            None => self.first_reads += 1,
        }
        if let Some((band, number)) = known.newest {
            self.bands.get_mut(&band).expect("the band was written")[number].read = self.count;
        }
        self.count += 1;
    }

    fn trim(&mut self, first: u64, blocks: u64) {
        let trimmed = self.known.range_mut(first..first + blocks);
        let ended: Vec<_> = trimmed.filter_map(|(_, known)| known.newest.take()).collect();
        ended.into_iter().for_each(|newest| self.end(Some(newest)));
    }

    /// Sets for each write the longest run it can be part of: neighbours that are written at all.
    fn note_runs(&mut self, run_max: u64) {
        let mut written: Vec<u64> = self.blocks.values().flatten().copied().collect();
        written.sort_unstable();
        written.dedup();
        let mut runs: BTreeMap<u64, u64> = BTreeMap::new();
        for run in written.chunk_by(|a, b| a + 1 == *b) {
            runs.insert(run[0], (run.len() as u64).min(run_max));
        }
        for (band, writes) in &mut self.bands {
            for (write, block) in writes.iter_mut().zip(&self.blocks[band]) {
                write.run = *runs.range(..=block).next_back().expect("it is in one").1;
            }
        }
    }
}

impl Accesses {
    /// Collects the accesses of `requests` over a disk with these bands, whose buffer holds up to
    /// `run_max` neighbours in one map entry.
    #[must_use]
    pub fn new(requests: &[Request], zones: &ZoneMap, run_max: u64) -> Accesses {
        let mut taking = Collector {
            zones,
            bands: BTreeMap::new(),
            blocks: BTreeMap::new(),
            known: BTreeMap::new(),
            since: Vec::new(),
            first_reads: 0,
            count: 0,
        };
        for request in requests {
            let blocks = || request.first().0..request.first().0 + request.blocks();
            match request.op {
                Op::Write => blocks().for_each(|block| taking.write(block)),
                Op::Read => blocks().for_each(|block| taking.read(block)),
                Op::Trim => {
                    let (first, blocks) = request.whole_blocks();
                    taking.trim(first.0, blocks);
                }
                Op::Flush => {}
            }
        }
        taking.note_runs(run_max.max(1));
        let Collector { bands, mut since, first_reads, count, .. } = taking;
        since.sort_unstable();
        let sum = since.iter().scan(0.0, |sum, &since| {
            *sum += since as f64;
            Some(*sum)
        });
        let sums = std::iter::once(0.0).chain(sum).collect();
        let written_blocks = bands.values().map(|writes| writes.len() as u64).sum();
        let bands = bands.into_values().map(Band::new).collect();
        Accesses { bands, written_blocks, since, sums, first_reads, count }
    }

    /// Returns the number of bands that are written. Each is rewritten at least once, unless all of
    /// it is trimmed.
    #[must_use]
    pub fn bands(&self) -> u64 {
        self.bands.len() as u64
    }

    /// Returns the bound for this room.
    #[must_use]
    pub fn bound(&self, room: &Room, prices: &Prices) -> Bound {
        let kept = |band: &&Band| band.writes.iter().any(|write| write.until == NEVER);
        let once_each = self.bands.iter().filter(kept).count() as f64;
        let at_least = once_each * prices.rewrite + self.first_reads as f64 * prices.read;
        let mut best = Bound { cost: at_least, price: 0.0, at_least };
        let mut form = None;
        for one in room.forms() {
            if self.raise(&mut best, room, prices, one) {
                form = Some(one);
            }
        }
        for one in form.into_iter().flat_map(Form::and_blocks) {
            self.raise(&mut best, room, prices, one);
        }
        best
    }

    /// Raises the bound to that of `form`, if it is higher.
    fn raise(&self, bound: &mut Bound, room: &Room, prices: &Prices, form: Form) -> bool {
        let all_room = room.at(form) * self.count as f64;
        let by_run: Vec<f64> = (0..=room.run_max).map(|run| form.of_run(run.max(1))).collect();
        // A place saves at most a rewrite and a read per access. Forms have similar best prices.
        let start = 2.0 * (prices.rewrite + prices.read) * self.count as f64 / all_room.max(1.0);
        let start = if bound.price > 0.0 { start.min(8.0 * bound.price) } else { start };
        let found = peak(start, bound.cost, |price| {
            let costs = Costs {
                price: price / prices.rewrite,
                by_run: by_run.clone(),
                reads_paid: prices.read > 0.0,
            };
            let each = self.bands.par_iter().map(|band| cheapest(band, &costs));
            // Summed in the order of bands, so that the result is the same on any number of
            // threads.
            let rewrites = each.collect::<Vec<f64>>().iter().sum::<f64>();
            let ceiling = rewrites * prices.rewrite + self.reads(price, prices.read);
            At { price, value: ceiling - price * all_room, ceiling }
        });
        if let Some(At { price, value, .. }) = found {
            (bound.cost, bound.price) = (value, price);
        }
        found.is_some()
    }

    /// Returns the cost of reads: a block that is read soon enough holds a slot until then, the
    /// others are read from the disk.
    fn reads(&self, price: f64, read: f64) -> f64 {
        if read == 0.0 {
            return 0.0;
        }
        let soon = self.since.partition_point(|&since| since as f64 * price < read);
        self.sums[soon] * price
            + (self.since.len() - soon) as f64 * read
            + self.first_reads as f64 * read
    }
}
