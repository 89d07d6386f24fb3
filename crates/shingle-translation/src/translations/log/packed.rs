//! Numbers of 40 bits, in five bytes each: blocks of disks up to 4 PiB, and times in blocks
//! written.

/// No number.
pub(super) const NONE: u64 = (1 << 40) - 1;

/// Numbers of a page.
pub(super) const PAGE: u64 = 2048;

const BYTES: usize = 5;

/// Returns the number `ahead` places behind `number` in a run: the next ones count on, and behind
/// [`NONE`] there is none.
#[inline]
pub(super) fn counted_on(number: u64, ahead: u64) -> u64 {
    if number == NONE { NONE } else { number + ahead }
}

/// Returns whether `next` continues the run of the number before it.
#[inline]
pub(super) fn counts_on(number: u64, next: u64) -> bool {
    next == counted_on(number, 1) && (number == NONE) == (next == NONE)
}

/// Sets after which the runs of a page are counted.
const SETS: u32 = 1024;

/// A page of such numbers.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    /// Sets since the runs were counted.
    sets: u32,
    bytes: [u8; PAGE as usize * BYTES],
}

impl Packed {
    /// Creates a page that has these numbers, and none behind them.
    pub(super) fn new(numbers: impl Iterator<Item = u64>) -> Box<Packed> {
        let mut page = Box::new(Packed { sets: 0, bytes: [0xFF; PAGE as usize * BYTES] });
        (0..PAGE).zip(numbers).for_each(|(at, number)| page.put(at, number));
        page
    }

    #[inline]
    pub(super) fn get(&self, at: u64) -> u64 {
        let start = at as usize * BYTES;
        let mut word = [0; 8];
        word[..BYTES].copy_from_slice(&self.bytes[start..start + BYTES]);
        u64::from_le_bytes(word)
    }

    #[inline]
    fn put(&mut self, at: u64, number: u64) {
        debug_assert!(number <= NONE, "40 bits");
        let start = at as usize * BYTES;
        self.bytes[start..start + BYTES].copy_from_slice(&number.to_le_bytes()[..BYTES]);
    }

    /// Sets `count` places to a run that begins with `number`. Returns whether it is time to count
    /// the runs: to do that each time would wait for memory that is only written here.
    #[inline]
    pub(super) fn set(&mut self, at: u64, count: u64, number: u64) -> bool {
        for ahead in 0..count {
            self.put(at + ahead, counted_on(number, ahead));
        }
        self.sets += 1;
        let due = self.sets == SETS;
        self.sets %= SETS;
        due
    }

    /// Returns the places at which a run begins: of numbers that count on, or of places without any.
    pub(super) fn starts(&self) -> impl Iterator<Item = u64> + '_ {
        let starts = |at: &u64| *at == 0 || !counts_on(self.get(at - 1), self.get(*at));
        (0..PAGE).filter(starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_forty_bits() {
        let mut page = Packed::new([7].into_iter());
        page.set(1, 1, 0x12_3456_789A);
        page.set(PAGE - 2, 2, NONE - 2);
        let all = [0, 1, 2, PAGE - 3, PAGE - 2, PAGE - 1].map(|at| page.get(at));
        assert_eq!(all, [7, 0x12_3456_789A, NONE, NONE, NONE - 2, NONE - 1]);
        assert_eq!(page.starts().collect::<Vec<_>>(), [0, 1, 2, PAGE - 2]);
        page.set(0, PAGE, NONE);
        assert_eq!(page.starts().count(), 1);
        assert_eq!((2..SETS).map(|_| page.set(0, 1, 8)).filter(|&due| due).count(), 1);
    }

    /// The greatest number is followed by what would be none.
    #[test]
    fn none_continues_no_number() {
        assert!(counts_on(NONE, NONE) && counts_on(6, 7));
        assert!(!counts_on(NONE - 1, NONE) && !counts_on(NONE, 7) && !counts_on(7, 7));
    }
}
