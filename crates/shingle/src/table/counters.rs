//! Counters of a run, with their names.

use shingle_core::duration::show_duration as seconds;
use shingle_core::size::show_bytes;
use shingle_result::Counts;
use shingle_result::verdict::count;

use super::words::ratio;

/// Counters that only a model of the disk has.
pub(super) const WITHIN_THE_DISK: &[&str] = &[
    "RMWs; cleanings without reading",
    "of these, truncated",
    "cleaning: read, written",
    "written in place; to the buffer",
    "buffer: blocks read, written",
    "buffer: rewritten, evicted",
    "wa_band, wa_drive, wa_host",
    "by cause: buffer, in place",
    "by cause: cleaning; in idle time",
];

/// Returns the counters of every run.
pub(super) fn counters(c: &Counts) -> Vec<(&'static str, String)> {
    let (disk, buffer, ssd) = (&c.drive_io, &c.pb, &c.ssd);
    let (by_call, by_cause) = (&c.seconds.by_call, &c.seconds.by_cause);
    let bytes = show_bytes;
    let times = |one, other| format!("{}, {}", seconds(one), seconds(other));
    vec![
        ("requests: reads, writes", counts(c.requests.read, c.requests.write)),
        ("requests: trims, flushes", counts(c.requests.trim, c.requests.flush)),
        ("hits: blocks read, written", counts(c.hits.read_blocks, c.hits.write_blocks)),
        ("hit ratio", c.hits.ratio.map_or("-".into(), |ratio| format!("{:.2} %", 100.0 * ratio))),
        ("bypass: blocks read, written", counts(c.bypass.read_blocks, c.bypass.write_blocks)),
        ("fills of partly written blocks", count(c.fills)),
        ("evicted: clean, dirty", counts(c.evictions.clean_blocks, c.evictions.dirty_blocks)),
        ("SSD: blocks read, written", counts(ssd.read_blocks, ssd.written_blocks)),
        ("disk: blocks read, written", counts(disk.read_blocks, disk.written_blocks)),
        (
            "RMWs; cleanings without reading",
            format!("{}; {}", count(disk.rmw), count(disk.rmw_free)),
        ),
        ("of these, truncated", count(disk.truncated)),
        (
            "cleaning: read, written",
            format!("{}, {}", bytes(disk.rmw_read_bytes), bytes(disk.band_bytes_written)),
        ),
        (
            "written in place; to the buffer",
            format!("{}; {}", bytes(disk.native_bytes_written), bytes(disk.log_bytes_written)),
        ),
        ("buffer: blocks read, written", counts(buffer.read_blocks, buffer.written_blocks)),
        ("buffer: rewritten, evicted", counts(buffer.write_hits, buffer.evicted_blocks)),
        (
            "wa_band, wa_drive, wa_host",
            format!("{}, {}, {}", ratio(c.wa_band), ratio(c.wa_drive), ratio(c.wa_host)),
        ),
        ("device time", seconds(c.seconds.total)),
        ("by call: SSD read, write", times(by_call.ssd_read, by_call.ssd_write)),
        ("by call: disk read, write", times(by_call.drive_read, by_call.drive_write)),
        ("by cause: SSD, reading", times(by_cause.ssd, by_cause.read)),
        ("by cause: buffer, in place", times(by_cause.log, by_cause.write)),
        (
            "by cause: cleaning; in idle time",
            format!("{}; {}", seconds(by_cause.clean), seconds(by_cause.idle_clean)),
        ),
    ]
}

/// Formats two counts.
fn counts(one: u64, other: u64) -> String {
    format!("{}, {}", count(one), count(other))
}

/// Returns whether a counter of drives with write pointers is not zero.
pub(super) fn has_zones(c: &Counts) -> bool {
    let disk = &c.drive_io;
    let made_up = disk.synthesized_blocks + disk.beyond_pointer_blocks;
    disk.zone_resets + disk.zone_closes + made_up + c.pb.moved_blocks > 0
}

/// Returns the counters of drives with write pointers.
pub(super) fn of_zones(c: &Counts) -> Vec<(&'static str, String)> {
    let (disk, host) = (&c.drive_io, &c.host_rmw);
    vec![
        (
            "host RMWs: zones; blocks read, written",
            format!("{}; {}", count(host.zones), counts(host.read_blocks, host.written_blocks)),
        ),
        ("zones reset, closed for others", counts(disk.zone_resets, disk.zone_closes)),
        (
            "blocks made up: in gaps, for reads",
            counts(disk.synthesized_blocks, disk.beyond_pointer_blocks),
        ),
        ("blocks moved within the buffer or log", count(c.pb.moved_blocks)),
    ]
}

/// Returns the counters of SSDs with a flash model.
pub(super) fn of_flash(c: &Counts) -> Vec<(&'static str, String)> {
    vec![
        (
            "flash: pages programmed, of these copied",
            counts(c.ssd.programmed_blocks, c.ssd.copied_blocks),
        ),
        (
            "flash: blocks erased; wa_flash",
            format!("{}; {}", count(c.ssd.erases), ratio(c.wa_flash)),
        ),
    ]
}
