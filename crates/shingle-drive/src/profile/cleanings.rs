//! The number of band cleanings for a zone of which `x` blocks were written.

use crate::parts::fit::{Line, line};

/// Parts of a zone that are written, as in SAC's Figure 10: 500 to 2,500 of 5,000 blocks.
const COVERAGES: [f64; 5] = [0.1, 0.2, 0.3, 0.4, 0.5];
/// Number of positions of a border within a zone that are evaluated.
const SPLITS: u32 = 1000;

/// Cleanings for a zone of `zone_blocks` at a random place among bands of `band_blocks`, as a line over
/// `x`, when a cleaning collects at most `reads_max` runs of the log (0: all of them).
///
/// A border lies in the zone with the chance `zone_blocks / band_blocks`. If the part `f` of the zone lies
/// before it, its blocks, written in random order, lie in the log in `x f (1 - f)` runs, and so do those
/// behind it. Without a border there is one run.
pub(super) fn cleanings(zone_blocks: f64, band_blocks: f64, reads_max: f64) -> Line {
    let borders = zone_blocks / band_blocks;
    let of_part = |x: f64, f: f64| {
        let runs = x * f * (1.0 - f);
        if reads_max > 0.0 { (runs / reads_max).ceil().max(1.0) } else { 1.0 }
    };
    let count = |x: f64| {
        if borders >= 1.0 {
            // Several parts, as large as each other.
            return (1.0 + borders) * of_part(x, 1.0 / (1.0 + borders));
        }
        let splits = (0..SPLITS).map(|at| (f64::from(at) + 0.5) / f64::from(SPLITS));
        let split = splits.map(|f| 2.0 * of_part(x, f)).sum::<f64>() / f64::from(SPLITS);
        (1.0 - borders) + borders * split
    };
    let points = COVERAGES.map(|part| (part * zone_blocks, count(part * zone_blocks)));
    line(&points).expect("several coverages")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_limit_each_band_is_cleaned_once() {
        for (zone, band, should) in
            [(5000.0, 10_000.0, 1.5), (1.0, 1e6, 1.0), (9000.0, 3000.0, 4.0)]
        {
            let Line { slope, intercept, .. } = cleanings(zone, band, 0.0);
            assert!(slope.abs() < 1e-9, "{slope}");
            assert!((intercept - should).abs() < 0.001, "{intercept} for {should}");
        }
    }

    /// Half of the zone on each side of a border: 2,400 / 4 = 600 runs in each band, 6 cleanings of 100.
    #[test]
    fn with_a_limit_more_often_the_more_is_written() {
        let line = cleanings(5000.0, 5000.0, 100.0);
        let at = |x: f64| line.intercept + line.slope * x;
        assert!((at(2400.0) - 12.0).abs() < 1.0, "{}", at(2400.0));
        // The model of st8000as0002 takes 6.2 cleanings a zone at 2,500 blocks (docs/drives.md).
        let line = cleanings(5000.0, 7390.0, 112.0);
        let at = line.intercept + line.slope * 2500.0;
        assert!((5.5..6.5).contains(&at), "{at}");
    }
}
