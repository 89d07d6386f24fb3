//! The zones by which traces are measured and remapped: 5,000 blocks, the usual guess of a band's
//! size.

use shingle_core::units::BLOCK_BYTES;

/// Blocks of a zone.
pub const ZONE_BLOCKS: u64 = 5_000;

/// Bytes of a zone: 20,480,000.
pub const ZONE_BYTES: u64 = ZONE_BLOCKS * BLOCK_BYTES;

/// Bytes of a zone of most host-managed disks: 256 MiB.
pub(crate) const LARGE_ZONE_BYTES: u64 = 256 << 20;

/// Blocks of a zone of most host-managed disks.
pub const LARGE_ZONE_BLOCKS: u64 = LARGE_ZONE_BYTES / BLOCK_BYTES;

/// Returns the first zones of spans that lie one after another, and the total number of zones.
pub(crate) fn side_by_side(spans_zones: impl IntoIterator<Item = u64>) -> (Vec<u64>, u64) {
    let mut end = 0;
    let starts = spans_zones.into_iter().map(|span| {
        end += span;
        end - span
    });
    (starts.collect(), end)
}
