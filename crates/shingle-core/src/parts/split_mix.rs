//! The random generator `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014): integers only, the same
//! on every machine. The numbers of a seed are [`mixed`] of the seed, then of the state advanced by
//! [`STEP`] each time.

/// Distance from one state to the next.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Maps a state to its output. The mapping is one to one, and every input bit affects every output
/// bit.
#[must_use]
#[inline]
pub fn mixed(state: u64) -> u64 {
    let word = state.wrapping_add(STEP);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// Returns the next 64 bits of the stream with this state. Every seed is a good one.
#[inline]
pub fn next(state: &mut u64) -> u64 {
    let bits = mixed(*state);
    *state = state.wrapping_add(STEP);
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_the_published_ones() {
        let mut state = 1_234_567;
        assert_eq!(next(&mut state), 6_457_827_717_110_365_317);
        assert_eq!(next(&mut state), 3_203_168_211_198_807_973);
        assert_eq!(next(&mut state), 9_817_491_932_198_370_423);
    }
}
