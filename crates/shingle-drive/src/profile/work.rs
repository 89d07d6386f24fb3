//! The work of cleaning a zone of which `x` blocks were written, by the rules of
//! `drive_managed/clean.rs`: the tracks passed over, the phases, and the separate reads of the log.
//!
//! Zones are put at places that are spread evenly over where they may lie to the borders of bands, and
//! their blocks drawn in random order, as the probe does to measure `R(x)`.

use crate::parts::rng::Rng;

/// Number of zones evaluated.
const ZONES: u64 = 48;
/// Seed of the blocks. Any will do.
const SEED: u64 = 1;

/// Sizes in blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) zone: u64,
    pub(super) band: u64,
    pub(super) track: u64,
    /// Most blocks merged in a phase.
    pub(super) merge: u64,
    /// Most separate reads of the log in a cleaning; 0 for no limit.
    pub(super) reads_max: u64,
}

/// Means of a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Work {
    pub(super) tracks: f64,
    pub(super) phases: f64,
    pub(super) reads: f64,
}

/// Returns the work for a zone of which `blocks` are written.
pub(super) fn work(shape: &Shape, blocks: u64) -> Work {
    let mut rng = Rng::new(SEED);
    let mut inside: Vec<u64> = (0..shape.zone).collect();
    let mut sum = Work::default();
    for nth in 0..ZONES {
        let first = shape.band * nth / ZONES;
        for at in 0..blocks {
            let other = at + rng.below(shape.zone - at);
            inside.swap(at as usize, other as usize);
        }
        // The blocks of each band, with their number in the log.
        let bands = (first + shape.zone).div_ceil(shape.band);
        let mut parts: Vec<Vec<(u64, u64)>> = vec![Vec::new(); bands as usize];
        for (number, block) in (0..).zip(&inside[..blocks as usize]) {
            let block = first + block;
            parts[(block / shape.band) as usize].push((number, block % shape.band));
        }
        for mut part in parts {
            // Terminates: each cleaning takes at least one block.
            while !part.is_empty() {
                let taken = collected(&part, shape.reads_max);
                clean(shape, &part[..taken], &mut sum);
                part.drain(..taken);
            }
        }
    }
    let mean = |sum: f64| sum / ZONES as f64;
    Work { tracks: mean(sum.tracks), phases: mean(sum.phases), reads: mean(sum.reads) }
}

/// Returns how many blocks a cleaning takes: those of up to `reads_max` runs of the log.
fn collected(part: &[(u64, u64)], reads_max: u64) -> usize {
    let begins = |at: &usize| *at == 0 || part[*at - 1].0 + 1 != part[*at].0;
    let next = (0..part.len()).filter(begins).nth(reads_max as usize);
    next.filter(|_| reads_max > 0).unwrap_or(part.len())
}

/// Adds one cleaning, which passes over the band from its first dirty track to its end.
fn clean(shape: &Shape, taken: &[(u64, u64)], sum: &mut Work) {
    let lowest = taken.iter().map(|block| block.1).min().unwrap_or(0);
    let first = lowest - lowest % shape.track;
    let tracks = (shape.band - first).div_ceil(shape.track);
    let phases = (shape.band - first).div_ceil(shape.merge);
    let phase_blocks = tracks.div_ceil(phases) * shape.track;
    let mut before = None;
    for &(number, block) in taken {
        let phase = (block - first) / phase_blocks;
        sum.reads += if before == Some((number, phase)) { 0.0 } else { 1.0 };
        before = Some((number + 1, phase));
    }
    sum.tracks += tracks as f64;
    sum.phases += (shape.band - first).div_ceil(phase_blocks) as f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // A zone as large as half a band that lies in it: four tracks of ten are gone over, or all.
        let shape = Shape { zone: 4, band: 1000, track: 100, merge: 10_000, reads_max: 0 };
        let work = work(&shape, 2);
        // From the zone to the end: half of ten tracks on average, in one phase, one run of the log.
        assert!((5.0..6.0).contains(&work.tracks), "{work:?}");
        assert_eq!((work.phases, work.reads), (1.0, 1.0));
    }

    #[test]
    fn what_is_collected_in_parts_is_gone_over_as_often() {
        let runs = [(0, 5), (1, 6), (4, 1), (7, 2), (8, 3)];
        assert_eq!((collected(&runs, 0), collected(&runs, 1), collected(&runs, 2)), (5, 2, 3));
        // Two bands share a zone: their blocks alternate in the log, so that a read takes few.
        let shape = Shape { zone: 1000, band: 500, track: 50, merge: 1000, reads_max: 0 };
        let (whole, parts) = (work(&shape, 400), work(&Shape { reads_max: 10, ..shape }, 400));
        assert!(
            whole.reads > 100.0 && (whole.reads - parts.reads).abs() < 60.0,
            "{whole:?} {parts:?}"
        );
        assert!(parts.tracks > 5.0 * whole.tracks, "{whole:?} {parts:?}");
    }
}
