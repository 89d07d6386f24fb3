//! Mistakes one could make, each behind a switch of test builds: the crash tests must find every one.

use super::Engine;

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
    RoundWithoutWord,
    RoundDirty,
    GoneUntold,
    SwapForgetsDestages,
}

impl Bug {
    /// All of them.
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
        Bug::RoundWithoutWord,
        Bug::RoundDirty,
        Bug::GoneUntold,
        Bug::SwapForgetsDestages,
    ];
}

impl Engine {
    /// Whether the mistake is made; never, outside of test builds.
    #[inline]
    pub(super) fn bug(&self, bug: Bug) -> bool {
        cfg!(feature = "bugs") && self.config.bug == Some(bug)
    }
}
