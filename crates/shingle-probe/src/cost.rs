//! The drive time `R(x)` of a zone in which `x` blocks were written (SAC §4.4, Figure 10).
//!
//! Zones all over the disk are written one after another, `x` blocks of each in random order, into
//! an empty buffer. Then other blocks are written until it is full. From then on each further block
//! makes the drive evict an older one, and these belong to the zones, one after another. So the
//! time from the first block that had to wait until `n` times `x` blocks were written is the drive
//! time of `n` zones: cleaning, and writing as many blocks to the log. (`shingle_drive::measure`
//! fills the buffer with zones of one coverage only, and adds further ones: in the steady state
//! this is the same.)

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use shingle_drive::Rng;
use shingle_drive::measure::{Line, line};

use crate::bands::{BufferEstimate, Filler};
use crate::change::real;
use crate::error::ProbeError;
use crate::scratch::{Scratch, write};

/// The most rounds for a coverage: with a small buffer they are many, and each empties it before.
pub(crate) const ROUNDS_MAX: u64 = 24;

/// The zones that a buffer of `entries` has room for in a round, if `blocks` of each are written.
pub(crate) fn room(entries: u64, blocks: u64) -> u64 {
    entries / 5 * 4 / blocks
}

/// Zones of one coverage whose cleaning was timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// Blocks written in each zone.
    pub coverage: u64,
    /// Number of zones.
    pub zones: u64,
    /// Of the writes from the first stall on: the number of each that stalled, and when it was
    /// submitted, in microseconds since the first stall.
    pub stalls: Vec<(u64, u64)>,
    /// The microseconds of writes to these zones that waited as long as for cleaning, although there
    /// was room in the buffer. (0 in earlier records.)
    #[serde(default)]
    pub other_us: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Coverage<'a> {
    pub(crate) zone_blocks: u64,
    pub(crate) blocks: u64,
    pub(crate) zones: &'a [u64],
    pub(crate) seed: u64,
}

/// Chooses `count` zones behind the region, at multiples of the golden ratio. So any run of them is
/// spread evenly over the disk. The positions relative to the borders of bands, on which the cost
/// of a zone depends, are also more even than random ones. All coverages use the same zones, so
/// that differences between zones do not affect the slope.
pub(crate) fn zones(
    region_blocks: u64,
    disk_blocks: u64,
    zone_blocks: u64,
    count: u64,
    seed: u64,
) -> Vec<u64> {
    /// 2^64 divided by the golden ratio.
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let first = region_blocks.div_ceil(zone_blocks) + 1;
    let all = (disk_blocks / zone_blocks).saturating_sub(first);
    let place = |nth: u64| {
        let share = seed.wrapping_add(nth + 1).wrapping_mul(GOLDEN);
        first + ((u128::from(share) * u128::from(all)) >> 64) as u64
    };
    (0..count.min(all / 4)).map(place).collect()
}

/// Times the cleaning of zones. The buffer must be empty before. Afterwards it holds blocks of the
/// region, and almost nothing else.
pub(crate) fn time_cleaning(
    scratch: &mut Scratch,
    coverage: &Coverage,
    estimate: &BufferEstimate,
) -> Result<Timed, ProbeError> {
    let &Coverage { zone_blocks, blocks, zones, seed } = coverage;
    let mut rng = Rng::new(seed);
    let mut inside: Vec<u64> = (0..zone_blocks).collect();
    let all = zones.len() as u64 * blocks;
    let mut written = Vec::with_capacity(all as usize);
    for zone in zones {
        for at in 0..blocks {
            let other = at + rng.below(zone_blocks - at);
            inside.swap(at as usize, other as usize);
            written.push(zone * zone_blocks + inside[at as usize]);
        }
    }
    let mut other_us = 0;
    scratch.run_each(written.iter().map(|&block| write(block)), |us| {
        other_us += if real(us) >= estimate.stall_us { us } else { 0 };
        ControlFlow::Continue(())
    })?;
    let filler = Filler::new(scratch.region_blocks, estimate, seed);
    let filled = filler.nearly_fill(scratch, estimate, all)?;

    let mut stalls: Vec<(u64, u64)> = Vec::new();
    let (mut taken, mut since, mut clock, mut more) = (0, 0, 0, 2);
    scratch.run_each(filler.singles(), |us| {
        taken += 1;
        let stalled = estimate.stalled(us, all + filled + taken);
        if stalled {
            stalls.push((since, clock));
        }
        if !stalls.is_empty() {
            since += 1;
            clock += us;
        }
        // Continue until nothing of the last zone is left.
        more -= u64::from(stalled && since > all);
        if more == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(Timed { coverage: blocks, zones: zones.len() as u64, stalls, other_us })
}

impl Timed {
    /// Writes from the first stall to the first stall after all zones were evicted, and the
    /// microseconds they took. (An earlier end would leave out the last zone, and more often one
    /// that is cleaned at once than one that is cleaned in many parts.)
    fn span(&self) -> (u64, u64) {
        let all = self.zones * self.coverage;
        self.stalls.iter().copied().filter(|&(since, _)| since >= all).min().unwrap_or((0, 0))
    }
}

/// One point of `R(x)` for each coverage: blocks, and microseconds of drive time for a zone.
#[must_use]
pub fn points(timed: &[Timed]) -> Vec<(f64, f64)> {
    let rounds = timed.chunk_by(|one, other| one.coverage == other.coverage);
    let point = |rounds: &[Timed]| {
        let spans = rounds.iter().map(Timed::span);
        let (writes, us) = spans.fold((0, 0), |sum, span| (sum.0 + span.0, sum.1 + span.1));
        let coverage = real(rounds[0].coverage);
        (writes > 0).then(|| (coverage, real(us) / real(writes) * coverage))
    };
    rounds.filter_map(point).collect()
}

/// Zones of a coverage are evaluated in so many groups.
const GROUPS: u64 = 5;

/// The points of each group of zones: the first fifth of the zones of each coverage, the next, and so
/// on. Empty for a group whose borders were not seen.
fn grouped(timed: &[Timed]) -> Vec<Vec<(f64, f64)>> {
    let rounds = timed.chunk_by(|one, other| one.coverage == other.coverage);
    let rounds: Vec<&[Timed]> = rounds.collect();
    let point = |rounds: &[Timed], group: u64| {
        let coverage = rounds[0].coverage;
        let all: u64 = rounds.iter().map(|round| round.zones * coverage).sum();
        let (writes, us) = until(rounds, all * group / GROUPS);
        let (to_writes, to_us) = until(rounds, all * (group + 1) / GROUPS);
        let (writes, us) = (to_writes - writes, to_us - us);
        (writes > 0).then(|| (real(coverage), real(us) / real(writes) * real(coverage)))
    };
    (0..GROUPS)
        .map(|group| rounds.iter().filter_map(|rounds| point(rounds, group)).collect())
        .collect()
}

/// The writes of rounds, one after another, up to the first stall from `writes` on, and the
/// microseconds they took.
fn until(rounds: &[Timed], mut writes: u64) -> (u64, u64) {
    let mut sum = (0, 0);
    for round in rounds {
        let all = round.zones * round.coverage;
        let from = writes.min(all);
        let found = round.stalls.iter().copied().filter(|&(since, _)| since >= from).min();
        let (since, us) = found.unwrap_or((0, 0));
        sum = (sum.0 + since, sum.1 + us);
        writes -= from;
        if writes == 0 {
            break;
        }
    }
    sum
}

/// How far off the slope may be by the choice of zones (95 %), from the slopes of groups of them. 0 if
/// too few were measured to tell.
#[must_use]
pub fn slope_error_of_zones(timed: &[Timed]) -> f64 {
    let slopes: Vec<f64> =
        grouped(timed).iter().filter_map(|points| line(points).map(|line| line.slope)).collect();
    let Some(freedom) = slopes.len().checked_sub(1).filter(|&freedom| freedom > 0) else {
        return 0.0;
    };
    let count = real(slopes.len() as u64);
    let mean = slopes.iter().sum::<f64>() / count;
    let squares: f64 = slopes.iter().map(|slope| (slope - mean) * (slope - mean)).sum();
    student(freedom) * libm::sqrt(squares / real(freedom as u64) / count)
}

/// Microseconds of a write that are no cleaning: what writes waited on average that had room.
#[must_use]
pub fn other_us(timed: &[Timed]) -> f64 {
    let writes: u64 = timed.iter().map(|timed| timed.zones * timed.coverage).sum();
    real(timed.iter().map(|timed| timed.other_us).sum()) / real(writes.max(1))
}

/// The line through points, and the 95 % interval of its slope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Microseconds over blocks.
    pub line: Line,
    /// The error of the slope in either direction.
    pub slope_error: f64,
}

/// Fits a line to `points`, with its interval by Student's distribution. `None` for fewer than
/// three points or a single coverage, and if any cost would be negative.
#[must_use]
pub fn fit(points: &[(f64, f64)]) -> Option<Fit> {
    let line = line(points).filter(|line| line.intercept >= 0.0 && line.slope >= 0.0)?;
    let freedom = points.len().checked_sub(2).filter(|&freedom| freedom > 0)?;
    let count = real(points.len() as u64);
    let mean = points.iter().map(|point| point.0).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|point| (point.0 - mean) * (point.0 - mean)).sum();
    let off = |&(x, y): &(f64, f64)| y - line.intercept - line.slope * x;
    let squares: f64 = points.iter().map(off).map(|off| off * off).sum();
    let variance = squares / real(freedom as u64);
    let slope_error = student(freedom) * libm::sqrt(variance / spread);
    Some(Fit { line, slope_error })
}

/// The 97.5 % quantile of Student's distribution: from a table up to 10 degrees of freedom, beyond
/// by the first terms of its expansion around the normal quantile (Abramowitz and Stegun, 26.7.5).
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 10] =
        [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    if let Some(&quantile) = TABLE.get(freedom - 1) {
        return quantile;
    }
    let (z, n): (f64, f64) = (1.959_964, real(freedom as u64));
    let cube = z * z * z;
    z + (cube + z) / (4.0 * n) + (5.0 * cube * z * z + 16.0 * cube + 3.0 * z) / (96.0 * n * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_by_hand() {
        // Means 2 and 3; slope 1, intercept 1; residuals 0.5, -1, 0.5: variance 1.5; 12.706 √(1.5 / 2).
        let fitted = fit(&[(1.0, 2.5), (2.0, 2.0), (3.0, 4.5)]).expect("a line");
        assert!((fitted.slope_error - 12.706 * libm::sqrt(0.75)).abs() < 1e-9, "{fitted:?}");
        assert_eq!(fit(&[(1.0, 2.0), (2.0, 3.0)]), None);
        // The line through these is 2x - 2.
        assert_eq!(fit(&[(1.0, 0.0), (2.0, 2.0), (3.0, 4.0)]), None);
        assert_eq!(fit(&[(1.0, 6.0), (2.0, 4.0), (3.0, 2.0)]), None);
        assert!((student(20) - 2.086).abs() < 1e-3 && (student(60) - 2.000).abs() < 1e-3);
    }

    /// Five zones, a group each: at coverage 10 they take 100, 100, 100, 100 and 200 us, at 20 twice that.
    #[test]
    fn the_choice_of_zones_by_hand() {
        let timed = |coverage: u64| {
            let us = |zones: u64| coverage / 10 * (zones * 100 + if zones == 5 { 100 } else { 0 });
            let stalls = (0..=5).map(|zones| (zones * coverage, us(zones))).collect();
            Timed { coverage, zones: 5, stalls, other_us: 0 }
        };
        let all = [timed(10), timed(20), timed(30)];
        let groups = grouped(&all);
        assert_eq!(groups[0], [(10.0, 100.0), (20.0, 200.0), (30.0, 300.0)]);
        assert_eq!(groups[4], [(10.0, 200.0), (20.0, 400.0), (30.0, 600.0)]);
        // Slopes of 10, 10, 10, 10 and 20: variance 20, and 2.776 √(20 / 5).
        assert!((slope_error_of_zones(&all) - 2.0 * 2.776).abs() < 1e-9);
        assert_eq!(slope_error_of_zones(&[]), 0.0);
        // The same zones in two rounds.
        let rounds = [(0, 2), (2, 5)].map(|(from, to): (u64, u64)| {
            let Timed { stalls, .. } = timed(10);
            let base = stalls[from as usize];
            let part = stalls[from as usize..=to as usize].iter();
            let stalls = part.map(|stall| (stall.0 - base.0, stall.1 - base.1)).collect();
            Timed { coverage: 10, zones: to - from, stalls, other_us: 0 }
        });
        assert_eq!(grouped(&rounds), grouped(&[timed(10)]));
    }

    #[test]
    fn zones_by_hand() {
        // Two zones of 10 blocks: every fifth write waits for 100 us; the others take 1 us.
        let stalls = (0..6).map(|nth| (nth * 5, nth * 104)).collect();
        let timed = Timed { coverage: 10, zones: 2, stalls, other_us: 60 };
        assert_eq!(points(std::slice::from_ref(&timed)), [(10.0, 208.0)]);
        // Another round in which each stall takes twice as long.
        let slow = (0..6).map(|nth| (nth * 5, nth * 204)).collect();
        let slow = Timed { coverage: 10, zones: 2, stalls: slow, other_us: 0 };
        // 60 us in 40 writes.
        assert_eq!(other_us(&[timed.clone(), slow.clone()]), 1.5);
        let stalls = vec![(0, 0), (3, 60), (5, 100), (9, 900)];
        let other = Timed { coverage: 4, zones: 1, stalls, other_us: 0 };
        assert_eq!(points(&[timed, slow, other]), [(10.0, 308.0), (4.0, 80.0)]);
        let none = Timed { coverage: 10, zones: 2, stalls: vec![], other_us: 0 };
        assert!(points(&[none]).is_empty());
    }
}
