//! Splits latencies into two kinds, by Otsu's threshold (IEEE Trans. SMC 9, 1979) on their
//! logarithms.

use crate::change::real;

/// The least factor between the mean latencies of two kinds.
const APART: f64 = 3.0;

/// Finds the latency, in microseconds, that best splits `latencies_us` in two: the variance between
/// the two classes of logarithms is greatest. `None` if the means of the classes differ by less
/// than a factor of three.
#[must_use]
pub fn split(latencies_us: &[u64]) -> Option<f64> {
    let mut logs: Vec<f64> = latencies_us.iter().map(|&us| libm::log(real(us.max(1)))).collect();
    logs.sort_unstable_by(f64::total_cmp);
    let (count, sum) = (real(logs.len() as u64), logs.iter().sum::<f64>());
    let (mut below, mut best) = (0.0, (0.0, 0.0, 0.0));
    for (at, pair) in logs.windows(2).enumerate() {
        below += pair[0];
        let part = real(at as u64 + 1);
        let gap = (sum - below) / (count - part) - below / part;
        let variance = part * (count - part) * gap * gap;
        if pair[0] < pair[1] && variance > best.0 {
            best = (variance, gap, f64::midpoint(pair[0], pair[1]));
        }
    }
    (best.1 > libm::log(APART)).then(|| libm::exp(best.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeks_are_told_from_streaming() {
        let mixed = [1400, 1380, 1420, 21_000, 25_000, 1390, 18_000];
        let threshold = split(&mixed).expect("two kinds");
        assert!(1420.0 < threshold && threshold < 18_000.0, "{threshold}");
        assert_eq!(split(&[1400, 1380, 1420, 1500, 1390]), None);
        assert_eq!(split(&[]), None);
        assert_eq!(split(&[7]), None);
        // One slow read among many.
        let mut many = vec![1000; 500];
        many.push(20_000);
        assert!(split(&many).is_some());
    }
}
