//! Seeded bugs, each searched in the smallest world that has it: the shortest sequence of steps to
//! a broken promise.

use shingle_engine::Bug;
use shingle_testbed::bugs::each_is_found;
use shingle_testbed::explore::{Quiet, explore, pasted, shortest, shrink};
use shingle_testbed::number;

use super::scope::Scope;
use super::scopes::named;
use super::world::World;

/// Bugs, each with the scope in which it is found.
const QUICK: &[(Bug, &str)] = &[
    (Bug::FlushBeforeCommit, "flush"),
    (Bug::FuaIgnored, "fua"),
    (Bug::CommitWithoutFlush, "fua"),
    (Bug::FlushBeforePages, "fua"),
    (Bug::FrameReusedAtOnce, "rewritten"),
    (Bug::ReadWithoutChecksum, "flips"),
    (Bug::DestageWithoutChecksum, "flips"),
    (Bug::BypassOfCached, "around"),
    (Bug::BypassBeforeGivenUp, "around-trim"),
    (Bug::FlushWithoutDisk, "around"),
    (Bug::FillFromUnflushed, "around"),
    (Bug::SupersededForgotten, "rewritten"),
    (Bug::DroppedForgotten, "around-trim"),
    (Bug::WrittenInPlace, "flush"),
    (Bug::PartialAsWhole, "parts"),
    (Bug::OverlapsUnordered, "read"),
    (Bug::DirtyErrorReadsDisk, "errors"),
    (Bug::WriteErrorHidden, "errors"),
    (Bug::UnlockedBeforeFill, "read"),
    (Bug::SwapForgetsDestages, "swap"),
    (Bug::ShortWriteAsWhole, "errors"),
    (Bug::ShortReadAsWhole, "errors"),
    (Bug::DiskFlushToSsd, "around"),
    (Bug::FuaOfZeroesIgnored, "parts"),
    (Bug::FuaWithoutDisk, "around"),
    (Bug::StopBeforeDiskFlush, "stop"),
    (Bug::FlushOfIdleSkipped, "clients"),
    (Bug::TrimmedBypassedAtOnce, "around-trim"),
    (Bug::OpenerUntold, "opened"),
    (Bug::DiskFlushErrorIgnored, "lost"),
    (Bug::DiskFlushCoversLater, "around"),
    (Bug::JournalWrapsOver, "journal"),
    (Bug::AnsweredBeforeRecord, "flush"),
    (Bug::PlanCarriedOutLate, "room"),
    (Bug::TablePageLeavingUnheld, "journal"),
    (Bug::FullPageDropsLast, "full-page"),
    (Bug::PutInUnderWay, "put-in-read"),
    (Bug::FillOfFailed, "put-in-read"),
    (Bug::GrownBeforeSuperblock, "grown"),
    (Bug::FirstTablePageUnheld, "two-tables-empty"),
    (Bug::TrimOfRewritten, "around-told"),
    (Bug::TrimUnheld, "around-told"),
    (Bug::BandCleanByPart, "band-dirty"),
    (Bug::BandReadErrorIgnored, "band-errors"),
];

/// Those that take more than 4,500 states, some of them minutes: tried only with `SHINGLE_STATES`,
/// the greatest number of states. (Random runs find them too: `crate::bugs`.)
const LONG: &[(Bug, &str)] = &[
    (Bug::CleanBeforeDiskFlush, "idle"),
    (Bug::DestageErrorIgnored, "errors"),
    (Bug::FrameReusedAtCommit, "rewritten"),
    (Bug::CorrectionsForgotten, "fua"),
    (Bug::RecordBeforeData, "fua"),
    (Bug::NoFlushAtStart, "around-killed"),
    (Bug::CleanThoughRewritten, "idle"),
    (Bug::DestageBeforeCommit, "through"),
    (Bug::NoSsdFlushAtStart, "flush-2"),
    (Bug::BypassBeforeInvalidation, "gone"),
    (Bug::BypassOfDirty, "gone-trim"),
    (Bug::GoneUntold, "gone"),
    (Bug::FlushedNotRewritten, "lost-back"),
    (Bug::FailureUntold, "lost"),
    (Bug::ToldOneForAll, "lost"),
    (Bug::FuaCountsAsTold, "lost"),
    (Bug::UnflushedForgotten, "lost"),
    (Bug::DoubtForgotten, "lost"),
    (Bug::FailureCoversFlushed, "lost"),
    (Bug::OvertakenKept, "lost"),
    (Bug::CommitCoversLater, "flush"),
    (Bug::LockEndsWithProcess, "frames"),
    (Bug::SupersededBeforeNew, "flush"),
    (Bug::FramesUsedBeforeCorrections, "frames"),
    (Bug::TakenOutDirty, "taken-out"),
    (Bug::TakenOutUntold, "taken-out"),
    (Bug::GivenUpInUse, "replaced-dirty"),
    (Bug::TrimBeforeGivenUp, "told"),
    (Bug::TrimOfCached, "told"),
    (Bug::FillFromTrimmed, "told"),
    (Bug::TrustedBeforeWritten, "told-written"),
    (Bug::BandTouchedForgotten, "band-past"),
    (Bug::BandUnheld, "band-past"),
    (Bug::BandOvertakenKept, "band-lost-dirty"),
];

fn found(bug: Bug) -> Option<String> {
    let states_max = number("SHINGLE_STATES").unwrap_or(1_000_000);
    let (_, scope) = QUICK.iter().chain(LONG).find(|(one, _)| *one == bug)?;
    let begin = World::with(named(scope), Some(bug));
    let (states, mut broken) = shortest(&begin, 60, states_max);
    if broken.is_none() {
        // (The bug may only show as a stuck state. The sequence to it need not be the shortest.)
        broken = explore(begin.clone(), states_max).err();
        broken = broken.map(|broken| shrink(|| begin.clone(), broken));
    }
    match broken {
        Some(broken) => {
            let steps = broken.steps.len();
            let what = broken.what.lines().next().unwrap_or_default();
            let Scope { slots, blocks, .. } = named(scope);
            Some(format!(
                "{scope} ({slots} slots, {blocks} blocks), {steps} steps, {states} states: {what}"
            ))
        }
        None => {
            println!("{bug:?}: not in {scope}, {states} states");
            None
        }
    }
}

#[test]
fn seeded_bugs_are_found_by_exploring() {
    let bugs = |of: &[(Bug, &str)]| of.iter().map(|(bug, _)| *bug).collect::<Vec<_>>();
    let known = bugs(&[QUICK, LONG].concat());
    let without: Vec<_> = Bug::ALL.iter().filter(|bug| !known.contains(bug)).collect();
    assert!(without.is_empty(), "each has a world: {without:?}");
    let tried = if number("SHINGLE_STATES").is_some() { known } else { bugs(QUICK) };
    each_is_found(&tried, found);
}

#[test]
fn what_exploring_finds_is_printed_as_a_short_test() {
    let begin = || World::with(named("flush"), Some(Bug::FlushBeforeCommit));
    let quiet = Quiet::begin();
    let broken = explore(begin(), 1_000_000).expect_err("a bug");
    let found = broken.steps.len();
    let least = shrink(begin, broken);
    let code = "World::with(named(\"flush\"), Some(Bug::FlushBeforeCommit))";
    let text = pasted(begin(), code, &least);
    drop(quiet);
    println!("{found} steps, of which it takes {}:\n{text}", least.steps.len());
    // (The shortest sequence has seven.)
    assert!(least.steps.len() <= 9 && text.contains("fn found_by_search()"), "{text}");
}
