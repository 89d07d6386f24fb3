//! Mistakes one could make, each behind a switch of test builds: the crash tests must find every one.

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the names say it; what each leaves out is where it is asked for
pub enum Bug {
    LogBeforeData,
    AnsweredBeforeLog,
    NamedBeforeCheckpoint,
    EpochNotSaid,
    TornCommitTaken,
    StalePagesTaken,
    OneCopyOfLog,
    ZoneRewrittenInPlace,
    ZoneFreedBeforeCommit,
    ZonesNotLogged,
    RepairUnflushed,
    UnreadTakenForEnd,
    NowhereNotLogged,
    PointerBehindIgnored,
    LossForgotten,
    ReadersKeepOldMap,
    FailedFlushServed,
    FailedFlushForgiven,
    RolledBackInMemory,
    CheckpointOverOld,
    ChangesForgotten,
    FreshTakenForZeros,
    LostWrittenAsZeros,
    NobodysTaken,
    LogGoesOn,
    GivenUpTaken,
    DamageTakenForEnd,
}

impl Bug {
    /// All mistakes.
    pub const ALL: &[Bug] = &[
        Bug::LogBeforeData,
        Bug::AnsweredBeforeLog,
        Bug::NamedBeforeCheckpoint,
        Bug::EpochNotSaid,
        Bug::TornCommitTaken,
        Bug::StalePagesTaken,
        Bug::OneCopyOfLog,
        Bug::ZoneRewrittenInPlace,
        Bug::ZoneFreedBeforeCommit,
        Bug::ZonesNotLogged,
        Bug::RepairUnflushed,
        Bug::UnreadTakenForEnd,
        Bug::NowhereNotLogged,
        Bug::PointerBehindIgnored,
        Bug::LossForgotten,
        Bug::ReadersKeepOldMap,
        Bug::FailedFlushServed,
        Bug::FailedFlushForgiven,
        Bug::RolledBackInMemory,
        Bug::CheckpointOverOld,
        Bug::ChangesForgotten,
        Bug::FreshTakenForZeros,
        Bug::LostWrittenAsZeros,
        Bug::NobodysTaken,
        Bug::LogGoesOn,
        Bug::GivenUpTaken,
        Bug::DamageTakenForEnd,
    ];
}

/// The mistake that is made, if one is.
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
}
