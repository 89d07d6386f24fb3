//! Figures of runs, as the papers name them.

use shingle_sim::result::{Counts, RunResult};

use crate::grid::Metric;

/// From when the cache (without one: the buffer) was full, as SAC counts; from the start, if it
/// never was.
fn warm(run: &RunResult) -> &Counts {
    if run.warm_from.is_some() { &run.warm } else { &run.all }
}

fn accesses(counts: &Counts) -> (f64, f64) {
    // Every request is one block here.
    (counts.requests.read as f64, counts.requests.write as f64)
}

fn hits(counts: &Counts) -> (f64, f64) {
    (counts.hits.read_blocks as f64, counts.hits.write_blocks as f64)
}

fn percent(part: f64, whole: f64) -> f64 {
    100.0 * part / whole
}

/// Misses in per cent of accesses, once warm.
pub const MISS: Metric = Metric {
    name: "miss ratio (%)",
    of: |run| {
        let (counts, both) = (warm(run), |(a, b): (f64, f64)| a + b);
        100.0 - percent(both(hits(counts)), both(accesses(counts)))
    },
};

/// Hits in per cent of accesses, once warm.
pub const HIT: Metric = Metric { name: "hit ratio (%)", of: |run| 100.0 - (MISS.of)(run) };

/// Of reads, once warm.
pub const READ_HIT: Metric =
    Metric { name: "read hits (%)", of: |run| percent(hits(warm(run)).0, accesses(warm(run)).0) };

/// Of writes, once warm.
pub const WRITE_HIT: Metric =
    Metric { name: "write hits (%)", of: |run| percent(hits(warm(run)).1, accesses(warm(run)).1) };

/// Write amplification, as both papers define it.
pub const WA: Metric =
    Metric { name: "write amplification", of: |run| run.all.wa_band.unwrap_or(f64::NAN) };

/// Bands cleaned.
pub const RMW: Metric = Metric { name: "RMWs", of: |run| run.all.drive_io.rmw as f64 };

/// All I/O time.
pub const TOTAL: Metric = Metric { name: "total I/O time (s)", of: |run| run.all.seconds.total };

/// Charged to reads from the disk.
pub const DISK_READ: Metric =
    Metric { name: "disk reads (s)", of: |run| run.all.seconds.by_call.drive_read };

/// Charged to writes to the disk, the cleaning that they wait for included.
pub const DISK_WRITE: Metric =
    Metric { name: "disk writes (s)", of: |run| run.all.seconds.by_call.drive_write };

/// Both.
pub const DISK: Metric =
    Metric { name: "disk I/O time (s)", of: |run| (DISK_READ.of)(run) + (DISK_WRITE.of)(run) };

/// The SSD.
pub const SSD: Metric = Metric { name: "SSD (s)", of: |run| run.all.seconds.by_cause.ssd };

/// Cleaning: the bands.
pub const BANDS: Metric = Metric { name: "bands (s)", of: |run| run.all.seconds.by_cause.clean };

/// Writing to the buffer.
pub const BUFFER: Metric = Metric { name: "buffer (s)", of: |run| run.all.seconds.by_cause.log };

/// Clean blocks dropped, reads that were never cached included (SAC's prototype counts them so), in
/// millions.
pub const CLEAN_EVICTED: Metric = Metric {
    name: "clean blocks evicted (M)",
    of: |run| (run.all.evictions.clean_blocks + run.all.bypass.read_blocks) as f64 / 1e6,
};

/// Dirty blocks destaged, in millions.
pub const DIRTY_EVICTED: Metric = Metric {
    name: "dirty blocks evicted (M)",
    of: |run| run.all.evictions.dirty_blocks as f64 / 1e6,
};

/// Bytes that the disk took in a second of its time for writes.
pub const WRITE_RATE: Metric = Metric {
    name: "disk write rate (MB/s)",
    of: |run| {
        let bytes = run.all.drive_io.written_blocks as f64 * 4096.0;
        bytes / 1e6 / (DISK_WRITE.of)(run)
    },
};
