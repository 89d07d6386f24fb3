//! The change point of a sequence of fast and slow I/O: where slow I/O begins.
//!
//! Each I/O is slow or not: one bit. Before the change a bit is set with probability `p`, after it
//! with a greater `q`. For each place `k` the likelihood of the best `p` and `q` is that of two
//! binomial samples; the change lies where it is greatest (maximum likelihood; Hinkley and Hinkley,
//! "Inference about the change-point in a sequence of binomial variables", Biometrika 57, 1970). The
//! interval holds the places whose log-likelihood is less than 1.92 below that (95 %, by the
//! likelihood ratio). There is a change only if its log-likelihood exceeds that of no change by
//! `EVIDENCE`, and the rate of slow I/O rises by the factor `RISE`.
//!
//! Slow I/O that come at even distances, as cleaning does, are stronger evidence than these bits show.
//! At one rate the first of `m + 1` waits is `r` times as long as each of the others with probability
//! `m! / ((1 + r) (2 + r) … (m + r))` (waits are independent and exponential). So much counts for a
//! change before which nothing was slow.

use serde::{Deserialize, Serialize};

/// The least log-likelihood of a change over no change. 15 is odds of 3 million to one, so that the
/// choice among a million places does not produce a false change.
pub(crate) const EVIDENCE: f64 = 15.0;

/// The least rise of the rate of slow I/O at a change. A smaller rise is drift, not a cliff.
pub(crate) const RISE: f64 = 5.0;

/// A change point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Number of I/O before the change.
    pub at: u64,
    /// Least place in the interval (95 %).
    pub low: u64,
    /// Greatest place in the interval.
    pub high: u64,
    /// Log-likelihood over that of no change.
    pub evidence: f64,
}

/// Finds the change point of `count` I/O; `slow` has the numbers of the slow ones, in rising order.
/// `None` if there is no change.
#[must_use]
pub fn change(count: u64, slow: &[u64]) -> Option<Change> {
    let none = log_likelihood(slow.len() as u64, count);
    // The likelihood has its peaks just before a slow I/O: only these places are tried.
    let at = |(before, &place): (usize, &u64)| {
        let (before, all) = (before as u64, slow.len() as u64);
        let rate = |slow: u64, count: u64| real(slow) / real(count.max(1));
        let rises = rate(all - before, count - place) > RISE * rate(before, place);
        let likelihood =
            log_likelihood(before, place) + log_likelihood(all - before, count - place);
        rises.then_some((place, likelihood))
    };
    let places: Vec<(u64, f64)> = slow.iter().enumerate().filter_map(at).collect();
    let best = places.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let evidence = (best.1 - none).max(evidence_of_waits(count, slow, best.0));
    let mut likely = places.iter().filter(|place| place.1 > best.1 - 1.92).map(|place| place.0);
    let low = likely.next()?;
    let high = likely.next_back().unwrap_or(low);
    (evidence > EVIDENCE).then_some(Change { at: best.0, low, high, evidence })
}

/// The evidence that the I/O before the first slow one, if that is at the change, are too many for one
/// rate of slow I/O.
fn evidence_of_waits(count: u64, slow: &[u64], change: u64) -> f64 {
    let Some((&first, rest)) = slow.split_first().filter(|(first, _)| **first == change) else {
        return 0.0;
    };
    let ends = slow.iter().zip(rest).map(|(one, next)| next - one);
    let longest = ends.chain([count - slow[rest.len()]]).max().unwrap_or(1);
    let ratio = real(first) / real(longest.max(1));
    (1..=rest.len() as u64).map(|nth| libm::log1p(ratio / real(nth))).sum()
}

/// The log-likelihood of `slow` slow I/O among `count`, at the rate that maximizes it.
fn log_likelihood(slow: u64, count: u64) -> f64 {
    let term = |some: u64| {
        if some == 0 { 0.0 } else { real(some) * libm::log(real(some) / real(count)) }
    };
    term(slow) + term(count - slow)
}

/// Converts a count for statistics.
pub(crate) fn real(count: u64) -> f64 {
    count as f64
}

pub(crate) fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_drive::Rng;

    #[test]
    fn a_clean_cliff_is_found_to_the_write() {
        // 1000 fast I/O, then every second one is slow.
        let slow: Vec<u64> = (1000..1100).step_by(2).collect();
        let change = change(1100, &slow).expect("a cliff");
        assert_eq!((change.at, change.low), (1000, 1000));
        assert!(change.high <= 1006 && change.evidence > 100.0, "{change:?}");
    }

    #[test]
    fn the_evidence_by_hand() {
        // 10 of 20 are slow, all at the end: 2 · 10 ln 2 over no change.
        let slow: Vec<u64> = (10..20).collect();
        let none = log_likelihood(10, 20);
        assert!((none + 20.0 * libm::log(2.0)).abs() < 1e-12);
        // 13.9 is not enough, 27.7 is.
        assert_eq!(change(20, &slow), None);
        let slow: Vec<u64> = (20..40).collect();
        let found = change(40, &slow).expect("a cliff");
        assert!((found.evidence - 40.0 * libm::log(2.0)).abs() < 1e-12);
    }

    /// A buffer of 16,000 writes; each cleaning makes room for 1,800.
    #[test]
    fn a_cliff_with_few_but_regular_stalls_is_found() {
        let slow: Vec<u64> = (0..40).map(|nth| 16_000 + nth * 1_800 + nth % 3).collect();
        let found = change(slow[39] + 1, &slow).expect("a cliff");
        assert_eq!(found.at, 16_000);
        // By hand: two waits, the first thrice as long: 1 / (1 + 3).
        let evidence = evidence_of_waits(41, &[30, 40], 30);
        assert!((evidence - libm::log(4.0)).abs() < 1e-12, "{evidence}");
        assert_eq!(evidence_of_waits(41, &[30, 40], 40), 0.0);
        // As many at random places are no cliff.
        let mut rng = Rng::new(5);
        for _ in 0..200 {
            let mut slow: Vec<u64> = (0..40).map(|_| rng.below(90_000)).collect();
            slow.sort_unstable();
            slow.dedup();
            assert_eq!(change(90_000, &slow), None, "{slow:?}");
        }
    }

    #[test]
    fn stray_slow_ones_neither_make_a_cliff_nor_hide_one() {
        let mut rng = Rng::new(3);
        let stray: Vec<u64> = (0..200_000).filter(|_| rng.below(500) == 0).collect();
        assert_eq!(change(200_000, &stray), None);
        assert_eq!(change(200_000, &[]), None);
        let cliff = (200_000..204_000).filter(|_| rng.below(50) == 0);
        let slow: Vec<u64> = stray.iter().copied().chain(cliff).collect();
        let change = change(204_000, &slow).expect("a cliff");
        assert!(change.at.abs_diff(200_000) < 200, "{change:?}");
        assert!((change.low..=change.high).contains(&change.at));
    }
}
