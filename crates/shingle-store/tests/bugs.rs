//! The crash tests bite: each of the mistakes one could make is found by them.
//!
//! `SHINGLE_BUG=Name` tries one of them only.

#[allow(dead_code)]
mod simulated;

use shingle_store::engine::Bug;
use simulated::world::{Theme, World};

/// Runs of each theme after which a bug counts as not found.
const SEEDS_MAX: u64 = 20_000;

/// Which run finds it, and how.
fn found(bug: Bug) -> Option<(u64, Theme)> {
    for seed in 0..SEEDS_MAX {
        for theme in [Theme::Crashes, Theme::Faults, Theme::Flips] {
            if std::panic::catch_unwind(|| World::new(seed, theme, Some(bug)).live()).is_err() {
                return Some((seed, theme));
            }
        }
    }
    None
}

#[test]
fn every_seeded_bug_is_found() {
    let only = std::env::var("SHINGLE_BUG").ok();
    let asked = |bug: &&Bug| only.as_ref().is_none_or(|only| *only == format!("{bug:?}"));
    // What finds a bug is a panic: thousands would be printed.
    let hook = std::panic::take_hook();
    if only.is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let results: Vec<_> = Bug::ALL.iter().filter(asked).map(|&bug| (bug, found(bug))).collect();
    std::panic::set_hook(hook);
    for (bug, found) in &results {
        match found {
            Some((seed, theme)) => println!("{bug:?}: run {} ({theme:?})", seed + 1),
            None => println!("{bug:?}: not found"),
        }
    }
    let missed: Vec<_> = results.iter().filter(|(_, found)| found.is_none()).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
    assert!(only.is_some() || results.len() >= 20);
}
