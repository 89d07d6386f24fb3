//! The counters of drives.

use crate::io::Io;
use shingle_core::units::{BLOCK_BYTES, Nanos, Op};

/// Totals of a drive so far. Blocks and bytes are those of the host's own data unless said
/// otherwise. All counters only grow; the difference of two snapshots counts what happened in
/// between.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Blocks the host read.
    pub read_blocks: u64,
    /// Blocks the host wrote.
    pub written_blocks: u64,
    /// Blocks read from the buffer on behalf of the host.
    pub buffer_read_blocks: u64,
    /// Blocks read from their native place on behalf of the host.
    pub native_read_blocks: u64,
    /// Blocks the host wrote into the buffer.
    pub buffer_written_blocks: u64,
    /// Of these, blocks of which the buffer already held an older copy.
    pub buffer_write_hits: u64,
    /// Live blocks that cleaning moved from the buffer to bands.
    pub buffer_evicted_blocks: u64,
    /// Live blocks that left the buffer otherwise: trimmed, or their whole band was written in order
    /// to its native place. Every block written into the buffer is live, or counted in one of
    /// `buffer_write_hits`, `buffer_evicted_blocks` and this.
    pub buffer_released_blocks: u64,
    /// Bands cleaned after their native data had been read.
    pub rmw: u64,
    /// Bands cleaned without reading native data, because the buffer held all of it.
    pub rmw_free: u64,
    /// Of all cleanings, those of a band last cleaned less than one buffer of evicted blocks ago
    /// (SAC §3, truncated fragmentation).
    pub truncated: u64,
    /// Native bytes read by cleaning.
    pub rmw_read_bytes: u64,
    /// Bytes written to bands by cleaning.
    pub band_bytes_written: u64,
    /// Bytes written straight to their native place on behalf of the host: sequential bands of a
    /// drive-managed disk, every write of a conventional disk.
    pub native_bytes_written: u64,
    /// Bands that the host wrote in order from first block to last, so that they passed the buffer.
    pub in_order_bands: u64,
    /// Bytes written to the buffer, headers, padding, journal and staging included.
    pub log_bytes_written: u64,
    /// Live blocks that the buffer's own garbage collection moved within it.
    pub buffer_moved_blocks: u64,
    /// Blocks synthesized by cleaning to fill gaps below a new write pointer.
    pub synthesized_blocks: u64,
    /// Blocks that the host read at or beyond a write pointer and that were never written: the
    /// drive synthesizes them.
    pub beyond_pointer_blocks: u64,
    /// Zones that the host reset.
    pub zone_resets: u64,
    /// Open zones that the drive closed to open others.
    pub zone_closes: u64,
    /// Flash pages programmed, for the host and by garbage collection.
    pub pages_programmed: u64,
    /// Of these, those that garbage collection copied.
    pub pages_copied: u64,
    /// Flash blocks erased.
    pub flash_blocks_erased: u64,
    /// Flash inside a disk: blocks the host wrote that went to the flash.
    pub flash_written_blocks: u64,
    /// Flash inside a disk: blocks read from it (or from memory) on behalf of the host.
    pub flash_read_blocks: u64,
    /// Flash inside a disk: blocks written back from it to the disk.
    pub flash_evicted_blocks: u64,
    /// Flash inside a disk: erase blocks whose valid pages moved to another region.
    pub flash_blocks_migrated: u64,
    /// Of `pages_copied`, those copied by such a migration.
    pub pages_migrated: u64,
    /// Time of host reads, cleaning excluded.
    pub read_time: Nanos,
    /// Time spent on writing the host's data to the buffer.
    pub log_time: Nanos,
    /// Time spent on writing the host's data to its native place.
    pub write_time: Nanos,
    /// Cleaning that made the host wait.
    pub clean_time: Nanos,
    /// Cleaning in idle time.
    pub idle_clean_time: Nanos,
}

/// Passes the names of all counts, and of all times, to a macro. (Over a translation
/// `buffer_released_blocks` is derived from others and may fall, so it is separate.)
macro_rules! all_names {
    ($each:ident) => {
        $each!(
            read_blocks written_blocks buffer_read_blocks native_read_blocks buffer_written_blocks
            buffer_write_hits buffer_evicted_blocks rmw rmw_free truncated
            rmw_read_bytes band_bytes_written native_bytes_written in_order_bands log_bytes_written
            buffer_moved_blocks synthesized_blocks beyond_pointer_blocks zone_resets zone_closes
            pages_programmed pages_copied flash_blocks_erased flash_written_blocks
            flash_read_blocks flash_evicted_blocks flash_blocks_migrated pages_migrated;
            read_time log_time write_time clean_time idle_clean_time
        )
    };
}

/// The counts since `before`.
impl core::ops::Sub for Counters {
    type Output = Counters;

    fn sub(self, before: Counters) -> Counters {
        macro_rules! each {
            ($($count:ident)*; $($time:ident)*) => {
                Counters {
                    buffer_released_blocks: self
                        .buffer_released_blocks
                        .saturating_sub(before.buffer_released_blocks),
                    $($count: self.$count - before.$count,)*
                    $($time: self.$time.since(before.$time),)*
                }
            };
        }
        all_names!(each)
    }
}

/// The sum of both.
impl core::ops::AddAssign for Counters {
    fn add_assign(&mut self, more: Counters) {
        macro_rules! each {
            ($($count:ident)*; $($time:ident)*) => {
                self.buffer_released_blocks += more.buffer_released_blocks;
                $(self.$count += more.$count;)*
                $(self.$time += more.$time;)*
            };
        }
        all_names!(each);
    }
}

impl Counters {
    /// Counts an I/O of a drive without a buffer, and the time it took; trims and flushes as writes.
    pub(crate) fn native(&mut self, io: &Io, took: Nanos) {
        self.count_anywhere(io.op, io.count, took);
    }

    /// Counts `blocks` that the host read or wrote in their native places, wherever these are.
    #[inline]
    pub fn count_anywhere(&mut self, op: Op, blocks: u64, took: Nanos) {
        match op {
            Op::Read => {
                self.read_blocks += blocks;
                self.native_read_blocks += blocks;
                self.read_time += took;
            }
            Op::Write => {
                self.written_blocks += blocks;
                self.native_bytes_written += blocks * BLOCK_BYTES;
                self.write_time += took;
            }
            Op::Trim | Op::Flush => self.write_time += took,
        }
    }
}
