//! Every registered translation, with every value of its choices and switches, over a strict disk:
//! random writes, trims, idle time, drains and power cuts.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use shingle_core::params::{Kind, Params};
use shingle_core::units::Block;
use shingle_testbed::times;
use shingle_translation::testing::Bench;
use shingle_translation::translations::{ALL, get};
use shingle_translation::{Entry, Layout, Queue, Work};

/// Buffers of a block, of less than a zone, of a few zones; the last one suits every translation.
pub(crate) const LAYOUTS: &[Layout] = &[
    Layout { zone_blocks: 16, buffer_blocks: 1, zones: 4 },
    Layout { zone_blocks: 16, buffer_blocks: 9, zones: 5 },
    Layout { zone_blocks: 64, buffer_blocks: 48, zones: 3 },
    Layout { zone_blocks: 8, buffer_blocks: 37, zones: 20 },
    Layout { zone_blocks: 16, buffer_blocks: 128, zones: 24 },
];

/// Numbers worth a try beside the defaults.
const SETTINGS: &[(&str, &[(&str, &str)])] = &[
    ("amphisbaena", &[("chunk", "2b"), ("period", "6"), ("window", "3")]),
    ("amphisbaena", &[("chunk", "4b"), ("period", "9"), ("returns", "none"), ("lambda", "0.5")]),
    ("amphisbaena", &[("chunk", "4b"), ("period", "6"), ("lfb", "blocks"), ("history", "0")]),
    ("fluid-loop", &[("batch", "1b"), ("sigma", "0"), ("requeued", "1")]),
    ("fluid-loop", &[("requeued", "0")]),
    ("skylight-sa", &[("buckets", "4")]),
    ("skylight-sa", &[("buckets", "11")]),
    ("dm-zoned", &[("low", "0"), ("high", "0"), ("reserved", "1")]),
    ("dm-zoned", &[("low", "1"), ("high", "1"), ("idle", "0.5")]),
    ("ucache", &[("segment", "1b"), ("promote", "0")]),
    ("log", &[("spare", "0"), ("garbage", "1"), ("group", "none"), ("idle", "0")]),
    ("log", &[("spare", "0"), ("garbage", "0"), ("group", "sepbit"), ("idle", "0")]),
    ("log", &[("victim", "cost-benefit"), ("group", "sepbit"), ("garbage", "1"), ("open", "3")]),
    ("log", &[("victim", "price"), ("group", "sepbit"), ("garbage", "1"), ("open", "3")]),
    ("log", &[("victim", "price"), ("spare", "0"), ("group", "none"), ("idle", "0")]),
    ("log", &[("spare", "0.5"), ("reserve", "100"), ("open", "1")]),
    ("ucache", &[("segment", "3b"), ("promote", "1"), ("low", "0.8"), ("high", "0.9")]),
];

#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// A work, and a write that waits meanwhile.
    Do(Work, Option<(u64, u64)>),
    /// The host's FLUSH.
    Flush,
    /// Go on with a copy.
    Copy,
}

/// Where and how much, as fractions of what there is.
fn ranges() -> impl Strategy<Value = (u64, u64)> {
    // Three of four in a small part, so that blocks are written again.
    let at = prop_oneof![3 => 0u64..1000, 1 => 0u64..10_000];
    (at, prop_oneof![4 => 1u64..4, 2 => 1u64..24, 1 => 1u64..200])
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    let work = prop_oneof![
        12 => ranges().prop_map(|(block, count)| Work::Write { block: Block(block), count }),
        2 => ranges().prop_map(|(block, count)| Work::Trim { block: Block(block), count }),
        2 => Just(Work::Idle),
    ];
    prop_oneof![
        12 => (work, prop::option::of(ranges())).prop_map(|(work, waits)| Op::Do(work, waits)),
        2 => Just(Op::Flush),
        1 => Just(Op::Copy),
    ]
}

/// A write that waits.
pub(crate) struct Waits(pub(crate) Option<(u64, u64)>);

impl Queue for Waits {
    fn writes(&self, hits: &dyn Fn(Block, u64) -> bool) -> bool {
        self.0.is_some_and(|(at, length)| hits(Block(at), length))
    }
    fn waits(&self) -> bool {
        self.0.is_some()
    }
}

/// The range on a disk of `blocks`.
fn fit(blocks: u64, (at, count): (u64, u64)) -> (u64, u64) {
    let at = at * blocks / 10_000;
    (at, count.min(blocks - at))
}

/// The work, and what waits, on a disk of `blocks`.
pub(crate) fn fitted(blocks: u64, work: Work, waits: Option<(u64, u64)>) -> (Work, Waits) {
    let work = match work {
        Work::Write { block, count } => {
            let (block, count) = fit(blocks, (block.0, count));
            Work::Write { block: Block(block), count }
        }
        Work::Trim { block, count } => {
            let (block, count) = fit(blocks, (block.0, count));
            Work::Trim { block: Block(block), count }
        }
        work => work,
    };
    (work, Waits(waits.map(|range| fit(blocks, range))))
}

pub(crate) fn play(bench: &mut Bench, op: &Op) {
    let blocks = bench.translation().blocks();
    match *op {
        Op::Do(work, waits) => {
            let (work, waits) = fitted(blocks, work, waits);
            let steps = bench.run(work, &waits);
            assert!(work != Work::Idle || !steps.is_empty() || !bench.translation().wants_idle());
        }
        Op::Flush => bench.flush(),
        Op::Copy => bench.replace(bench.translation().copy()),
    }
}

/// The defaults, each other value of each choice and switch, and the [`SETTINGS`].
pub(crate) fn variants(entry: &Entry) -> Vec<Params> {
    let mut variants = vec![Params::new(entry.params)];
    for param in entry.params {
        let words: &[&str] = match param.kind {
            Kind::Choice(words) => words,
            Kind::Switch => &["on", "off"],
            _ => &[],
        };
        for word in words.iter().filter(|&&word| word != param.default) {
            let mut params = Params::new(entry.params);
            params.set(param.name, word).expect("a declared value");
            variants.push(params);
        }
    }
    for (_, settings) in SETTINGS.iter().filter(|(name, _)| *name == entry.name) {
        let mut params = Params::new(entry.params);
        settings.iter().for_each(|(name, value)| params.set(name, value).expect("valid"));
        variants.push(params);
    }
    variants
}

#[test]
fn a_read_returns_the_last_write_and_no_step_breaks_a_rule() {
    for entry in ALL {
        for params in variants(entry) {
            for (at, &layout) in LAYOUTS.iter().enumerate() {
                if let Err(error) = entry.make(&params, layout) {
                    assert!(at + 1 < LAYOUTS.len(), "{}: {error}", entry.name);
                    assert!(error.contains(entry.name) && !error.contains('\n'), "{error}");
                    continue;
                }
                let config = Config {
                    cases: times(7) as u32,
                    failure_persistence: None,
                    ..Config::default()
                };
                let result =
                    TestRunner::new(config).run(&prop::collection::vec(op(), 1..120), |ops| {
                        let translation = entry.make(&params, layout).expect("it was made before");
                        let safe = entry.survives_power_cuts;
                        let mut bench = Bench::new(translation, layout, safe);
                        ops.iter().for_each(|op| play(&mut bench, op));
                        bench.run(Work::Drain, &Waits(None));
                        Ok(())
                    });
                let set: Vec<_> = params.iter().collect();
                result.unwrap_or_else(|e| panic!("{} {set:?} over {layout:?}: {e}", entry.name));
            }
        }
    }
}

#[test]
fn a_layout_that_leaves_no_room_is_refused_in_a_line() {
    let layout = |zone_blocks, buffer_blocks, zones| Layout { zone_blocks, buffer_blocks, zones };
    let refused = [
        layout(0, 64, 8),
        layout(8, 0, 8),
        layout(8, 64, 0),
        layout(8, 1 << 40, 8),
        layout(1 << 40, 1 << 41, 8),
    ];
    for entry in ALL {
        for layout in refused {
            let error = entry.make(&Params::new(entry.params), layout).err();
            let error = error.unwrap_or_else(|| panic!("{}: {layout:?} is taken", entry.name));
            assert!(error.starts_with(entry.name) && !error.contains('\n'), "{error}");
        }
    }
    let error = get("fluidloop").expect_err("there is none");
    assert!(error.starts_with("there is no translation `fluidloop`; there are fluid-loop, "));
}

#[test]
fn memory_is_taken_when_made_but_for_zones_touched() {
    for entry in ALL {
        let layout = Layout { zone_blocks: 65_536, buffer_blocks: 1 << 20, zones: 1000 };
        let mut made = entry.make(&Params::new(entry.params), layout).expect("room enough");
        let before = made.memory_bytes();
        assert!(before >= layout.buffer_blocks / 8, "{}: {before} bytes", entry.name);
        made.begin(Work::Write { block: Block(5), count: 9 });
        while made.next(&Waits(None)).is_some() {}
        // A bit for each block of the zone at most.
        assert!(made.memory_bytes() <= before + 2 * 8192 + 4096, "{}", entry.name);
    }
}
