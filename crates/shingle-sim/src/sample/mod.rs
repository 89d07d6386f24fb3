//! Estimates of what a cache would have done, from a sample of its requests: those to some of the
//! bands of the disk, each complete, before a cache and a buffer that are scaled down by the same
//! factor.
//!
//! The idea is that of miss-ratio curves by spatial sampling (Waldspurger et al., *Efficient MRC
//! construction with SHARDS*, FAST '15), with eight neighbouring bands instead of blocks: the
//! cleaning of a band sees all of it or nothing, and a policy sees all of a zone or nothing, except
//! for zones at the ends of a row. Estimates are shares of all accesses, so it does not matter that
//! a sample has more or less than its share of them. The choice of bands depends only on their
//! numbers and a seed.
//!
//! The error of an estimate is found by leaving out a sixteenth of the sampled bands at a time (the
//! jackknife over groups; Tukey 1958). Reported is 2.13 times the standard error, which is 95 % for
//! normally distributed estimates (Student's t with 15 degrees of freedom). It covers the choice of
//! bands only: a model that differs from the disk, and a cache that is too small to be sampled, add
//! to it.
//!
//! ```
//! use shingle_core::units::{Nanos, Op, Request};
//! use shingle_core::zones::ZoneMap;
//! use shingle_sim::sample::Sampling;
//!
//! let bands = ZoneMap::fixed(5_000, 5_000_000);
//! let sampling = Sampling::new(bands, 100_000, 1); // a tenth, in millionths
//! let all = Request { at: Nanos::ZERO, offset: 0, bytes: 5_000_000 << 12, op: Op::Read };
//! let mut sampled = 0;
//! sampling.pieces(&all, |piece, _| sampled += piece.blocks());
//! assert!((300_000..700_000).contains(&sampled) && sampled % 5_000 == 0);
//! ```

pub mod curve;
mod estimate;
mod held;
mod scaled;
mod shadow;
mod thinned;

use std::ops::Range;
use std::sync::Arc;

use shingle_core::parts::split_mix::mixed;
use shingle_core::units::{BLOCK_BYTES, Block, Op, Request, Zone};
use shingle_core::zones::ZoneMap;

pub use estimate::change;
pub(crate) use scaled::scaled_settings;
pub use shadow::{Shadow, Sizes, scaled_drive};
pub use shingle_result::Estimate;
pub use thinned::SampledTrace;

/// Number of groups in which bands are left out.
pub const GROUPS: usize = 16;

/// Number of neighbouring bands sampled together. A policy's zones lie across bands: of a zone at
/// the end of a row the policy sees a part, takes it for a small zone, and keeps it too long. With
/// single bands that would be every other zone.
const ROW_BANDS: u32 = 8;

/// Unit of parts: millionths.
pub const WHOLE: u64 = 1_000_000;

/// Returns `millionths` of a count.
#[must_use]
pub fn part_of(count: u64, millionths: u64) -> u64 {
    (u128::from(count) * u128::from(millionths) / u128::from(WHOLE)) as u64
}

/// The choice of sampled bands.
#[derive(Clone, Debug)]
pub struct Sampling {
    bands: Arc<ZoneMap>,
    millionths: u64,
    seed: u64,
    row_bands: u32,
}

impl Sampling {
    /// Samples `millionths` of these bands.
    ///
    /// # Panics
    /// If it is none, or more than all.
    #[must_use]
    pub fn new(bands: impl Into<Arc<ZoneMap>>, millionths: u64, seed: u64) -> Sampling {
        assert!((1..=WHOLE).contains(&millionths), "a part of the bands");
        Sampling { bands: bands.into(), millionths, seed, row_bands: ROW_BANDS }
    }

    /// Samples `row_bands` neighbouring bands together.
    #[must_use]
    pub fn with_row_bands(self, row_bands: u32) -> Sampling {
        Sampling { row_bands: row_bands.max(1), ..self }
    }

    /// Returns the sampled part, in millionths.
    #[must_use]
    pub fn millionths(&self) -> u64 {
        self.millionths
    }

    /// Returns the sampled part of a count, at least 1.
    #[must_use]
    pub fn part_of(&self, count: u64) -> u64 {
        part_of(count, self.millionths).max(1)
    }

    /// Returns the group of a band; `None` if it is not sampled.
    #[must_use]
    pub fn group(&self, band: Zone) -> Option<usize> {
        let word = mixed(self.seed ^ (u64::from(band.0 / self.row_bands) + 1));
        let sampled = (u128::from(word) * u128::from(WHOLE)) >> 64 < u128::from(self.millionths);
        sampled.then_some((mixed(word) % GROUPS as u64) as usize)
    }

    /// Returns the group of the band of a block.
    #[must_use]
    pub fn group_of(&self, block: Block) -> Option<usize> {
        self.group(self.bands.zone(block))
    }

    /// Calls `each` with the parts of a request that are in sampled bands, and their groups.
    #[inline]
    pub fn pieces(&self, request: &Request, mut each: impl FnMut(Request, usize)) {
        self.pieces_of_bands(request, |band, _, piece| {
            if let Some(group) = self.group(band) {
                each(piece, group);
            }
        });
    }

    /// Calls `each` with the band and its blocks of each part of a request, which the borders of bands cut.
    #[inline]
    fn pieces_of_bands(
        &self,
        request: &Request,
        mut each: impl FnMut(Zone, Range<Block>, Request),
    ) {
        if !matches!(request.op, Op::Read | Op::Write | Op::Trim) || request.bytes == 0 {
            return;
        }
        let end = request.offset + request.bytes;
        let (mut from, last) = (request.offset, self.bands.disk_blocks() * BLOCK_BYTES);
        while from < end.min(last) {
            let (band, blocks) = self.bands.extent(Block(from / BLOCK_BYTES));
            let to = end.min(blocks.end.bytes());
            each(band, blocks, Request { offset: from, bytes: to - from, ..*request });
            from = to;
        }
    }
}
