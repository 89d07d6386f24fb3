//! The part of a trace in each band, and the choice of a sample of bands that has the same share of
//! everything.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use shingle_core::parts::Bitmap;
use shingle_core::parts::split_mix::mixed;
use shingle_core::units::{Op, Request, Zone};
use shingle_core::zones::ZoneMap;

use super::{Sampling, WHOLE};

/// Counts of a band, of some bands, or of all.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Held {
    pub(super) accesses: f64,
    /// Number of them that are writes.
    pub(super) writes: f64,
    pub(super) blocks: f64,
    /// Number of them that are written.
    pub(super) written: f64,
}

impl Held {
    /// Returns the number of accesses to blocks that were accessed before.
    pub(super) fn again(&self) -> f64 {
        self.accesses - self.blocks
    }

    fn each(&self) -> [f64; 4] {
        [self.accesses, self.writes, self.blocks, self.written]
    }

    fn add(&mut self, more: &Held) {
        self.accesses += more.accesses;
        self.writes += more.writes;
        self.blocks += more.blocks;
        self.written += more.written;
    }

    /// Returns the distance of these counts from a `part` of `all`; 0 if each is exactly that part.
    fn off(&self, all: &Held, part: f64) -> f64 {
        let counts = self.each().into_iter().zip(all.each()).filter(|(_, all)| *all > 0.0);
        let off = counts.map(|(own, all)| libm::log(own.max(0.5) / all / part));
        off.map(|off| off * off).sum()
    }
}

/// The bands that a trace touches, with the counts of each.
pub(super) struct Bands {
    map: Arc<ZoneMap>,
    /// In the order of bands.
    held: Vec<(Zone, Held)>,
    pub(super) all: Held,
}

/// Number of samples of which the best is taken.
const CANDIDATES: u64 = 256;

/// Number of parts of a sample that are also run by themselves, to see how far they differ.
pub(super) const QUARTERS: usize = 4;

impl Bands {
    pub(super) fn new(map: ZoneMap, requests: &[Request]) -> Bands {
        let map = Arc::new(map);
        let whole = Sampling::new(map.clone(), WHOLE, 0);
        let part = requests.len().div_ceil(rayon::current_num_threads()).max(1);
        let seen = requests.par_chunks(part).map(|requests| {
            let mut seen: Vec<Option<Box<Seen>>> = vec![None; map.count()];
            for request in requests.iter().filter(|request| request.op != Op::Trim) {
                whole.pieces_of_bands(request, |band, Range { start, end }, piece| {
                    let seen = &mut seen[band.index()];
                    let seen = seen.get_or_insert_with(|| Seen::new(end.0 - start.0).into());
                    seen.access(piece.first().0 - start.0, piece.blocks(), piece.op == Op::Write);
                });
            }
            seen
        });
        let seen = seen.reduce_with(|mut one, two| {
            for (one, two) in one.iter_mut().zip(two) {
                match (one, two) {
                    (_, None) => {}
                    (one @ None, two) => *one = two,
                    (Some(one), Some(two)) => one.add(&two),
                }
            }
            one
        });
        let seen = seen.unwrap_or_default();
        let held = (0..).zip(seen).filter_map(|(band, seen)| Some((Zone(band), seen?.held)));
        let held: Vec<(Zone, Held)> = held.collect();
        let mut all = Held::default();
        held.iter().for_each(|(_, band)| all.add(band));
        Bands { map, held, all }
    }

    pub(super) fn count(&self) -> u64 {
        self.held.len() as u64
    }

    /// Returns the effective number of bands: the number of equally used bands that would differ as
    /// much from sample to sample, by accesses, and by writes where these matter.
    pub(super) fn alike(&self) -> f64 {
        let alike = |of: fn(&Held) -> f64| {
            let square = |held: &Held| of(held) * of(held);
            let squares: f64 = self.held.iter().map(|(_, band)| square(band)).sum();
            square(&self.all) / squares.max(1.0)
        };
        let accesses = alike(|held| held.accesses);
        // With few writes little can be estimated, and they matter little.
        match self.all.writes * 10.0 < self.all.accesses {
            true => accesses,
            false => accesses.min(alike(|held| held.writes)),
        }
    }

    /// Chooses `millionths` of the bands, `row_bands` neighbouring bands together. Of the samples
    /// that `seed` draws, it takes the one whose shares of all counts are closest to this part.
    pub(super) fn balanced(&self, millionths: u64, row_bands: u32, seed: u64) -> Sampling {
        let part = millionths as f64 / WHOLE as f64;
        let off = |sampling: &Sampling| {
            let quarters = self.quarters(sampling);
            let mut sample = Held::default();
            quarters.iter().for_each(|quarter| sample.add(quarter));
            let of_quarters = quarters.iter().map(|quarter| quarter.off(&self.all, part / 4.0));
            // A quarter has less weight, as results are of all quarters together.
            sample.off(&self.all, part) + of_quarters.sum::<f64>() / 16.0
        };
        let drawn = (0..CANDIDATES).into_par_iter().map(|nth| {
            let seed = mixed(mixed(seed).wrapping_add(nth));
            let sampling =
                Sampling::new(self.map.clone(), millionths, seed).with_row_bands(row_bands);
            (off(&sampling), sampling)
        });
        let drawn: Vec<(f64, Sampling)> = drawn.collect();
        let best = drawn.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        best.expect("there are candidates").1
    }

    pub(super) fn quarters(&self, sampling: &Sampling) -> [Held; QUARTERS] {
        let mut quarters = [Held::default(); QUARTERS];
        for (band, held) in &self.held {
            if let Some(group) = sampling.group(*band) {
                quarters[group % QUARTERS].add(held);
            }
        }
        quarters
    }

    pub(super) fn sampled(&self, sampling: &Sampling) -> u64 {
        self.held.iter().filter(|(band, _)| sampling.group(*band).is_some()).count() as u64
    }
}

/// Which blocks of a band have been seen.
#[derive(Clone)]
struct Seen {
    held: Held,
    accessed: Bitmap,
    written: Bitmap,
}

impl Seen {
    fn new(blocks: u64) -> Seen {
        let none = Bitmap::new(blocks);
        Seen { held: Held::default(), accessed: none.clone(), written: none }
    }

    fn add(&mut self, later: &Seen) {
        self.held.accesses += later.held.accesses;
        self.held.writes += later.held.writes;
        self.held.blocks += self.accessed.add(&later.accessed) as f64;
        self.held.written += self.written.add(&later.written) as f64;
    }

    fn access(&mut self, from: u64, count: u64, write: bool) {
        let mark = |seen: &mut Bitmap| (count - seen.fill(from, count, true)) as f64;
        self.held.accesses += count as f64;
        self.held.blocks += mark(&mut self.accessed);
        if write {
            self.held.writes += count as f64;
            self.held.written += mark(&mut self.written);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::{BLOCK_BYTES, Nanos};

    fn request(op: Op, block: u64, blocks: u64) -> Request {
        Request { at: Nanos::ZERO, offset: block * BLOCK_BYTES, bytes: blocks * BLOCK_BYTES, op }
    }

    #[test]
    fn what_bands_hold_is_counted() {
        let requests = [
            request(Op::Write, 8, 4), // two of band 0, two of band 1
            request(Op::Read, 9, 1),
            request(Op::Read, 9, 2), // one of each
            request(Op::Trim, 0, 20),
            request(Op::Read, 10, 2),
        ];
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.expect("threads");
            let bands = pool.install(|| Bands::new(ZoneMap::fixed(10, 100), &requests));
            let held =
                |accesses, writes, blocks, written| Held { accesses, writes, blocks, written };
            let each = [held(4.0, 2.0, 2.0, 2.0), held(5.0, 2.0, 2.0, 2.0)];
            assert_eq!(bands.held, [(Zone(0), each[0]), (Zone(1), each[1])]);
            assert_eq!(
                (bands.count(), bands.all, bands.all.again()),
                (2, held(9.0, 4.0, 4.0, 4.0), 5.0)
            );
            // 81 ÷ (16 + 25) accesses; writes are alike.
            assert!((bands.alike() - 81.0 / 41.0).abs() < 1e-9, "{}", bands.alike());
        }
    }

    #[test]
    fn a_balanced_sample_has_its_part_of_everything() {
        // Bands of very different heat, a third of them written.
        let requests: Vec<Request> = (0..1_000_u64)
            .flat_map(|band| {
                let op = if band % 3 == 0 { Op::Write } else { Op::Read };
                (0..1 + 2_000 / (band + 20)).map(move |nth| request(op, band * 50 + nth % 40, 1))
            })
            .collect();
        let bands = Bands::new(ZoneMap::fixed(50, 50_000), &requests);
        let off = |sampling: &Sampling| {
            let mut sample = Held::default();
            bands.quarters(sampling).iter().for_each(|quarter| sample.add(quarter));
            sample.off(&bands.all, 0.2)
        };
        let drawn =
            |seed| Sampling::new(ZoneMap::fixed(50, 50_000), WHOLE / 5, seed).with_row_bands(1);
        let chance: f64 = (0..50).map(|seed| off(&drawn(seed))).sum::<f64>() / 50.0;
        let chosen = off(&bands.balanced(WHOLE / 5, 1, 1));
        assert!(chosen < chance / 4.0, "{chosen}, by chance {chance}");
        let sampled = bands.sampled(&bands.balanced(WHOLE / 5, 1, 1));
        assert!((150..250).contains(&sampled), "{sampled}");
    }
}
