//! Bitmaps, a word at a time.

/// Bit `at`.
pub(super) fn get(bits: &[u64], at: u64) -> bool {
    bits[(at / 64) as usize] >> (at % 64) & 1 == 1
}

/// Makes `count` bits from `from` on ones or zeros. How many of them were ones.
pub(super) fn fill(bits: &mut [u64], from: u64, count: u64, ones: bool) -> u64 {
    let (mut at, end, mut were) = (from, from + count, 0);
    while at < end {
        let (word, bit) = (&mut bits[(at / 64) as usize], at % 64);
        let length = (64 - bit).min(end - at);
        let mask = u64::MAX >> (64 - length) << bit;
        were += u64::from((*word & mask).count_ones());
        *word = if ones { *word | mask } else { *word & !mask };
        at += length;
    }
    were
}

/// The first ones between `from` and `to`: where they begin, and how many there are.
pub(super) fn run(bits: &[u64], from: u64, to: u64) -> Option<(u64, u64)> {
    let find = |mut at: u64, flip: u64| {
        while at < to {
            let rest = (bits[(at / 64) as usize] ^ flip) >> (at % 64);
            if rest != 0 {
                return to.min(at + u64::from(rest.trailing_zeros()));
            }
            at = (at / 64 + 1) * 64;
        }
        to
    };
    let first = find(from, 0);
    (first < to).then(|| (first, find(first, u64::MAX) - first))
}

/// Behind the last one; 0 if there is none.
pub(super) fn end(bits: &[u64]) -> u64 {
    let last = bits.iter().rposition(|&word| word != 0);
    last.map_or(0, |last| last as u64 * 64 + u64::from(64 - bits[last].leading_zeros()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_booleans(
            fills in prop::collection::vec((0u64..200, 0u64..140, any::<bool>()), 0..12),
            (from, to) in (0u64..200, 0u64..200),
        ) {
            let (mut bits, mut model) = ([0; 4], [false; 200]);
            for (from, count, ones) in fills {
                let count = count.min(200 - from);
                let part = &mut model[from as usize..(from + count) as usize];
                let were = part.iter().filter(|&&one| one).count() as u64;
                part.fill(ones);
                prop_assert_eq!(fill(&mut bits, from, count, ones), were);
            }
            for at in 0..200 {
                prop_assert_eq!(get(&bits, at), model[at as usize]);
            }
            let last = model.iter().rposition(|&one| one);
            prop_assert_eq!(end(&bits), last.map_or(0, |last| last as u64 + 1));
            let first = (from..to).find(|&at| model[at as usize]);
            let count = |first| (first..to).take_while(|&at| model[at as usize]).count() as u64;
            prop_assert_eq!(run(&bits, from, to), first.map(|first| (first, count(first))));
        }
    }
}
