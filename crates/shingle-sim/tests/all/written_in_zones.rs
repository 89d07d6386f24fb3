//! A log over a disk without zones: what the disk itself does is counted, too.

use shingle_core::params::Params;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op};
use shingle_drive::{Buffer, Drive, Io, Overrides, Settings, in_zones, make};
use shingle_sim::translated::{Translated, layout};
use shingle_translation::translations;

/// Blocks in a zone.
const ZONE: u64 = 16;
/// Blocks in a band.
const BAND: u64 = 12;

/// A log over a drive with these parameters, without cleaning of its own. Returns it after `writes`
/// writes of a block, when the first of them was read.
fn written(name: &str, parameters: &[(&str, u64)], buffer: Buffer, writes: u64) -> Translated {
    let set = |all: Overrides, (name, value): &(&str, u64)| all.with(name, &value.to_string());
    let overrides = parameters.iter().fold(Overrides::new(), set);
    let drive = make(name, &Settings { overrides, buffer, ..Settings::default() });
    let drive = drive.expect("a tiny drive");
    let costs = drive.description().costs;
    let drive = in_zones(drive, ZONE, 1, costs);
    let layout = layout(drive.description(), None).expect("it has zones");
    let log = translations::get("log").expect("a translation");
    let mut params = Params::new(log.params);
    params.set("open", "1").expect("a count");
    let made = log.make(&params, layout).expect("a log");
    let mut disk = Translated::new(made, drive, layout, None);
    let mut now = Nanos::ZERO;
    for block in 0..writes {
        let io = Io { op: Op::Write, block: Block(block), count: 1 };
        now = disk.serve(now, &io, &mut []).done;
    }
    disk.serve(now, &Io { op: Op::Read, block: Block(0), count: 1 }, &mut []);
    disk
}

#[test]
fn what_bands_take_is_counted() {
    let bands =
        [("band_first_bytes", BAND * BLOCK_BYTES), ("band_classes", 1), ("bands_per_class", 40)];
    let mut disk = written("sac-emulator", &bands, Buffer::Bytes(4 * BLOCK_BYTES), 100);
    let counters = *disk.counters();
    assert_eq!(disk.translating().cleanings, 0);
    assert!(counters.rmw > 3, "{counters:?}");
    let bytes = counters.rmw * BAND * BLOCK_BYTES;
    assert_eq!((counters.rmw_read_bytes, counters.band_bytes_written), (bytes, bytes));
    // What waits in the disk's buffer is left to do.
    let waits = disk.buffer();
    assert!((1..=4).contains(&waits.blocks) && waits.bands > 0, "{waits:?}");
    assert!(disk.drain(Nanos::from_millis(1 << 40)) > Nanos::from_millis(1 << 40));
    assert_eq!(disk.buffer().blocks, 0);
}

#[test]
fn flash_inside_the_disk_is_counted_by_what_the_host_wrote() {
    let flash = [
        ("flash_bytes", 80 * BLOCK_BYTES),
        ("flash_units", 2),
        ("flash_pages_per_block", 2),
        ("capacity_bytes", 400 * BLOCK_BYTES),
        ("track_od_bytes", 8 * BLOCK_BYTES),
        ("track_id_bytes", 8 * BLOCK_BYTES),
        ("rate_zones", 2),
        ("zone_tracks", 5),
        ("tracks_per_band", 2),
    ];
    let disk = written("st5000as0011+fc", &flash, Buffer::Real, 100);
    let counters = disk.counters();
    let wear = disk.wear().expect("there is flash in it");
    assert_eq!(wear.host_blocks, 100);
    assert!(counters.flash_written_blocks > 0 && counters.pages_programmed > 0, "{counters:?}");
    assert_eq!(counters.pages_programmed, wear.programmed_pages);
}
