//! Thousands of hosts over translated disks that lose their power, are killed, or meet errors, each by a seed: what was
//! flushed is there, or an error that names it.
//!
//! `SHINGLE_SEEDS=N` tries so many of each theme and translation, `SHINGLE_SEED=N` one, `SHINGLE_TRANSLATION=NAME` only that.

mod common;

use common::number;
use common::world::{Seen, Theme, World};
use shingle_translation::translations::ALL;

fn lives(theme: Theme) {
    let only = std::env::var("SHINGLE_TRANSLATION").ok();
    for entry in ALL {
        if only.as_ref().is_some_and(|only| only != entry.name) {
            continue;
        }
        let seeds = match number("SHINGLE_SEED") {
            Some(seed) => seed..seed + 1,
            None => 0..number("SHINGLE_SEEDS").unwrap_or(400),
        };
        let count = seeds.end - seeds.start;
        let mut seen = Seen::default();
        for seed in seeds {
            World::new(seed, theme, entry.name, None, &mut seen).live();
        }
        println!("{}: {seen:?}", entry.name);
        if count >= 400 {
            let common = [seen.crashes, seen.in_recovery, seen.checkpoints];
            assert!(common.iter().all(|count| *count > 0), "{}: {seen:?}", entry.name);
            if theme == Theme::Faults {
                assert!(seen.lost > 0 && seen.failed > 0, "{}: {seen:?}", entry.name);
            } else {
                assert!(seen.healed > 0, "{}: {seen:?}", entry.name);
            }
        }
    }
}

#[test]
fn no_crash_loses_what_was_flushed() {
    lives(Theme::Crashes);
}

#[test]
fn what_a_fault_loses_is_an_error() {
    lives(Theme::Faults);
}
