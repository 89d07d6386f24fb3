//! Maps that cannot be: refused in a line, or harmless.

use crate::open::nothing_leaks;
use crate::translations::{LAYOUTS, op, play, variants};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use shingle_core::units::Block;
use shingle_testbed::times;
use shingle_translation::testing::Bench;
use shingle_translation::translations::ALL;
use shingle_translation::{Piece, Place, Saved};
use std::cell::Cell;

/// What may go wrong with a map. Numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Wrong {
    /// Two runs lie in each other's places.
    Swap(usize, usize),
    /// Two neighbours that are one run become two, the second of which lies elsewhere.
    Split(usize, u64, u64),
    /// A run lies further on, or is longer, or is of later blocks.
    Place(usize, u64),
    Count(usize, u64),
    Block(usize, u64),
    /// What lies in the buffer lies in zones, and the other way round.
    Other(usize),
    /// It is not there, or twice.
    Lost(usize),
    Twice(usize),
    /// A write pointer is elsewhere, or one is not there.
    Pointer(usize, u64),
    NoPointer,
}

fn wrongs() -> impl Strategy<Value = Vec<Wrong>> {
    let which = || 0usize..1000;
    // Near, or as far as numbers go.
    let number = || prop_oneof![8 => 0u64..20, 2 => 0u64..1000, 1 => any::<u64>()];
    let wrong = prop_oneof![
        4 => (which(), which()).prop_map(|(one, other)| Wrong::Swap(one, other)),
        2 => (which(), number(), number()).prop_map(|(at, of, to)| Wrong::Split(at, of, to)),
        1 => (which(), number()).prop_map(|(at, to)| Wrong::Place(at, to)),
        1 => (which(), number()).prop_map(|(at, to)| Wrong::Count(at, to)),
        1 => (which(), number()).prop_map(|(at, to)| Wrong::Block(at, to)),
        1 => which().prop_map(Wrong::Other),
        2 => which().prop_map(Wrong::Lost),
        1 => which().prop_map(Wrong::Twice),
        2 => (which(), number()).prop_map(|(at, to)| Wrong::Pointer(at, to)),
        1 => Just(Wrong::NoPointer),
    ];
    prop::collection::vec(wrong, 1..4)
}

/// The same kind of place, elsewhere.
fn with(place: Place, at: u64) -> Place {
    match place {
        Place::Buffer(_) => Place::Buffer(at),
        _ => Place::Native(at),
    }
}

fn at(place: Place) -> u64 {
    match place {
        Place::Buffer(at) | Place::Native(at) => at,
        Place::Nowhere => unreachable!("a map has no such run"),
    }
}

fn spoil(saved: &mut Saved, wrong: &Wrong) {
    let Saved { runs, pointers } = saved;
    let count = runs.len();
    if count == 0 || pointers.is_empty() {
        return;
    }
    match *wrong {
        Wrong::Swap(one, other) => {
            let (one, other) = (one % count, other % count);
            let place = runs[one].1.place;
            runs[one].1.place = core::mem::replace(&mut runs[other].1.place, place);
        }
        Wrong::Split(which, of, to) => {
            let (block, piece) = &mut runs[which % count];
            let first = of % piece.count.max(1);
            if first > 0 {
                let (block, rest) = (block.after(first), piece.count - first);
                piece.count = first;
                let rest = Piece { place: with(piece.place, to), count: rest };
                runs.insert(which % count + 1, (block, rest));
            }
        }
        Wrong::Place(which, by) => {
            let place = &mut runs[which % count].1.place;
            *place = with(*place, at(*place).wrapping_add(by));
        }
        Wrong::Count(which, by) => {
            let piece = &mut runs[which % count].1;
            piece.count = piece.count.wrapping_add(by);
        }
        Wrong::Block(which, by) => {
            let block = &mut runs[which % count].0;
            *block = Block(block.0.wrapping_add(by));
        }
        Wrong::Other(which) => {
            let place = &mut runs[which % count].1.place;
            *place = match *place {
                Place::Buffer(at) => Place::Native(at),
                other => Place::Buffer(at(other)),
            };
        }
        Wrong::Lost(which) => drop(runs.remove(which % count)),
        Wrong::Twice(which) => runs.push(runs[which % count]),
        Wrong::Pointer(which, to) => {
            let zones = pointers.len();
            pointers[which % zones] = to;
        }
        Wrong::NoPointer => drop(pointers.pop()),
    }
}

/// Whatever a map says, it is refused in a line, or it is one that works.
#[test]
fn a_spoilt_map_is_refused_or_harmless() {
    let (taken, refused) = (Cell::new(0), Cell::new(0));
    for entry in ALL {
        for params in variants(entry) {
            for &layout in LAYOUTS {
                let Ok(empty) = entry.make(&params, layout) else { continue };
                let (free, safe) = (empty.buffer_state().free, entry.survives_power_cuts);
                let config = Config {
                    cases: times(7) as u32,
                    failure_persistence: None,
                    ..Config::default()
                };
                let lives = (prop::collection::vec(op(), 1..40), wrongs());
                let result = TestRunner::new(config).run(&lives, |(ops, wrongs)| {
                    let mut bench = Bench::new(empty.copy(), layout, safe);
                    ops.iter().for_each(|op| play(&mut bench, op));
                    let mut saved = Saved::of(bench.translation(), layout.zones);
                    wrongs.iter().for_each(|wrong| spoil(&mut saved, wrong));
                    match entry.open(&params, layout, &saved) {
                        Ok(opened) => {
                            let mut bench = Bench::over(&saved, opened, layout, safe);
                            nothing_leaks(&mut bench, free);
                            taken.set(taken.get() + 1);
                        }
                        Err(error) => {
                            let line =
                                error.starts_with(&format!("{} cannot be opened", entry.name));
                            assert!(line && !error.contains('\n'), "{error}");
                            refused.set(refused.get() + 1);
                        }
                    }
                    Ok(())
                });
                let set: Vec<_> = params.iter().collect();
                result.unwrap_or_else(|e| panic!("{} {set:?} over {layout:?}: {e}", entry.name));
            }
        }
    }
    let (taken, refused) = (taken.get(), refused.get());
    println!("{taken} spoilt maps were taken, {refused} refused");
    assert!(taken > 50 && refused > 50, "{taken} were taken, {refused} refused");
}
