//! Counts with exponential decay.

/// Returns `count`, halved for each `half_life` in `since` (same unit), and 0 after 24 half-lives.
/// Between halvings it is interpolated linearly: powers of other numbers than 2 are not the same on
/// all machines.
#[must_use]
#[inline]
pub fn halved(count: f32, since: u64, half_life: f32) -> f32 {
    let lives = since as f32 / half_life;
    let whole = lives as u32;
    if whole >= 24 {
        return 0.0;
    }
    count * (1.0 - (lives - whole as f32) / 2.0) / (1u32 << whole) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of 8 after 10, and half of that after 20; after 15 in the middle of 4 and 2.
    #[test]
    fn a_count_is_halved_each_half_life() {
        let after = [0, 5, 10, 15, 20, 239].map(|since| halved(8.0, since, 10.0));
        assert_eq!(after[..5], [8.0, 6.0, 4.0, 3.0, 2.0]);
        assert!(after[5] > 0.0);
        assert_eq!(halved(8.0, 240, 10.0), 0.0);
        assert_eq!(halved(8.0, u64::MAX, 1.0), 0.0);
    }
}
