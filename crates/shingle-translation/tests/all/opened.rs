//! What translations make of a saved map, worked out by hand from what their documentation says.

use crate::common::{append, buffer, opened, read, write};
use shingle_core::params::Params;
use shingle_core::units::{Block, Zone};
use shingle_translation::Place::{Buffer, Native, Nowhere};
use shingle_translation::testing::Bench;
use shingle_translation::translations::ALL;
use shingle_translation::{Layout, NoQueue, Piece, Place, Saved, Step, Work};

const COMMIT: Step = Step::Commit;
const LAYOUT: Layout = Layout { zone_blocks: 4, buffer_blocks: 16, zones: 8 };

fn reset(zone: u32) -> Step {
    Step::Reset { zone: Zone(zone) }
}

fn drain(bench: &mut Bench) -> Vec<Step> {
    bench.run(Work::Drain, &NoQueue)
}

#[test]
fn what_is_saved_of_a_translation_is_where_its_blocks_lie() {
    // Block 5 is alone in the buffer, beside two in their zone; nothing else lies anywhere.
    let runs = [(4, Native(4), 1), (5, Buffer(15), 1), (6, Native(6), 1)];
    let pointers = [0, 3, 0, 0, 0, 0, 0, 0];
    let fluid = opened("fluid", LAYOUT, &[], &runs, &pointers).expect("a map");
    let saved = Saved::of(fluid.translation(), LAYOUT.zones);
    let run = |(block, place, count)| (Block(block), Piece { place, count });
    assert_eq!(saved, Saved { runs: runs.map(run).to_vec(), pointers: pointers.to_vec() });
    let empty = opened("fluid", LAYOUT, &[], &[], &[0; 8]).expect("a map");
    assert_eq!(Saved::of(empty.translation(), LAYOUT.zones), Saved::empty(LAYOUT));
}

/// What is known of zones takes memory from the first time on that they are used.
#[test]
fn an_empty_map_takes_no_more_memory_than_none() {
    for entry in ALL {
        let (params, layout) = (
            Params::new(entry.params),
            Layout { zone_blocks: 1024, buffer_blocks: 4096, zones: 64 },
        );
        let made = entry.make(&params, layout).expect("room");
        let opened = entry.open(&params, layout, &Saved::empty(layout)).expect("a map");
        assert_eq!(opened.memory_bytes(), made.memory_bytes(), "{}", entry.name);
    }
}

#[test]
fn a_log_begins_behind_its_longest_run_of_holes() {
    // Of eight places 0, 5 and 6 are taken: holes are 7, and 1 to 4.
    let layout = Layout { buffer_blocks: 8, ..LAYOUT };
    let runs = [(9, Buffer(5), 2), (20, Buffer(0), 1)];
    for name in ["fluid", "fluid-loop"] {
        let mut log = opened(name, layout, &[], &runs, &[0; 8]).expect("a map");
        let batch = u64::from(name == "fluid-loop");
        assert_eq!(
            (log.translation().buffer_state().used, log.translation().buffer_state().blocks),
            (4, 3)
        );
        assert_eq!(write(&mut log, 24, 4 - batch), [buffer(24, 4 - batch, 1)]);
        // Zone 2 has the oldest block.
        if batch == 0 {
            let back = [read(5, 9, 2), append(2, 8, 3), COMMIT, buffer(0, 1, 5)];
            assert_eq!(write(&mut log, 0, 1), back);
        }
    }
}

#[test]
fn a_bucket_goes_on_behind_its_last_block() {
    // Eight buckets of two places. Zone 1 has those from 2 on, zone 3 those from 6 on.
    let runs = [(5, Buffer(2), 1), (12, Buffer(7), 1)];
    let mut buckets = opened("skylight-sa", LAYOUT, &[], &runs, &[0; 8]).expect("a map");
    assert_eq!(buckets.translation().buffer_state().used, 1 + 2, "place 6 is used");
    assert_eq!(write(&mut buckets, 6, 1), [buffer(6, 1, 3)]);
    let back = [read(2, 5, 2), append(1, 4, 3), COMMIT, buffer(7, 1, 2)];
    assert_eq!(write(&mut buckets, 7, 1), back);
}

#[test]
fn chunks_have_the_zones_and_segments_that_their_blocks_lie_in() {
    // Chunk 0 has zone 0. No entry of the map is in zone 2. Chunks 2 and 1 have segments 3 and 0: the longest run
    // of free blocks is between them, so chunk 2 was used first.
    let runs = [(0, Native(0), 3), (5, Buffer(1), 1), (9, Buffer(13), 1)];
    let mut dm = opened("dm-zoned", LAYOUT, &[], &runs, &[3, 0, 4, 0, 0, 0, 0, 0]).expect("a map");
    assert_eq!(write(&mut dm, 3, 1), [append(0, 3, 1)], "at the write pointer of its zone");
    assert_eq!(write(&mut dm, 12, 1), [buffer(12, 1, 4)]);
    let copied = [read(13, 9, 1), append(1, 8, 2), COMMIT, buffer(16, 1, 8)];
    assert_eq!(write(&mut dm, 16, 1), copied);
    let drained = [
        [read(1, 5, 1), append(3, 4, 2), COMMIT],
        [read(4, 12, 1), append(4, 12, 1), COMMIT],
        [read(8, 16, 1), append(5, 16, 1), COMMIT],
    ];
    assert_eq!(drain(&mut dm), drained.concat());
    write(&mut dm, 20, 1);
    write(&mut dm, 24, 1);
    drain(&mut dm);
    // Zones 1 and 3 to 7 are taken by now. Zone 2 has to be reset.
    assert_eq!(write(&mut dm, 0, 1).len(), 1);
    let native = Step::Read { from: Place::Native(1), block: Block(1), count: 3 };
    let merged = [native, buffer(1, 3, 5), COMMIT, reset(0)];
    let copied = [read(4, 0, 4), reset(2), append(2, 0, 4), COMMIT];
    assert_eq!(drain(&mut dm), [merged, copied].concat());
}

/// (All that is opened is read once: see `Bench::over`.)
#[test]
fn runs_may_go_over_chunks_and_segments() {
    let pointers = [4, 4, 1, 0, 0, 0, 0, 0];
    opened("dm-zoned", LAYOUT, &[], &[(3, Native(3), 6)], &pointers).expect("a map");
    let layout = Layout { zone_blocks: 8, buffer_blocks: 32, zones: 8 };
    for count in [2, 5, 7] {
        let runs = [(3, Buffer(3), count)];
        let ucache = opened("ucache", layout, &[("segment", "4b")], &runs, &[0; 8]).expect("a map");
        assert_eq!(ucache.translation().buffer_state().blocks, count);
    }
    // The last segment of a chunk is short: the next chunk begins in another one.
    let odd = Layout { zone_blocks: 6, ..layout };
    let refused = opened("ucache", odd, &[("segment", "4b")], &[(5, Buffer(5), 2)], &[0; 8]).err();
    let why = "at block 6 of the buffer, but a segment keeps blocks in their places";
    assert!(refused.expect("it cannot be").ends_with(why));
    // The segment behind a run that ends with one comes next.
    let mut dm = opened("dm-zoned", LAYOUT, &[], &[(4, Buffer(4), 4)], &[0; 8]).expect("a map");
    assert_eq!(write(&mut dm, 8, 1), [buffer(8, 1, 8)]);
}

#[test]
fn a_log_cleans_where_least_lives_as_all_is_equally_old() {
    let layout = Layout { zones: 12, ..LAYOUT };
    let settings = [("victim", "cost-benefit"), ("garbage", "1"), ("idle", "0")];
    let runs = [(0, Native(0), 3), (4, Native(4), 1)];
    let pointers = [4, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut log = opened("log", layout, &settings, &runs, &pointers).expect("a map");
    let moved = log.run(Work::Idle, &NoQueue);
    assert_eq!(moved[0], Step::Read { from: Native(4), block: Block(4), count: 1 });
}

/// Six zones, four of them to spare. The host goes on with the only zone that has room while two are free; then that is
/// for what cleaning moves.
#[test]
fn the_last_free_zones_are_for_cleaning() {
    let layout = Layout { zones: 6, ..LAYOUT };
    let settings = [("garbage", "1"), ("idle", "0")];
    let runs = [(0, Native(0), 4), (4, Native(4), 2), (6, Native(8), 1), (7, Native(12), 1)];
    let pointers = [4, 4, 4, 1, 0, 0];
    let mut log = opened("log", layout, &settings, &runs, &pointers).expect("a map");
    assert_eq!(write(&mut log, 7, 1), [append(3, 7, 1)]);
    let runs = [
        (0, Native(0), 3),
        (3, Native(4), 2),
        (5, Native(8), 1),
        (6, Native(16), 1),
        (7, Native(12), 1),
    ];
    let mut log = opened("log", layout, &settings, &runs, &[4, 4, 4, 1, 4, 0]).expect("a map");
    let read = Step::Read { from: Native(8), block: Block(5), count: 1 };
    assert_eq!(log.run(Work::Idle, &NoQueue)[..2], [read, append(3, 5, 1)]);
}

#[test]
fn a_log_goes_on_with_the_zones_that_have_room() {
    // Twelve zones, four of them to spare. Zone 0 is full, one of its blocks garbage, zones 1 and 3 have room for two and
    // three blocks, and no entry of the map is in zones 2 and 4.
    let layout = Layout { zones: 12, ..LAYOUT };
    let pointers = [4, 2, 4, 1, 3, 0, 0, 0, 0, 0, 0, 0];
    let runs = [(0, Native(0), 3), (4, Native(4), 1), (9, Native(12), 1)];
    let two = [("group", "moved"), ("garbage", "1")];
    let mut log = opened("log", layout, &two, &runs, &pointers).expect("a map");
    assert_eq!(write(&mut log, 10, 3), [append(3, 10, 3)]);
    assert_eq!(write(&mut log, 20, 5), [reset(2), append(2, 20, 4), reset(4), append(4, 24, 1)]);
    // With one group the zone with less room is full from then on, and its garbage is cleaned.
    let one = [("group", "none"), ("garbage", "1"), ("idle", "0")];
    let mut log = opened("log", layout, &one, &runs, &pointers).expect("a map");
    assert_eq!(write(&mut log, 10, 3), [append(3, 10, 3)]);
    let moved = [
        vec![Step::Read { from: Native(4), block: Block(4), count: 1 }],
        vec![reset(2), append(2, 4, 1)],
    ];
    assert_eq!(log.run(Work::Idle, &NoQueue), moved.concat());
}

/// Blocks 5 to 8 lie at the end of zone 0 and the begin of zone 1. Half of zone 2 is garbage, too.
#[test]
fn a_run_of_a_log_may_lie_in_two_zones() {
    let layout = Layout { zones: 12, ..LAYOUT };
    let pointers = [4, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let settings = [("garbage", "1"), ("idle", "0")];
    let runs = [(5, Native(2), 4), (12, Native(8), 2)];
    let mut log = opened("log", layout, &settings, &runs, &pointers).expect("a map");
    let read = |from, block| Step::Read { from: Native(from), block: Block(block), count: 2 };
    assert_eq!(log.run(Work::Idle, &NoQueue), [read(2, 5), append(3, 5, 2)]);
    assert_eq!(log.run(Work::Idle, &NoQueue), [read(4, 7), append(3, 7, 2)]);
}

/// Six zones of eight, four of them to spare, and none free: in zones 0 to 3 three blocks each are live, zone 4 has room
/// for three, and zone 5 for one. What is in zone 0 goes to zone 4 before the host may write, and it to zone 5.
#[test]
fn a_log_without_a_free_zone_cleans_one_before_it_writes() {
    let layout = Layout { zone_blocks: 8, buffer_blocks: 1, zones: 6 };
    let mut runs: Vec<_> = (0..4).map(|zone| (zone * 3, Native(zone * 8), 3)).collect();
    runs.extend([(12, Native(32), 1), (13, Native(40), 1)]);
    let settings = [("group", "moved"), ("garbage", "1")];
    let pointers = [8, 8, 8, 8, 5, 7];
    let full = || opened("log", layout, &settings, &runs, &pointers).expect("a map");
    let read = Step::Read { from: Native(0), block: Block(0), count: 3 };
    let moved = [read, append(4, 0, 3), append(5, 14, 1)];
    assert_eq!(write(&mut full(), 14, 1), moved);
    let mut log = full();
    for round in 0..20 {
        write(&mut log, round % 12, 5);
    }
    // With three blocks in zone 4 and no room there they could go nowhere.
    runs.splice(4.., [(12, Native(32), 3), (15, Native(40), 1)]);
    let stuck = opened("log", layout, &settings, &runs, &[8, 8, 8, 8, 8, 7]).err();
    let why = "no zone is free, nor room for what is live in any other";
    assert!(stuck.expect("it cannot be").ends_with(why));
}

#[test]
fn frames_that_cannot_be_of_the_lfb_are_of_the_hfb() {
    // Eight frames of four blocks; the HFB has two at first, and six at most. In frame 2 block 0 is not in its place; in
    // frame 3 block 17 is; frames 4 and 7 have a block each of one chunk.
    let layout = Layout { zone_blocks: 16, buffer_blocks: 32, zones: 4 };
    let (chunk, pointers) = ([("chunk", "4b")], [0, 0, 6, 0]);
    let runs = [(0, Buffer(9), 1), (17, Buffer(13), 1), (20, Buffer(16), 1), (21, Buffer(29), 1)];
    let mut both = opened("amphisbaena", layout, &chunk, &runs, &pointers).expect("a map");
    let held = both.translation().buffer_state();
    assert_eq!(
        (held.blocks, held.used),
        (4, 2 + 2 * 4),
        "two blocks in slots, two frames of the LFB"
    );
    assert_eq!(write(&mut both, 22, 1), [buffer(22, 1, 18)], "the first request is cold");
    assert_eq!(write(&mut both, 21, 1), [buffer(21, 1, 29)]);
    assert_eq!(write(&mut both, 0, 1), [buffer(0, 1, 9)]);
    assert_eq!(both.translation().counters().hot_hits, 2);
}

type Runs<'a> = &'a [(u64, Place, u64)];

/// Write pointers or a translation, runs, and what is said.
macro_rules! maps {
    ($($key:expr, $runs:expr => $said:literal;)*) => { [$(($key, { let runs: Runs = &$runs; runs }, $said)),*] };
}

#[test]
fn what_cannot_be_a_map_is_refused_with_block_and_place() {
    let all = ["amphisbaena", "fluid", "fluid-loop", "skylight-sa", "dm-zoned", "ucache", "log"];
    let full = [4; 8];
    let everywhere = maps! {
        &[0; 7][..], [] => "it has 7 write pointers for 8 zones";
        &[0, 5, 0, 0, 0, 0, 0, 0][..], [] => "the write pointer of zone 1, 5, is behind its end";
        &full[..], [(31, Native(30), 2)] => "it has 2 blocks from block 31 on, of ";
        &full[..], [(u64::MAX, Native(0), 2)] => "it has 2 blocks from block 18446744073709551615 on";
        &full[..], [(3, Native(3), 0)] => "it has 0 blocks from block 3 on";
        &full[..], [(3, Native(3), 2), (4, Native(4), 1)] => "block 4 comes behind block 4";
        &full[..], [(3, Native(3), 1), (2, Native(2), 1)] => "block 2 comes behind block 3";
        &full[..], [(3, Nowhere, 1)] => "block 3 is said to lie nowhere";
        &[4, 1, 0, 0, 0, 0, 0, 0][..], [(3, Native(3), 3)] =>
            "block 5 is said to lie at block 1 of zone 1, which was never written";
        &full[..], [(3, Native(31), 2)] => "block 4 is said to lie at block 0 of zone 8, which was never written";
        &full[..], [(3, Native(u64::MAX), 2)] => "which was never written";
        &full[..], [(3, Buffer(15), 2)] => "block 4 is said to lie at block 16 of the buffer";
        &full[..], [(3, Buffer(u64::MAX), 2)] => "which was never written";
    };
    let some = maps! {
        "fluid", [(5, Native(6), 1)] =>
            "block 5 is said to lie at block 2 of zone 1, but its zone keeps blocks in their places";
        "fluid-loop", [(2, Buffer(6), 3), (20, Buffer(8), 1)] =>
            "blocks 4 and 20 are both said to lie at block 8 of the buffer";
        "skylight-sa", [(5, Buffer(4), 1)] =>
            "block 5 is said to lie at block 4 of the buffer, but the bucket of its zone has blocks 2..4";
        "dm-zoned", [(5, Native(10), 1)] =>
            "block 5 is said to lie at block 2 of zone 2, but a chunk's zone keeps blocks in their places";
        "dm-zoned", [(4, Native(4), 1), (5, Native(9), 1)] =>
            "block 5 is said to lie at block 1 of zone 2, but its chunk has zone 1";
        "dm-zoned", [(4, Native(4), 1), (9, Native(5), 1)] =>
            "block 9 is said to lie at block 1 of zone 1, but that is the zone of chunk 1";
        "dm-zoned", [(4, Buffer(4), 1), (9, Buffer(5), 1)] =>
            "block 9 is said to lie at block 5 of the buffer, but that segment is of blocks 4 to 7";
        "ucache", [(4, Buffer(4), 1), (5, Buffer(9), 1)] =>
            "block 5 is said to lie at block 9 of the buffer, but blocks 4 to 5 have another segment";
        "dm-zoned", [(0, Native(8), 1), (7, Native(7), 2)] =>
            "block 8 is said to lie at block 0 of zone 2, but that is the zone of chunk 0";
        "dm-zoned", [(3, Buffer(7), 2), (5, Buffer(1), 1)] =>
            "block 4 is said to lie at block 8 of the buffer, but blocks 4 to 7 have another segment";
        "log", [(5, Buffer(4), 1)] =>
            "block 5 is said to lie at block 4 of the buffer, but this translation has no buffer";
        "log", [(1, Native(4), 2), (7, Native(5), 1)] => "blocks 2 and 7 are both said to lie at block 1 of zone 1";
        "log", [(1, Native(5), 1), (7, Native(2), 4)] => "blocks 1 and 10 are both said to lie at block 1 of zone 1";
        "amphisbaena", [(1, Buffer(4), 1), (5, Buffer(8), 1), (9, Buffer(12), 1)] =>
            "block 9 is said to lie at block 12 of the buffer, but it is not in its place within a chunk";
    };
    let said = |name: &str, runs: Runs, pointers: &[u64]| {
        let settings: &[_] = match name {
            "amphisbaena" => &[("chunk", "4b")],
            "ucache" => &[("segment", "2b")],
            "log" => &[("spare", "0")],
            _ => &[],
        };
        let refused = opened(name, LAYOUT, settings, runs, pointers).err();
        let line = refused.unwrap_or_else(|| panic!("{name}: {runs:?} over {pointers:?} is taken"));
        let why = line.strip_prefix(&format!("{name} cannot be opened from this map: "));
        why.unwrap_or_else(|| panic!("{line}")).to_string()
    };
    // Segments of three blocks leave one of each chunk.
    let one = [(7, Buffer(0), 1), (9, Buffer(1), 1)];
    let layout = Layout { buffer_blocks: 24, ..LAYOUT };
    let refused = opened("ucache", layout, &[("segment", "3b")], &one, &full).err();
    let wanted = "block 9 is said to lie at block 1 of the buffer, but that segment is of block 7";
    assert!(refused.as_ref().is_some_and(|line| line.ends_with(wanted)), "{refused:?}");
    for name in all {
        for (pointers, runs, wanted) in everywhere {
            let said = said(name, runs, pointers);
            assert!(said.contains(wanted), "{name}: {said}, not: {wanted}");
        }
    }
    for (name, runs, wanted) in some {
        let said = said(name, runs, &full);
        assert!(said.contains(wanted), "{name}: {said}, not: {wanted}");
    }
}
