//! Seeded bugs: deliberate mistakes that only test builds can switch on. The crash tests must find
//! each of them.

/// Defines the type `Bug` with the mistakes listed, and `Seeded`, which holds the one that is
/// switched on. Without the feature `bugs` of the calling crate none is. The code that asks for a
/// bug shows what the bug leaves out. Bugs behind `harmless` look like mistakes but are none.
#[macro_export]
#[doc(hidden)]
macro_rules! bugs {
    ($($bug:ident),* $(,)? $(; harmless: $($harmless:ident),*)?) => {
        /// A seeded mistake.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs)] // the names describe them
        pub enum Bug {
            $($bug,)*
            $($($harmless,)*)?
        }

        impl Bug {
            /// All mistakes.
            pub const ALL: &[Bug] = &[$(Bug::$bug),*];

            /// Changes that look like mistakes but are none: the crash tests must find nothing.
            pub const HARMLESS: &[Bug] = &[$($(Bug::$harmless),*)?];
        }

        /// The seeded mistake of one part of the code, if any.
        #[derive(Clone, Copy, Default, Debug)]
        pub(crate) struct Seeded(Option<Bug>);

        #[allow(dead_code)]
        impl Seeded {
            pub(crate) fn new(bug: Option<Bug>) -> Seeded {
                Seeded(bug.filter(|_| cfg!(feature = "bugs")))
            }

            /// Whether `bug` is switched on. Always false outside of test builds.
            #[inline]
            pub(crate) fn has(self, bug: Bug) -> bool {
                cfg!(feature = "bugs") && self.0 == Some(bug)
            }

            /// Whether any bug is switched on.
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
