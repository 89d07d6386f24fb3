//! Every translation is opened from every map that it may have saved, and from no other.

use crate::translations::{LAYOUTS, Op, Waits, fitted, op, play, variants};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use shingle_core::params::Params;
use shingle_core::units::Block;
use shingle_testbed::times;
use shingle_translation::testing::Bench;
use shingle_translation::translations::{ALL, get};
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
pub(crate) fn nothing_leaks(bench: &mut Bench, free: u64) {
    let none = Waits(None);
    bench.run(Work::Drain, &none);
    while bench.translation().wants_idle() {
        assert!(!bench.run(Work::Idle, &none).is_empty(), "idle time ends");
    }
    assert_eq!(bench.translation().buffer_state().free, free);
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
    assert_eq!(bench.translation().buffer_state().free, free);
}

#[test]
fn what_was_durable_is_read_after_every_power_cut_and_nothing_leaks() {
    for entry in ALL {
        for params in variants(entry) {
            for &layout in LAYOUTS {
                let Ok(empty) = entry.make(&params, layout) else { continue };
                let free = empty.buffer_state().free;
                let config = Config {
                    cases: times(4) as u32,
                    failure_persistence: None,
                    ..Config::default()
                };
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

/// A zone of 300 blocks is cleaned in batches, between which the host writes: the power is cut there too, with next to no
/// zones to spare.
#[test]
fn a_log_is_opened_while_a_zone_is_half_cleaned() {
    let entry = get("log").expect("it is registered");
    let layout = Layout { zone_blocks: 300, buffer_blocks: 1, zones: 9 };
    for group in ["none", "moved", "sepbit"] {
        for victim in ["greedy", "cost-benefit", "price"] {
            let mut params = Params::new(entry.params);
            let settings = [("group", group), ("victim", victim), ("spare", "0"), ("garbage", "1")];
            settings.iter().for_each(|(name, value)| params.set(name, value).expect("valid"));
            params.set("open", "3").expect("valid");
            let empty = entry.make(&params, layout).expect("room");
            let mut bench = Bench::new(empty, layout, true);
            let open = |saved: &Saved| entry.open(&params, layout, saved).expect("a map");
            let (blocks, mut state) = (bench.translation().blocks(), 7u64);
            for round in 0..400 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let draw = state >> 33;
                let count = 1 + draw % if round % 8 == 3 { 290 } else { 24 };
                let block = Block(draw / 290 % (blocks - count));
                let work = Work::Write { block, count };
                if round % 3 == 2 {
                    bench.run_until(work, &Waits(None), (draw % 30) as usize);
                } else {
                    bench.run(work, &Waits(None));
                    bench.flush();
                }
                if round % 3 > 0 {
                    bench.crash(open);
                }
            }
        }
    }
}
