//! Thousands of hosts over translated disks with power cuts, kills or errors, each from a seed:
//! flushed data is there, or an error names it.
//!
//! `SHINGLE_SEEDS=N` tries this many seeds of each theme and translation,
//! `SHINGLE_SEEDS=FIRST..END` these, `SHINGLE_SEED=N` one; `SHINGLE_TRANSLATION=NAME` only this
//! translation.

use crate::common::world::{Seen, Theme, World};
use shingle_testbed::seeds;
use shingle_translation::translations::ALL;

fn lives(theme: Theme) {
    let only = std::env::var("SHINGLE_TRANSLATION").ok();
    let seeds = seeds(80);
    let asked = |name: &str| only.as_ref().is_none_or(|only| only == name);
    let mut all = Seen::default();
    for entry in ALL.iter().filter(|entry| asked(entry.name)) {
        let before = all;
        for seed in seeds.clone() {
            World::new(seed, theme, entry.name, None, &mut all).live();
        }
        println!("{}: {} crashes, all so far {all:?}", entry.name, all.crashes - before.crashes);
    }
    // Checks that the tested events did happen.
    if all.lives >= 500 {
        let common = all.in_recovery > 10
            && all.checkpoints > 100
            && all.beside_works > 100
            && all.cleanings > 1000;
        let own = match theme {
            Theme::Crashes => all.healed > 10,
            Theme::Faults => {
                all.lost > 10
                    && all.read_again > 10
                    && all.failed > 10
                    && all.put_right > 10
                    && all.doubtful > 10
            }
        };
        assert!(common && own, "{all:?}");
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
