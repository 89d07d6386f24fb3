//! The fingerprint of a disk: shows in time that the disk was written without its cache.
//!
//! Samples are the first blocks, where file systems store what each mount changes, the last one,
//! and others spread evenly. It is no proof: writes elsewhere are not noticed.

use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_engine::format::{PAGE_BYTES, Page};

use crate::device::{Device, DeviceError};

/// All of the first blocks of a disk are sampled, up to this number: boot sectors, superblocks and
/// the roots of most file systems.
pub const SAMPLED_FIRST_BLOCKS: u64 = 64;

const SPREAD_BLOCKS: u64 = 192;

/// A fingerprint of a disk.
pub type Fingerprint = [u8; 32];

/// The fingerprint of a disk in its current state.
pub fn fingerprint(disk: &Device) -> Result<Fingerprint, DeviceError> {
    fingerprint_of(disk.bytes(), |first, pages| disk.read_blocks(first, pages))
}

/// The fingerprint of a disk of `bytes` bytes that is not a device; `read` reads consecutive
/// blocks.
pub fn fingerprint_of<E>(
    bytes: u64,
    mut read: impl FnMut(Block, &mut [Page]) -> Result<(), E>,
) -> Result<Fingerprint, E> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes.to_le_bytes());
    let blocks: Vec<u64> = sampled_blocks(bytes / BLOCK_BYTES).collect();
    // Neighbours are read together, as each I/O may take long.
    for run in blocks.chunk_by(|one, next| next - one == 1) {
        let mut pages = vec![[0; PAGE_BYTES]; run.len()];
        read(Block(run[0]), &mut pages)?;
        hasher.update(pages.as_flattened());
    }
    Ok(*hasher.finalize().as_bytes())
}

/// The sampled blocks of a disk with `blocks` blocks, in order, each once.
pub fn sampled_blocks(blocks: u64) -> impl Iterator<Item = u64> {
    let first = SAMPLED_FIRST_BLOCKS.min(blocks);
    let rest = blocks - first;
    let count = SPREAD_BLOCKS.min(rest);
    // The last sample is the last block of the disk.
    let place = move |n: u64| (u128::from(rest) * u128::from(n + 1) / u128::from(count)) as u64 - 1;
    (0..first).chain((0..count).map(move |n| first + place(n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_in_order_and_on_the_disk() {
        for blocks in [1, 2, 63, 64, 65, 100, 256, 257, 1 << 20, 1 << 44] {
            let all: Vec<u64> = sampled_blocks(blocks).collect();
            assert!(all.is_sorted_by(|a, b| a < b), "{blocks}");
            assert_eq!((all[0], *all.last().expect("one")), (0, blocks - 1));
            assert_eq!(all.len() as u64, blocks.min(256));
        }
    }
}
