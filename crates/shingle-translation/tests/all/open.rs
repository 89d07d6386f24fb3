//! Every translation is opened from every map that it may have saved, and from no other.

use crate::translations::{LAYOUTS, Op, Waits, fitted, op, play, variants};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use shingle_core::params::Params;
use shingle_core::units::Block;
use shingle_translation::testing::Bench;
use shingle_translation::translations::ALL;
use shingle_translation::{Entry, Layout, Saved, Work};

/// What happens, and after how many I/Os and commits of it the power is cut, if it is.
fn lives() -> impl Strategy<Value = Vec<(Op, Option<usize>)>> {
    let cut = prop_oneof![4 => Just(None), 1 => (0usize..24).prop_map(Some)];
    prop::collection::vec((op(), cut), 1..120)
}

fn live(
    bench: &mut Bench,
    life: &[(Op, Option<usize>)],
    entry: &Entry,
    params: &Params,
    layout: Layout,
) {
    let open = |saved: &Saved| entry.open(params, layout, saved).unwrap_or_else(|e| panic!("{e}"));
    for (op, cut) in life {
        match (op, cut) {
            (&Op::Do(work, waits), &Some(actions)) => {
                let (work, waits) = fitted(bench.translation().blocks(), work, waits);
                bench.run_until(work, &waits, actions);
                bench.crash(open);
            }
            (op, cut) => {
                play(bench, op);
                if cut.is_some() {
                    bench.crash(open);
                }
            }
        }
    }
}

/// All room there was is there again: after a drain and idle time the buffer is free; and all blocks of the host can be
/// written, over and over.
fn nothing_leaks(bench: &mut Bench, free: u64) {
    let none = Waits(None);
    bench.run(Work::Drain, &none);
    while bench.translation().wants_idle() {
        assert!(!bench.run(Work::Idle, &none).is_empty(), "idle time ends");
    }
    assert_eq!(bench.translation().held().free, free);
    let blocks = bench.translation().blocks();
    // In sequence, and then all over the place: 7 and the number of blocks have no common divisor, or every 7th.
    for pass in 0..2 {
        for at in (0..blocks).step_by(5) {
            let block = if pass == 0 { at } else { at * 7 % blocks };
            let count = (blocks - block).min(5);
            bench.run(Work::Write { block: Block(block), count }, &none);
        }
    }
    bench.run(Work::Drain, &none);
    assert_eq!(bench.translation().held().free, free);
}

#[test]
fn what_was_durable_is_read_after_every_power_cut_and_nothing_leaks() {
    for entry in ALL {
        for params in variants(entry) {
            for &layout in LAYOUTS {
                let Ok(empty) = entry.make(&params, layout) else { continue };
                let free = empty.held().free;
                let config = Config { cases: 20, failure_persistence: None, ..Config::default() };
                let result = TestRunner::new(config).run(&lives(), |life| {
                    let safe = entry.survives_power_cuts;
                    let mut bench = Bench::new(empty.copy(), layout, safe);
                    live(&mut bench, &life, entry, &params, layout);
                    nothing_leaks(&mut bench, free);
                    Ok(())
                });
                let set: Vec<_> = params.iter().collect();
                result.unwrap_or_else(|e| panic!("{} {set:?} over {layout:?}: {e}", entry.name));
            }
        }
    }
}
