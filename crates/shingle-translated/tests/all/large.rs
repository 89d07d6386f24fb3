//! The map of a disk of 28 TB: 104,000 zones of 256 MiB. The time to open it is printed only.

use crate::common::{Held, wanted};
use shingle_core::units::{Block, Zone};
use shingle_engine::Buffer;
use shingle_translated::{Format, LiveDisk, format, inspect, uuid};
use shingle_zoned::{Faults, Geometry, ZonedDisk as _};

#[test]
fn the_map_of_a_large_disk_is_small() {
    let geometry = Geometry { conventional_zones: 1040, ..Geometry::new(104_000, 65_536) };
    let disk = Held::new(geometry, Faults::none());
    // (The memory for a buffer belongs to its translation, which needs some for each of its
    // blocks.)
    let wanted = Format { buffer_blocks: Some(1 << 17), ..wanted("fluid") };
    let made = format(&disk, &wanted).expect("there is room");
    assert_eq!((made.zones, made.spare_zones), (102_856, 104));
    assert!(made.runs_max > 100_000_000, "{made:?}");
    // A run in almost all zones.
    let live = LiveDisk::open(disk.boxed()).expect("it was formatted");
    let buffers = [Buffer::default()];
    for zone in 0..100_000 {
        live.write(Block(zone * 65_536), &buffers).expect("no faults");
    }
    live.flush().expect("no faults");
    let status = live.status();
    assert_eq!(status.map.runs, 100_000);
    assert!(status.map.memory_bytes < 16 << 20, "{:?}", status.map);
    live.close().expect("no faults");

    let (mut live, mut report) = (None, None);
    let zones = allocation_counter::measure(|| {
        report = disk.report(Zone(0), geometry.zones).ok();
    });
    let began = std::time::Instant::now();
    let taken = allocation_counter::measure(|| {
        live = LiveDisk::open(disk.boxed()).ok();
    });
    let millis = began.elapsed().as_millis();
    let live = live.expect("it was closed");
    let translation = live.status().buffer.blocks * 28;
    println!(
        "open: {millis} ms, {} KiB at most, {} KiB kept, of which the buffer's {} KiB; a report of zones has {} KiB",
        taken.bytes_max >> 10,
        taken.bytes_current >> 10,
        translation >> 10,
        zones.bytes_max >> 10
    );
    assert!(taken.bytes_max < 64 << 20, "{taken:?}");
    assert_eq!(live.status().map.runs, 100_000);

    // Reading only its name, to ask who serves it, does not read the map.
    let name = allocation_counter::measure(|| {
        assert_eq!(
            uuid(&disk).expect("it was formatted").into_bytes(),
            wanted.uuid.expect("named")
        );
    });
    assert!(name.bytes_max < 64 << 10, "{name:?}");
    assert_eq!(inspect(&disk).expect("it was formatted").runs, 100_000);
}
