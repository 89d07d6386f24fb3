//! Checks the crash tests: they find each of the seeded bugs.
//!
//! `SHINGLE_BUG=Name` tries one of them only.

use crate::common::drills;
use crate::common::world::{Seen, Theme, World};
use shingle_testbed::bugs::{each_is_found, panics, seeds};
use shingle_translated::Bug;

/// Number of runs of each theme and translation after which a bug counts as not found.
const SEEDS_MAX: u64 = 2000;
/// Number of runs before the slow searches.
const SEEDS_FEW: u64 = 60;

/// Seeds that find bugs which would take many runs from the first seed on. They are only tried
/// first: after a change of the disk's I/O they may find nothing.
const FOUND_BY: [(Bug, u64); 4] = [
    (Bug::NamedBeforeCheckpoint, 86),
    (Bug::EpochNotSaid, 22),
    (Bug::PointerBehindIgnored, 34),
    (Bug::LossForgotten, 57),
];

/// One that rewrites zones in place, one that commits before it gives up blocks, and one that
/// appends.
const TRANSLATIONS: [&str; 3] = ["fluid", "dm-zoned", "log"];

/// What finds the bug, and how.
fn found(bug: Bug) -> Option<String> {
    let drills = [
        drills::of_a_log,
        drills::of_a_repair,
        drills::of_a_commit_that_fails,
        drills::of_a_moment_without_power,
        drills::of_a_zone_that_is_left,
        drills::of_a_zone_that_is_finished,
    ];
    if drills.iter().any(|drill| panics(|| drill(Some(bug)))) {
        return Some("a drill".to_owned());
    }
    if panics(|| drills::of_moments_without_power(Some(bug), 0..4)) {
        return Some("moments without power".to_owned());
    }
    if panics(|| drills::of_spoilt_blocks(Some(bug), "log")) {
        return Some("spoilt blocks".to_owned());
    }
    if panics(|| drills::of_spoilt_blocks_and_a_cut(Some(bug), "amphisbaena", 960..980)) {
        return Some("spoilt blocks and a power cut".to_owned());
    }
    if panics(|| drills::of_many_failures(Some(bug), "skylight-sa", 782..783)) {
        return Some("many failures (skylight-sa)".to_owned());
    }
    let read_again = || drills::of_a_block_that_can_be_read_again(Some(bug), "log", 3, 12);
    if panics(|| assert!(read_again())) {
        return Some("a block that can be read again".to_owned());
    }
    // These take long: a few seeds first.
    let failing =
        |translation: &&&str| panics(|| drills::of_many_failures(Some(bug), translation, 0..40));
    let by_failures = || {
        let translation = TRANSLATIONS.iter().find(failing)?;
        Some(format!("many failures ({translation})"))
    };
    let by_seed = |seed| by_seed(bug, seed);
    seeds(&FOUND_BY, &bug, SEEDS_FEW)
        .find_map(by_seed)
        .or_else(by_failures)
        .or_else(|| (SEEDS_FEW..SEEDS_MAX).find_map(by_seed))
}

/// How a seed finds the bug.
fn by_seed(bug: Bug, seed: u64) -> Option<String> {
    for theme in [Theme::Crashes, Theme::Faults] {
        for translation in TRANSLATIONS {
            if panics(|| {
                World::new(seed, theme, translation, Some(bug), &mut Seen::default()).live()
            }) {
                return Some(format!("seed {seed} ({theme:?}, {translation})"));
            }
        }
    }
    None
}

#[test]
fn every_seeded_bug_is_found() {
    each_is_found(Bug::ALL, found);
}
