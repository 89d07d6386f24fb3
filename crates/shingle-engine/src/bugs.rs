//! Mistakes one could make, each behind a switch of test builds: the crash tests must find every one.

/// The type `Bug` of the crate that lists them here, and `Seeded`, the one that is made: none, without the feature `bugs` of that
/// crate. What each leaves out is where it is asked for. Those behind `harmless` look like mistakes and are none.
#[macro_export]
#[doc(hidden)]
macro_rules! bugs {
    ($($bug:ident),* $(,)? $(; harmless: $($harmless:ident),*)?) => {
        /// A mistake.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs)] // the names say it
        pub enum Bug {
            $($bug,)*
            $($($harmless,)*)?
        }

        impl Bug {
            /// All mistakes.
            pub const ALL: &[Bug] = &[$(Bug::$bug),*];

            /// What looks like a mistake and is none: the crash tests must find nothing.
            pub const HARMLESS: &[Bug] = &[$($(Bug::$harmless),*)?];
        }

        /// The mistake that is made, if one is. Each part that can make some has its own.
        #[derive(Clone, Copy, Default, Debug)]
        pub(crate) struct Seeded(Option<Bug>);

        #[allow(dead_code)]
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
    };
}

bugs! {
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
    BandReadErrorIgnored;
    harmless: StepsReversed
}
