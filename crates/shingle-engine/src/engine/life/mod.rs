//! The orderly end of an engine, and draining the cache.
//!
//! At the end, everything begun is finished, the disk is flushed, the journal is emptied into the
//! table, and the last superblock says that nothing is left to replay. Dirty blocks stay dirty.

mod drain;

pub(super) use drain::Drain;

/// The progress of the end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Stage {
    #[default]
    NotYet,
    /// Commands and destages are being finished.
    Finishing,
    /// All records are being committed, and all of the table written.
    Emptying,
    /// The last superblock is in flight.
    WritingLast,
    Stopped,
}

/// The progress of an engine towards its end.
#[derive(Clone, Default, Hash)]
pub(super) struct Life {
    stage: Stage,
    /// Records need not be committed: the cache is about to be deleted.
    forgets: bool,
}

/// What the end depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Commands and destages are finished, and the disk is flushed.
    pub(super) finished: bool,
    /// No command or commit is in progress, and the SSD has not failed.
    pub(super) quiet: bool,
    /// No I/O and no commit are in progress.
    pub(super) idle: bool,
    /// The SSD has all records and all of the table.
    pub(super) emptied: bool,
}

/// What the caller has to do for the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum Step {
    /// Nothing: the end waits.
    Nothing,
    /// Empty the journal, and call again, as there may be nothing to do.
    Empty,
    /// Write the last superblock.
    WriteLastSuperblock,
}

impl Life {
    /// Whether the end has begun.
    pub(super) fn is_ending(&self) -> bool {
        self.stage != Stage::NotYet
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stage == Stage::Stopped
    }

    /// Whether commits go on until nothing is left.
    pub(super) fn wants_commits(&self) -> bool {
        self.stage == Stage::Emptying
    }

    /// Begins the end. Returns false if it had begun already.
    pub(super) fn end(&mut self) -> bool {
        let begins = !self.is_ending();
        if begins {
            self.stage = Stage::Finishing;
        }
        begins
    }

    /// Notes that nothing more is to be written to the SSD.
    pub(super) fn forget(&mut self) {
        self.forgets = true;
    }

    /// Whether nothing more is to be written to the SSD.
    pub(super) fn forgets(&self) -> bool {
        self.forgets
    }

    /// Takes the next step towards the end, if possible.
    pub(super) fn step(&mut self, facts: Facts) -> Step {
        match self.stage {
            Stage::Finishing if facts.finished && self.forgets => {
                if facts.idle {
                    self.stage = Stage::Stopped;
                }
                Step::Nothing
            }
            Stage::Finishing if facts.finished => {
                self.stage = Stage::Emptying;
                Step::Empty
            }
            Stage::Emptying if facts.quiet && facts.emptied => {
                self.stage = Stage::WritingLast;
                Step::WriteLastSuperblock
            }
            Stage::WritingLast if facts.quiet => {
                self.stage = Stage::Stopped;
                Step::Nothing
            }
            _ => Step::Nothing,
        }
    }
}
