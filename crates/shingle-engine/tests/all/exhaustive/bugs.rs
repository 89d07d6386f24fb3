//! Seeded bugs, each looked for in the smallest world that has it: the shortest way to a broken promise.

use shingle_engine::Bug;
use shingle_testbed::bugs::each_is_found;
use shingle_testbed::explore::shortest;

use super::number;
use super::scopes::named;
use super::world::World;

/// Where each is found. Those that take a minute are looked for only with `SHINGLE_STATES`.
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
];

const EXCHANGES: &str = "SSDs are exchanged, and disks grow, in the worlds of chance only";

/// Those that no world has which can be explored.
const LARGER: &[(Bug, &str)] = &[
    (Bug::FullPageDropsLast, "a page of the journal has to be full, which takes 253 records"),
    (Bug::FirstTablePageUnheld, "the table has to have two pages, which takes 204 frames in use"),
    (Bug::TakenOutDirty, EXCHANGES),
    (Bug::TakenOutUntold, EXCHANGES),
    (Bug::PutInUnderWay, EXCHANGES),
    (Bug::GrownBeforeSuperblock, EXCHANGES),
];

/// Those that take long: only where `SHINGLE_STATES` says how many states there may be.
const LONG: &[Bug] =
    &[Bug::BypassBeforeInvalidation, Bug::DoubtForgotten, Bug::FlushedNotRewritten];

fn found(bug: Bug) -> Option<String> {
    let states_max = number("SHINGLE_STATES").unwrap_or(1_000_000);
    let (_, scope) = WHERE.iter().find(|(one, _)| *one == bug)?;
    let (states, broken) = shortest(&World::with(named(scope), Some(bug)), 60, states_max);
    match broken {
        Some(broken) => {
            let steps = broken.steps.len();
            let what = broken.what.lines().next().unwrap_or_default();
            Some(format!("{scope}, {steps} steps, {states} states: {what}"))
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
    for bug in Bug::ALL.iter().filter(|bug| !explored.contains(bug)) {
        let why = LARGER.iter().find(|(one, _)| one == bug).map(|(_, why)| why);
        println!(
            "{bug:?}: {}",
            why.expect("a seeded bug has a world, or a reason why it has none")
        );
    }
    let all = number("SHINGLE_STATES").is_some();
    let tried: Vec<Bug> = explored.into_iter().filter(|bug| all || !LONG.contains(bug)).collect();
    each_is_found(&tried, found);
}
