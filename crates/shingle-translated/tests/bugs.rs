//! The crash tests bite: each of the mistakes one could make is found by them.
//!
//! `SHINGLE_BUG=Name` tries one of them only.

#![allow(clippy::disallowed_methods)] // tests read settings

mod common;

use common::drills;
use common::world::{Seen, Theme, World};
use shingle_translated::Bug;

/// Runs after which a bug counts as not found, of each theme and translation.
const SEEDS_MAX: u64 = 2000;

/// Seeds that have found bugs which take many runs when one begins at the first. They are only tried first: where the disk
/// does other I/O they may find nothing.
const FOUND_BY: [(Bug, u64); 4] = [
    (Bug::NamedBeforeCheckpoint, 40),
    (Bug::EpochNotSaid, 229),
    (Bug::PointerBehindIgnored, 34),
    (Bug::LossForgotten, 57),
];

/// One that rewrites zones where they are, one that commits before it gives up, and one that appends.
const TRANSLATIONS: [&str; 3] = ["fluid", "dm-zoned", "log"];

/// Which run finds it, and how.
fn found(bug: Bug) -> Option<(u64, Theme, &'static str)> {
    if std::panic::catch_unwind(|| drills::of_a_log(Some(bug))).is_err() {
        return Some((0, Theme::Crashes, "a drill"));
    }
    let known = FOUND_BY.iter().find(|(known, _)| *known == bug).map(|(_, seed)| *seed);
    for seed in known.into_iter().chain(0..SEEDS_MAX) {
        for theme in [Theme::Crashes, Theme::Faults] {
            for translation in TRANSLATIONS {
                let life = || {
                    let mut seen = Seen::default();
                    World::new(seed, theme, translation, Some(bug), &mut seen).live();
                };
                if std::panic::catch_unwind(life).is_err() {
                    return Some((seed, theme, translation));
                }
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
    let bugs: Vec<Bug> = Bug::ALL.iter().filter(asked).copied().collect();
    let mut missed = Vec::new();
    for &bug in &bugs {
        match found(bug) {
            Some((seed, theme, translation)) => {
                println!("{bug:?}: seed {seed} ({theme:?}, {translation})");
            }
            None => missed.push(bug),
        }
    }
    std::panic::set_hook(hook);
    assert!(missed.is_empty(), "not found: {missed:?}");
    assert!(!bugs.is_empty(), "SHINGLE_BUG names none of {:?}", Bug::ALL);
}
