//! The distances of reuses: LRU stack distances, from their mean and three quantiles.
//!
//! ```text
//! reuses     0 ────────────── 70 % ── 80 % ── 90 % ─────────────── 100 %
//! distance   0   p70 × t^low  p70 ··· p80 ··· p90  + rest × t^high  start pages
//! ```
//!
//! Between the quantiles distances grow by equal factors. Below the first and above the last they
//! are powers of t, the position within the part. The upper power is chosen so that the mean is
//! met. The lower one has the mean of equal factors, unless the upper one could not meet the mean
//! then.
//!
//! The reuses of each part are counted. If a part could not be drawn because there were too few
//! pages, its draws are made up for later, spread evenly over the remaining reuses.

use crate::synth::rng::Rng;

/// Shares are in 2^-20.
const ONE: u64 = 1 << 20;
const LOW_BINS: u32 = 7;
const MIDDLE_BINS: u32 = 4;
const HIGH_BINS: u32 = 8;
/// Reuses by reads have longer distances than those by writes. The share of reads among the reuses
/// beyond the 70 % quantile is this many times that among those below: a choice. In the recorded
/// traces of cloudphysics, alibaba and financial1 their median distance is 2 to 100 times that of
/// writes.
const READS_BEYOND: f64 = 5.0;
/// Distances that differ by no more than this are equivalent.
const SPREAD_MIN: u32 = 8;
/// The least number of reuses over which missing draws are spread.
const REMAINING_MIN: u64 = 4_096;

/// The distances of reuses: the number of other start pages that were accessed in between.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Reuse {
    pub(crate) mean: f64,
    /// Pages of the smallest LRU caches that hold 70, 80 and 90 % of the reuses.
    pub(crate) quantiles: [f64; 3],
    /// Start pages: every distance is smaller.
    pub(crate) pages: f64,
}

/// The distribution of distances.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Curve {
    parts: Vec<Part>,
    /// Cumulated shares of the parts, of the reuses by reads and by writes.
    sums: [Vec<u64>; 2],
}

/// The distances between two quantiles.
#[derive(Clone, PartialEq, Debug)]
struct Part {
    /// Share of all reuses, in 2^-20.
    share: u64,
    /// The ends of bins with equal shares; the first begins at `begin`.
    begin: u32,
    ends: Vec<u32>,
}

impl Part {
    fn end(&self) -> u32 {
        *self.ends.last().expect("a part has a bin")
    }
}

impl Curve {
    /// Creates a curve; `reads` is the share of reads among the reuses.
    pub(super) fn new(reuse: &Reuse, reads: f64) -> Curve {
        let (parts, shares): (Vec<Part>, Vec<f64>) = parts(reuse).into_iter().unzip();
        let read_weight = |part: usize| if part == 0 { 1.0 } else { READS_BEYOND };
        let by_reads =
            |part: usize, scale: f64| shares[part] * (read_weight(part) * scale).min(1.0);
        let all = 0..shares.len();
        let scale = bisect((0.0, 1.0), |scale| {
            all.clone().map(|part| by_reads(part, scale)).sum::<f64>() < reads
        });
        let sums = |share: &dyn Fn(usize) -> f64| -> Vec<u64> {
            let mut sum = 0;
            let sums = all.clone().map(|part| {
                sum += rounded(share(part) * ONE as f64);
                sum
            });
            sums.collect()
        };
        let writes = |part| shares[part] - by_reads(part, scale);
        let sums = [sums(&|part| by_reads(part, scale)), sums(&writes)];
        Curve { parts, sums }
    }
}

/// A drawn distance, and the range that is equivalent, inclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Drawn {
    /// Share of the reuses with smaller distances, in 2^-20.
    pub(super) nearer_share: u32,
    pub(super) from: u32,
    pub(super) at: u32,
    pub(super) to: u32,
}

/// Draws distances, and makes up for parts that have too few.
#[derive(Debug)]
pub(super) struct Balance {
    drawn_by_part: Vec<u64>,
    total: u64,
    /// Reuses of the volume at its full length.
    planned: u64,
}

impl Balance {
    pub(super) fn new(curve: &Curve, planned: u64) -> Balance {
        Balance { drawn_by_part: vec![0; curve.parts.len()], total: 0, planned }
    }

    /// Draws a distance below `pages`: from a part that has too few, or else from the distribution
    /// for reads or writes.
    pub(super) fn draw(&self, curve: &Curve, write: bool, pages: u32, rng: &mut Rng) -> Drawn {
        let parts_below = curve.parts_below(pages);
        let left = self.planned.saturating_sub(self.total).max(REMAINING_MIN);
        let mut drawn = rng.below(left * ONE);
        let short_part = curve.parts[..parts_below].iter().zip(&self.drawn_by_part).position(
            |(part, drawn_by_part)| {
                let missing = (self.total * part.share).saturating_sub(drawn_by_part * ONE);
                let found = drawn < missing;
                drawn = drawn.saturating_sub(missing);
                found
            },
        );
        match short_part {
            Some(part) => curve.draw_in_part(part, pages, rng),
            None => curve.draw(write, pages, rng),
        }
    }

    pub(super) fn count(&mut self, curve: &Curve, distance: u32) {
        let part = curve.parts.partition_point(|part| part.end() <= distance);
        let last = self.drawn_by_part.len() - 1;
        self.drawn_by_part[part.min(last)] += 1;
        self.total += 1;
    }
}

impl Curve {
    fn parts_below(&self, pages: u32) -> usize {
        self.parts.partition_point(|part| part.begin < pages).max(1)
    }

    /// Draws a distance below `pages`, for a read or a write.
    pub(super) fn draw(&self, write: bool, pages: u32, rng: &mut Rng) -> Drawn {
        let parts_below = self.parts_below(pages);
        let sums = &self.sums[usize::from(write)];
        let part = match sums[parts_below - 1] {
            0 => parts_below - 1,
            all => {
                let drawn = rng.below(all);
                sums.partition_point(|sum| *sum <= drawn)
            }
        };
        self.draw_in_part(part, pages, rng)
    }

    /// Draws a distance of a part.
    fn draw_in_part(&self, part: usize, pages: u32, rng: &mut Rng) -> Drawn {
        let nearer_share =
            self.sums.iter().map(|sums| if part == 0 { 0 } else { sums[part - 1] }).sum::<u64>();
        let part = &self.parts[part];
        let bin = rng.below(part.ends.len() as u64) as usize;
        let nearer_share = nearer_share + part.share * bin as u64 / part.ends.len() as u64;
        let begin = if bin == 0 { part.begin } else { part.ends[bin - 1] };
        let at = begin + rng.below(u64::from(part.ends[bin] - begin).max(1)) as u32;
        // A range around the distance is equivalent, but only within the quantiles, so that these
        // are met.
        let end = part.end().min(pages);
        let at = at.min(end - 1);
        Drawn {
            nearer_share: nearer_share as u32,
            from: part.begin.max((at - at / 3).saturating_sub(SPREAD_MIN)),
            at,
            to: (end - 1).min(at + at / 2 + SPREAD_MIN),
        }
    }
}

/// Returns the parts with their shares: between quantiles, and several beyond the last one.
fn parts(reuse: &Reuse) -> Vec<(Part, f64)> {
    let mut parts: Vec<(Part, f64)> = Vec::new();
    let mut begin = 0;
    let bins = bins(reuse);
    let last = bins.len() - 1;
    let quantiles = LOW_BINS + MIDDLE_BINS..LOW_BINS + 2 * MIDDLE_BINS;
    let mut open: Option<(Part, f64)> = None;
    for (number, (end, share)) in bins.into_iter().enumerate() {
        let end = (rounded(end).max(1) as u32).max(begin);
        let (part, sum) =
            open.get_or_insert_with(|| (Part { share: 0, begin, ends: Vec::new() }, 0.0));
        part.ends.push(end);
        *sum += share;
        begin = end;
        // Narrow parts would be hard to hit.
        let wide = end > part.begin && end >= part.begin + part.begin / 2;
        let number = number as u32 + 1;
        let is_complete = number == LOW_BINS
            || number == quantiles.start
            || number == quantiles.end
            || number > quantiles.end && wide
            || number as usize == last + 1;
        if !is_complete {
            continue;
        }
        let (part, share) = open.take().expect("it was just there");
        match parts.last_mut() {
            // Quantiles that are the same page.
            Some((before, sum)) if part.end() == part.begin => {
                before.ends.extend(part.ends);
                *sum += share;
            }
            _ => parts.push((part, share)),
        }
    }
    for (part, share) in &mut parts {
        part.share = rounded(*share * ONE as f64);
    }
    parts
}

/// Returns the ends of bins and their shares.
fn bins(reuse: &Reuse) -> Vec<(f64, f64)> {
    let [p70, p80, p90] = reuse.quantiles;
    let rest = (reuse.pages - p90).max(1.0);
    let bins = |low: f64, high: f64| {
        let part = |bin: u32, of: u32| f64::from(bin + 1) / f64::from(of);
        let lower = (0..LOW_BINS)
            .map(move |bin| (p70 * libm::pow(part(bin, LOW_BINS), low), 0.7 / f64::from(LOW_BINS)));
        let middle = [(p70, p80), (p80, p90)].into_iter().flat_map(move |(from, to)| {
            (0..MIDDLE_BINS).map(move |bin| {
                let end = from * libm::pow(to / from, part(bin, MIDDLE_BINS));
                (end, 0.1 / f64::from(MIDDLE_BINS))
            })
        });
        let upper = (0..HIGH_BINS).map(move |bin| {
            (p90 + rest * libm::pow(part(bin, HIGH_BINS), high), 0.1 / f64::from(HIGH_BINS))
        });
        lower.chain(middle).chain(upper)
    };
    let mean = |low, high| {
        let mut begin = 0.0;
        let part = bins(low, high).map(|(end, share)| {
            let middle = (begin + end) / 2.0;
            begin = end;
            middle * share
        });
        part.sum::<f64>()
    };
    // The mean of the upper power is 1 / (1 + power) of its range: at most a third.
    let (low, steep, flat) = ((libm::log(p70.max(1.0)) - 1.0).clamp(0.5, 60.0), 60.0, 2.0);
    let (low, high) = if mean(low, flat) < reuse.mean {
        (bisect((60.0, 0.05), |low| mean(low, flat) < reuse.mean), flat)
    } else if mean(low, steep) > reuse.mean {
        (bisect((60.0, 0.05), |low| mean(low, steep) < reuse.mean), steep)
    } else {
        (low, bisect((steep, flat), |high| mean(low, high) < reuse.mean))
    };
    bins(low, high).collect()
}

/// Returns the point between two bounds at which a condition that holds at the first one ends.
fn bisect((mut holds, mut ends): (f64, f64), condition: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = f64::midpoint(holds, ends);
        if condition(middle) { holds = middle } else { ends = middle }
    }
    holds
}

/// Rounds to a whole number; figures are far below 2^53.
fn rounded(number: f64) -> u64 {
    number.round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::rng::Seed;
    use proptest::prelude::*;

    /// Draws distances where all pages were accessed before, and returns them sorted, for reads and
    /// writes.
    fn drawn(reuse: &Reuse, reads: f64, draws: u64) -> (Vec<u32>, Vec<u32>) {
        let curve = Curve::new(reuse, reads);
        let mut balance = Balance::new(&curve, draws);
        let mut rng = Seed { seed: 1, workload: "test" }.stream("curve");
        let reads = crate::synth::rng::Share::of(reads);
        let (mut all, mut read) = (Vec::new(), Vec::new());
        for _ in 0..draws {
            let write = !rng.chance(reads);
            let drawn = balance.draw(&curve, write, reuse.pages as u32, &mut rng);
            assert!(drawn.from <= drawn.at && drawn.at <= drawn.to, "{drawn:?}");
            assert!(f64::from(drawn.to) < reuse.pages, "{drawn:?}");
            balance.count(&curve, drawn.at);
            all.push(drawn.at);
            if !write {
                read.push(drawn.at);
            }
        }
        all.sort_unstable();
        read.sort_unstable();
        (all, read)
    }

    fn at(sorted: &[u32], percent: usize) -> f64 {
        f64::from(sorted[sorted.len() * percent / 100])
    }

    #[test]
    fn a_curve_by_hand() {
        let reuse = Reuse { mean: 40.0, quantiles: [10.0, 20.0, 100.0], pages: 1_000.0 };
        let parts = parts(&reuse);
        // Each quantile ends a part; above the last, each part is half as wide again as the one
        // before.
        let ends: Vec<u32> = parts.iter().map(|(part, _)| part.end()).collect();
        assert_eq!((&ends[..3], ends.last()), (&[10, 20, 100][..], Some(&1_000)));
        assert!(ends[2..].windows(2).all(|ends| ends[1] >= ends[0] * 3 / 2), "{ends:?}");
        // 10 × 2^(1/4), 2^(2/4) and 2^(3/4).
        assert_eq!(parts[1].0.ends, [12, 14, 17, 20]);
        let shares: Vec<f64> = parts.iter().map(|(_, share)| (share * 1e6).round() / 1e6).collect();
        assert_eq!(shares[..3], [0.7, 0.1, 0.1]);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-6);
    }

    /// Draws that fail because there are too few pages are made up for.
    #[test]
    fn what_is_owed_is_drawn_later() {
        let reuse = Reuse { mean: 300.0, quantiles: [50.0, 200.0, 900.0], pages: 3_000.0 };
        let curve = Curve::new(&reuse, 0.2);
        let mut balance = Balance::new(&curve, 40_000);
        let mut rng = Seed { seed: 1, workload: "test" }.stream("owed");
        let mut far = [0; 4];
        for request in 0..40_000_u32 {
            let drawn = balance.draw(&curve, true, 1 + request / 10, &mut rng);
            balance.count(&curve, drawn.at);
            far[request as usize / 10_000] += u32::from(drawn.at >= 900);
        }
        assert!(far.iter().sum::<u32>().abs_diff(4_000) < 500, "{far:?}");
        assert!(far[0] < 400 && far[3] > 1_000 && far[3] < 2_500, "{far:?}");
    }

    #[test]
    fn reads_come_again_later() {
        let reuse = Reuse { mean: 5_000.0, quantiles: [300.0, 2_000.0, 12_000.0], pages: 90_000.0 };
        let (all, read) = drawn(&reuse, 0.2, 50_000);
        assert!(at(&read, 50) > 3.0 * at(&all, 50), "{} {}", at(&read, 50), at(&all, 50));
    }

    proptest! {
        /// The quantiles are met, and so is the mean where that is possible.
        #[test]
        fn quantiles_are_those_asked_for(
            p70 in 30.0..5_000.0_f64,
            factors in [1.2..20.0_f64, 1.2..20.0, 3.0..20.0],
            reads in 0.0..0.5_f64,
        ) {
            let p80 = p70 * factors[0];
            let p90 = p80 * factors[1];
            let pages = p90 * factors[2];
            // The middle of the range that these quantiles allow.
            let mean = 0.7 * p70 / 4.0 + 0.1 * (p70 + p80) / 2.0 + 0.1 * (p80 + p90) / 2.0
                + 0.1 * (p90 + (pages - p90) / 5.0);
            let reuse = Reuse { mean, quantiles: [p70, p80, p90], pages };
            let (all, _) = drawn(&reuse, reads, 40_000);
            for (percent, asked) in [(70, p70), (80, p80), (90, p90)] {
                let made = at(&all, percent);
                prop_assert!((0.75..1.33).contains(&(made / asked)), "{percent} %: {made}, not {asked}");
            }
            let made = all.iter().map(|at| f64::from(*at)).sum::<f64>() / all.len() as f64;
            prop_assert!((made / mean - 1.0).abs() < 0.15, "mean {made}, not {mean}");
        }
    }
}
