//! The costs of I/O with which the policy plans.

use crate::slots::Slots;
use crate::units::Nanos;

/// `R(x)` was measured with blocks written one by one. Blocks sent as one zone lie side by side in
/// the log, and each adds only this part of the time per block.
const SENT_TOGETHER: f32 = 1.0 / 8.0;

/// Part of the stay of a zone in the buffer that counts as served by one cleaning: not all that is
/// written to the zone meanwhile is sent. Between 0.1 and 0.5 results on the tuning traces are much
/// the same; 1 loses half of the gain.
const SENT_ALONG: f32 = 0.25;

/// Blocks of a zone sent at a time, as a fraction (1/4) of a buffer in which each block takes a
/// place. Of a zone that is larger than the buffer, each buffer full takes a cleaning anyway, and
/// what is not sent yet may be overwritten. On the tuning traces a half or an eighth took up to 6 %
/// longer, and no limit 11 %.
const PIECE: u64 = 4;

/// The costs of I/O, as far as the host may know them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) read_ns: f32,
    /// What a read takes more if it is of the disk's log; 0 where that is not known to matter.
    pub(super) log_read_ns: f32,
    pub(super) zone_ns: f32,
    pub(super) block_ns: f32,
    /// Time to write a whole band once, if bands may be written this way.
    pub(super) band_pass_ns: Option<f32>,
    /// Time to write one more zone in order past the buffer, where bands are not known.
    pub(super) next_pass_ns: Option<f32>,
    /// Most blocks of a zone sent at a time.
    pub(super) piece_blocks: usize,
    /// Blocks that fit into the disk's buffer.
    pub(super) buffer_blocks: f32,
    /// Upper limit of the time to write a zone, if its band may be written in order. (For a zone
    /// with a write pointer the time depends on the pointer: `R(x)` stands for all of it.)
    zone_most_ns: f32,
    /// Whether each block in the disk's buffer takes a place.
    by_blocks: bool,
    /// Whether zones share bands, as far as is known.
    pub(super) shares_bands: bool,
}

impl Planned {
    /// `known`: zones are the disk's bands.
    pub(super) fn new(slots: &Slots, whole_bands: bool, known: bool) -> Planned {
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
        // Of other disks, as of an emulator, nothing says that the way to the log takes time.
        let log_is_apart = view.in_order.log_blocks > 0 || view.in_order.band_pass.is_some();
        Planned {
            by_blocks,
            log_read_ns: if log_is_apart { 2.0 * ns(view.costs.read) } else { 0.0 },
            shares_bands: view.in_order.log_blocks > 0 && !known,
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

    /// Returns the time to write a zone with `dirty` dirty blocks.
    pub(super) fn zone(&self, dirty: f32) -> f32 {
        (self.zone_ns + self.block_ns * dirty).min(self.zone_most_ns)
    }

    /// Returns the time to send more of a zone that is already in the buffer. It will be cleaned
    /// anyway, so what remains is a seek to the log, or back to one more place of it, about as long
    /// as a random read.
    pub(super) fn more_of_zone(&self, dirty: f32) -> f32 {
        self.read_ns + self.block_ns * dirty
    }

    /// Returns the time to write a zone with `dirty` dirty blocks, if the disk's buffer holds data of
    /// `beside` of the two zones beside it. Each of them shares one of the two bands in which the zone
    /// lies, and that band will be cleaned anyway.
    pub(super) fn zone_beside(&self, dirty: f32, beside: u32) -> f32 {
        let (all, more) = (self.zone(dirty), self.more_of_zone(dirty));
        match beside {
            0 => all,
            1 => (all + more) / 2.0,
            _ => more,
        }
    }

    /// Returns the time that `reads` of the log per access take more, while what they read `stay`s
    /// there. `stay` is infinite, hence unknown, until something was sent.
    pub(super) fn reads_of_log(&self, reads: f32, stay: f32) -> f32 {
        if stay.is_finite() { reads * stay * self.log_read_ns } else { 0.0 }
    }

    /// Returns the accesses, as far as they count, for which more of a zone is sent along while it
    /// `stay`s in the buffer. `stay` is infinite, hence unknown, until something was sent.
    pub(super) fn along(&self, stay: f32) -> f32 {
        if self.by_blocks && stay.is_finite() { SENT_ALONG * stay } else { 0.0 }
    }
}
