//! Rules that the drive model does not have: limits on active zones, capacity below the size, zones
//! that fail, torn pointers, conventional zones elsewhere; and the counts of the state machine.

use crate::common::{at_pointer, block, blocks, carry_out, read, rule, steps};
use proptest::prelude::*;
use shingle_core::units::{Block, Zone};
use shingle_zoned::{
    Condition, Fault, Faults, Geometry, MemoryDisk, ReadsBeyond, Reason, Refused, ZoneCommand,
    ZoneState, ZonedDisk, ZonedError, Zones,
};

fn refused<T: std::fmt::Debug>(done: Result<T, ZonedError>) -> &'static str {
    rule(&done.expect_err("refused"))
}

fn conditions(disk: &dyn ZonedDisk) -> Vec<Condition> {
    crate::common::report(disk).iter().map(|zone| zone.condition).collect()
}

#[test]
fn active_zones_are_limited() {
    use Condition::{Closed, Empty, Full, ImplicitOpen};
    let geometry = Geometry { max_open: 1, max_active: 2, ..Geometry::new(4, 4) };
    let disk = MemoryDisk::new(geometry, Faults::none());
    at_pointer(&disk, Zone(0), &[block(1)]).expect("the first");
    at_pointer(&disk, Zone(1), &[block(2)]).expect("the second closes the first");
    assert_eq!(conditions(&disk), [Closed, ImplicitOpen, Empty, Empty]);
    assert_eq!(refused(at_pointer(&disk, Zone(2), &[block(3)])), "too many active");
    assert_eq!(refused(disk.finish(Zone(2))), "too many active");
    at_pointer(&disk, Zone(0), &[block(3)]).expect("it is active already");
    assert_eq!(conditions(&disk), [ImplicitOpen, Closed, Empty, Empty]);
    disk.finish(Zone(1)).expect("room");
    at_pointer(&disk, Zone(2), &[block(4)]).expect("one full zone is active no more");
    assert_eq!(conditions(&disk), [Closed, Full, ImplicitOpen, Empty]);
}

#[test]
fn zones_that_a_command_opened_stay_open() {
    let geometry = Geometry { max_open: 2, ..Geometry::new(4, 4) };
    let opened = ZoneState { condition: Condition::ExplicitOpen, ..ZoneState::EMPTY };
    let mut zones = vec![opened, ZoneState::EMPTY, ZoneState::EMPTY, ZoneState::EMPTY];
    let mut disk = Zones::restore(geometry, zones.clone()).expect("a device may report this");
    for block in [4, 8, 12] {
        disk.admit(Block(block), 1).expect("the zone of the write before is closed for it");
        assert_eq!(disk.state(Zone(0)), opened);
    }
    disk.validate();
    zones[1] = opened;
    let mut disk = Zones::restore(geometry, zones).expect("a device may report this");
    let open = |refused: Refused| matches!(refused.reason, Reason::TooManyOpen { max: 2 });
    assert!(disk.admit(Block(8), 1).is_err_and(open));
    assert!(disk.command(ZoneCommand::Finish, Zone(2)).is_err_and(open));
    disk.admit(Block(4), 1).expect("its zone is open");
    disk.command(ZoneCommand::Reset, Zone(0)).expect("any zone can be reset");
    disk.admit(Block(8), 1).expect("there is room for one");
    disk.validate();
}

#[test]
fn a_zone_ends_at_its_capacity() {
    let geometry = Geometry { zone_capacity_blocks: 3, ..Geometry::new(3, 4) };
    let disk = MemoryDisk::new(geometry, Faults::none());
    assert_eq!(refused(at_pointer(&disk, Zone(1), &blocks(&[1, 2, 3, 4]))), "boundary");
    at_pointer(&disk, Zone(1), &blocks(&[1, 2, 3])).expect("all of it");
    let zone = disk.report(Zone(1), 1).expect("a report")[0];
    assert_eq!(
        (zone.condition, zone.write_pointer, zone.capacity_blocks),
        (Condition::Full, Some(3), 3)
    );
    assert_eq!(refused(disk.write(Block(7), &[block(5)])), "full");
    assert_eq!(read(&disk, 4, 4).expect("zeros behind it"), [1, 2, 3, 0]);
}

#[test]
fn a_conventional_zone_that_fails_keeps_what_lies_behind_the_capacity_of_others() {
    // (The second failure is among the unflushed changes at a power cut.)
    let faults = [2, 4].map(|call| Fault::ReadOnly { call, zone: Zone(0) }).into();
    let geometry =
        Geometry { conventional_zones: 1, zone_capacity_blocks: 2, ..Geometry::new(2, 4) };
    let disk = MemoryDisk::new(geometry, Faults { faults, ..Faults::none() });
    disk.write(Block(0), &blocks(&[1, 2, 3, 4])).expect("it takes all");
    disk.flush().expect("no fault");
    assert_eq!(read(&disk, 0, 4).expect("it can be read"), [1, 2, 3, 4]);
    disk.flush().expect("no fault");
    assert_eq!(refused(disk.write(Block(0), &[block(5)])), "read-only");
    disk.cut_power();
    disk.restart();
    assert_eq!(read(&disk, 0, 4).expect("it can be read"), [1, 2, 3, 4]);
}

#[test]
fn zones_that_fail_are_read_or_not_and_never_written() {
    let faults = vec![
        Fault::ReadOnly { call: 3, zone: Zone(0) },
        Fault::Offline { call: 3, zone: Zone(1) },
        Fault::ReadOnly { call: 3, zone: Zone(2) },
    ];
    let geometry = Geometry { conventional_zones: 1, ..Geometry::new(4, 4) };
    let disk = MemoryDisk::new(geometry, Faults { faults, ..Faults::none() });
    disk.write(Block(1), &[block(7)]).expect("call 0");
    disk.write(Block(4), &[block(8)]).expect("call 1");
    disk.write(Block(8), &[block(9)]).expect("call 2");
    assert_eq!(refused(disk.write(Block(0), &[block(1)])), "read-only");
    assert_eq!(read(&disk, 1, 1).expect("it can be read"), [7]);
    assert_eq!(refused(read(&disk, 4, 1)), "offline");
    assert_eq!(refused(read(&disk, 2, 4)), "offline");
    assert_eq!(read(&disk, 8, 2).expect("it can be read"), [9, 0]);
    for zone in [Zone(1), Zone(2)] {
        let name = if zone == Zone(1) { "offline" } else { "read-only" };
        assert_eq!([disk.finish(zone), disk.reset(zone)].map(refused), [name; 2]);
        assert_eq!(refused(at_pointer(&disk, zone, &[block(1)])), name);
        assert_eq!(disk.report(zone, 1).expect("a report")[0].write_pointer, None);
    }
    at_pointer(&disk, Zone(3), &[block(1)]).expect("another zone");
    disk.reset(Zone(3)).expect("it can be");
    use Condition::{Empty, Offline, ReadOnly};
    assert_eq!(conditions(&disk), [ReadOnly, Offline, ReadOnly, Empty]);
}

#[test]
fn a_torn_block_is_no_block() {
    let geometry = Geometry { physical_block_bytes: 512, ..Geometry::new(2, 4) };
    let torn = ZoneState { torn_bytes: 1024, ..ZoneState::written(1, 0, &geometry) };
    let mut zones = Zones::restore(geometry, vec![torn, ZoneState::EMPTY]).expect("zones");
    let zone = zones.report(Zone(0));
    assert_eq!((zone.write_pointer, zone.torn_bytes), (Some(1), 1024));
    let refused = zones.admit(Block(1), 1).expect_err("torn");
    assert!(refused.reason.to_string().contains("inside block 1"), "{}", refused.reason);
    zones.command(ZoneCommand::Reset, Zone(0)).expect("reset");
    zones.admit(Block(0), 1).expect("from the start");
    // A disk with physical blocks of 4 KiB tears no block.
    let coarse = Geometry { physical_block_bytes: 4096, ..geometry };
    assert!(Zones::restore(coarse, vec![torn, ZoneState::EMPTY]).is_err());
}

#[test]
fn conventional_zones_may_lie_anywhere() {
    let geometry = Geometry { conventional_zones: 1, ..Geometry::new(4, 4) };
    let (here, there) = (ZoneState::CONVENTIONAL, ZoneState::EMPTY);
    let mut zones = Zones::restore(geometry, vec![here, there, here, here]).expect("zones");
    zones.admit(Block(9), 7).expect("over both");
    zones.admit(Block(2), 3).expect_err("into a sequential one");
    zones.admit(Block(9), 8).expect_err("beyond the disk");
    assert!(Zones::restore(geometry, vec![there; 4]).is_err(), "zone 0 is conventional");
    assert!(Zones::restore(geometry, vec![here; 3]).is_err(), "there are four");
}

#[test]
fn an_error_names_disk_zone_and_block() {
    let geometry = Geometry { reads_beyond: ReadsBeyond::Refused, ..Geometry::new(2, 4) };
    let disk = MemoryDisk::new(geometry, Faults::none());
    at_pointer(&disk, Zone(1), &[block(1)]).expect("written");
    let error = disk.write(Block(7), &[block(1)]).expect_err("not there").to_string();
    assert!(error.starts_with("memory: zone 1: write of 4 KiB at block 7: "), "{error}");
    let error = read(&disk, 3, 3).expect_err("nothing there").to_string();
    assert!(error.starts_with("memory: zone 0: read of 12 KiB at block 3: "), "{error}");
    let error = disk.reset(Zone(2)).expect_err("no such zone");
    assert_eq!(
        (rule(&error), error.to_string()),
        ("out of range", "memory: zone 2: reset: the disk has 8 blocks".into())
    );
    assert_eq!(refused(disk.report(Zone(u32::MAX), 1)), "out of range");
    assert_eq!(refused(disk.write(Block(u64::MAX), &[block(1)])), "out of range");
}

proptest! {
    /// With random commands the counts are right, and a refused command changes nothing.
    #[test]
    fn the_books_are_right(
        steps in steps(&Geometry::new(7, 4), 120),
        max_open in 0_u32..4,
        more in prop::option::of(0_u32..3),
        capacity in 3_u64..5,
    ) {
        let max_active = more.map_or(0, |more| max_open.max(1) + more);
        let geometry =
            Geometry { conventional_zones: 1, max_open, max_active, zone_capacity_blocks: capacity, ..Geometry::new(7, 4) };
        let disk = MemoryDisk::new(geometry, Faults::none());
        let mut versions = 0;
        for step in &steps {
            let before = crate::common::report(&disk);
            let done = carry_out(&disk, step, &mut versions);
            let after = crate::common::report(&disk);
            let states: Vec<Condition> = after.iter().map(|zone| zone.condition).collect();
            let count = |wanted: &[Condition]| states.iter().filter(|state| wanted.contains(state)).count() as u32;
            let open = count(&[Condition::ImplicitOpen, Condition::ExplicitOpen]);
            prop_assert!(max_open == 0 || open <= max_open);
            prop_assert!(max_active == 0 || open + count(&[Condition::Closed]) <= max_active);
            prop_assert!(done.is_ok() || before == after, "{:?} was refused", step);
            disk.validate();
        }
    }
}
