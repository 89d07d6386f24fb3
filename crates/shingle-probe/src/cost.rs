//! What a zone costs the drive of which `x` blocks are written: `R(x)` (SAC §4.4, Figure 10).
//!
//! Zones scattered over the disk are written one after another, `x` blocks of each in random order,
//! into an empty buffer; then other blocks, until it is full. From there on each further block makes
//! the drive let go of one that is older, and these are the zones', one after another. So the time from
//! the first block that had to wait until `n` times `x` blocks were taken in is the drive time of `n`
//! zones: cleaning, and writing as many blocks into the log. (`shingle_drive::measure` fills the buffer
//! with zones of one coverage only, and lets further ones follow: in the steady state the same.)

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use shingle_drive::measure::fit::{Line, line};
use shingle_drive::rng::Rng;

use crate::bands::{Filler, Full};
use crate::change::real;
use crate::error::ProbeError;
use crate::ground::{Ground, write};

/// Zones of one coverage whose cleaning was timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// Blocks written of each.
    pub coverage: u64,
    /// Zones.
    pub zones: u64,
    /// Writes from the first that had to wait on: which of them waited, and when each of these was
    /// submitted, in microseconds since the first.
    pub stalls: Vec<(u64, u64)>,
}

/// What is to be timed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coverage {
    pub(crate) zone_blocks: u64,
    pub(crate) blocks: u64,
    pub(crate) zones: u64,
    pub(crate) seed: u64,
}

/// Times the cleaning of zones. The buffer must be empty; afterwards it holds blocks of the region, and
/// next to nothing else.
pub(crate) fn time(
    ground: &mut Ground,
    coverage: &Coverage,
    full: &Full,
) -> Result<Timed, ProbeError> {
    let &Coverage { zone_blocks, blocks, zones, seed } = coverage;
    let mut rng = Rng::new(seed);
    let first_zone = ground.region_blocks.div_ceil(zone_blocks) + 1;
    let all = ground.target.facts().blocks / zone_blocks - first_zone;
    let mut inside: Vec<u64> = (0..zone_blocks).collect();
    let mut written = Vec::with_capacity((zones * blocks) as usize);
    for nth in 0..zones {
        // A part of the disk each, so that they are everywhere and no two are neighbours.
        let zone = first_zone + all * nth / zones + rng.below((all / zones / 2).max(1));
        for at in 0..blocks {
            let other = at + rng.below(zone_blocks - at);
            inside.swap(at as usize, other as usize);
            written.push(zone * zone_blocks + inside[at as usize]);
        }
    }
    ground
        .each(&mut written.iter().map(|&block| write(block)), &mut |_| ControlFlow::Continue(()))?;
    let mut filler = Filler::new(ground.region_blocks, seed);
    filler.nearly_fill(ground, full, zones * blocks)?;

    let mut stalls: Vec<(u64, u64)> = Vec::new();
    let (mut since, mut clock, mut more) = (0, 0, 2);
    ground.each(&mut filler.singles(), &mut |us| {
        let stalled = real(us) >= full.stall_us;
        if stalled {
            stalls.push((since, clock));
        }
        if !stalls.is_empty() {
            since += 1;
            clock += us;
        }
        // The last zone is left over only in part.
        more -= u64::from(stalled && since > zones * blocks);
        if more == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(Timed { coverage: blocks, zones, stalls })
}

impl Timed {
    /// Drive time of a zone, in microseconds, for each of up to `parts` parts of the zones, which begin
    /// and end where a write waited.
    #[must_use]
    pub fn zone_us(&self, parts: u64) -> Vec<f64> {
        let all = self.zones * self.coverage;
        let inside: Vec<(u64, u64)> =
            self.stalls.iter().copied().filter(|&(since, _)| since <= all).collect();
        let cut = |part: u64| {
            let wanted = all * part / parts;
            inside.iter().copied().min_by_key(|&(since, _)| since.abs_diff(wanted))
        };
        let cuts: Vec<(u64, u64)> = (0..=parts).filter_map(cut).collect();
        let part = |pair: &[(u64, u64)]| {
            let (writes, us) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
            (writes > 0).then(|| real(us) / real(writes) * real(self.coverage))
        };
        cuts.windows(2).filter_map(part).collect()
    }
}

/// The line through points, and the interval of its slope (95 %).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Microseconds over blocks.
    pub line: Line,
    /// By how much the slope may be off either way.
    pub slope_error: f64,
}

/// The line of `points` with its interval, by Student's distribution; `None` for fewer than three
/// points or one coverage.
#[must_use]
pub fn fit(points: &[(f64, f64)]) -> Option<Fit> {
    let line = line(points)?;
    let freedom = points.len().checked_sub(2).filter(|&freedom| freedom > 0)?;
    let count = real(points.len() as u64);
    let mean = points.iter().map(|point| point.0).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|point| (point.0 - mean).powi(2)).sum();
    let off = |&(x, y): &(f64, f64)| (y - line.intercept - line.slope * x).powi(2);
    let variance = points.iter().map(off).sum::<f64>() / real(freedom as u64);
    let slope_error = student(freedom) * libm::sqrt(variance / spread);
    Some(Fit { line, slope_error })
}

/// The 97.5 % quantile of Student's distribution: from tables up to 10 degrees of freedom, beyond by
/// the first terms of its expansion around the normal one (Abramowitz and Stegun, 26.7.5).
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 10] =
        [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    if let Some(&quantile) = TABLE.get(freedom - 1) {
        return quantile;
    }
    let (z, n): (f64, f64) = (1.959_964, real(freedom as u64));
    z + (z.powi(3) + z) / (4.0 * n)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
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
        assert!((student(20) - 2.086).abs() < 1e-3 && (student(60) - 2.000).abs() < 1e-3);
    }

    #[test]
    fn zones_by_hand() {
        // Two zones of 10 blocks: a write waits each 5 writes, 100 us; the others take 1 us.
        let stalls = (0..6).map(|nth| (nth * 5, nth * 104)).collect();
        let timed = Timed { coverage: 10, zones: 2, stalls };
        assert_eq!(timed.zone_us(1), [208.0]);
        assert_eq!(timed.zone_us(2), [208.0, 208.0]);
        assert!(Timed { coverage: 10, zones: 2, stalls: vec![] }.zone_us(1).is_empty());
    }
}
