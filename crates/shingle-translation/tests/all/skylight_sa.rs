//! The set-associative buffer, worked out by hand from Amphisbaena §6.1 and §6.2.

use crate::common::{append, bench, buffer, native, read, write};
use shingle_core::units::Zone;
use shingle_translation::{NoQueue, Step, Work};

#[test]
fn a_full_bucket_is_written_back_with_every_zone_in_it() {
    // 4 buckets of 4 slots; zones 0 and 4 share the first, zone 1 has the second to itself.
    let mut skylight = bench("skylight-sa", 16, &[("buckets", "4")]);
    assert_eq!(write(&mut skylight, 17, 1), [buffer(17, 1, 0)]);
    // Zones 0 and 1 in one request: a bucket each.
    assert_eq!(write(&mut skylight, 3, 2), [buffer(3, 1, 1), buffer(4, 1, 4)]);
    // A newer copy is appended, and a write hit.
    assert_eq!(write(&mut skylight, 17, 1), [buffer(17, 1, 2)]);
    assert_eq!(write(&mut skylight, 16, 1), [buffer(16, 1, 3)]);
    let held = skylight.translation().buffer_state();
    assert_eq!((held.blocks, held.zones, held.used), (4, 3, 5));
    // Block 3 is the oldest in the bucket, then the second copy of 17. Zone 1 stays where it is.
    let cleaned = [read(1, 3, 1), append(0, 0, 4), Step::Commit];
    let and = [read(2, 17, 1), read(3, 16, 1), append(4, 16, 2), Step::Commit, buffer(2, 1, 0)];
    assert_eq!(write(&mut skylight, 2, 1), [&cleaned[..], &and].concat());
    let counters = skylight.translation().counters();
    assert_eq!((counters.cleanings, counters.victims, counters.rmw), (1, 2, 0));
    assert_eq!((counters.written_blocks, counters.write_hits, counters.evicted_blocks), (6, 1, 3));
    // Zone 0 ends at its end; block 2 was synthesized there.
    let rewritten = [
        native(0, 4),
        read(0, 2, 1),
        Step::Reset { zone: Zone(0) },
        append(0, 0, 4),
        Step::Commit,
        read(4, 4, 1),
        append(1, 4, 1),
        Step::Commit,
    ];
    assert_eq!(skylight.run(Work::Drain, &NoQueue), rewritten);
    assert_eq!(skylight.translation().buffer_state().free, 16);
}

#[test]
fn there_are_eight_buckets_or_as_many_as_keep_them_within_a_zone() {
    // 20 slots in eight buckets: 3, 2, 3, 2, 3, 2, 3, 2.
    let mut skylight = bench("skylight-sa", 20, &[]);
    let places = [(0, 0), (4, 3), (8, 5), (12, 8), (16, 10), (20, 13), (24, 15), (28, 18)];
    for (block, at) in places {
        assert_eq!(write(&mut skylight, block, 1), [buffer(block, 1, at)]);
    }
    // 40 slots and zones of 4: ten buckets, so that no zone of eight shares one.
    let mut skylight = bench("skylight-sa", 40, &[]);
    assert_eq!(write(&mut skylight, 28, 4), [buffer(28, 4, 28)]);
}
