//! µCache: dm-zoned with smaller segments, and promotion (Hajkazemi, Abdi, Desnoyers and others, MASCOTS
//! 2020). Reconstructed from what Amphisbaena §2.2 and §3 say of it, as the paper was not at hand.
//!
//! It differs from [`super::dm_zoned`] in this:
//! - The buffer is allocated in segments of `segment` blocks, so a buffer smaller than a zone is
//!   enough.
//! - A chunk with a zone of which `promote` or more is in the buffer is copied to the buffer as a
//!   whole, if there is room without reclaim, and its zone is reset. Later writes to it are in
//!   place.
//! - A chunk is reclaimed with all its segments (Amphisbaena calls write-back by zone usual, §2.3).
//!   If its zone has a write pointer beyond some of its buffered blocks, both are copied to an
//!   empty zone, as segments have no room for a whole chunk.

use super::dm_zoned::{DmZoned, FRESH, HIGH, LOW, RESERVED};
use crate::translation::{Layout, Make, SavedMap};
use shingle_core::param;
use shingle_core::params::{Param, Params};

impl Make for DmZoned<true> {
    const NAME: &'static str = "ucache";
    const ABOUT: &'static str = "dm-zoned in small segments, well-filled zones kept in the buffer (µCache 2020, reconstructed)";
    const PARAMS: &'static [Param] = &[
        param!("segment": Blocks = "4MiB",
            "unit in which the buffer is given out; a zone, or an eighth of it, at most"),
        param!("promote": Ratio = "0.5",
            "share of a zone in the buffer from which on the rest is brought there too"),
        LOW,
        HIGH,
        RESERVED,
        FRESH,
    ];
    const SURVIVES_POWER_CUTS: bool = true;

    fn new(params: &Params, layout: Layout) -> Result<Self, String> {
        let most = layout.zone_blocks.min(layout.buffer_blocks / 8).max(1);
        let segment = params.blocks("segment").min(most);
        let made = DmZoned::over(Self::NAME, params, layout, segment)?;
        Ok(made.promoting(params.part_of("promote", layout.zone_blocks as u32)))
    }

    fn open(params: &Params, layout: Layout, saved: &dyn SavedMap) -> Result<Self, String> {
        Self::new(params, layout)?.opened(Self::NAME, layout, saved)
    }
}
