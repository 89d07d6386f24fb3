//! The whole translation: by hand, and at random with small chunks and short periods.

use crate::testing::Bench;
use crate::translation::{Counters, Layout, Make, NoQueue, Place, Queue, Step, Translation, Work};
use crate::translations::amphisbaena::Amphisbaena;
use proptest::prelude::*;
use shingle_core::params::Params;
use shingle_core::units::{Block, Zone};

/// Eight chunks of four blocks: two of the HFB, six of the LFB. Zones of four chunks.
const LAYOUT: Layout = Layout { zone_blocks: 16, buffer_blocks: 32, zones: 8 };

fn made(layout: Layout, set: &[(&str, &str)]) -> Bench {
    let mut params = Params::new(Amphisbaena::PARAMS);
    set.iter().for_each(|(name, value)| params.set(name, value).unwrap());
    let translation = Amphisbaena::new(&params, layout).unwrap_or_else(|error| panic!("{error}"));
    Bench::new(Box::new(translation), layout, false)
}

fn write(block: u64, count: u64) -> Work {
    Work::Write { block: Block(block), count }
}

fn read(at: u64, block: u64, count: u64) -> Step {
    Step::Read { from: Place::Buffer(at), block: Block(block), count }
}

fn buffer(block: u64, count: u64, at: u64) -> Step {
    Step::Buffer { block: Block(block), count, at }
}

fn append(zone: u32, block: u64, count: u64) -> Step {
    Step::Append { zone: Zone(zone), block: Block(block), count }
}

fn counters(bench: &Bench) -> Counters {
    *bench.translation().counters()
}

/// A write of block `0` and so many more waits.
struct Waits(u64, u64);

impl Queue for Waits {
    fn writes(&self, hits: &dyn Fn(Block, u64) -> bool) -> bool {
        hits(Block(self.0), self.1)
    }
    fn waits(&self) -> bool {
        true
    }
}

/// Requests of four blocks each: never smaller than the mean, so cold. Zone 0 has four chunks in the
/// LFB, zone 1 two, and there are six.
fn full_lfb(set: &[(&str, &str)]) -> Bench {
    let mut bench = made(LAYOUT, &[&[("chunk", "4b")], set].concat());
    for at in 0..6 {
        let steps = bench.run(write(at * 4, 4), &NoQueue);
        assert_eq!(steps, [buffer(at * 4, 4, 8 + at * 4)], "each chunk in a frame of its own");
    }
    bench
}

#[test]
fn the_victim_is_collected_chunk_by_chunk() {
    let mut bench = full_lfb(&[]);
    let steps = bench.run(write(32, 4), &NoQueue);
    let wanted = [
        read(8, 0, 4),
        read(12, 4, 4),
        read(16, 8, 4),
        read(20, 12, 4),
        append(0, 0, 16),
        Step::Commit,
        buffer(32, 4, 20),
    ];
    assert_eq!(steps, wanted, "zone 0: four dense chunks weigh more than two");
    let counters = counters(&bench);
    assert_eq!((counters.victims, counters.rmw_free, counters.evicted_blocks), (1, 1, 16));
    assert_eq!((counters.cleanings, counters.aborted, counters.write_hits), (1, 0, 0));
}

/// Blocks 0 and 3 of the first chunk of zone 0, and one block of each of its others.
#[test]
fn a_chunk_is_one_read_or_one_for_each_run() {
    let over = Step::Over { from: Place::Buffer(9), count: 2 };
    for (collect, between) in [("span", Some(over)), ("runs", None)] {
        let mut bench = made(LAYOUT, &[("chunk", "4b"), ("collect", collect)]);
        for block in [0, 3, 4, 8, 12, 16, 20] {
            bench.run(write(block, 1), &NoQueue);
        }
        let steps = bench.run(write(32, 1), &NoQueue);
        let chunk = [Some(read(8, 0, 1)), between, Some(read(11, 3, 1))].into_iter().flatten();
        let others = [read(12, 4, 1), read(16, 8, 1), read(20, 12, 1)];
        let rest = [append(0, 0, 13), Step::Commit, buffer(32, 1, 20)];
        let wanted: Vec<Step> = chunk.chain(others).chain(rest).collect();
        assert_eq!(steps, wanted, "{collect}");
    }
}

/// The LFB has room for six chunks or 24 blocks. Of 24 chunks, four of each zone, a block each is written.
#[test]
fn the_lfb_is_full_of_chunks_or_of_blocks() {
    let full = |lfb| {
        let mut bench = made(LAYOUT, &[("chunk", "4b"), ("lfb", lfb)]);
        (0..24).for_each(|chunk| _ = bench.run(write(4 * chunk, 1), &NoQueue));
        bench
    };
    let mut blocks = full("blocks");
    assert_eq!((counters(&full("frames")).victims > 0, counters(&blocks).victims), (true, 0));
    assert_eq!(blocks.translation().buffer_state().free, 8, "the HFB");
    // All zones weigh the same, and zone 0 was touched first: four chunks of a block.
    let steps = blocks.run(write(96, 1), &NoQueue);
    let wanted = [
        read(8, 0, 1),
        read(9, 4, 1),
        read(10, 8, 1),
        read(11, 12, 1),
        append(0, 0, 13),
        Step::Commit,
        buffer(96, 1, 11),
    ];
    assert_eq!(steps, wanted);
    // A write for a block of a chunk of the victim, which has another one, ends the collection there.
    let mut waited = full("blocks");
    waited.run(write(96, 1), &Waits(5, 1));
    assert_eq!((counters(&waited).aborted, counters(&waited).evicted_blocks), (1, 1));
}

#[test]
fn the_other_reading_of_the_weight_takes_the_other_victim() {
    // Zone 1 has a block in each of two chunks, and the last is the fifth of the zone: FL 2/5. Zone 0
    // has four dense chunks. Times: 4 against 0.8; over: 4 against 5.
    for (weight, zone) in [("times", 0), ("over", 1)] {
        // With a window of one request a write is hot if it is smaller than the one before.
        let mut bench = made(LAYOUT, &[("chunk", "4b"), ("weight", weight), ("window", "1")]);
        for (at, count) in [(16, 1), (20, 1), (0, 16)] {
            bench.run(write(at, count), &NoQueue);
        }
        let steps = bench.run(write(32, 16), &NoQueue);
        let first = steps.iter().find_map(|step| match step {
            Step::Append { zone, .. } => Some(zone.0),
            _ => None,
        });
        assert_eq!(first, Some(zone), "{weight}: {steps:?}");
    }
}

#[test]
fn a_write_for_the_victim_ends_the_collection_at_the_next_chunk() {
    let mut bench = full_lfb(&[]);
    let steps = bench.run(write(32, 4), &Waits(9, 1));
    let wanted = [read(8, 0, 4), append(0, 0, 4), Step::Commit, buffer(32, 4, 8)];
    assert_eq!(steps, wanted);
    assert_eq!((counters(&bench).aborted, counters(&bench).evicted_blocks), (1, 4));
    // A write for another zone does not; nor does any if aborting is switched off.
    let (mut other, mut off) = (full_lfb(&[]), full_lfb(&[("abort", "off")]));
    assert_eq!(other.run(write(32, 4), &Waits(16, 112)).len(), 7);
    assert_eq!(off.run(write(32, 4), &Waits(9, 1)).len(), 7);
    assert_eq!(counters(&other).aborted + counters(&off).aborted, 0);
}

#[test]
fn a_write_beside_the_chunks_of_the_victim_ends_the_collection_if_zones_count() {
    let aborted = |abort| {
        let mut bench = made(LAYOUT, &[("chunk", "4b"), ("abort", abort)]);
        // Three chunks of zone 0, two of zone 1, one of zone 2: zone 0 is the victim.
        for at in [0, 4, 8, 16, 20, 32] {
            bench.run(write(at, 4), &NoQueue);
        }
        bench.run(write(48, 4), &Waits(13, 3));
        (counters(&bench).cleanings, counters(&bench).aborted)
    };
    assert_eq!((aborted("victim"), aborted("zone")), ((1, 0), (1, 1)));
}

#[test]
fn a_victim_below_the_write_pointer_is_an_rmw() {
    let mut bench = full_lfb(&[("history", "4")]);
    bench.run(write(32, 4), &NoQueue); // zone 0 is written back and full
    bench.run(write(2, 4), &NoQueue); // they are remembered as shadows: into the HFB
    assert_eq!(counters(&bench).rmw, 0);
    let steps = bench.run(Work::Drain, &NoQueue);
    let wanted = [
        Step::Read { from: Place::Native(0), block: Block(0), count: 16 },
        read(0, 2, 4),
        Step::Reset { zone: Zone(0) },
        append(0, 0, 16),
        Step::Commit,
        read(24, 16, 4),
        read(28, 20, 4),
        append(1, 16, 8),
        Step::Commit,
        read(20, 32, 4),
        append(2, 32, 4),
        Step::Commit,
    ];
    assert_eq!(steps, wanted);
    let counters = counters(&bench);
    assert_eq!((counters.rmw, counters.rmw_free, counters.evicted_blocks), (1, 3, 16 + 4 + 8 + 4));
}

#[test]
fn hot_blocks_are_evicted_to_their_chunk_in_bulk_or_one_by_one() {
    // The window holds one request: a write smaller than the one before is hot. HFB: 8 slots, of which
    // 4 SUP (lambda 0.5).
    let set = [("chunk", "4b"), ("window", "1"), ("lambda", "0.5")];
    let mut bench = made(LAYOUT, &set);
    let hot = |bench: &mut Bench, block| {
        bench.run(write(112, 4), &NoQueue);
        bench.run(write(block, 1), &NoQueue)
    };
    bench.run(write(112, 4), &NoQueue);
    bench.run(write(112, 4), &NoQueue); // blocks 112 to 115 return from the shadows: SUP
    for block in [0, 1, 20, 3] {
        hot(&mut bench, block); // LUP, in this order
    }
    assert_eq!(bench.translation().buffer_state().free, 32 - 8, "the HFB is full, the LFB empty");
    // The next one: 0 leaves, and with it 1 and 3, of the same chunk; 20 stays.
    let steps = hot(&mut bench, 40);
    let wanted = [
        read(4, 0, 2),
        read(7, 3, 1),
        buffer(0, 2, 8),
        buffer(3, 1, 11),
        Step::Commit,
        buffer(40, 1, 7),
    ];
    assert_eq!(steps, wanted);
    assert_eq!((counters(&bench).moved_blocks, counters(&bench).victims), (3, 0));
    for block in [44, 48] {
        hot(&mut bench, block);
    }
    // 20 leaves alone, as no other block of its chunk is here.
    assert_eq!(hot(&mut bench, 52)[0], read(6, 20, 1));
    assert_eq!(counters(&bench).moved_blocks, 4);
    // A ghost returns to the HFB at once, and is SUP: the blocks of the filter list leave before it.
    let held = |bench: &mut Bench| {
        let mut places = Vec::new();
        bench.locate(Block(0), 1, &mut places);
        matches!(places[0].place, Place::Buffer(at) if at < 8)
    };
    assert!(!held(&mut bench));
    hot(&mut bench, 0);
    (60..80).step_by(4).for_each(|block| drop(hot(&mut bench, block)));
    assert!(held(&mut bench));
}

#[test]
fn the_border_moves_by_whole_chunks() {
    // A period of 40 requests. HFB: 8 slots; a long loop over 12 hot blocks makes ghosts of them all.
    let set = [("chunk", "4b"), ("window", "1"), ("period", "40"), ("history", "8")];
    let mut bench = made(LAYOUT, &set);
    for round in 0..4 {
        for at in 0..12 {
            bench.run(write(96, 2), &NoQueue);
            bench.run(write(8 * at % 90 + round / 9, 1), &NoQueue);
        }
    }
    let grown = counters(&bench);
    assert!(grown.chunks_to_hot > 0, "{grown:?}");
    assert!(grown.chunks_to_hot <= 4, "two chunks and four are three quarters of the buffer");
    // Nothing hot is written for two periods: what was obtained returns.
    for at in 0..160 {
        bench.run(write(32 + at % 64, 2), &NoQueue);
    }
    let shrunk = counters(&bench);
    assert!(shrunk.chunks_to_cold > 0, "{shrunk:?}");
    assert!(shrunk.chunks_to_cold <= shrunk.chunks_to_hot);
}

#[test]
fn idle_time_frees_a_part_of_the_lfb() {
    let mut bench = full_lfb(&[]);
    assert!(bench.translation().wants_idle());
    bench.run(Work::Idle, &NoQueue);
    assert_eq!((counters(&bench).victims, bench.translation().wants_idle()), (1, false));
    assert!(!full_lfb(&[("idle", "off")]).translation().wants_idle());
}

#[test]
fn one_long_trim_is_as_many_short_ones() {
    let (mut long, mut short) = (made(LAYOUT, &[]), made(LAYOUT, &[]));
    let writes =
        [write(0, 3), write(40, 1), write(7, 9), write(100, 2), write(40, 1), write(63, 2)];
    for bench in [&mut long, &mut short] {
        for work in writes {
            bench.run(work, &NoQueue);
            bench.flush();
        }
    }
    // (The buffer has 32 blocks.)
    let steps = long.run(Work::Trim { block: Block(5), count: 120 }, &NoQueue);
    let each = (5..125)
        .flat_map(|block| short.run(Work::Trim { block: Block(block), count: 1 }, &NoQueue));
    assert_eq!(steps, each.collect::<Vec<_>>());
    let held = |bench: &Bench| format!("{:?}", bench.translation().buffer_state());
    assert_eq!(held(&long), held(&short));
    assert!(long.translation().buffer_state().blocks > 0, "blocks 0 to 2 are left");
    for work in writes {
        assert_eq!(long.run(work, &NoQueue), short.run(work, &NoQueue));
    }
}

#[test]
fn a_buffered_block_costs_at_most_24_bytes() {
    let layout = Layout { zone_blocks: 65_536, buffer_blocks: 1_000_000, zones: 66_336 };
    let mut amphisbaena = Amphisbaena::new(&Params::new(Amphisbaena::PARAMS), layout).unwrap();
    // A buffer of 1 % of what is written (§6.1): 1,526 zones.
    for zone in 0..1526 {
        amphisbaena.begin(write(zone * 65_536, 16));
        while amphisbaena.next(&NoQueue).is_some() {}
    }
    let bytes = amphisbaena.memory_bytes() as f64 / 1e6;
    println!("{bytes} bytes a block");
    assert!((12.0..=24.0).contains(&bytes), "{bytes} bytes a block");
}

#[test]
fn what_cannot_work_is_refused_in_one_line() {
    let refused = |layout, name: &str, value: &str| {
        let mut params = Params::new(Amphisbaena::PARAMS);
        params.set(name, value).unwrap();
        Amphisbaena::new(&params, layout).expect_err("refused")
    };
    assert_eq!(
        refused(LAYOUT, "chunk", "17b"),
        "amphisbaena needs a buffer of two chunks and four blocks, 34 blocks here; it has 32"
    );
    assert!(refused(LAYOUT, "hot_share", "0.8").contains("hot_share"));
    assert!(refused(LAYOUT, "lambda", "1.5").contains("lambda"));
    let huge = Layout { zone_blocks: 65_536, buffer_blocks: 1 << 28, zones: 9 };
    assert!(refused(huge, "idle", "on").contains("2^27"));
}

#[derive(Clone, Debug)]
struct Case {
    layout: Layout,
    set: Vec<(&'static str, String)>,
    ops: Vec<(u8, u64, u64, Option<u64>)>,
}

fn case() -> impl Strategy<Value = Case> {
    let layout = (5u64..40, 1u64..7, 8u64..80).prop_map(|(zone_blocks, chunk, buffer_blocks)| {
        let layout = Layout { zone_blocks, buffer_blocks, zones: 6 };
        (layout, ("chunk", format!("{}b", chunk.min(buffer_blocks / 2))))
    });
    let numbers = (1u64..4, 1u64..25, prop::sample::select(vec!["0.25", "0.5", "0.75"]));
    let ratios = (
        prop::sample::select(vec!["0", "0.1", "0.3", "0.5", "1"]),
        prop::sample::select(vec!["0", "0.2", "1", "2"]),
        prop::sample::select(vec!["0", "0.1", "1"]),
    );
    let words = (
        prop::sample::select(vec!["times", "over"]),
        prop::sample::select(vec!["lru", "mru"]),
        prop::sample::select(vec!["on", "off"]),
        prop::sample::select(vec!["victim", "zone", "off"]),
        prop::sample::select(vec!["any", "none"]),
        prop::sample::select(vec!["span", "runs"]),
        prop::sample::select(vec!["frames", "blocks"]),
    );
    // Mostly small writes in a small part of the disk.
    let op =
        (0u8..20, prop_oneof![3 => 0u64..30, 1 => 0u64..240], 1u64..7, prop::option::of(0u64..60));
    let ops = prop::collection::vec(op, 1..150);
    (layout, numbers, ratios, words, ops).prop_map(
        |((layout, chunk), numbers, ratios, words, ops)| {
            let set = vec![
                chunk,
                ("window", numbers.0.to_string()),
                ("period", numbers.1.to_string()),
                ("hot_share", numbers.2.into()),
                ("lambda", ratios.0.into()),
                ("history", ratios.1.into()),
                ("idle_free", ratios.2.into()),
                ("weight", words.0.into()),
                ("sup_demote", words.1.into()),
                ("shadow_needs_hot", words.2.into()),
                ("abort", words.3.into()),
                ("returns", words.4.into()),
                ("collect", words.5.into()),
                ("lfb", words.6.into()),
            ];
            Case { layout, set, ops }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn a_read_returns_the_last_write(case in case()) {
        let set: Vec<(&str, &str)> = case.set.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let mut bench = made(case.layout, &set);
        let blocks = bench.translation().blocks();
        for (kind, at, count, waits) in case.ops {
            let (at, count) = (at % blocks, count.min(blocks - at % blocks));
            let work = match kind {
                0 => Work::Trim { block: Block(at), count },
                1 => Work::Idle,
                2 => Work::Drain,
                _ => write(at, count),
            };
            // The bench checks reads, zones, power cuts, counts, and the translation itself.
            match waits {
                Some(at) => bench.run(work, &Waits(at, 3)),
                None => bench.run(work, &NoQueue),
            };
            if kind == 3 {
                bench.flush();
            }
        }
    }
}
