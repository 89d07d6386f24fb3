//! The end in order, and emptying the cache of what is dirty.
//!
//! The end: what was begun is finished, the disk flushed, the journal emptied into the
//! table, and the superblock says that nothing is left to replay. What is dirty stays dirty.

mod drain;

pub(super) use drain::Drain;

/// How far the end has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Stage {
    #[default]
    NotYet,
    /// Commands and destages are finished.
    Finishing,
    /// All records are committed, all of the table is written.
    Emptying,
    /// The last superblock is on its way.
    Saying,
    Stopped,
}

/// How far an engine is from its end.
#[derive(Clone, Default, Hash)]
pub(super) struct Life {
    stage: Stage,
    /// What is not committed does not matter: the cache is about to be ended.
    forgets: bool,
}

/// What the end waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Commands and destages are finished, and the disk is flushed.
    pub(super) finished: bool,
    /// No command, no commit, and the SSD has not failed.
    pub(super) quiet: bool,
    /// No I/O, no commit.
    pub(super) idle: bool,
    /// The SSD has all of journal and table.
    pub(super) emptied: bool,
}

/// What is to be done for the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum Step {
    /// To wait.
    Nothing,
    /// To empty the journal, and to look again, as there may be nothing to do.
    Empty,
    /// To write the last superblock.
    WriteLastSuperblock,
}

impl Life {
    /// The end has begun.
    pub(super) fn is_ending(&self) -> bool {
        self.stage != Stage::NotYet
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stage == Stage::Stopped
    }

    /// Commits go on until nothing is left.
    pub(super) fn wants_commits(&self) -> bool {
        self.stage == Stage::Emptying
    }

    /// The end begins; returns whether it had not.
    pub(super) fn end(&mut self) -> bool {
        let begins = !self.is_ending();
        if begins {
            self.stage = Stage::Finishing;
        }
        begins
    }

    /// Nothing more is to be written to the SSD.
    pub(super) fn forget(&mut self) {
        self.forgets = true;
    }

    /// Whether nothing more is.
    pub(super) fn forgets(&self) -> bool {
        self.forgets
    }

    /// Goes on towards the end, as far as that can be.
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
                self.stage = Stage::Saying;
                Step::WriteLastSuperblock
            }
            Stage::Saying if facts.quiet => {
                self.stage = Stage::Stopped;
                Step::Nothing
            }
            _ => Step::Nothing,
        }
    }
}
