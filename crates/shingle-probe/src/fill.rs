//! The data that a probe writes: random bytes, different in each block, so that no layer below can
//! compress them, detect zeroes, or deduplicate them. Each block begins with a mark, by which a
//! later run recognizes it as no user's data.

use shingle_core::units::BLOCK_BYTES;
use shingle_drive::Rng;

const BLOCK: usize = BLOCK_BYTES as usize;

/// The first bytes of each block that a probe writes.
const MARK: &[u8; 16] = b"shingle probe\0\0\0";

/// Whether a block was written by a probe.
pub(crate) fn is_probe_block(block: &[u8]) -> bool {
    block.starts_with(MARK)
}

/// Memory that is aligned to the block size, as direct I/O needs it.
#[derive(Debug, Default)]
pub(crate) struct AlignedBuffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    /// Returns `length` bytes, and allocates if needed. A new allocation is zeroed.
    pub(crate) fn reserve(&mut self, length: usize) -> &mut [u8] {
        if self.length < length {
            self.bytes = vec![0; length + BLOCK];
            self.start = self.bytes.as_ptr().align_offset(BLOCK);
            self.length = length;
        }
        &mut self.bytes[self.start..][..length]
    }
}

/// Makes the data to write.
#[derive(Debug)]
pub(crate) struct Payload {
    rng: Rng,
    bytes: AlignedBuffer,
    /// Number of the last block made, so that no two are alike.
    number: u64,
}

impl Payload {
    pub(crate) fn new(seed: u64) -> Payload {
        let mut rng = Rng::new(seed);
        // Each seed begins at a random number, far from the others.
        let number = rng.bits();
        Payload { rng, bytes: AlignedBuffer::default(), number }
    }

    /// Makes `count` blocks to write.
    pub(crate) fn blocks(&mut self, count: u64) -> &[u8] {
        let length = usize::try_from(count * BLOCK_BYTES).expect("an I/O fits in memory");
        if self.bytes.length < length {
            for word in self.bytes.reserve(length).chunks_exact_mut(8) {
                word.copy_from_slice(&self.rng.bits().to_le_bytes());
            }
        }
        let bytes = self.bytes.reserve(length);
        for block in bytes.chunks_exact_mut(BLOCK) {
            self.number = self.number.wrapping_add(1);
            block[..MARK.len()].copy_from_slice(MARK);
            block[MARK.len()..][..8].copy_from_slice(&self.number.to_le_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_blocks_are_alike_and_each_is_known() {
        let mut seen = BTreeSet::new();
        let (mut one, mut other) = (Payload::new(1), Payload::new(2));
        for count in [1, 3, 2, 40, 1] {
            for fill in [&mut one, &mut other] {
                let bytes = fill.blocks(count);
                assert_eq!(bytes.as_ptr().align_offset(BLOCK), 0);
                assert_eq!(bytes.len() as u64, count * BLOCK_BYTES);
                for block in bytes.chunks(BLOCK) {
                    assert!(is_probe_block(block));
                    // Random: about half of the bits are set.
                    let ones: u32 = block[24..].iter().map(|byte| byte.count_ones()).sum();
                    assert!((15_500..17_100).contains(&ones), "{ones}");
                    assert!(seen.insert(block.to_vec()));
                }
            }
        }
        assert!(!is_probe_block(&[0; BLOCK]));
        assert_eq!(Payload::new(7).blocks(5), Payload::new(7).blocks(5));
    }
}
