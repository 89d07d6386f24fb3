//! Numbers of 40 bits, in five bytes each: blocks of disks up to 4 PiB, and times in blocks
//! written.

/// No block.
pub(super) const NONE: u64 = (1 << 40) - 1;

const BYTES: usize = 5;

/// A vector of such numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed(Vec<u8>);

impl Packed {
    /// Creates `count` times [`NONE`].
    pub(super) fn none(count: usize) -> Packed {
        Packed(vec![0xFF; count * BYTES])
    }

    pub(super) fn zeros(count: usize) -> Packed {
        Packed(vec![0; count * BYTES])
    }

    /// Returns the number of elements.
    pub(super) fn len(&self) -> usize {
        self.0.len() / BYTES
    }

    #[inline]
    pub(super) fn get(&self, at: u64) -> u64 {
        let start = at as usize * BYTES;
        let mut word = [0; 8];
        word[..BYTES].copy_from_slice(&self.0[start..start + BYTES]);
        u64::from_le_bytes(word)
    }

    #[inline]
    pub(super) fn set(&mut self, at: u64, number: u64) {
        debug_assert!(number <= NONE, "40 bits");
        let start = at as usize * BYTES;
        self.0[start..start + BYTES].copy_from_slice(&number.to_le_bytes()[..BYTES]);
    }

    /// Appends a number; there will be at most `most`.
    #[inline]
    pub(super) fn push(&mut self, number: u64, most: u64) {
        let (have, most) = (self.0.capacity(), most as usize * BYTES);
        if self.0.len() + BYTES > have {
            // Doubles the capacity, up to the maximum.
            self.0.reserve_exact((2 * have).max(64 * BYTES).min(most) - self.0.len());
        }
        self.0.extend_from_slice(&number.to_le_bytes()[..BYTES]);
    }

    /// Removes all elements; keeps the memory.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.0.capacity() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_forty_bits() {
        let mut packed = Packed::none(3);
        assert_eq!((packed.len(), packed.get(2)), (3, NONE));
        packed.set(1, 0x12_3456_789A);
        assert_eq!([0, 1, 2].map(|at| packed.get(at)), [NONE, 0x12_3456_789A, NONE]);
        let mut row = Packed::default();
        for number in 0..100 {
            row.push(number << 32, 100);
        }
        assert_eq!((row.len(), row.get(99), row.memory_bytes()), (100, 99 << 32, 500));
        row.clear();
        assert_eq!((row.len(), row.memory_bytes()), (0, 500));
    }
}
