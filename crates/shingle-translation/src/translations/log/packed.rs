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

/// A page of such numbers.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    /// The number of runs.
    runs: u32,
    bytes: [u8; PAGE as usize * BYTES],
}

impl Packed {
    /// Creates a page of `runs` runs, whose numbers are these.
    pub(super) fn new(runs: usize, numbers: impl Iterator<Item = u64>) -> Box<Packed> {
        let bytes = [0xFF; PAGE as usize * BYTES];
        let mut page = Box::new(Packed { runs: runs as u32, bytes });
        (0..PAGE).zip(numbers).for_each(|(at, number)| page.put(at, number));
        page
    }

    /// Returns the number of runs: of numbers that count on, or of places without any.
    pub(super) fn runs(&self) -> usize {
        self.runs as usize
    }

    #[inline]
    pub(super) fn get(&self, at: u64) -> u64 {
        let start = at as usize * BYTES;
        let mut word = [0; 8];
        word[..BYTES].copy_from_slice(&self.bytes[start..start + BYTES]);
        u64::from_le_bytes(word)
    }

    /// Sets `count` places, at least one, to a run that begins with `number`.
    pub(super) fn set(&mut self, at: u64, count: u64, number: u64) {
        let end = at + count;
        let (mut before, mut after) = (0, 0); // places at which a run begins
        let first = self.get(at);
        if let Some(last) = at.checked_sub(1).map(|last| self.get(last)) {
            before += u32::from(!counts_on(last, first));
            after += u32::from(!counts_on(last, number));
        }
        let mut old = first;
        self.put(at, number);
        for ahead in 1..count {
            let next = self.get(at + ahead);
            before += u32::from(!counts_on(old, next));
            old = next;
            self.put(at + ahead, counted_on(number, ahead));
        }
        if end < PAGE {
            let next = self.get(end);
            before += u32::from(!counts_on(old, next));
            after += u32::from(!counts_on(counted_on(number, count - 1), next));
        }
        self.runs = self.runs + after - before;
    }

    #[inline]
    fn put(&mut self, at: u64, number: u64) {
        debug_assert!(number <= NONE, "40 bits");
        let start = at as usize * BYTES;
        self.bytes[start..start + BYTES].copy_from_slice(&number.to_le_bytes()[..BYTES]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_forty_bits() {
        let mut page = Packed::new(1, std::iter::empty());
        assert_eq!((page.runs(), page.get(0), page.get(PAGE - 1)), (1, NONE, NONE));
        page.set(1, 1, 0x12_3456_789A);
        page.set(PAGE - 2, 2, NONE - 2);
        let all = [0, 1, 2, PAGE - 3, PAGE - 2, PAGE - 1].map(|at| page.get(at));
        assert_eq!(all, [NONE, 0x12_3456_789A, NONE, NONE, NONE - 2, NONE - 1]);
        // None; one; none; the last two.
        assert_eq!(page.runs(), 4);
        page.set(0, PAGE, NONE);
        assert_eq!(page.runs(), 1);
    }

    /// The greatest number is followed by what would be none.
    #[test]
    fn none_continues_no_number() {
        assert!(counts_on(NONE, NONE) && counts_on(6, 7));
        assert!(!counts_on(NONE - 1, NONE) && !counts_on(NONE, 7) && !counts_on(7, 7));
    }
}
