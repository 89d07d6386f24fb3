//! Fluid and Fluid_loop, worked out by hand from Amphisbaena §2.2 and §6.1.

use crate::common::{append, bench, buffer, native, read, write};
use shingle_core::units::Zone;
use shingle_translation::testing::Bench;
use shingle_translation::{NoQueue, Step, Work};

#[test]
fn the_zone_of_the_oldest_block_is_written_back() {
    let mut fluid = bench("fluid", 6, &[]);
    assert_eq!(write(&mut fluid, 0, 2), [buffer(0, 2, 0)]);
    assert_eq!(write(&mut fluid, 9, 1), [buffer(9, 1, 2)]);
    assert_eq!(write(&mut fluid, 1, 1), [buffer(1, 1, 1)], "in place");
    // Block 9 is found where it is; those around it are appended.
    assert_eq!(write(&mut fluid, 4, 3), [buffer(4, 3, 3)]);
    // The log is full, and slot 0 has the oldest block. Nothing of zone 0 was native.
    let cleaned = [read(0, 0, 2), append(0, 0, 2), Step::Commit, buffer(8, 1, 0)];
    assert_eq!(write(&mut fluid, 8, 1), cleaned);
    assert_eq!(write(&mut fluid, 0, 1), [buffer(0, 1, 1)]);
    // Slots 2 to 5, 0, 1 hold 9, 4, 5, 6, 8, 0. Zone 2 has 9 and, later in the log, 8.
    let cleaned = [read(2, 9, 1), read(0, 8, 1), append(2, 8, 2), Step::Commit, buffer(7, 1, 2)];
    assert_eq!(write(&mut fluid, 7, 1), cleaned);
    // Slots 3 to 5, 0, 1, 2 hold 4, 5, 6, a hole, 0, 7. The tail passes over the hole.
    let cleaned = [read(3, 4, 3), read(2, 7, 1), append(1, 4, 4), Step::Commit, buffer(1, 1, 3)];
    assert_eq!(write(&mut fluid, 1, 1), cleaned);
    let held = fluid.translation().buffer_state();
    assert_eq!((held.blocks, held.zones, held.used, held.free), (2, 1, 3, 3));
    // Zone 0 has two native blocks; now both are overwritten.
    let rewritten = [
        native(0, 2),
        read(1, 0, 1),
        read(3, 1, 1),
        Step::Reset { zone: Zone(0) },
        append(0, 0, 2),
        Step::Commit,
    ];
    assert_eq!(fluid.run(Work::Drain, &NoQueue), rewritten);
    let counters = fluid.translation().counters();
    assert_eq!((counters.written_blocks, counters.write_hits), (11, 1));
    assert_eq!((counters.rmw, counters.rmw_free, counters.cleanings), (1, 3, 4));
    assert_eq!((counters.evicted_blocks, counters.moved_blocks), (10, 0));
}

/// Seven blocks of six zones in a log of eight, one of which is kept free; zone 0 was written five
/// times, the others once: a mean of 1.67 and a deviation of 1.49.
fn hot(settings: &[(&str, &str)]) -> Bench {
    let mut fluid = bench("fluid-loop", 8, settings);
    write(&mut fluid, 0, 2);
    for (at, block) in [4, 8, 12, 16, 20].into_iter().enumerate() {
        assert_eq!(write(&mut fluid, block, 1), [buffer(block, 1, at as u64 + 2)]);
    }
    (0..3).for_each(|_| assert_eq!(write(&mut fluid, 0, 1), [buffer(0, 1, 0)]));
    fluid
}

#[test]
fn blocks_of_hot_zones_are_requeued() {
    let mut fluid = hot(&[]);
    // When the first is re-queued the head has gone around: 2 writes for zone 0, 0 for the others,
    // which is hot still, by a mean of 0.33 and a deviation of 0.75.
    let steps = [
        [read(0, 0, 1), buffer(0, 1, 7), Step::Commit],
        [read(1, 1, 1), buffer(1, 1, 0), Step::Commit],
        [read(2, 4, 1), append(1, 4, 1), Step::Commit],
    ];
    let mut steps = steps.concat();
    steps.push(buffer(24, 1, 1));
    assert_eq!(write(&mut fluid, 24, 1), steps);
    assert_eq!(fluid.translation().counters().moved_blocks, 2);
    assert_eq!(fluid.translation().counters().cleanings, 1);
}

#[test]
fn no_more_of_the_log_is_requeued_than_allowed() {
    let mut fluid = hot(&[("requeued", "0.125")]);
    let requeued = [read(0, 0, 1), buffer(0, 1, 7), Step::Commit];
    let cleaned = [read(1, 1, 1), read(7, 0, 1), append(0, 0, 2), Step::Commit];
    let steps = [&requeued[..], &cleaned, &[buffer(24, 1, 0)]].concat();
    assert_eq!(write(&mut fluid, 24, 1), steps);
    // Of a zone five times the usual, three deviations would be too much.
    let mut fluid = hot(&[("sigma", "3")]);
    let steps = [read(0, 0, 2), append(0, 0, 2), Step::Commit, buffer(24, 1, 7)];
    assert_eq!(write(&mut fluid, 24, 1), steps);
}

#[test]
fn neighbours_are_requeued_together() {
    let mut fluid = bench("fluid-loop", 32, &[]);
    // 28 blocks: zones 0 and 4 whole, then the others.
    write(&mut fluid, 0, 4);
    write(&mut fluid, 16, 4);
    for zone in [1, 2, 3, 5, 6] {
        write(&mut fluid, zone * 4, 4);
    }
    (0..3).for_each(|_| drop((write(&mut fluid, 0, 4), write(&mut fluid, 16, 4))));
    // Four at a time; the four that are kept free are the first place to go.
    let steps = [
        [read(0, 0, 4), buffer(0, 4, 28), Step::Commit],
        [read(4, 16, 4), buffer(16, 4, 0), Step::Commit],
        [read(8, 4, 4), append(1, 4, 4), Step::Commit],
    ];
    let mut steps = steps.concat();
    steps.push(buffer(28, 1, 4));
    assert_eq!(write(&mut fluid, 28, 1), steps);
}

#[test]
fn what_goes_on_at_a_write_pointer_goes_to_the_zone() {
    for name in ["fluid", "fluid-loop", "skylight-sa"] {
        let mut log = bench(name, 16, &[("fresh", "sequential")]);
        assert_eq!(write(&mut log, 0, 6), [append(0, 0, 4), append(1, 4, 2)], "{name}");
        assert_eq!(write(&mut log, 6, 1), [append(1, 6, 1)]);
        // Block 9 is not at the write pointer of zone 2; then that zone has it in the buffer.
        assert!(matches!(write(&mut log, 9, 1)[..], [Step::Buffer { .. }]));
        assert!(matches!(write(&mut log, 8, 1)[..], [Step::Buffer { .. }]));
        assert!(matches!(write(&mut log, 4, 1)[..], [Step::Buffer { .. }]));
        assert!(matches!(write(&mut log, 7, 1)[..], [Step::Buffer { .. }]));
        log.run(Work::Drain, &NoQueue);
        assert_eq!(write(&mut log, 10, 2), [append(2, 10, 2)]);
        assert_eq!(log.translation().counters().written_blocks, 6 + 5 + 2);
    }
}
