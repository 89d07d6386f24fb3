//! Compares a host-managed block device with the disk in memory: the same commands have the same
//! results. It destroys the contents of the device, so it runs only with `SHINGLE_ROOT_TESTS=1` and
//! `SHINGLE_ZONED_DEVICE`; `null_blk` and `scsi_debug` make such devices in memory:
//!
//! ```sh
//! modprobe null_blk nr_devices=1 zoned=1 gb=1 bs=4096 zone_size=4 zone_nr_conv=2 zone_max_open=4
//! modprobe scsi_debug dev_size_mb=64 sector_size=4096 zbc=managed zone_size_mb=4 zone_nr_conv=2 zone_max_open=4
//! ```

use crate::common::{Step, carry_out, report, reset_all, steps};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use shingle_core::units::Zone;
use shingle_zoned::{
    Condition, Faults, Geometry, MemoryDisk, ReadsBeyond, ZoneReport, open, open_read_only,
};

fn device() -> Result<std::path::PathBuf, String> {
    shingle_testbed::root()?;
    let named = std::env::var_os("SHINGLE_ZONED_DEVICE");
    named.map(Into::into).ok_or_else(|| "SHINGLE_ZONED_DEVICE names no zoned device".to_owned())
}

/// Checks that zones are equal, except which of the zones opened by a write are closed for others:
/// devices differ in this.
fn same(ours: &[ZoneReport], theirs: &[ZoneReport], when: &str) {
    assert_eq!(ours.len(), theirs.len(), "{when}");
    let closed = |mut zone: ZoneReport| {
        if zone.condition == Condition::ImplicitOpen {
            zone.condition = Condition::Closed;
        }
        zone
    };
    for (&ours, &theirs) in ours.iter().zip(theirs) {
        assert_eq!(closed(ours), closed(theirs), "{when}");
    }
}

#[test]
fn a_device_does_as_the_disk_in_memory() {
    let there = device();
    if !shingle_testbed::skip_if("a_device_does_as_the_disk_in_memory", there.clone().map(drop)) {
        return;
    }
    let path = there.expect("a device");
    let disk = open(&path).expect("opened");
    println!("{}: {:?}", path.display(), disk.geometry());
    assert!(open(&path).is_err(), "it is ours alone");
    reset_all(&*disk);
    assert_eq!(disk.geometry().reads_beyond, ReadsBeyond::Unknown);
    let memory = MemoryDisk::new(
        Geometry { reads_beyond: ReadsBeyond::Zeros, ..*disk.geometry() },
        Faults::none(),
    );
    let (mut here, mut there) = (0, 0);
    let mut runner = TestRunner::deterministic();
    // A few zones and small writes: zones of a device are large.
    let few = Geometry {
        zones: disk.geometry().zones.min(12),
        zone_blocks: 16,
        zone_capacity_blocks: 16,
        ..*disk.geometry()
    };
    let mut counts = (0, 0);
    for _ in 0..40 {
        let steps = steps(&few, 60).new_tree(&mut runner).expect("steps").current();
        for step in steps {
            // Conventional zones keep their old contents.
            let far = |zone: u32| u64::from(zone) * disk.geometry().zone_blocks;
            let step = match step {
                Step::Read(at, _) if at < far(disk.geometry().conventional_zones) => continue,
                Step::Read(at, count) => Step::Read(far((at / 16) as u32) + at % 16, count),
                Step::Write(at, count) => Step::Write(far((at / 16) as u32) + at % 16, count),
                other => other,
            };
            let (ours, theirs) =
                (carry_out(&*disk, &step, &mut here), carry_out(&memory, &step, &mut there));
            assert_eq!(ours, theirs, "{step:?}");
            counts = if ours.is_ok() { (counts.0 + 1, counts.1) } else { (counts.0, counts.1 + 1) };
            same(&report(&*disk), &report(&memory), &format!("{step:?}"));
        }
    }
    println!("{} commands done, {} refused, by both alike", counts.0, counts.1);
    disk.flush().expect("flushed");
    drop(disk);
    let found = open_read_only(&path).expect("it can be looked at");
    same(&report(&found), &report(&memory), "the device says so itself");
    let again = open(&path).expect("opened");
    reset_all(&*again);
    let empty =
        |zone: &ZoneReport| matches!(zone.condition, Condition::Empty | Condition::Conventional);
    assert!(again.report(Zone(0), u32::MAX).expect("a report").iter().all(empty));
}
