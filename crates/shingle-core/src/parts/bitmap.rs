//! A bitmap: a bit for each number, changed and searched a word at a time.

/// Sets `count` bits of `words` from `from` on to `value`. Returns how many were set before.
#[inline]
pub fn fill_bits(words: &mut [u64], from: u64, count: u64, value: bool) -> u64 {
    let (mut at, end, mut were) = (from, from + count, 0);
    while at < end {
        let (word, bit) = (&mut words[(at / 64) as usize], at % 64);
        let length = (64 - bit).min(end - at);
        let mask = u64::MAX >> (64 - length) << bit;
        were += u64::from((*word & mask).count_ones());
        *word = if value { *word | mask } else { *word & !mask };
        at += length;
    }
    were
}

/// A bitmap, all clear at first.
#[derive(Clone, Debug)]
pub struct Bitmap(Box<[u64]>);

impl Bitmap {
    /// Creates a bitmap of `count` bits.
    #[must_use]
    pub fn new(count: u64) -> Bitmap {
        Bitmap(vec![0; count.div_ceil(64) as usize].into())
    }

    /// Returns whether the bit is set.
    #[must_use]
    #[inline]
    pub fn get(&self, at: u64) -> bool {
        self.0[(at / 64) as usize] >> (at % 64) & 1 == 1
    }

    /// Sets the bit; returns whether it was set.
    #[inline]
    pub fn set(&mut self, at: u64) -> bool {
        self.fill(at, 1, true) == 1
    }

    /// Clears the bit; returns whether it was set.
    #[inline]
    pub fn clear(&mut self, at: u64) -> bool {
        self.fill(at, 1, false) == 1
    }

    /// Clears all bits.
    pub fn clear_all(&mut self) {
        self.0.fill(0);
    }

    /// Sets `count` bits from `from` on to `value`. Returns how many were set before.
    #[inline]
    pub fn fill(&mut self, from: u64, count: u64, value: bool) -> u64 {
        fill_bits(&mut self.0, from, count, value)
    }

    /// Sets the bits that are set in `other`, of the same size. Returns how many were clear.
    pub fn add(&mut self, other: &Bitmap) -> u64 {
        let words = self.0.iter_mut().zip(&other.0);
        words.fold(0, |were, (word, other)| {
            let clear = u64::from((other & !*word).count_ones());
            *word |= other;
            were + clear
        })
    }

    /// Returns the first bit of `from..end` that is `value`, or `end`.
    fn next(&self, value: bool, mut from: u64, end: u64) -> u64 {
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

    /// Returns the runs of set bits in `from..end`: start and length.
    pub fn runs(&self, from: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut at = from;
        core::iter::from_fn(move || {
            let start = self.next(true, at, end);
            at = self.next(false, start, end);
            (start < end).then_some((start, at - start))
        })
    }

    /// Returns the place behind the last set bit; 0 if there is none.
    #[must_use]
    pub fn end(&self) -> u64 {
        let last = self.0.iter().rposition(|&word| word != 0);
        last.map_or(0, |last| last as u64 * 64 + u64::from(64 - self.0[last].leading_zeros()))
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bitmap_is_a_vector_of_booleans(
            fills in prop::collection::vec((0u64..200, 0u64..140, any::<bool>()), 0..12),
            ops in prop::collection::vec((any::<bool>(), 0u64..200), 0..300),
            (from, length) in (0u64..200, 0u64..200),
        ) {
            let (mut bits, mut model) = (Bitmap::new(200), vec![false; 200]);
            for (from, count, value) in fills {
                let count = count.min(200 - from);
                let part = &mut model[from as usize..(from + count) as usize];
                let were = part.iter().filter(|&&one| one).count() as u64;
                part.fill(value);
                prop_assert_eq!(bits.fill(from, count, value), were);
            }
            for (set, at) in ops {
                let before = core::mem::replace(&mut model[at as usize], set);
                prop_assert_eq!(if set { bits.set(at) } else { bits.clear(at) }, before);
            }
            prop_assert!((0..200).all(|at| bits.get(at) == model[at as usize]));
            let end = (from + length).min(200);
            let of_runs: Vec<u64> =
                bits.runs(from, end).flat_map(|(start, count)| start..start + count).collect();
            let of_model: Vec<u64> = (from..end).filter(|&at| model[at as usize]).collect();
            prop_assert_eq!(of_runs, of_model);
            prop_assert!(bits.runs(from, end).zip(bits.runs(from, end).skip(1)).all(|(a, b)| a.0 + a.1 < b.0));
            let last = model.iter().rposition(|&one| one);
            prop_assert_eq!(bits.end(), last.map_or(0, |last| last as u64 + 1));
            let (mut sum, mut other) = (bits.clone(), Bitmap::new(200));
            other.fill(from, end - from, true);
            let clear = model[from as usize..end as usize].iter().filter(|&&one| !one).count();
            prop_assert_eq!(sum.add(&other), clear as u64);
            prop_assert!((0..200).all(|at| sum.get(at) == (bits.get(at) || other.get(at))));
            bits.clear_all();
            prop_assert_eq!(bits.end(), 0);
        }
    }
}
