//! Measures a volume's workload in the quantities that papers publish.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use shingle_core::units::{BLOCK_BYTES, Block, Op};

use super::{Figure, Quantity, Trait, Volume, named};
use crate::analysis::starts::Starts;
use crate::synth::volume::{Free, Generator, Plan};
use crate::synth::workload::{Access, Pattern};
use crate::touched::Touched;
use crate::zones::{LARGE_ZONE_BYTES, ZONE_BLOCKS, ZONE_BYTES};

/// A published value and that of the workload.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// The published value.
    pub figure: &'static Figure,
    /// The workload's value, in the same unit.
    pub made: f64,
}

/// The measured figures of a workload.
#[derive(Clone, Debug)]
pub struct Measured {
    /// One row for each published value.
    pub rows: Vec<Compared>,
    /// Reuse figures that are not published: predictions.
    pub predicted: Vec<(Quantity, f64)>,
    /// Properties that recorded traces share; empty for large traces.
    pub traits: Vec<(Trait, f64)>,
}

impl Compared {
    /// Returns whether the workload is close enough; true for unused values.
    #[must_use]
    pub fn holds(&self) -> bool {
        let tolerance = self.figure.quantity.tolerance();
        self.figure.unused.is_some() || tolerance.holds(self.figure.value, self.made)
    }
}

impl Volume {
    /// Generates the whole workload of a seed, with the default parameters, and compares it with
    /// every published value. A large trace is the sum of its parts, because its copies do not
    /// overlap.
    ///
    /// Takes some ten seconds for the longest volume, and memory for its start pages and for two
    /// bits a block of the touched zones.
    #[must_use]
    pub fn compare(&'static self, seed: u64) -> Measured {
        let totals = if self.parts.is_empty() {
            totals(self, seed)
        } else {
            let part = |name: &&str| totals(named(name).expect("a part is described"), seed);
            self.parts.iter().map(part).fold(Totals::default(), |sum, part| {
                (0..self.copies).fold(sum, |sum, _| sum.plus(&part))
            })
        };
        let made = |figure: &'static Figure| totals.of(figure.quantity);
        let rows = self.figures.iter().map(|figure| Compared { figure, made: made(figure) });
        let unknown =
            |quantity: &Quantity| self.parts.is_empty() && self.target(*quantity).is_none();
        let predicted = Quantity::REUSE.into_iter().filter(unknown);
        let made_of = |&of: &Trait| match of {
            Trait::ShortToLong => (of, totals.short_to_long),
            Trait::InOrder => (of, totals.in_order),
        };
        Measured {
            rows: rows.collect(),
            predicted: predicted.map(|quantity| (quantity, totals.of(quantity))).collect(),
            traits: Trait::ALL.iter().filter(|_| self.parts.is_empty()).map(made_of).collect(),
        }
    }

    /// Compares the counted reuses of its start pages with the published figures.
    #[must_use]
    pub fn compare_reuse(&'static self, starts: Starts) -> Vec<Compared> {
        let totals = Measure { starts, ..Measure::default() }.totals();
        let figures = self.figures.iter();
        let figures = figures.filter(|figure| Quantity::REUSE.contains(&figure.quantity));
        figures.map(|figure| Compared { figure, made: totals.of(figure.quantity) }).collect()
    }
}

/// Measures a volume's whole workload. Results are cached, because large traces use the same
/// volumes.
fn totals(volume: &'static Volume, seed: u64) -> Totals {
    static CACHE: Mutex<BTreeMap<(&str, u64), Totals>> = Mutex::new(BTreeMap::new());
    let cache = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(totals) = cache().get(&(volume.name, seed)) {
        return *totals;
    }
    let totals = measure(Plan::new(volume, &Free::of_volume(volume), seed));
    cache().insert((volume.name, seed), totals);
    totals
}

fn measure(plan: Arc<Plan>) -> Totals {
    let requests = plan.requests();
    let mut measure = Measure::default();
    let mut generator = Generator::new(plan);
    for _ in 0..requests {
        measure.add(generator.next());
    }
    measure.totals()
}

/// Counts that can be added for volumes that do not overlap.
#[derive(Clone, Copy, Default)]
struct Totals {
    reads: u64,
    writes: u64,
    read_blocks: u64,
    write_blocks: u64,
    write_bytes: u64,
    /// Distinct blocks.
    written_blocks: u64,
    zones: u64,
    written_zones: u64,
    /// Zones of 256 MiB.
    written_large: u64,
    /// Writes in runs of three or more to a zone.
    sequential: u64,
    /// Written blocks at a write pointer.
    at_pointer: u64,
    start_pages: u64,
    /// The figures from here on are of one volume: distances between two copies are not defined.
    reuse_mean: f64,
    reuse: [u64; 3],
    short_to_long: f64,
    in_order: f64,
}

#[derive(Default)]
struct Measure {
    /// Without the fields that are computed at the end.
    totals: Totals,
    touched: Touched,
    /// Whether a zone of 256 MiB is written.
    large: Vec<bool>,
    runs: Runs,
    pointers: Pointers,
    starts: Starts,
}

/// Write pointers of 16 MiB zones, which only writes that begin at them move.
#[derive(Default)]
struct Pointers(Vec<u64>);

impl Pointers {
    /// ROCO §4.1.
    const ZONE_BLOCKS: u64 = (16 << 20) / BLOCK_BYTES;

    /// Returns how many of the written blocks are at a pointer. A write is cut at zone borders.
    fn write(&mut self, first: u64, blocks: u64) -> u64 {
        let (mut at, end, mut found) = (first, first + blocks, 0);
        while at < end {
            let zone = at / Self::ZONE_BLOCKS;
            let until = end.min((zone + 1) * Self::ZONE_BLOCKS);
            if self.0.len() <= zone as usize {
                self.0.resize(zone as usize + 1, 0);
            }
            let pointer = &mut self.0[zone as usize];
            if at % Self::ZONE_BLOCKS == *pointer {
                *pointer += until - at;
                found += until - at;
            }
            at = until;
        }
        found
    }
}

/// Runs of writes to one zone.
#[derive(Default)]
struct Runs {
    zone: u64,
    length: u64,
    /// Writes in completed runs of three or more.
    sequential: u64,
}

impl Runs {
    fn add(&mut self, zone: u64) {
        if zone != self.zone {
            self.end();
            self.zone = zone;
        }
        self.length += 1;
    }

    fn end(&mut self) {
        self.sequential += if self.length < 3 { 0 } else { self.length };
        self.length = 0;
    }
}

impl Measure {
    fn add(&mut self, access: Access) {
        let first = access.offset / BLOCK_BYTES;
        let blocks = (access.offset + access.bytes).div_ceil(BLOCK_BYTES) - first;
        self.touched.access(first, blocks, access.op == Op::Write);
        self.starts.count(Block(first), blocks, access.op == Op::Write);
        let totals = &mut self.totals;
        if access.op != Op::Write {
            totals.reads += 1;
            totals.read_blocks += blocks;
            return;
        }
        totals.writes += 1;
        totals.write_blocks += blocks;
        totals.write_bytes += access.bytes;
        totals.at_pointer += self.pointers.write(first, blocks);
        self.runs.add(first / ZONE_BLOCKS);
        for byte in [access.offset, access.offset + access.bytes - 1] {
            let large = (byte / LARGE_ZONE_BYTES) as usize;
            if self.large.len() <= large {
                self.large.resize(large + 1, false);
            }
            self.large[large] = true;
        }
    }

    fn totals(mut self) -> Totals {
        self.runs.end();
        Totals {
            written_blocks: self.touched.written_blocks(),
            zones: self.touched.zones(),
            written_zones: self.touched.written_zones(),
            written_large: self.large.iter().filter(|written| **written).count() as u64,
            sequential: self.runs.sequential,
            start_pages: self.starts.pages(),
            reuse_mean: self.starts.mean(),
            reuse: [70, 80, 90].map(|percent| self.starts.holds(percent)),
            short_to_long: self.starts.short_to_long(),
            in_order: self.starts.in_order(),
            ..self.totals
        }
    }
}

impl Totals {
    fn plus(&self, other: &Totals) -> Totals {
        Totals {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            read_blocks: self.read_blocks + other.read_blocks,
            write_blocks: self.write_blocks + other.write_blocks,
            write_bytes: self.write_bytes + other.write_bytes,
            written_blocks: self.written_blocks + other.written_blocks,
            zones: self.zones + other.zones,
            written_zones: self.written_zones + other.written_zones,
            written_large: self.written_large + other.written_large,
            sequential: self.sequential + other.sequential,
            at_pointer: self.at_pointer + other.at_pointer,
            start_pages: self.start_pages + other.start_pages,
            reuse_mean: f64::NAN,
            reuse: [0; 3],
            short_to_long: f64::NAN,
            in_order: f64::NAN,
        }
    }

    fn of(&self, quantity: Quantity) -> f64 {
        const GIB: f64 = (1_u64 << 30) as f64;
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole as f64;
        let per_write = |sum: u64, unit: f64| sum as f64 / self.writes as f64 / unit;
        let range = |zones: u64| (zones * ZONE_BYTES) as f64 / GIB;
        let blocks = self.read_blocks + self.write_blocks;
        match quantity {
            Quantity::Blocks => blocks as f64,
            Quantity::WriteBlocks => percent(self.write_blocks, blocks),
            Quantity::Written => range(self.written_zones),
            Quantity::Accessed => range(self.zones),
            Quantity::Requests => (self.reads + self.writes) as f64,
            Quantity::WriteRequests => percent(self.writes, self.reads + self.writes),
            Quantity::WriteBytes => self.write_bytes as f64 / GIB,
            Quantity::WriteMean => per_write(self.write_bytes, 1024.0),
            Quantity::WriteSectors => per_write(self.write_blocks * 8, 1.0),
            Quantity::Updates => 100.0 - percent(self.written_blocks, self.write_blocks),
            Quantity::WrittenLarge => self.written_large as f64,
            Quantity::Sequential => percent(self.sequential, self.writes),
            Quantity::AtPointer => percent(self.at_pointer, self.write_blocks),
            Quantity::StartPages => self.start_pages as f64,
            Quantity::ReuseMean => self.reuse_mean,
            Quantity::Reuse70 => self.reuse[0] as f64,
            Quantity::Reuse80 => self.reuse[1] as f64,
            Quantity::Reuse90 => self.reuse[2] as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use rayon::prelude::*;

    use crate::volumes::{LARGE, Tolerance, VOLUMES};

    #[test]
    fn a_measure_counts_what_papers_count() {
        let mut measure = Measure::default();
        let write = |zone: u64, block: u64, bytes: u64| Access {
            offset: zone * ZONE_BYTES + block * BLOCK_BYTES,
            bytes,
            op: Op::Write,
        };
        for access in [
            write(0, 0, 4096),
            write(1, 0, 4096),
            write(1, 1, 4096),
            Access { op: Op::Read, ..write(20, 0, 8192) },
            write(1, 0, 8192),
            write(14, 0, 1536),
        ] {
            measure.add(access);
        }
        let measure = measure.totals();
        assert_eq!(measure.of(Quantity::Blocks), 8.0);
        assert_eq!(measure.of(Quantity::WriteBlocks), 75.0);
        assert_eq!(measure.of(Quantity::Requests), 6.0);
        // Two of six blocks were written before; three of five writes follow each other.
        assert!((measure.of(Quantity::Updates) - 100.0 / 3.0).abs() < 1e-9);
        assert_eq!(measure.of(Quantity::Sequential), 60.0);
        assert_eq!(measure.of(Quantity::WrittenLarge), 2.0);
        assert_eq!(measure.of(Quantity::WriteMean), 4.3);
        assert_eq!(measure.of(Quantity::WriteSectors), 9.6);
        let zone_gib = ZONE_BYTES as f64 / f64::from(1 << 30);
        assert!((measure.of(Quantity::Written) - 3.0 * zone_gib).abs() < 1e-9);
        assert!((measure.of(Quantity::Accessed) - 4.0 * zone_gib).abs() < 1e-9);
    }

    #[test]
    fn writes_at_a_pointer_move_it_and_are_cut_at_borders() {
        let mut pointers = Pointers::default();
        assert_eq!(pointers.write(0, 4), 4);
        assert_eq!([pointers.write(5, 1), pointers.write(4, 2), pointers.write(4, 2)], [0, 2, 0]);
        // The end of a zone not written so far, and the start of the next.
        assert_eq!(pointers.write(4_090, 10), 4);
        assert_eq!(pointers.write(4_100, 1), 1);
    }

    /// The volumes with more than six million blocks. With the large traces, which are made of
    /// them, they take ten times as long as the others.
    const LONG: [&str; 8] =
        ["hm_0", "prn_0", "proj_0", "prxy_0", "src1_2", "stg_0", "usr_0", "web_0"];

    /// Returns the figures of volumes that are not met.
    fn missed(volumes: &[&'static Volume]) -> Vec<String> {
        let missed = |volume: &&'static Volume| -> Vec<String> {
            let Measured { rows, traits, .. } = volume.compare(1);
            let unlike = traits.into_iter().filter(|(of, made)| !of.holds(*made));
            let unlike = unlike.map(|(of, made)| format!("{}: {of:?} is {made}", volume.name));
            let missed = rows.iter().filter(|row| !row.holds());
            let told = missed.map(|Compared { figure, made }| {
                let Figure { quantity, value, source, .. } = figure;
                format!("{}: {quantity:?} is {made}, published is {value} ({source})", volume.name)
            });
            told.chain(unlike).collect()
        };
        volumes.par_iter().with_max_len(1).flat_map_iter(missed).collect()
    }

    /// Checks that these are the ones in `docs/workloads.md`, which gives the reasons, and no
    /// others.
    fn assert_missed(missed: &[String], known: &[&str]) {
        assert!(missed.len() == known.len(), "{missed:#?}");
        let told = |known: &&str| missed.iter().any(|missed| missed.starts_with(known));
        assert!(known.iter().all(told), "{missed:#?}");
    }

    /// At full length.
    #[test]
    fn workloads_meet_the_published_figures() {
        let all = VOLUMES.iter().filter(|volume| !LONG.contains(&volume.name));
        assert_missed(&missed(&all.collect::<Vec<_>>()), &[]);
    }

    #[test]
    #[ignore = "a minute"]
    fn the_longest_workloads_meet_the_published_figures() {
        // The large ones first, so that the cores finish together.
        let long = LONG.iter().map(|name| named(name).expect("described"));
        let known =
            ["proj_0: ShortToLong is 4.0", "prxy_0: ShortToLong is 1.1", "web_0: Reuse80 is 16719"];
        assert_missed(&missed(&LARGE.iter().chain(long).collect::<Vec<_>>()), &known);
    }

    /// All volumes are reduced by the same factor, so that a test can generate all of them.
    #[test]
    fn reuses_of_small_volumes_are_as_asked() {
        const SMALLER: f64 = 16.0;
        for volume in VOLUMES.iter() {
            let figures = volume.figures.iter().cloned().map(|figure| {
                let scale = match figure.quantity {
                    Quantity::Blocks | Quantity::Requests | Quantity::WriteBytes => SMALLER,
                    Quantity::Written | Quantity::Accessed | Quantity::WrittenLarge => SMALLER,
                    quantity if Quantity::REUSE.contains(&quantity) => SMALLER,
                    _ => 1.0,
                };
                Figure { value: figure.value / scale, ..figure }
            });
            let small: &'static Volume = Box::leak(Box::new(Volume {
                name: volume.name,
                workload: volume.workload,
                about: String::new(),
                figures: figures.collect(),
                guesses: volume.guesses.clone(),
                parts: &[],
                copies: 1,
            }));
            let totals = measure(Plan::new(small, &Free::of_volume(small), 2));
            for quantity in Quantity::REUSE {
                let Some(asked) = small.target(quantity).filter(|asked| *asked >= 30.0) else {
                    continue;
                };
                let made = totals.of(quantity);
                // With few pages the range of equivalent distances is coarse.
                let near = Tolerance::Factor(2.0).holds(asked, made);
                assert!(near, "{}: {quantity:?} is {made}, not {asked}", small.name);
            }
        }
    }
}
