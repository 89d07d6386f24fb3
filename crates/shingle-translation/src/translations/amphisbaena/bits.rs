//! Bits by number.

/// A row of bits, all clear at first.
#[derive(Clone, Debug)]
pub(super) struct Bits(Box<[u64]>);

impl Bits {
    pub(super) fn new(count: u64) -> Bits {
        Bits(vec![0; count.div_ceil(64) as usize].into())
    }

    #[inline]
    pub(super) fn get(&self, at: u64) -> bool {
        self.0[(at / 64) as usize] >> (at % 64) & 1 == 1
    }

    /// Sets the bit; returns whether it was set.
    #[inline]
    pub(super) fn set(&mut self, at: u64) -> bool {
        let word = &mut self.0[(at / 64) as usize];
        let before = *word >> (at % 64) & 1 == 1;
        *word |= 1 << (at % 64);
        before
    }

    /// Clears the bit; returns whether it was set.
    #[inline]
    pub(super) fn clear(&mut self, at: u64) -> bool {
        let word = &mut self.0[(at / 64) as usize];
        let before = *word >> (at % 64) & 1 == 1;
        *word &= !(1 << (at % 64));
        before
    }

    /// Clears all bits.
    pub(super) fn clear_all(&mut self) {
        self.0.fill(0);
    }

    /// The first bit of `from..end` that is `value`, or `end`.
    pub(super) fn next(&self, value: bool, mut from: u64, end: u64) -> u64 {
        while from < end {
            let word = self.0[(from / 64) as usize];
            let rest = (if value { word } else { !word }) >> (from % 64);
            if rest != 0 {
                return end.min(from + u64::from(rest.trailing_zeros()));
            }
            from = (from / 64 + 1) * 64;
        }
        end
    }

    /// Runs of set bits in `from..end`: where each begins, and how long it is.
    pub(super) fn runs(&self, from: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut at = from;
        core::iter::from_fn(move || {
            let start = self.next(true, at, end);
            at = self.next(false, start, end);
            (start < end).then_some((start, at - start))
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.len() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_what_was_set(
            ops in prop::collection::vec((any::<bool>(), 0u64..200), 0..300),
            (from, length) in (0u64..200, 0u64..200),
        ) {
            let (mut bits, mut model) = (Bits::new(200), vec![false; 200]);
            for (set, at) in ops {
                let before = core::mem::replace(&mut model[at as usize], set);
                prop_assert_eq!(if set { bits.set(at) } else { bits.clear(at) }, before);
            }
            let end = (from + length).min(200);
            let of_runs: Vec<u64> =
                bits.runs(from, end).flat_map(|(start, count)| start..start + count).collect();
            let of_model: Vec<u64> = (from..end).filter(|&at| model[at as usize]).collect();
            prop_assert_eq!(of_runs, of_model);
            prop_assert!(bits.runs(from, end).zip(bits.runs(from, end).skip(1)).all(|(a, b)| a.0 + a.1 < b.0));
            prop_assert!((0..200).all(|at| bits.get(at) == model[at as usize]));
        }
    }
}
