//! Counters of a run by name.

use shingle_core::duration::show_duration as seconds;
use shingle_core::size::show_bytes;
use shingle_result::Counts;
use shingle_result::verdict::count;

use super::words::ratio;

/// Counters that only a model of the disk has.
pub(super) const WITHIN_THE_DISK: &[&str] = &[
    "RMWs; cleanings without reading",
    "of these, truncated",
    "cleaning: read, written to bands",
    "written in place; to the buffer",
    "buffer: blocks read, written",
    "buffer: rewritten, evicted",
    "wa_band, wa_drive, wa_host",
    "by cause: buffer, in place",
    "by cause: cleaning; in idle time",
];

/// What every run counts.
pub(super) fn counters(c: &Counts) -> Vec<(&'static str, String)> {
    let bytes = show_bytes;
    vec![
        (
            "requests: reads, writes",
            format!("{}, {}", count(c.requests.read), count(c.requests.write)),
        ),
        (
            "requests: trims, flushes",
            format!("{}, {}", count(c.requests.trim), count(c.requests.flush)),
        ),
        (
            "hits: blocks read, written",
            format!("{}, {}", count(c.hits.read_blocks), count(c.hits.write_blocks)),
        ),
        ("hit ratio", c.hits.ratio.map_or("-".into(), |ratio| format!("{:.2} %", 100.0 * ratio))),
        (
            "bypass: blocks read, written",
            format!("{}, {}", count(c.bypass.read_blocks), count(c.bypass.write_blocks)),
        ),
        ("fills of partly written blocks", count(c.fills)),
        (
            "evicted: clean, dirty",
            format!("{}, {}", count(c.evictions.clean_blocks), count(c.evictions.dirty_blocks)),
        ),
        (
            "SSD: blocks read, written",
            format!("{}, {}", count(c.ssd.read_blocks), count(c.ssd.written_blocks)),
        ),
        (
            "disk: blocks read, written",
            format!("{}, {}", count(c.drive_io.read_blocks), count(c.drive_io.written_blocks)),
        ),
        (
            "RMWs; cleanings without reading",
            format!("{}; {}", count(c.drive_io.rmw), count(c.drive_io.rmw_free)),
        ),
        ("of these, truncated", count(c.drive_io.truncated)),
        (
            "cleaning: read, written to bands",
            format!(
                "{}, {}",
                bytes(c.drive_io.rmw_read_bytes),
                bytes(c.drive_io.band_bytes_written)
            ),
        ),
        (
            "written in place; to the buffer",
            format!(
                "{}; {}",
                bytes(c.drive_io.native_bytes_written),
                bytes(c.drive_io.log_bytes_written)
            ),
        ),
        (
            "buffer: blocks read, written",
            format!("{}, {}", count(c.pb.read_blocks), count(c.pb.written_blocks)),
        ),
        (
            "buffer: rewritten, evicted",
            format!("{}, {}", count(c.pb.write_hits), count(c.pb.evicted_blocks)),
        ),
        (
            "wa_band, wa_drive, wa_host",
            format!("{}, {}, {}", ratio(c.wa_band), ratio(c.wa_drive), ratio(c.wa_host)),
        ),
        ("device time", seconds(c.seconds.total)),
        (
            "by call: SSD read, write",
            format!(
                "{}, {}",
                seconds(c.seconds.by_call.ssd_read),
                seconds(c.seconds.by_call.ssd_write)
            ),
        ),
        (
            "by call: disk read, write",
            format!(
                "{}, {}",
                seconds(c.seconds.by_call.drive_read),
                seconds(c.seconds.by_call.drive_write)
            ),
        ),
        (
            "by cause: SSD, reading",
            format!("{}, {}", seconds(c.seconds.by_cause.ssd), seconds(c.seconds.by_cause.read)),
        ),
        (
            "by cause: buffer, in place",
            format!("{}, {}", seconds(c.seconds.by_cause.log), seconds(c.seconds.by_cause.write)),
        ),
        (
            "by cause: cleaning; in idle time",
            format!(
                "{}; {}",
                seconds(c.seconds.by_cause.clean),
                seconds(c.seconds.by_cause.idle_clean)
            ),
        ),
    ]
}

/// Whether something happened that only drives with write pointers know.
pub(super) fn has_zones(c: &Counts) -> bool {
    let disk = &c.drive_io;
    let made_up = disk.synthesized_blocks + disk.beyond_pointer_blocks;
    disk.zone_resets + disk.zone_closes + made_up + c.pb.moved_blocks > 0
}

/// What only drives with write pointers count.
pub(super) fn of_zones(c: &Counts) -> Vec<(&'static str, String)> {
    let (disk, host) = (&c.drive_io, &c.host_rmw);
    vec![
        (
            "host RMWs: zones; blocks read, written",
            format!(
                "{}; {}, {}",
                count(host.zones),
                count(host.read_blocks),
                count(host.written_blocks)
            ),
        ),
        (
            "zones reset, closed for others",
            format!("{}, {}", count(disk.zone_resets), count(disk.zone_closes)),
        ),
        (
            "blocks made up: in gaps, for reads",
            format!("{}, {}", count(disk.synthesized_blocks), count(disk.beyond_pointer_blocks)),
        ),
        ("blocks moved within the buffer", count(c.pb.moved_blocks)),
    ]
}

/// What only SSDs with flash inside count.
pub(super) fn of_flash(c: &Counts) -> Vec<(&'static str, String)> {
    vec![
        (
            "flash: pages programmed, of these copied",
            format!("{}, {}", count(c.ssd.programmed_blocks), count(c.ssd.copied_blocks)),
        ),
        (
            "flash: blocks erased; wa_flash",
            format!("{}; {}", count(c.ssd.erases), ratio(c.wa_flash)),
        ),
    ]
}
