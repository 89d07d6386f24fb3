//! Metrics of runs, as the papers name them.

use shingle_result::{Counts, Flash, RunResult, Translating};

use crate::grid::{Metric, metric};

/// The counts since the cache (without one: the buffer) was full, as SAC counts; all counts if it
/// never was.
fn warm(run: &RunResult) -> &Counts {
    if run.warm_from.is_some() { &run.warm } else { &run.all }
}

fn accesses(counts: &Counts) -> (f64, f64) {
    (counts.accesses.read_blocks as f64, counts.accesses.write_blocks as f64)
}

fn hits(counts: &Counts) -> (f64, f64) {
    (counts.hits.read_blocks as f64, counts.hits.write_blocks as f64)
}

fn percent(part: f64, whole: f64) -> f64 {
    100.0 * part / whole
}

/// Misses in per cent of accesses, once warm.
pub const MISS: Metric = metric("miss ratio (%)", |run| {
    let (counts, both) = (warm(run), |(a, b): (f64, f64)| a + b);
    100.0 - percent(both(hits(counts)), both(accesses(counts)))
});

/// Hits in per cent of accesses, once warm.
pub const HIT: Metric = metric("hit ratio (%)", |run| 100.0 - (MISS.of)(run));

/// Read hits in per cent of read accesses, once warm.
pub const READ_HIT: Metric =
    metric("read hits (%)", |run| percent(hits(warm(run)).0, accesses(warm(run)).0));

/// Write hits in per cent of write accesses, once warm.
pub const WRITE_HIT: Metric =
    metric("write hits (%)", |run| percent(hits(warm(run)).1, accesses(warm(run)).1));

/// Write amplification, as PORE defines it (§V-B). SAC does not define its own.
pub const WA: Metric = metric("write amplification", |run| run.all.wa_band.unwrap_or(f64::NAN));

/// Bands cleaned.
pub const RMW: Metric = metric("RMWs", |run| run.all.drive_io.rmw as f64);

/// All I/O time.
pub const TOTAL: Metric = metric("total I/O time (s)", |run| run.all.seconds.total);

/// Time charged to reads from the disk.
pub const DISK_READ: Metric = metric("disk reads (s)", |run| run.all.seconds.by_call.drive_read);

/// Time charged to writes to the disk, including the cleaning that they wait for.
pub const DISK_WRITE: Metric = metric("disk writes (s)", |run| run.all.seconds.by_call.drive_write);

/// Time charged to the disk: reads and writes.
pub const DISK: Metric =
    metric("disk I/O time (s)", |run| (DISK_READ.of)(run) + (DISK_WRITE.of)(run));

/// Time of the SSD.
pub const SSD: Metric = metric("SSD (s)", |run| run.all.seconds.by_cause.ssd);

/// Time of cleaning bands.
pub const BANDS: Metric = metric("bands (s)", |run| run.all.seconds.by_cause.clean);

/// Time of writing to the buffer.
pub const BUFFER: Metric = metric("buffer (s)", |run| run.all.seconds.by_cause.log);

/// Clean blocks dropped, including reads that were never cached (as SAC's prototype counts), in
/// millions.
pub const CLEAN_EVICTED: Metric = metric("clean blocks evicted (M)", |run| {
    (run.all.evictions.clean_blocks + run.all.bypass.read_blocks) as f64 / 1e6
});

/// Dirty blocks destaged, in millions.
pub const DIRTY_EVICTED: Metric =
    metric("dirty blocks evicted (M)", |run| run.all.evictions.dirty_blocks as f64 / 1e6);

/// Accesses after the cache was full, in millions; 0 if it never was.
pub const ONCE_FULL: Metric = metric("accesses once the cache was full (M)", |run| {
    let (reads, writes) = accesses(&run.warm);
    if run.warm_from.is_some() { (reads + writes) / 1e6 } else { 0.0 }
});

/// Time of a read from the disk, without cleaning.
pub const READ_MS: Metric = metric("a block read from the disk (ms)", |run| {
    run.all.seconds.by_cause.read * 1e3 / run.all.drive_io.read_blocks as f64
});

/// Rate of writes in the disk's time for writes.
pub const WRITE_RATE: Metric = metric("disk write rate (MB/s)", |run| {
    let bytes = run.all.drive_io.written_blocks as f64 * 4096.0;
    bytes / 1e6 / (DISK_WRITE.of)(run)
});

// ROCO measures in per cent of what the host writes (§4.2, Trace_WSize). All counts from the start.

fn of_written(run: &RunResult, blocks: u64) -> f64 {
    percent(blocks as f64, run.all.accesses.write_blocks as f64)
}

/// Blocks written to the drive's disk cache, because they did not begin at a write pointer.
pub const NON_SEQUENTIAL: Metric =
    metric("non-sequential data (% of written)", |run| of_written(run, run.all.pb.written_blocks));

/// Blocks written at write pointers, or to zones that are cached whole. Host-side RMWs are
/// excluded, as the paper does not say whether it counts their writes as sequential.
pub const SEQUENTIAL: Metric = metric("sequential data (% of written)", |run| {
    let by_rmws = of_written(run, run.all.host_rmw.written_blocks);
    of_written(run, run.all.drive_io.native_bytes_written / 4096) - by_rmws
});

/// Dirty blocks that the cache gave to host-side RMWs. The blocks that these read and write back in
/// addition are [`HOST_READ`].
pub const HOST_DIRTY: Metric = metric("dirty blocks of host RMWs (% of written)", |run| {
    let rmws = &run.all.host_rmw;
    of_written(run, rmws.written_blocks - rmws.read_blocks)
});

/// The rest: blocks that were overwritten in the cache, or are still there.
pub const ABSORBED: Metric = metric("absorbed by the cache (% of written)", |run| {
    let reached = [NON_SEQUENTIAL, SEQUENTIAL, HOST_DIRTY].map(|part| (part.of)(run));
    100.0 - reached.iter().sum::<f64>()
});

/// Blocks that cleaning reads, from the disk cache and from zones.
pub const CLEAN_READ: Metric = metric("read by cleaning (% of written)", |run| {
    of_written(run, run.all.pb.evicted_blocks + run.all.drive_io.rmw_read_bytes / 4096)
});

/// Blocks synthesized by cleaning.
pub const SYNTHESIZED: Metric = metric("synthesized data (% of written)", |run| {
    of_written(run, run.all.drive_io.synthesized_blocks)
});

/// Blocks that the host reads to rewrite a zone.
pub const HOST_READ: Metric = metric("read for host RMWs (% of written)", |run| {
    of_written(run, run.all.host_rmw.read_blocks)
});

/// Mean response time of an I/O at the disk.
pub const DISK_RESPONSE: Metric = metric("mean response of the disk (ms)", |run| {
    run.drive_latency.mean_us.map_or(f64::NAN, |us| us / 1e3)
});

/// Mean response time of a request.
pub const RESPONSE: Metric =
    metric("mean response of a request (ms)", |run| run.latency.mean_us / 1e3);

/// The part of the cleaning time that no I/O waited for.
pub const IDLE_CLEANED: Metric = metric("cleaning in idle time (% of cleaning time)", |run| {
    let causes = run.all.seconds.by_cause;
    percent(causes.idle_clean, causes.idle_clean + causes.clean)
});

// MCM measures what flash inside the disk does. All counts from the start.

/// Response time of the slowest request.
pub const SLOWEST: Metric = metric("slowest request (s)", |run| run.latency.max_us / 1e6);

/// Bytes written to the disk, to its persistent cache and its bands, ÷ bytes the host wrote.
pub const WAF: Metric =
    metric("write amplification of the disk", |run| run.all.wa_host.unwrap_or(f64::NAN));

fn of_flash(run: &RunResult, of: impl Fn(&Flash) -> f64) -> f64 {
    run.flash.as_ref().map_or(f64::NAN, of)
}

/// Erases of erase blocks.
pub const ERASES: Metric = metric("erases", |run| of_flash(run, |flash| flash.erases as f64));

/// Valid pages that were copied within the flash.
pub const VALID_COPIES: Metric =
    metric("valid page copies", |run| of_flash(run, |flash| flash.copied_blocks as f64));

/// Programmed pages ÷ pages of the host's writes.
pub const WA_FLASH: Metric = metric("write amplification of the flash", |run| {
    of_flash(run, |flash| flash.wa_flash.unwrap_or(f64::NAN))
});

/// Blocks written back to the disk, in per cent of the blocks that the host wrote.
pub const WRITTEN_BACK: Metric = metric("written back (% of written)", |run| {
    of_flash(run, |flash| of_written(run, flash.evicted_blocks))
});

/// Blocks that the host wrote past the flash, in per cent of all it wrote.
pub const PAST_FLASH: Metric = metric("past the flash (% of written)", |run| {
    of_flash(run, |flash| 100.0 - of_written(run, flash.written_blocks))
});

/// How unevenly erases are distributed over erase blocks.
pub const SPREAD: Metric = metric("deviation of erases (% of the mean)", |run| {
    of_flash(run, |flash| 100.0 * flash.all.variation().unwrap_or(f64::NAN))
});

/// Erases of the most erased block ÷ the mean.
pub const WORST: Metric = metric("erases of the worst block ÷ mean", |run| {
    of_flash(run, |flash| f64::from(flash.all.max) / flash.all.mean)
});

/// The amount that the host can write until the first block is worn.
pub const LIFETIME: Metric = metric("written until the first block is worn (TB)", |run| {
    of_flash(run, |flash| flash.lifetime.map_or(f64::NAN, |lifetime| lifetime.worst_bytes / 1e12))
});

// Amphisbaena measures what a translation does. All counts from the start.

fn of_translation(run: &RunResult, of: impl Fn(&Translating) -> f64) -> f64 {
    run.translation_counters.as_ref().map_or(f64::NAN, of)
}

/// Updates of buffered blocks, in per cent of all written blocks (Amphisbaena §6.2).
pub const BUFFER_HITS: Metric = metric("write hits in the buffer (%)", |run| {
    of_translation(run, |t| percent(t.write_hits as f64, t.written_blocks as f64))
});

/// The part of these in the buffer for hot blocks.
pub const HOT_HITS: Metric = metric("write hits in the HFB (%)", |run| {
    of_translation(run, |t| percent(t.hot_hits as f64, t.written_blocks as f64))
});

/// The part of these outside the buffer for hot blocks.
pub const COLD_HITS: Metric =
    metric("write hits in the LFB (%)", |run| (BUFFER_HITS.of)(run) - (HOT_HITS.of)(run));

/// Zones that were written back by appending.
pub const RMW_FREE: Metric = metric("RMW-free write-backs", |run| run.all.drive_io.rmw_free as f64);

/// Zones that were written back.
pub const WRITE_BACKS: Metric = metric("write-backs", |run| (RMW.of)(run) + (RMW_FREE.of)(run));

/// Synthetic data, counted in every write-back.
pub const PADDED: Metric = metric("padded in all write-backs (GB)", |run| {
    of_translation(run, |t| t.padded_blocks as f64 * 4096.0 / 1e9)
});

/// Synthetic data, each gap counted once.
pub const PADDED_FIRST: Metric = metric("padded for the first time (GB)", |run| {
    of_translation(run, |t| t.padded_first_blocks as f64 * 4096.0 / 1e9)
});

/// Buffered blocks of a zone at its write-back.
pub const VICTIM: Metric = metric("average victim zone (blocks)", |run| {
    of_translation(run, |t| t.evicted_blocks as f64 / t.victims as f64)
});

/// Chunks that the buffer for hot blocks gained.
pub const TO_HOT: Metric =
    metric("chunks reallocated to the HFB", |run| of_translation(run, |t| t.chunks_to_hot as f64));

/// Chunks that the buffer for hot blocks returned.
pub const TO_COLD: Metric =
    metric("chunks given back to the LFB", |run| of_translation(run, |t| t.chunks_to_cold as f64));

/// Victims whose collection was aborted.
pub const ABORTED: Metric = metric("collections aborted (% of victims)", |run| {
    of_translation(run, |t| percent(t.aborted as f64, t.victims as f64))
});
