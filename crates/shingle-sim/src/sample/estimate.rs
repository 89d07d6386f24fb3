//! Estimates from sampled counts, and their errors.

use shingle_result::Estimate;

use super::{GROUPS, WHOLE};

/// Student's t for 15 degrees of freedom, at 95 %.
const T: f64 = 2.131;

/// Returns the ratio of two sums over groups, times `scale`, with its error. `millionths` is the
/// sampled part; a complete sample has no error.
pub(super) fn ratio(
    above: &[u64; GROUPS],
    below: &[u64; GROUPS],
    scale: f64,
    millionths: u64,
) -> Option<Estimate> {
    let sum = |counts: &[u64; GROUPS]| counts.iter().sum::<u64>() as f64;
    let (over, under) = (sum(above), sum(below));
    if under == 0.0 {
        return None;
    }
    let value = scale * over / under;
    let without = |group: usize| {
        let (over, under) = (over - above[group] as f64, under - below[group] as f64);
        (under > 0.0).then(|| scale * over / under)
    };
    let left: Option<Vec<f64>> = (0..GROUPS).map(without).collect();
    // One group has everything.
    let Some(left) = left else { return Some(Estimate { value, error: f64::INFINITY }) };
    let mean = left.iter().sum::<f64>() / GROUPS as f64;
    let spread: f64 = left.iter().map(|one| (one - mean) * (one - mean)).sum();
    let unseen = 1.0 - millionths as f64 / WHOLE as f64;
    let error = T * (spread * unseen * (GROUPS as f64 - 1.0) / GROUPS as f64).sqrt();
    Some(Estimate { value, error })
}

/// Student's t for 3 degrees of freedom, at 95 %.
const T_OF_QUARTERS: f64 = 3.182;

/// Returns the estimate of a sample, with its error from the results of its quarters: their
/// standard error around `value`.
pub(super) fn around(value: f64, quarters: [f64; 4], millionths: u64) -> Estimate {
    let squares: f64 = quarters.iter().map(|one| (one - value) * (one - value)).sum();
    let unseen = 1.0 - millionths as f64 / WHOLE as f64;
    Estimate { value, error: T_OF_QUARTERS * (squares / 12.0 * unseen).sqrt() }
}

/// Returns by how many percent the first count is higher than the second; both are by group, of the
/// same bands.
#[must_use]
pub fn change(
    counted: &[u64; GROUPS],
    before: &[u64; GROUPS],
    millionths: u64,
) -> Option<Estimate> {
    let ratio = ratio(counted, before, 100.0, millionths)?;
    Some(Estimate { value: ratio.value - 100.0, ..ratio })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_groups_leave_no_doubt() {
        let found = ratio(&[30; GROUPS], &[60; GROUPS], 100.0, 10_000).expect("a ratio");
        assert_eq!((found.value, found.error), (50.0, 0.0));
        assert_eq!(change(&[30; GROUPS], &[60; GROUPS], 10_000).map(|c| c.value), Some(-50.0));
        assert_eq!(ratio(&[1; GROUPS], &[0; GROUPS], 1.0, 1), None);
    }

    #[test]
    fn quarters_tell_how_far_the_whole_may_be_off() {
        assert_eq!(around(5.0, [5.0; 4], 10_000), Estimate { value: 5.0, error: 0.0 });
        // Around their own mean of 5 it is the standard error of that: √(4 ÷ 3) ÷ 2.
        let error = around(5.0, [4.0, 6.0, 4.0, 6.0], 1).error;
        assert!((error - 3.182 * (4.0_f64 / 3.0).sqrt() / 2.0).abs() < 1e-3, "{error}");
        // All of them too large by 3: that is seen, too.
        assert!((around(5.0, [8.0; 4], 1).error - 3.182 * 3.0_f64.sqrt()).abs() < 1e-3);
        // Of half of the bands is known what they do.
        let half = around(5.0, [4.0, 6.0, 4.0, 6.0], WHOLE / 2).error;
        assert!((half * 2.0_f64.sqrt() - error).abs() < 1e-3, "{half} {error}");
    }

    #[test]
    fn the_jackknife_of_a_mean_is_its_standard_error() {
        // Equal weights: the ratio is a mean, whose standard error is known by hand.
        let above: [u64; GROUPS] = std::array::from_fn(|group| group as u64);
        let found = ratio(&above, &[1; GROUPS], 1.0, 1).expect("a ratio");
        let mean = 7.5;
        let variance: f64 =
            above.iter().map(|&a| (a as f64 - mean) * (a as f64 - mean)).sum::<f64>() / 15.0;
        let error = T * (variance / 16.0).sqrt();
        assert!((found.value - mean).abs() < 1e-12);
        assert!((found.error - error).abs() < 1e-3, "{} {error}", found.error);
        // All that there is was counted.
        assert_eq!(ratio(&above, &[1; GROUPS], 1.0, WHOLE).map(|all| all.error), Some(0.0));
        let one = std::array::from_fn(|group| u64::from(group == 3));
        assert_eq!(ratio(&one, &one, 1.0, 1).map(|found| found.error), Some(f64::INFINITY));
    }
}
