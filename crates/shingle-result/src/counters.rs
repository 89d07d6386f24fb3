//! The counters of a running system.

use std::ops::Sub;

use shingle_core::units::Nanos;
use shingle_drive::Counters;

/// Counters of the host's requests and the cache's work. All of them only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostCounters {
    /// Read requests.
    pub read_requests: u64,
    /// Write requests.
    pub write_requests: u64,
    /// Trim requests.
    pub trim_requests: u64,
    /// Flush requests.
    pub flush_requests: u64,
    /// Blocks accessed by reads.
    pub read_blocks: u64,
    /// Blocks accessed by writes.
    pub write_blocks: u64,
    /// Read blocks that were cached.
    pub read_hits: u64,
    /// Written blocks that were cached.
    pub write_hits: u64,
    /// Blocks read from the disk without entering the cache.
    pub bypassed_reads: u64,
    /// Blocks written to the disk without entering the cache.
    pub bypassed_writes: u64,
    /// Partly written blocks whose rest was read from the disk.
    pub fills: u64,
    /// Clean blocks evicted.
    pub evicted_clean: u64,
    /// Dirty blocks destaged and evicted.
    pub evicted_dirty: u64,
    /// Blocks dropped by trims, dirty or not.
    pub trimmed: u64,
    /// Dirty blocks destaged and kept.
    pub cleaned: u64,
    /// Zones read, merged and written back by the host.
    pub host_rmw: u64,
    /// Blocks read from the disk for host-side RMW, and for gaps in appends to a zone.
    pub host_rmw_read_blocks: u64,
    /// Blocks written by host-side RMW, those from the cache included.
    pub host_rmw_written_blocks: u64,
    /// Blocks written by host-side RMW, and in gaps of appends to a zone, that were not from the
    /// cache.
    pub host_rmw_added_blocks: u64,
    /// Time of SSD reads.
    pub ssd_read_time: Nanos,
    /// Time of SSD writes.
    pub ssd_write_time: Nanos,
    /// Time of the calls that read from the disk.
    pub drive_read_time: Nanos,
    /// Time of the calls that write to the disk.
    pub drive_write_time: Nanos,
}

impl HostCounters {
    /// Returns the same counters with the device times of `times`.
    #[must_use]
    pub fn timed(&self, times: &HostCounters) -> HostCounters {
        HostCounters {
            ssd_read_time: times.ssd_read_time,
            ssd_write_time: times.ssd_write_time,
            drive_read_time: times.drive_read_time,
            drive_write_time: times.drive_write_time,
            ..*self
        }
    }
}

/// Subtracts earlier counters.
impl Sub for HostCounters {
    type Output = HostCounters;

    fn sub(self, before: HostCounters) -> HostCounters {
        macro_rules! each {
            ($($count:ident)*; $($time:ident)*) => {
                HostCounters {
                    $($count: self.$count - before.$count,)*
                    $($time: self.$time.since(before.$time),)*
                }
            };
        }
        each!(
            read_requests write_requests trim_requests flush_requests
            read_blocks write_blocks read_hits write_hits bypassed_reads bypassed_writes fills
            evicted_clean evicted_dirty trimmed cleaned
            host_rmw host_rmw_read_blocks host_rmw_written_blocks host_rmw_added_blocks;
            ssd_read_time ssd_write_time drive_read_time drive_write_time
        )
    }
}

/// All counters of a system at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// The host's side.
    pub host: HostCounters,
    /// The cache device.
    pub ssd: Counters,
    /// The disk.
    pub disk: Counters,
}
