//! The crash tests bite: each of the mistakes one could make is found by them.
//!
//! `SHINGLE_BUG=Name` tries one of them only.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::simulated::world::{Theme, World};
use shingle_engine::Bug;

/// Runs of each theme after which a bug counts as not found.
const SEEDS_MAX: u64 = 20_000;

/// Runs that have found bugs which take thousands of runs when one begins at the first. They are only tried first: when
/// the engine does other I/O they may find nothing, and the search begins at the first as for all others. The output of
/// this test says which run found what.
const FOUND_BY: [(Bug, u64); 4] = [
    (Bug::TrimmedBypassedAtOnce, 579),
    (Bug::FullPageDropsLast, 980),
    (Bug::DoubtForgotten, 1732),
    (Bug::UnflushedForgotten, 8449),
];

/// Which run finds it, and how.
fn found(bug: Bug) -> Option<(u64, Theme)> {
    let known = FOUND_BY.iter().find(|(known, _)| *known == bug).map(|(_, run)| run - 1);
    for seed in known.into_iter().chain(0..SEEDS_MAX) {
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
    // Some bugs take thousands of runs: each core takes the next one that is left.
    let (bugs, next): (Vec<Bug>, _) =
        (Bug::ALL.iter().copied().filter(|bug| asked(&bug)).collect(), AtomicUsize::new(0));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let search = || {
        let mut missed = Vec::new();
        while let Some(&bug) = bugs.get(next.fetch_add(1, Ordering::Relaxed)) {
            match found(bug) {
                Some((seed, theme)) => println!("{bug:?}: run {} ({theme:?})", seed + 1),
                None => missed.push(bug),
            }
        }
        missed
    };
    let missed: Vec<Bug> = std::thread::scope(|scope| {
        let searches: Vec<_> = (0..cores).map(|_| scope.spawn(search)).collect();
        searches.into_iter().flat_map(|search| search.join().expect("a search")).collect()
    });
    std::panic::set_hook(hook);
    assert!(missed.is_empty(), "not found: {missed:?}");
    assert!(!bugs.is_empty(), "SHINGLE_BUG names none of {:?}", Bug::ALL);
}
