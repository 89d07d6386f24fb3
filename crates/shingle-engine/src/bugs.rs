//! Mistakes one could make, each behind a switch of test builds: the crash tests must find every one.

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the names say it; what each leaves out is where it is asked for
pub enum Bug {
    FlushBeforeCommit,
    FuaIgnored,
    CommitWithoutFlush,
    FlushBeforePages,
    CleanBeforeDiskFlush,
    DestageErrorIgnored,
    FrameReusedAtOnce,
    FrameReusedAtCommit,
    FramesUsedBeforeCorrections,
    CorrectionsForgotten,
    ReadWithoutChecksum,
    DestageWithoutChecksum,
    BypassOfCached,
    BypassBeforeGivenUp,
    FlushWithoutDisk,
    RecordBeforeData,
    FillFromUnflushed,
    NoFlushAtStart,
    SupersededForgotten,
    DroppedForgotten,
    WrittenInPlace,
    CleanThoughRewritten,
    PartialAsWhole,
    OverlapsUnordered,
    DirtyErrorReadsDisk,
    WriteErrorHidden,
    UnlockedBeforeFill,
    DestageBeforeCommit,
    NoSsdFlushAtStart,
    BypassBeforeInvalidation,
    BypassOfDirty,
    GoneUntold,
    SwapForgetsDestages,
    FullPageDropsLast,
    FlushedNotRewritten,
    FailureUntold,
    ShortWriteAsWhole,
    ShortReadAsWhole,
    DiskFlushToSsd,
    FuaOfZeroesIgnored,
    FuaWithoutDisk,
    FirstTablePageUnheld,
    TablePageLeavingUnheld,
    StopBeforeDiskFlush,
    FlushOfIdleSkipped,
    TrimmedBypassedAtOnce,
    ToldOneForAll,
    FuaCountsAsTold,
    OpenerUntold,
    UnflushedForgotten,
    DoubtForgotten,
    FailureCoversFlushed,
    OvertakenKept,
    DiskFlushErrorIgnored,
    DiskFlushCoversLater,
    CommitCoversLater,
    JournalWrapsOver,
    LockEndsWithProcess,
    AnsweredBeforeRecord,
    PlanCarriedOutLate,
    SupersededBeforeNew,
    TakenOutDirty,
    TakenOutUntold,
    PutInUnderWay,
    GivenUpInUse,
    FillOfFailed,
    GrownBeforeSuperblock,
    TrimBeforeGivenUp,
    TrimOfRewritten,
    TrimOfCached,
    TrimUnheld,
    FillFromTrimmed,
    TrustedBeforeWritten,
    BandCleanByPart,
    BandTouchedForgotten,
    BandUnheld,
    BandOvertakenKept,
    BandReadErrorIgnored,
    /// In [`Bug::HARMLESS`].
    StepsReversed,
}

impl Bug {
    /// All mistakes.
    pub const ALL: &[Bug] = &[
        Bug::FlushBeforeCommit,
        Bug::FuaIgnored,
        Bug::CommitWithoutFlush,
        Bug::FlushBeforePages,
        Bug::CleanBeforeDiskFlush,
        Bug::DestageErrorIgnored,
        Bug::FrameReusedAtOnce,
        Bug::FrameReusedAtCommit,
        Bug::FramesUsedBeforeCorrections,
        Bug::CorrectionsForgotten,
        Bug::ReadWithoutChecksum,
        Bug::DestageWithoutChecksum,
        Bug::BypassOfCached,
        Bug::BypassBeforeGivenUp,
        Bug::FlushWithoutDisk,
        Bug::RecordBeforeData,
        Bug::FillFromUnflushed,
        Bug::NoFlushAtStart,
        Bug::SupersededForgotten,
        Bug::DroppedForgotten,
        Bug::WrittenInPlace,
        Bug::CleanThoughRewritten,
        Bug::PartialAsWhole,
        Bug::OverlapsUnordered,
        Bug::DirtyErrorReadsDisk,
        Bug::WriteErrorHidden,
        Bug::UnlockedBeforeFill,
        Bug::DestageBeforeCommit,
        Bug::NoSsdFlushAtStart,
        Bug::BypassBeforeInvalidation,
        Bug::BypassOfDirty,
        Bug::GoneUntold,
        Bug::SwapForgetsDestages,
        Bug::FullPageDropsLast,
        Bug::FlushedNotRewritten,
        Bug::FailureUntold,
        Bug::ShortWriteAsWhole,
        Bug::ShortReadAsWhole,
        Bug::DiskFlushToSsd,
        Bug::FuaOfZeroesIgnored,
        Bug::FuaWithoutDisk,
        Bug::FirstTablePageUnheld,
        Bug::TablePageLeavingUnheld,
        Bug::StopBeforeDiskFlush,
        Bug::FlushOfIdleSkipped,
        Bug::TrimmedBypassedAtOnce,
        Bug::ToldOneForAll,
        Bug::FuaCountsAsTold,
        Bug::OpenerUntold,
        Bug::UnflushedForgotten,
        Bug::DoubtForgotten,
        Bug::FailureCoversFlushed,
        Bug::OvertakenKept,
        Bug::DiskFlushErrorIgnored,
        Bug::DiskFlushCoversLater,
        Bug::CommitCoversLater,
        Bug::JournalWrapsOver,
        Bug::LockEndsWithProcess,
        Bug::AnsweredBeforeRecord,
        Bug::PlanCarriedOutLate,
        Bug::SupersededBeforeNew,
        Bug::TakenOutDirty,
        Bug::TakenOutUntold,
        Bug::PutInUnderWay,
        Bug::GivenUpInUse,
        Bug::FillOfFailed,
        Bug::GrownBeforeSuperblock,
        Bug::TrimBeforeGivenUp,
        Bug::TrimOfRewritten,
        Bug::TrimOfCached,
        Bug::TrimUnheld,
        Bug::FillFromTrimmed,
        Bug::TrustedBeforeWritten,
        Bug::BandCleanByPart,
        Bug::BandTouchedForgotten,
        Bug::BandUnheld,
        Bug::BandOvertakenKept,
        Bug::BandReadErrorIgnored,
    ];

    /// What looks like a mistake and is none: the crash tests must find nothing.
    pub const HARMLESS: &[Bug] = &[Bug::StepsReversed];
}

/// The mistake of this engine, if it makes one. Each room, and the journal, has its own.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Seeded(Option<Bug>);

impl Seeded {
    pub(crate) fn new(bug: Option<Bug>) -> Seeded {
        Seeded(bug.filter(|_| cfg!(feature = "bugs")))
    }

    /// Whether the mistake is made; never, outside of test builds.
    #[inline]
    pub(crate) fn has(self, bug: Bug) -> bool {
        cfg!(feature = "bugs") && self.0 == Some(bug)
    }

    /// Whether any mistake is made.
    #[inline]
    pub(crate) fn are_made(self) -> bool {
        cfg!(feature = "bugs") && self.0.is_some()
    }
}
