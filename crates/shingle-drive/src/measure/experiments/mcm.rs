//! MCM's filter on a sequence of band numbers (§III-B.b): its rate of false positives.

use crate::models::flash_inside::mcm::{Shape, TdCbf};
use crate::parts::rng::Rng;
use shingle_core::units::Zone;
use std::collections::BTreeMap;

/// Bands of the 5 TB disk.
const BANDS: u64 = 172_000;

/// How often the filter took a band for another, over all that it was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct FalsePositives {
    /// Questions about bands that neither table has counted.
    absent: u64,
    /// Of these, bands that the filter knew all the same.
    known: u64,
    /// Questions about bands that no table has counted often enough to be hot.
    cold: u64,
    /// Of these, bands that the filter called hot.
    hot: u64,
}

/// Gives the filter of the paper (1,024 samples, 14.7 %, hot from 3 on) the bands of sequential writes
/// in their order. Before each, asks it about the band, and about a `stranger`, against exact counts
/// of the same two tables.
fn false_positives(
    bands_in_all: u64,
    bands: impl Iterator<Item = u32>,
    mut stranger: impl FnMut() -> u32,
) -> FalsePositives {
    let shape = Shape::new(1024, 0.147, bands_in_all);
    let full = (shape.samples * 9).div_ceil(10);
    let mut filter = TdCbf::new(shape, 3);
    let (mut current, mut history) = (BTreeMap::<u32, u32>::new(), BTreeMap::new());
    let mut inserted = 0;
    let mut found = FalsePositives::default();
    for band in bands {
        for asked in [band, stranger()] {
            let count = |table: &BTreeMap<u32, u32>| table.get(&asked).copied().unwrap_or(0);
            let (exact, told) = (count(&current).max(count(&history)), filter.count(Zone(asked)));
            assert!(told >= exact.min(3), "a counter is never too low");
            found.absent += u64::from(exact == 0);
            found.known += u64::from(exact == 0 && told > 0);
            found.cold += u64::from(exact < 3);
            found.hot += u64::from(exact < 3 && told >= 3);
        }
        filter.insert(Zone(band));
        *current.entry(band).or_default() += 1;
        inserted += 1;
        if inserted == full {
            history = std::mem::take(&mut current);
            inserted = 0;
        }
    }
    found
}

fn shares(name: &str, found: FalsePositives) -> (f64, f64) {
    let percent = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
    let shares = (percent(found.known, found.absent), percent(found.hot, found.cold));
    println!("{name}: known {:.2} %, hot {:.2} %  {found:?}", shares.0, shares.1);
    shares
}

/// Prints the shares: `cargo test -p shingle-drive --lib experiments::mcm -- --nocapture`.
#[test]
fn the_filter_is_as_often_wrong_as_it_was_designed_to_be_or_it_shows() {
    const SAMPLES: usize = 20_000;
    let mut rng = Rng::new(1);
    let mut other = Rng::new(2);
    // All different, over the whole disk: what the equations are about. Two tables are asked.
    let spread = (0..SAMPLES).map(|_| rng.below(BANDS) as u32);
    let found = false_positives(BANDS, spread, || other.below(BANDS) as u32);
    let (known, hot) = shares("any band of the disk", found);
    assert!((12.0..17.0).contains(&known) && hot < 1.0);
    // The bands of a trace of 100 GB: numbers below 4,096 fold to themselves, so that two of the
    // three hash functions are one.
    let near = (0..SAMPLES).map(|_| rng.below(2700) as u32);
    let found = false_positives(BANDS, near, || other.below(2700) as u32);
    shares("any of the first 2,700 bands", found);
    // Some bands often, most of them rarely.
    let skewed =
        |rng: &mut Rng| (rng.below(2700) * rng.below(2700) * rng.below(2700) / 7_290_000) as u32;
    let bands: Vec<u32> = (0..SAMPLES).map(|_| skewed(&mut rng)).collect();
    let found = false_positives(BANDS, bands.into_iter(), || skewed(&mut other));
    shares("the same, some often", found);
    // One after the other, as a sequential writer goes through the disk, 3 writes in each.
    let runs = (0..SAMPLES as u32).map(|write| write / 3);
    let found = false_positives(BANDS, runs, || other.below(BANDS) as u32);
    shares("band after band, three writes in each", found);
}
