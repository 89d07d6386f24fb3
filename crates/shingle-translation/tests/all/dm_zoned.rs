//! dm-zoned and µCache, worked out by hand from what their documentation says.

use crate::common::{append, bench_over, buffer, read, write};
use shingle_core::params::Params;
use shingle_core::units::{Block, Zone};
use shingle_translation::testing::Bench;
use shingle_translation::translations::get;
use shingle_translation::{Layout, NoQueue, Place, Step, Work};

fn bench(name: &str, zone_blocks: u64, buffer_blocks: u64, zones: u32) -> Bench {
    bench_over(name, Layout { zone_blocks, buffer_blocks, zones }, &[])
}

fn native(from: u64, block: u64, count: u64) -> Step {
    Step::Read { from: Place::Native(from), block: Block(block), count }
}

fn reset(zone: u32) -> Step {
    Step::Reset { zone: Zone(zone) }
}

const COMMIT: Step = Step::Commit;

#[test]
fn a_zone_of_the_buffer_is_reclaimed_in_one_of_three_ways() {
    // Zones of four blocks; four of buffer, eight sequential ones, one of which is reserved.
    let mut dm = bench("dm-zoned", 4, 16, 8);
    assert_eq!(dm.translation().blocks(), 28);
    assert_eq!(write(&mut dm, 0, 1), [buffer(0, 1, 0)]);
    assert_eq!(write(&mut dm, 6, 1), [buffer(6, 1, 6)]);
    assert_eq!(write(&mut dm, 9, 2), [buffer(9, 2, 9)]);
    assert_eq!(write(&mut dm, 1, 1), [buffer(1, 1, 1)]);
    // One is free, which counts as none. Chunk 1 is the coldest, and has no zone: its one block goes to the first.
    let copied = [read(6, 6, 1), append(0, 4, 3), COMMIT, buffer(12, 1, 12)];
    assert_eq!(write(&mut dm, 12, 1), copied);
    // Block 7 is at the write pointer of chunk 1; block 4 is behind it.
    assert_eq!(write(&mut dm, 7, 1), [append(0, 7, 1)]);
    let copied = [read(9, 9, 2), append(1, 8, 3), COMMIT, buffer(4, 1, 4)];
    assert_eq!(write(&mut dm, 4, 1), copied);
    let copied = [read(0, 0, 2), append(2, 0, 2), COMMIT, buffer(16, 1, 8)];
    assert_eq!(write(&mut dm, 16, 1), copied);
    // Block 3 is not at the write pointer of chunk 0, which is 2.
    let copied = [read(12, 12, 1), append(3, 12, 1), COMMIT, buffer(3, 1, 3)];
    assert_eq!(write(&mut dm, 3, 1), copied);
    // Chunk 1 has block 4 in the buffer, which its zone has been written beyond: blocks 6 and 7 join
    // it there, and block 5, which was never written, does not. That frees no segment, and the last one is given.
    let merged = [native(2, 6, 2), buffer(6, 2, 6), COMMIT, reset(0), buffer(20, 1, 12)];
    assert_eq!(write(&mut dm, 20, 1), merged);
    let copied = [read(8, 16, 1), append(4, 16, 1), COMMIT, buffer(24, 1, 8)];
    assert_eq!(write(&mut dm, 24, 1), copied);
    // All that chunk 0 has in the buffer is beyond its write pointer.
    let drained = [
        [read(3, 3, 1), append(2, 2, 2), COMMIT].to_vec(),
        [read(4, 4, 1), read(6, 6, 2), append(5, 4, 4), COMMIT].to_vec(),
        [read(12, 20, 1), append(6, 20, 1), COMMIT].to_vec(),
        [read(8, 24, 1), append(7, 24, 1), COMMIT].to_vec(),
    ]
    .concat();
    assert_eq!(dm.run(Work::Drain, &NoQueue), drained);
    let counters = dm.translation().counters();
    assert_eq!((counters.victims, counters.rmw, counters.rmw_free), (9, 1, 8));
    assert_eq!((counters.moved_blocks, counters.evicted_blocks), (2, 13));
}

#[test]
fn reclaim_begins_at_low_and_ends_at_high() {
    // Ten segments: three free ones are few, five are enough.
    let layout = Layout { zone_blocks: 4, buffer_blocks: 40, zones: 16 };
    let mut dm = bench_over("dm-zoned", layout, &[("high", "0.5"), ("idle", "0.5")]);
    for chunk in 0..7 {
        assert_eq!(write(&mut dm, chunk * 4, 1).len(), 1, "chunk {chunk}");
    }
    for chunk in 7..9 {
        let steps = write(&mut dm, chunk * 4, 1);
        assert!(matches!(steps[..], [_, Step::Append { .. }, COMMIT, Step::Buffer { .. }]));
        assert_eq!(dm.translation().buffer_state().free, 12);
    }
    for left in [true, false] {
        assert!(dm.translation().wants_idle());
        let zone = 3 - u64::from(left);
        let append = append(zone as u32, zone * 4, 1);
        assert_eq!(dm.run(Work::Idle, &NoQueue), [read(zone * 4, zone * 4, 1), append, COMMIT]);
        assert_eq!(dm.translation().wants_idle(), left);
    }
    assert_eq!(dm.run(Work::Idle, &NoQueue), []);
    for (chunk, steps) in [(9, 1), (10, 1), (11, 4)] {
        assert_eq!(write(&mut dm, chunk * 4, 1).len(), steps, "chunk {chunk}");
    }
}

/// Reclaim while busy (kernel 6.12, `dmz_reclaim_percentage` and `dmz_should_reclaim`): of 13 segments 4 are 30 whole
/// percent and 5 are 38; of 10, 3 are 30 and 4 are 40; a single one is none. In idle time all.
#[test]
fn by_default_the_thresholds_are_the_kernels() {
    for (segments, low) in [(13, 4), (10, 3), (3, 1), (2, 1)] {
        let mut dm = bench("dm-zoned", 4, 4 * segments, 40);
        for chunk in 0..segments - low {
            assert_eq!(write(&mut dm, chunk * 4, 1).len(), 1, "chunk {chunk} of {segments}");
        }
        for chunk in segments - low..segments + 4 {
            assert_eq!(write(&mut dm, chunk * 4, 1).len(), 4, "one is reclaimed for one given");
            assert_eq!(dm.translation().buffer_state().free, 4 * low);
        }
        while dm.translation().wants_idle() {
            assert_eq!(dm.run(Work::Idle, &NoQueue).len(), 3);
        }
        assert_eq!(dm.translation().buffer_state().free, 4 * segments);
    }
}

#[test]
fn what_was_read_stays_longer() {
    let mut dm = bench("dm-zoned", 4, 12, 8);
    write(&mut dm, 0, 1);
    write(&mut dm, 4, 1);
    dm.locate(Block(0), 1, &mut Vec::new());
    assert_eq!(write(&mut dm, 8, 1)[0], read(4, 4, 1));
}

#[test]
fn whole_zones_do_not_fit_into_less() {
    let entry = get("dm-zoned").expect("it is registered");
    let layout = Layout { zone_blocks: 100, buffer_blocks: 199, zones: 9 };
    let error = entry.make(&Params::new(entry.params), layout).err().expect("too small");
    assert_eq!(
        error,
        "dm-zoned buffers 100 blocks at a time: it needs a buffer of at least 200 blocks, not 199: \
         it takes a disk with more conventional zones, or in a simulation a larger part of them, \
         --set drive.pb=real"
    );
}

#[test]
fn a_zone_of_which_half_is_buffered_is_promoted() {
    // Zones of eight blocks; eight segments of two blocks, an eighth of the buffer each.
    let mut ucache = bench("ucache", 8, 16, 8);
    assert_eq!(write(&mut ucache, 0, 1), [buffer(0, 1, 0)]);
    assert_eq!(write(&mut ucache, 5, 1), [buffer(5, 1, 3)]);
    let copied = [read(0, 0, 1), read(3, 5, 1), append(0, 0, 6), COMMIT];
    assert_eq!(ucache.run(Work::Drain, &NoQueue), copied);
    assert_eq!(write(&mut ucache, 1, 2), [buffer(1, 1, 5), buffer(2, 1, 6)]);
    // With block 4 half of the zone is in the buffer; blocks 0 and 5, the rest, follow.
    let promoted = [
        vec![buffer(3, 1, 7), buffer(4, 1, 8), native(0, 0, 6)],
        vec![buffer(0, 1, 4), buffer(5, 1, 9), COMMIT, reset(0)],
    ];
    assert_eq!(write(&mut ucache, 3, 2), promoted.concat());
    assert_eq!(write(&mut ucache, 7, 1), [buffer(7, 1, 11)], "in place");
    assert_eq!(write(&mut ucache, 8, 1), [buffer(8, 1, 12)]);
    // Segments 2 to 4 are neighbours; block 6 was never written.
    let copied = [
        vec![read(4, 0, 6), read(11, 7, 1), append(1, 0, 8), COMMIT],
        vec![read(12, 8, 1), append(2, 8, 1), COMMIT],
    ];
    assert_eq!(ucache.run(Work::Drain, &NoQueue), copied.concat());
    assert_eq!(ucache.translation().counters().rmw, 1);
    // Less than half, below the write pointer: to another zone, with what is native.
    assert_eq!(write(&mut ucache, 0, 1), [buffer(0, 1, 14)]);
    let copied = [native(9, 1, 7), read(14, 0, 1), append(3, 0, 8), COMMIT, reset(1)];
    assert_eq!(ucache.run(Work::Drain, &NoQueue), copied);
    assert_eq!(ucache.translation().counters().rmw, 2);
}

#[test]
fn fresh_chunks_that_are_written_in_sequence_go_to_zones() {
    let layout = Layout { zone_blocks: 4, buffer_blocks: 16, zones: 8 };
    for name in ["dm-zoned", "ucache"] {
        let settings: &[_] = if name == "ucache" { &[("segment", "4b")] } else { &[] };
        let settings = [settings, &[("fresh", "sequential")]].concat();
        let mut dm = bench_over(name, layout, &settings);
        assert_eq!(write(&mut dm, 0, 6), [append(0, 0, 4), append(1, 4, 2)], "{name}");
        assert_eq!(write(&mut dm, 6, 1), [append(1, 6, 1)]);
        // Chunk 2 does not begin with its first block.
        let at = write(&mut dm, 9, 1)[0];
        assert!(matches!(at, Step::Buffer { count: 1, .. }), "{at:?}");
        assert!(matches!(write(&mut dm, 8, 1)[..], [Step::Buffer { .. }]), "it is in the buffer");
        // Below the write pointer.
        assert!(matches!(write(&mut dm, 0, 1)[..], [Step::Buffer { .. }]));
        // Chunk 1 is given up, and written again; another zone is empty.
        dm.run(Work::Trim { block: Block(4), count: 4 }, &NoQueue);
        assert_eq!(write(&mut dm, 4, 1), [COMMIT, reset(1), append(2, 4, 1)]);
        assert_eq!(write(&mut dm, 5, 3), [append(2, 5, 3)]);
        // Not if a block is left.
        dm.run(Work::Trim { block: Block(4), count: 3 }, &NoQueue);
        assert!(matches!(write(&mut dm, 4, 1)[..], [Step::Buffer { .. }]));
    }
}
