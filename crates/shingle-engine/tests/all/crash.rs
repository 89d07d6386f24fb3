//! The shipping engine over devices that lose unflushed data, tear, reorder and fail: no crash
//! loses durable data, data is never mixed up, and every command is answered.
//!
//! `SHINGLE_SEEDS=N` sets the number of runs of each theme, `SHINGLE_SEEDS=FIRST..END` the seeds;
//! `SHINGLE_SEED=N` replays one.

use crate::simulated::world::{Theme, World};
use shingle_core::registry::{Entry, Registry};
use shingle_engine::Bug;
use shingle_engine::settings::Settings;
use shingle_testbed::seeds;

/// Returns how many bands were written whole in all runs, and how many were given up.
fn run(theme: Theme, default: u64) -> (u64, u64) {
    let (mut reads, mut bands) = (0, (0, 0));
    for seed in seeds(default) {
        let told = std::panic::catch_unwind(|| World::new(seed, theme, None).live());
        match told {
            Ok(world) => {
                reads += world.reads_checked();
                let (written, given_up) = world.bands();
                bands = (bands.0 + written, bands.1 + given_up);
                if std::env::var("SHINGLE_SEED").is_ok() {
                    println!("{}", world.says());
                }
            }
            Err(panic) => {
                eprintln!("theme {theme:?}: replay with SHINGLE_SEED={seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    assert!(reads > 0, "reads were checked");
    bands
}

#[test]
fn no_crash_loses_what_was_durable() {
    let bands = run(Theme::Crashes, 1_000);
    assert_eq!(bands, (0, 0), "no store writes whole bands that was told of none");
}

/// As above, with waiting for each slot, frame and page of the journal.
#[test]
fn the_smallest_cache_keeps_the_promises() {
    let _ = run(Theme::Tiny, 1_000);
}

#[test]
fn limits_that_change_all_the_time_lose_nothing() {
    let _ = run(Theme::Limits, 400);
}

#[test]
fn bands_are_written_whole_and_nothing_is_lost() {
    // A known case: the policy changes while victims of the previous one wait, which are then in a
    // group with blocks of a band.
    World::new(21_269, Theme::Bands, None).live();
    let (written, given_up) = run(Theme::Bands, 1_000);
    println!("{written} bands were written whole, {given_up} given up");
    let one = std::env::var("SHINGLE_SEED").is_ok();
    assert!(one || written > 2_000 && given_up > 200, "{written} written, {given_up} given up");
}

#[test]
fn errors_stay_with_the_blocks_they_concern() {
    let _ = run(Theme::Faults, 600);
}

#[test]
fn flipped_bits_are_never_served_and_never_destaged() {
    let _ = run(Theme::Flips, 400);
}

#[test]
fn ssds_are_exchanged_and_disks_grow_and_nothing_is_lost() {
    let _ = run(Theme::Changes, 1_000);
}

/// No promise depends on the order in which the engine takes the steps of one call.
#[test]
fn what_only_looks_like_a_mistake_is_none() {
    for &bug in Bug::HARMLESS {
        // (Six runs a seed: more seeds find nothing new.)
        for seed in seeds(300).take(2_000) {
            for theme in Theme::ALL {
                println!("{bug:?}, {theme:?}, SHINGLE_SEED={seed}");
                World::new(seed, theme, Some(bug)).live();
            }
        }
    }
}

/// All policies that need to know only the size of the disk. A store refuses the others without
/// zones, and some always.
#[test]
fn every_policy_keeps_the_promises() {
    let registry = Registry::default();
    let refuses =
        |entry: &&Entry| Settings::new(entry.name).cache(&registry, 4096, 1 << 20).is_err();
    let refused: Vec<_> =
        registry.entries().iter().filter(refuses).map(|entry| entry.name).collect();
    assert_eq!(refused, ["none", "lru-band", "zfifo", "reorder-zfifo", "roco", "belady"]);
    let mut left_out = Vec::new();
    for entry in registry.entries() {
        if !World::can_run(entry) {
            left_out.push(entry.name);
            continue;
        }
        for seed in 0..25 {
            for theme in [Theme::Crashes, Theme::Faults] {
                World::with(seed, theme, None, Some(entry)).live();
            }
        }
    }
    assert_eq!(left_out, ["none", "lru-band", "roco", "belady"]);
}
