//! What I/O takes, as the policy plans with it.

use crate::slots::Slots;
use crate::units::Nanos;

/// `R(x)` was measured with blocks written one by one. Sent as one zone they lie side by side in the log, and each adds so
/// much of that.
const SENT_TOGETHER: f32 = 1.0 / 8.0;

/// Of the time for which the buffer holds a zone so much counts as served by one cleaning: not all that is written to the zone
/// then is sent. Between 0.1 and 0.5 it is much the same on what it was tuned on, and with 1 half of what is won is lost.
const SENT_ALONG: f32 = 0.25;

/// Part of a disk's buffer for which blocks of a zone are sent at a time, where each block takes a place in it. Of a zone that has
/// more than the buffer holds each buffer full takes a cleaning anyway, and what is not sent yet may be overwritten. Half of
/// it, or an eighth, took up to 6 % longer on what it was tuned on, and no end to a piece 11 %.
const PIECE: u64 = 4;

/// What I/O takes, as the host may know it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) read_ns: f32,
    pub(super) zone_ns: f32,
    pub(super) block_ns: f32,
    /// Going over a whole band once, if bands may be written so.
    pub(super) band_pass_ns: Option<f32>,
    /// Going on over one zone more in order, which such a disk takes past its buffer: where bands are not known.
    pub(super) next_pass_ns: Option<f32>,
    /// Blocks that are sent of a zone at a time at most.
    pub(super) piece_blocks: usize,
    /// Blocks that the disk's buffer holds.
    pub(super) buffer_blocks: f32,
    /// What writing a zone takes at most, if its band may be written in order. (What the host does with a zone that has a write
    /// pointer depends on where that is: `R(x)` stands for all of it.)
    zone_most_ns: f32,
    /// Each block in the disk's buffer takes a place.
    by_blocks: bool,
}

impl Planned {
    pub(super) fn new(slots: &Slots, whole_bands: bool) -> Planned {
        let view = slots.drive();
        let ns = |span: Nanos| span.0 as f32;
        let by_blocks = view.buffer_blocks > 0 && view.in_order.log_blocks == 0;
        let piece = match view.in_order.band_pass {
            None if by_blocks => view.buffer_blocks.div_ceil(PIECE),
            _ => u64::MAX,
        };
        let band_pass_ns = view.in_order.band_pass.filter(|_| whole_bands).map(ns);
        let next_pass = view.in_order.band_pass.filter(|_| !whole_bands);
        let next_pass = next_pass.filter(|_| view.write_pointers.is_empty());
        let in_order = band_pass_ns.filter(|_| view.write_pointers.is_empty());
        Planned {
            by_blocks,
            zone_most_ns: in_order.map_or(f32::INFINITY, |pass| 2.0 * pass),
            piece_blocks: usize::try_from(piece).unwrap_or(usize::MAX),
            buffer_blocks: view.buffer_blocks.max(1) as f32,
            read_ns: ns(view.costs.read),
            zone_ns: ns(view.costs.rmw_base),
            block_ns: ns(view.costs.rmw_per_block) * SENT_TOGETHER,
            band_pass_ns,
            next_pass_ns: next_pass.map(ns),
        }
    }

    /// What writing a zone with so many dirty blocks takes.
    pub(super) fn zone(&self, dirty: f32) -> f32 {
        (self.zone_ns + self.block_ns * dirty).min(self.zone_most_ns)
    }

    /// What sending more of a zone takes of which the buffer holds something. It is cleaned anyway: what is left is a way to
    /// the log, or back to one more place of it, about as long as a random read takes.
    pub(super) fn more_of_zone(&self, dirty: f32) -> f32 {
        self.read_ns + self.block_ns * dirty
    }

    /// Accesses, as far as they count, for which more of a zone is sent along that `stay`s in the buffer: infinite as long as
    /// nothing was sent, when nobody knows.
    pub(super) fn along(&self, stay: f32) -> f32 {
        if self.by_blocks && stay.is_finite() { SENT_ALONG * stay } else { 0.0 }
    }
}
