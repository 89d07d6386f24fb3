//! Checks the crash tests: they find each of the seeded bugs.
//!
//! `SHINGLE_BUG=Name` tries one of them only.

use crate::simulated::world::{Theme, World};
use shingle_engine::Bug;
use shingle_testbed::bugs::{each_is_found, panics, seeds};

/// Number of runs of each theme after which a bug counts as not found.
const SEEDS_MAX: u64 = 20_000;

/// Seeds that find bugs which would take hundreds of runs from the first seed on. They are only
/// tried first: after a change of the engine's I/O they may find nothing, and then the search
/// begins at the first seed as for all others. The output of this test says which seed found what.
const FOUND_BY: [(Bug, u64); 14] = [
    (Bug::TrimBeforeGivenUp, 233),
    (Bug::FillFromTrimmed, 3454),
    (Bug::TrimmedBypassedAtOnce, 233),
    (Bug::FullPageDropsLast, 733),
    (Bug::DoubtForgotten, 1731),
    (Bug::UnflushedForgotten, 8448),
    (Bug::FramesUsedBeforeCorrections, 645),
    (Bug::FailureCoversFlushed, 209),
    (Bug::JournalWrapsOver, 132),
    (Bug::FillFromUnflushed, 139),
    (Bug::OvertakenKept, 129),
    (Bug::TrustedBeforeWritten, 1261),
    (Bug::GivenUpInUse, 17956),
    (Bug::BandOvertakenKept, 1776),
];

/// Bugs that only the theme `Changes` can find.
const CHANGES: [Bug; 7] = [
    Bug::TakenOutDirty,
    Bug::TakenOutUntold,
    Bug::PutInUnderWay,
    Bug::GivenUpInUse,
    Bug::FillOfFailed,
    Bug::GrownBeforeSuperblock,
    Bug::TrustedBeforeWritten,
];

/// Bugs in the destaging of whole bands.
const BANDS: [Bug; 5] = [
    Bug::BandCleanByPart,
    Bug::BandTouchedForgotten,
    Bug::BandUnheld,
    Bug::BandOvertakenKept,
    Bug::BandReadErrorIgnored,
];

/// Bugs that this many random runs have not found. The exhaustive exploration finds them in each
/// run of the tests (`exhaustive/bugs.rs`).
const BY_EXPLORING: [Bug; 2] = [Bug::PutInUnderWay, Bug::FillOfFailed];

/// Which run finds the bug, and how.
fn found(bug: Bug) -> Option<String> {
    let themes: &[Theme] = match () {
        () if CHANGES.contains(&bug) => &[Theme::Changes],
        () if BANDS.contains(&bug) => &[Theme::Bands],
        () => &[Theme::Crashes, Theme::Faults, Theme::Flips],
    };
    for seed in seeds(&FOUND_BY, &bug, SEEDS_MAX) {
        for &theme in themes {
            if panics(|| World::new(seed, theme, Some(bug)).live()) {
                return Some(format!("seed {seed} ({theme:?})"));
            }
        }
    }
    None
}

#[test]
fn every_seeded_bug_is_found() {
    let by_chance: Vec<Bug> =
        Bug::ALL.iter().copied().filter(|bug| !BY_EXPLORING.contains(bug)).collect();
    each_is_found(&by_chance, found);
}
