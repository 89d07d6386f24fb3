//! A disk that has become larger while clients are served. Both copies of the superblock get the
//! new size before anything is cached beyond the old one. A crash before that leaves the old size,
//! which is valid, too.

use shingle_core::cache::CacheCore;
use shingle_core::units::BLOCK_BYTES;

use super::Engine;
use super::open_error::OpenError;
use crate::bugs::Bug;
use crate::data::Data;
use crate::format::BLOCKS_MAX;

impl<D: Data> Engine<D> {
    /// Grows the disk to `disk_blocks`. `cache`, which is empty and made for that size, replaces
    /// the old one at once. Commands beyond the old end are accepted when
    /// [`Status::disk_blocks`](super::Status::disk_blocks) shows the new size.
    ///
    /// # Errors
    /// If the disk does not grow or is larger than 64 PiB, the SSD has failed, or the cache does not fit.
    pub fn grow_disk(
        &mut self,
        disk_blocks: u64,
        cache: Box<dyn CacheCore>,
    ) -> Result<(), OpenError> {
        let grows = disk_blocks > self.grows_to.unwrap_or(self.requests.disk_blocks());
        let too_large = disk_blocks > BLOCKS_MAX;
        if !grows || too_large || self.durability.has_failed() || self.life.is_ending() {
            return Err(OpenError::Grow(disk_blocks));
        }
        self.set_cache(cache)?;
        self.grows_to = Some(disk_blocks);
        self.durability.set_disk_bytes(disk_blocks * BLOCK_BYTES);
        self.pump();
        Ok(())
    }

    pub(super) fn grow_if_durable(&mut self) {
        let Some(blocks) = self.grows_to else { return };
        let said = self.durability.disk_bytes() == blocks * BLOCK_BYTES;
        if said || self.bugs.has(Bug::GrownBeforeSuperblock) {
            self.requests.set_disk_blocks(blocks);
            self.grows_to = None;
        }
    }
}
