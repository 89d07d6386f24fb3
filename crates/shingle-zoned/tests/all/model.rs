//! Compares the rules with those of the host-managed drive model: the same commands succeed or
//! break the same rule, with the same write pointers and conditions afterwards.

use crate::common::{Step, carry_out, report, steps};
use proptest::prelude::*;
use shingle_core::units::{Block, Nanos, Op, Zone};
use shingle_drive::{Condition as Modelled, Drive, Io, Overrides, Rule, Settings, make};
use shingle_zoned::{Condition, Faults, Geometry, MemoryDisk, ReadsBeyond, ZonedDisk as _};

const BLOCK: u64 = 4096;

fn geometry(refuses: bool) -> Geometry {
    let reads_beyond = if refuses { ReadsBeyond::Refused } else { ReadsBeyond::Zeros };
    Geometry { conventional_zones: 2, max_open: 3, reads_beyond, ..Geometry::new(8, 5) }
}

/// The model of such a disk.
fn model(geometry: &Geometry) -> Box<dyn Drive> {
    let refuses = geometry.reads_beyond == ReadsBeyond::Refused;
    let overrides = Overrides::new()
        .with("zone_bytes", &(geometry.zone_blocks * BLOCK).to_string())
        .with("conventional_zones", &geometry.conventional_zones.to_string())
        .with("capacity_bytes", &((geometry.blocks() + 1) * BLOCK).to_string())
        .with("track_od_bytes", &(8 * BLOCK).to_string())
        .with("track_id_bytes", &(4 * BLOCK).to_string())
        .with("rate_zones", "2")
        .with("zone_tracks", "3")
        .with("read_ahead_bytes", &(3 * BLOCK).to_string())
        .with("reads_beyond_pointer", if refuses { "off" } else { "on" })
        .with("open_zones", &geometry.max_open.to_string());
    make("hm-tiny", &Settings { overrides, ..Settings::default() }).expect("the drive")
}

/// Executes a step in the model; versions of blocks are its stamps.
fn modelled(
    drive: &mut dyn Drive,
    geometry: &Geometry,
    step: &Step,
    versions: &mut u64,
) -> Result<Vec<u64>, &'static str> {
    let zoned = drive.zoned().expect("zones");
    let mut stamps = |count: u64| -> Vec<u64> {
        *versions += count;
        (*versions + 1 - count..=*versions).collect()
    };
    let io = |op, at, count| Io { op, block: Block(at), count };
    let now = Nanos::ZERO;
    let past = |at: u64, count: u64| at + count > geometry.blocks();
    let done = match *step {
        Step::Read(at, count) if past(at, count) => return Err("out of range"),
        Step::Write(at, count) => {
            zoned.try_serve(now, &io(Op::Write, at, count), &mut stamps(count)).map(|_| Vec::new())
        }
        Step::AtPointer(zone, count) => {
            let info = zoned.zone(Zone(zone));
            let (at, mut data) = (info.first.0 + info.write_pointer, stamps(count));
            if past(at, 1) {
                return Err("out of range");
            }
            zoned.try_serve(now, &io(Op::Write, at, count), &mut data).map(|_| Vec::new())
        }
        Step::Read(at, count) => {
            let mut data = vec![u64::MAX; count as usize];
            zoned.try_serve(now, &io(Op::Read, at, count), &mut data).map(|_| data)
        }
        Step::Finish(zone) => zoned.finish(now, Zone(zone)).map(|_| Vec::new()),
        Step::Reset(zone) => zoned.reset(now, Zone(zone)).map(|_| Vec::new()),
        Step::Flush => Ok(Vec::new()),
    };
    done.map_err(|refused| match refused.rule {
        Rule::AtPointer => "not at pointer",
        Rule::ZoneBoundary => "boundary",
        Rule::ZoneFull => "full",
        Rule::TooManyOpen => "too many open",
        Rule::Conventional => "conventional",
        Rule::ReadBeyond => "read beyond",
    })
}

fn same(condition: Condition) -> Modelled {
    match condition {
        Condition::Conventional => Modelled::Conventional,
        Condition::Empty => Modelled::Empty,
        Condition::ImplicitOpen => Modelled::ImplicitOpen,
        Condition::ExplicitOpen => Modelled::ExplicitOpen,
        Condition::Closed => Modelled::Closed,
        Condition::Full => Modelled::Full,
        other => panic!("the model has no {other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: shingle_testbed::times(200) as u32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_rules_are_those_of_the_host_managed_model(
        steps in steps(&geometry(false), 150),
        refuses in any::<bool>(),
    ) {
        let geometry = geometry(refuses);
        let disk = MemoryDisk::new(geometry, Faults::none());
        let mut drive = model(&geometry);
        let (mut versions, mut stamps) = (0, 0);
        for step in &steps {
            let (ours, theirs) =
                (carry_out(&disk, step, &mut versions), modelled(&mut *drive, &geometry, step, &mut stamps));
            prop_assert_eq!(ours, theirs, "{:?}", step);
            let zoned = drive.zoned().expect("zones");
            for zone in report(&disk) {
                let info = zoned.zone(zone.zone);
                prop_assert_eq!(same(zone.condition), info.condition, "{:?}: {:?}", step, zone);
                prop_assert_eq!(zone.write_pointer.unwrap_or(0), info.write_pointer, "{:?}: {:?}", step, zone);
                prop_assert_eq!((zone.first, zone.blocks), (info.first, info.blocks));
            }
        }
        prop_assert_eq!(disk.geometry().blocks(), drive.description().disk_blocks);
    }
}
