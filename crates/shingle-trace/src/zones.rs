//! The zones in which traces are measured and remapped: 5,000 blocks, the usual guess at a band.

use shingle_core::units::BLOCK_BYTES;

/// Blocks of a zone.
pub const ZONE_BLOCKS: u64 = 5_000;

/// Bytes of a zone: 20,480,000.
pub const ZONE_BYTES: u64 = ZONE_BLOCKS * BLOCK_BYTES;
