//! What a translation and the drive beneath it have done, in one set of counters.
//!
//! The drive may have a buffer of its own. What it cleans counts as cleaning, and what it writes
//! beside what it was sent as written by cleaning.

use shingle_core::units::{BLOCK_BYTES, Block, Nanos};
use shingle_drive::Served;

use super::Translated;

impl Translated {
    /// Returns the time from `before` on, without what the drive itself cleaned, which is counted.
    pub(super) fn took(&mut self, before: &Served, served: &Served) -> Nanos {
        let cleaned = served.clean.since(before.clean);
        self.counters.clean_time += cleaned;
        served.done.since(before.done).since(cleaned)
    }

    pub(super) fn count_append(&mut self, block: Block, count: u64, hosts: bool) {
        if hosts {
            self.counters.native_bytes_written += count * BLOCK_BYTES;
            return;
        }
        self.counters.band_bytes_written += count * BLOCK_BYTES;
        let home = (block.0 / self.layout.zone_blocks) as usize;
        if self.cleaned.is_none_or(|(cleaned, _)| cleaned != home) {
            self.settle();
            self.cleaned = Some((home, self.counters.buffer_evicted_blocks));
        }
    }

    /// Counts the zone whose write-back is complete.
    pub(super) fn settle(&mut self) {
        if let Some((zone, before)) = self.cleaned.take() {
            let after = self.translation().counters().evicted_blocks;
            if after == before {
                return; // no block left a buffer: a log was cleaned
            }
            let soon = self.turnover.cleaned(zone, before, after);
            self.counters.truncated += u64::from(soon);
            self.counters.buffer_evicted_blocks = after;
        }
    }

    /// Updates the counters from the translation and the drive.
    pub(super) fn count(&mut self) {
        let (did, counters) = (self.executor.translation().counters(), &mut self.counters);
        counters.written_blocks = did.written_blocks;
        counters.buffer_write_hits = did.write_hits;
        counters.buffer_evicted_blocks = did.evicted_blocks;
        counters.buffer_moved_blocks = did.moved_blocks;
        let drive = self.media.drive().counters();
        counters.rmw = did.rmw + drive.rmw;
        counters.rmw_free = did.rmw_free + drive.rmw_free;
        counters.in_order_bands = drive.in_order_bands;
        counters.zone_closes = drive.zone_closes;
        // (What the translation reads to clean zones is counted there, too.)
        counters.rmw_read_bytes += drive.rmw_read_bytes - self.drive_cleaned_bytes;
        self.drive_cleaned_bytes = drive.rmw_read_bytes;
        counters.pages_programmed = drive.pages_programmed;
        counters.pages_copied = drive.pages_copied;
        counters.pages_migrated = drive.pages_migrated;
        counters.flash_blocks_erased = drive.flash_blocks_erased;
        counters.flash_written_blocks = drive.flash_written_blocks;
        counters.flash_read_blocks = drive.flash_read_blocks;
        counters.flash_evicted_blocks = drive.flash_evicted_blocks;
        counters.flash_blocks_migrated = drive.flash_blocks_migrated;
        // What a drive with a buffer writes beside what it was sent. (Blocks that it holds in its
        // memory it has not written yet.)
        let wrote = drive.log_bytes_written + drive.band_bytes_written + drive.native_bytes_written;
        let more = wrote.saturating_sub(drive.written_blocks * BLOCK_BYTES);
        counters.band_bytes_written += more.saturating_sub(self.drive_wrote_more);
        self.drive_wrote_more = self.drive_wrote_more.max(more);
        counters.synthesized_blocks = self.padding.written().0;
        let live_or_left = self.live_or_left();
        let written = self.counters.buffer_written_blocks;
        self.counters.buffer_released_blocks = written.saturating_sub(live_or_left);
    }

    /// Returns the number of blocks that are live in the buffer, were overwritten there, or went to
    /// zones.
    pub(super) fn live_or_left(&self) -> u64 {
        let did = self.translation().counters();
        did.write_hits + did.evicted_blocks + self.translation().buffer_state().blocks
    }
}
