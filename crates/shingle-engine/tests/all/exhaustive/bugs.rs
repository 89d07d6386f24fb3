//! Seeded bugs, each searched in the smallest world that has it: the shortest sequence of steps to
//! a broken promise.

use shingle_engine::Bug;
use shingle_testbed::bugs::each_is_found;
use shingle_testbed::explore::{Quiet, explore, pasted, shortest, shrink};
use shingle_testbed::number;

use super::scope::Scope;
use super::scopes::named;
use super::world::World;

/// The scope in which each bug is found.
const WHERE: &[(Bug, &str)] = &[
    (Bug::FlushBeforeCommit, "flush"),
    (Bug::FuaIgnored, "fua"),
    (Bug::CommitWithoutFlush, "fua"),
    (Bug::FlushBeforePages, "fua"),
    (Bug::CleanBeforeDiskFlush, "idle"),
    (Bug::DestageErrorIgnored, "errors"),
    (Bug::FrameReusedAtOnce, "rewritten"),
    (Bug::FrameReusedAtCommit, "rewritten"),
    (Bug::CorrectionsForgotten, "fua"),
    (Bug::ReadWithoutChecksum, "flips"),
    (Bug::DestageWithoutChecksum, "flips"),
    (Bug::BypassOfCached, "around"),
    (Bug::BypassBeforeGivenUp, "around-trim"),
    (Bug::FlushWithoutDisk, "around"),
    (Bug::RecordBeforeData, "fua"),
    (Bug::FillFromUnflushed, "around"),
    (Bug::NoFlushAtStart, "around-killed"),
    (Bug::SupersededForgotten, "rewritten"),
    (Bug::DroppedForgotten, "around-trim"),
    (Bug::WrittenInPlace, "flush"),
    (Bug::CleanThoughRewritten, "idle"),
    (Bug::PartialAsWhole, "parts"),
    (Bug::OverlapsUnordered, "read"),
    (Bug::DirtyErrorReadsDisk, "errors"),
    (Bug::WriteErrorHidden, "errors"),
    (Bug::UnlockedBeforeFill, "read"),
    (Bug::DestageBeforeCommit, "through"),
    (Bug::NoSsdFlushAtStart, "flush-2"),
    (Bug::BypassBeforeInvalidation, "gone"),
    (Bug::BypassOfDirty, "gone-trim"),
    (Bug::GoneUntold, "gone"),
    (Bug::SwapForgetsDestages, "swap"),
    (Bug::FlushedNotRewritten, "lost-back"),
    (Bug::FailureUntold, "lost"),
    (Bug::ShortWriteAsWhole, "errors"),
    (Bug::ShortReadAsWhole, "errors"),
    (Bug::DiskFlushToSsd, "around"),
    (Bug::FuaOfZeroesIgnored, "parts"),
    (Bug::FuaWithoutDisk, "around"),
    (Bug::StopBeforeDiskFlush, "stop"),
    (Bug::FlushOfIdleSkipped, "clients"),
    (Bug::TrimmedBypassedAtOnce, "around-trim"),
    (Bug::ToldOneForAll, "lost"),
    (Bug::FuaCountsAsTold, "lost"),
    (Bug::OpenerUntold, "opened"),
    (Bug::UnflushedForgotten, "lost"),
    (Bug::DoubtForgotten, "lost"),
    (Bug::FailureCoversFlushed, "lost"),
    (Bug::OvertakenKept, "lost"),
    (Bug::DiskFlushErrorIgnored, "lost"),
    (Bug::DiskFlushCoversLater, "around"),
    (Bug::CommitCoversLater, "flush"),
    (Bug::JournalWrapsOver, "journal"),
    (Bug::LockEndsWithProcess, "frames"),
    (Bug::AnsweredBeforeRecord, "flush"),
    (Bug::PlanCarriedOutLate, "room"),
    (Bug::SupersededBeforeNew, "flush"),
    (Bug::TablePageLeavingUnheld, "journal"),
    (Bug::FramesUsedBeforeCorrections, "frames"),
    (Bug::FullPageDropsLast, "full-page"),
    (Bug::TakenOutDirty, "taken-out"),
    (Bug::TakenOutUntold, "taken-out"),
    (Bug::GivenUpInUse, "replaced-dirty"),
    (Bug::PutInUnderWay, "put-in-read"),
    (Bug::FillOfFailed, "put-in-read"),
    (Bug::GrownBeforeSuperblock, "grown"),
    (Bug::FirstTablePageUnheld, "two-tables-empty"),
    (Bug::TrimBeforeGivenUp, "told"),
    (Bug::TrimOfRewritten, "around-told"),
    (Bug::TrimOfCached, "told"),
    (Bug::TrimUnheld, "around-told"),
    (Bug::FillFromTrimmed, "told"),
    (Bug::TrustedBeforeWritten, "told-written"),
    (Bug::BandCleanByPart, "band-dirty"),
    (Bug::BandTouchedForgotten, "band-past"),
    (Bug::BandUnheld, "band-past"),
    (Bug::BandOvertakenKept, "band-lost-dirty"),
    (Bug::BandReadErrorIgnored, "band-errors"),
];

/// Bugs that take more than 4,500 states, some of them minutes: tried only with `SHINGLE_STATES`,
/// the greatest number of states. (Random runs find them too: `crate::bugs`.)
const LONG: &[Bug] = &[
    Bug::CleanBeforeDiskFlush,
    Bug::CommitCoversLater,
    Bug::CorrectionsForgotten,
    Bug::DestageBeforeCommit,
    Bug::FailureCoversFlushed,
    Bug::FailureUntold,
    Bug::FrameReusedAtCommit,
    Bug::FuaCountsAsTold,
    Bug::NoFlushAtStart,
    Bug::NoSsdFlushAtStart,
    Bug::OvertakenKept,
    Bug::RecordBeforeData,
    Bug::SupersededBeforeNew,
    Bug::ToldOneForAll,
    Bug::TrimBeforeGivenUp,
    Bug::TrimOfCached,
    Bug::BypassBeforeInvalidation,
    Bug::BypassOfDirty,
    Bug::CleanThoughRewritten,
    Bug::DestageErrorIgnored,
    Bug::DoubtForgotten,
    Bug::FlushedNotRewritten,
    Bug::FramesUsedBeforeCorrections,
    Bug::GoneUntold,
    Bug::LockEndsWithProcess,
    Bug::TakenOutDirty,
    Bug::TakenOutUntold,
    Bug::FillFromTrimmed,
    Bug::GivenUpInUse,
    Bug::TrustedBeforeWritten,
    Bug::UnflushedForgotten,
    Bug::BandTouchedForgotten,
    Bug::BandUnheld,
    Bug::BandOvertakenKept,
];

fn found(bug: Bug) -> Option<String> {
    let states_max = number("SHINGLE_STATES").unwrap_or(1_000_000);
    let (_, scope) = WHERE.iter().find(|(one, _)| *one == bug)?;
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
    let explored: Vec<Bug> = WHERE.iter().map(|(bug, _)| *bug).collect();
    let without: Vec<_> = Bug::ALL.iter().filter(|bug| !explored.contains(bug)).collect();
    assert!(without.is_empty(), "each has a world: {without:?}");
    let all = number("SHINGLE_STATES").is_some();
    let tried: Vec<Bug> = explored.into_iter().filter(|bug| all || !LONG.contains(bug)).collect();
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
