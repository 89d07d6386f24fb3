//! Arm and platter of a probed disk, derived from the times of its reads.
//!
//! A track is what streams by in a rotation and a switch to the next, so that data comes as fast as it
//! was measured to. Distances in blocks become distances in tracks, which get shorter towards the end of
//! the disk. A read that far away takes a command, the seek, half a rotation on average, and a block.

use super::{MechanicsFacts, Reads};

/// Pairs of reads lie within this part (a quarter) of the disk, if their distance allows it.
const NEAR_PART: u64 = 4;

/// Returns the block below which pairs of reads `distance` blocks apart lie, evenly spread, on a
/// disk of `blocks`: its first quarter, or, if they need more, twice the distance.
#[must_use]
pub fn read_pairs_end(blocks: u64, distance: u64) -> u64 {
    (blocks / NEAR_PART).max((distance * 2).min(blocks)).max(distance + 1)
}

/// The layout of blocks on tracks, which get shorter evenly from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tracks {
    /// Blocks of the first track.
    pub(super) first: f64,
    /// Blocks of the last.
    pub(super) last: f64,
    /// Number of tracks.
    pub(super) count: f64,
}

impl Tracks {
    /// Derives it for a disk of `disk_blocks` from its reads; the switch from one track to the next
    /// takes `switch_us`.
    pub(super) fn new(reads: &Reads, rotation_us: f64, switch_us: f64, disk_blocks: f64) -> Tracks {
        let blocks = |us: f64| ((rotation_us + switch_us) / us.max(1e-3)).round().max(2.0);
        let first = blocks(reads.sequential_us_per_block_first);
        let last = blocks(reads.sequential_us_per_block_last);
        Tracks { first, last, count: (disk_blocks / f64::midpoint(first, last)).max(1.0) }
    }

    /// Returns the blocks of a track in the middle.
    pub(super) fn mean(&self) -> f64 {
        f64::midpoint(self.first, self.last)
    }

    /// Returns the tracks before a block: `first k - (first - last) k² / 2 count` blocks are on `k`
    /// of them.
    pub(super) fn before(&self, block: f64) -> f64 {
        let bend = (self.first - self.last) / self.count;
        if (bend * self.count).abs() < 0.5 {
            return block / self.first;
        }
        (self.first - (self.first * self.first - 2.0 * bend * block).max(0.0).sqrt()) / bend
    }
}

/// Returns seeks as distances in tracks and milliseconds, the shortest first. Empty if there are
/// fewer than two.
pub(super) fn seeks(
    mechanics: &MechanicsFacts,
    tracks: &Tracks,
    disk_blocks: u64,
    block_us: f64,
) -> Vec<(u64, f64)> {
    let still = mechanics.command_us + mechanics.rotation_us / 2.0 + block_us;
    let mut points: Vec<(u64, f64)> = Vec::new();
    for read in &mechanics.reads {
        // The pairs lie around the middle of their range.
        let middle = read_pairs_end(disk_blocks, read.blocks) as f64 / 2.0;
        let half = read.blocks as f64 / 2.0;
        let over = tracks.before(middle + half) - tracks.before((middle - half).max(0.0));
        let ms = ((read.us - still) / 1e3).max(SEEK_MIN_MS);
        let at = whole(over);
        if points.last().is_none_or(|point| point.0 < at) {
            points.push((at, ms));
        }
    }
    points
}

/// Least time of a seek.
const SEEK_MIN_MS: f64 = 0.05;

/// Returns the time of a seek over `over` tracks, in microseconds: that of the last point that is
/// not beyond, or of the first.
pub(super) fn seek_us(points: &[(u64, f64)], over: f64) -> f64 {
    let behind = points.partition_point(|point| (point.0 as f64) <= over);
    points.get(behind.saturating_sub(1)).map_or(0.0, |point| point.1 * 1e3)
}

fn whole(number: f64) -> u64 {
    (number.round() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::DistanceFacts;

    /// 1,000 tracks of 400 blocks at the start to 200 at the end.
    fn tapering() -> (Reads, Tracks) {
        let reads = Reads {
            random_us: 15_000.0,
            sequential_us_per_block_first: 25.0,
            sequential_us_per_block_last: 50.0,
        };
        (reads, Tracks::new(&reads, 9000.0, 1000.0, 300_000.0))
    }

    #[test]
    fn tracks_get_shorter_evenly() {
        let (_, tracks) = tapering();
        assert_eq!((tracks.first, tracks.last, tracks.count), (400.0, 200.0, 1000.0));
        assert!((tracks.before(300_000.0) - 1000.0).abs() < 1e-6);
        // The first half of the tracks has 350 blocks each.
        assert!((tracks.before(175_000.0) - 500.0).abs() < 1e-6);
        let alike = Tracks { last: 400.0, ..tracks };
        assert_eq!(alike.before(4000.0), 10.0);
    }

    #[test]
    fn a_seek_is_what_a_read_takes_beyond_rotation_and_command() {
        let (_, tracks) = tapering();
        let row = |blocks, us| DistanceFacts { blocks, us };
        let mechanics = MechanicsFacts {
            rotation_us: 9000.0,
            command_us: 200.0,
            read_ahead_bytes: 0,
            reads: vec![row(800, 5725.0), row(900, 5725.0), row(8000, 6725.0), row(250_000, 100.0)],
        };
        let points = seeks(&mechanics, &tracks, 300_000, 25.0);
        // 4,725 us are no seek. Of two rows at the same distance the first counts.
        assert_eq!(points[0], (2, 1.0));
        assert_eq!(points.len(), 3);
        assert!((points[1].1 - 2.0).abs() < 1e-9 && points[2].1 == SEEK_MIN_MS, "{points:?}");
        assert_eq!((seek_us(&points, 1.0), seek_us(&points, 30.0)), (1000.0, 2000.0));
    }

    #[test]
    fn pairs_have_room() {
        assert_eq!((read_pairs_end(1000, 10), read_pairs_end(1000, 200)), (250, 400));
        assert_eq!(read_pairs_end(1000, 700), 1000);
    }
}
