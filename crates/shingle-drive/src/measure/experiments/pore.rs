//! PORE (Wang et al., MSST 2017): Figure 3, and the analysis of Figure 6.

use crate::measure::load::Load;
use crate::parts::rng::Rng;
use crate::sheet::DriveError;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op};
use shingle_core::zones::ZoneMap;

const WRITE_BYTES: u64 = 8 * 1024;
const HOUR: Nanos = Nanos::from_millis(3_600_000);
const MIB: u64 = 1 << 20;

/// Figure 3, conventional disk: bandwidth of 20,000 random 8 KB writes over the first `range_bytes`
/// of a drive, in bytes a second. 1,000 before them fill the write cache.
///
/// # Errors
/// If there is no such drive.
pub fn figure_3_conventional(drive: &str, range_bytes: u64, seed: u64) -> Result<f64, DriveError> {
    let mut load = Load::new(drive, range_bytes, WRITE_BYTES, seed)?;
    load.run(Op::Write, 1000);
    Ok(bandwidth(&mut load, 20_000))
}

/// Figure 3, shingled disk.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shingled {
    /// Bandwidth of the hour after the buffer was first full, in bytes a second.
    pub first_hour: f64,
    /// Bandwidth of 200,000 writes after another 20 GB have been written, in bytes a second.
    pub after_20_gb: f64,
}

/// Figure 3, shingled disk: random 8 KB writes over the first `range_bytes` of a drive.
///
/// The paper fills the buffer, of 20 GB by its account, and then writes "enough data". The buffer
/// is full after far less, as its map is; to write 20 GB more would have taken 60 hours at the rate
/// the paper reports. So there are two figures.
///
/// # Errors
/// If there is no such drive, or it has no buffer.
pub fn figure_3_shingled(drive: &str, range_bytes: u64, seed: u64) -> Result<Shingled, DriveError> {
    let mut load = Load::new(drive, range_bytes, WRITE_BYTES, seed)?;
    if load.drive.description().buffer_blocks == 0 {
        return Err(DriveError::Refused(format!(
            "{drive}: no buffer to fill; take a shingled one"
        )));
    }
    load.run_to_cliff(10_000_000);
    let (ios, first_hour) = load.run_for(Op::Write, HOUR);
    load.run(Op::Write, (20_000_000_000 / WRITE_BYTES).saturating_sub(ios));
    Ok(Shingled { first_hour, after_20_gb: bandwidth(&mut load, 200_000) })
}

fn bandwidth(load: &mut Load, ios: u64) -> f64 {
    let seconds = load.run(Op::Write, ios);
    load.bytes(ios) as f64 / seconds
}

/// Figure 6 (§III-A): the write amplification of a stream of written blocks, estimated from the
/// bands each bufferful of it covers.
///
/// A virtual queue of `queue_blocks` takes the blocks; when it is full, the sizes of the bands that
/// own its blocks add up, and it is emptied. The sum over the bytes of all full queues is the
/// amplification; a queue that the stream does not fill counts for nothing. Every write takes a
/// place in the queue, that of a block which is in it too: the paper says nothing of merging.
/// `None` if no queue was filled.
///
/// The paper's queue is 1/256 of the blocks of the working set, its bands are [`uniform_bands`].
pub fn batch_wa(
    blocks: impl Iterator<Item = Block>,
    bands: &ZoneMap,
    queue_blocks: u64,
) -> Option<f64> {
    let mut covered_in = vec![0u64; bands.count()];
    let (mut queue, mut queued, mut covered, mut rewritten) = (1, 0, 0, 0);
    for block in blocks {
        let band = bands.zone(block);
        if covered_in[band.index()] != queue {
            covered_in[band.index()] = queue;
            covered += bands.blocks(band);
        }
        queued += 1;
        if queued >= queue_blocks {
            rewritten += covered;
            (queue, queued, covered) = (queue + 1, 0, 0);
        }
    }
    let full = queue - 1;
    let taken = full * queue_blocks;
    (taken > 0).then(|| rewritten as f64 / taken as f64)
}

/// Bands of 17 to 36 MiB, whole MiB, each size as likely (§III-A), over a disk of `disk_blocks`.
#[must_use]
pub fn uniform_bands(disk_blocks: u64, seed: u64) -> ZoneMap {
    let mut rng = Rng::new(seed);
    let (mut bands, mut end) = (Vec::new(), 0);
    while end < disk_blocks || bands.is_empty() {
        let blocks = (17 + rng.below(20)) * MIB / BLOCK_BYTES;
        bands.push((blocks, 1));
        end += blocks;
    }
    ZoneMap::runs(&bands, disk_blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn batches_by_hand() {
        // Bands of 10, 10, 5 and 5 blocks.
        let bands = ZoneMap::runs(&[(10, 2), (5, 2)], 30);
        let wa = |blocks: &[u64], queue| {
            batch_wa(blocks.iter().map(|&block| Block(block)), &bands, queue)
        };
        // {0, 9, 20}: bands 0 and 2, 15 blocks. {25, 26, 25}: band 3, 5 blocks. {1}: not full.
        assert_eq!(wa(&[0, 9, 20, 25, 26, 25, 1], 3), Some(20.0 / 6.0));
        // A band counts again in the next queue.
        assert_eq!(wa(&[0, 1, 2, 3], 2), Some(20.0 / 4.0));
        assert_eq!(wa(&[0, 10, 20, 25], 1), Some(30.0 / 4.0));
        assert_eq!(wa(&[0, 1], 3), None);
        assert_eq!(wa(&[], 1), None);
    }

    #[test]
    fn batches_against_sets() {
        let bands = uniform_bands(1 << 20, 3);
        let mut rng = Rng::new(5);
        let blocks: Vec<Block> = (0..5000).map(|_| Block(rng.below(1 << 20))).collect();
        let sizes = blocks.chunks_exact(37).map(|queue| {
            let covered: BTreeSet<_> = queue.iter().map(|&block| bands.zone(block).0).collect();
            covered.iter().map(|&band| bands.blocks(shingle_core::units::Zone(band))).sum::<u64>()
        });
        let expected = sizes.sum::<u64>() as f64 / (37.0 * (5000 / 37) as f64);
        let wa = batch_wa(blocks.into_iter(), &bands, 37).expect("filled");
        assert!((wa - expected).abs() < 1e-9, "{wa} {expected}");
    }

    #[test]
    fn bands_are_of_17_to_36_mib_and_cover_the_disk() {
        let bands = uniform_bands(100_000_000, 1);
        let sizes: Vec<u64> = (0..u32::try_from(bands.count()).expect("few") - 1)
            .map(|band| bands.blocks(shingle_core::units::Zone(band)) * BLOCK_BYTES / MIB)
            .collect();
        let seen: BTreeSet<u64> = sizes.iter().copied().collect();
        assert_eq!(seen, (17..=36).collect());
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
        assert!((mean - 26.5).abs() < 0.5, "{mean}");
        assert_eq!(bands.disk_blocks(), 100_000_000);
    }
}
