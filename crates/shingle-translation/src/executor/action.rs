//! What an executor has its caller do: steps as I/O.

use shingle_core::units::{Block, Zone};

use crate::translation::Place;

/// One I/O, or a point between I/Os.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Reads from where blocks lie. From [`Place::Nowhere`] it is no I/O: they are zeros.
    Read {
        /// Where the first lies.
        from: Place,
        /// How many.
        count: u64,
    },
    /// Writes into the buffer.
    Write {
        /// Where to, in blocks from the start of the buffer.
        at: u64,
        /// How many.
        count: u64,
        /// Whether they are the host's, just written by it.
        hosts: bool,
    },
    /// Writes at the write pointer of a zone. Which of the host's blocks, [`Executor::steps`] says: those of a
    /// step are neighbours.
    ///
    /// [`Executor::steps`]: crate::Executor::steps
    Append {
        /// The zone, counted from the first sequential one.
        zone: Zone,
        /// The first of the host's blocks.
        block: Block,
        /// How many.
        count: u64,
        /// Whether they are the host's, just written by it, and nothing was read to be written with them.
        hosts: bool,
    },
    /// Moves the write pointer of a zone back to its start.
    Reset {
        /// The zone, counted from the first sequential one.
        zone: Zone,
    },
    /// See [`Step::Commit`](crate::Step::Commit).
    Commit,
}

/// On whose account an action is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The host's data goes to the buffer.
    Log,
    /// The host's data goes straight to a zone.
    Write,
    /// Nobody's: the buffer is cleaned.
    Clean,
}

impl Action {
    /// On whose account it is done.
    #[must_use]
    pub fn cause(self) -> Cause {
        match self {
            Action::Write { hosts: true, .. } => Cause::Log,
            Action::Append { hosts: true, .. } => Cause::Write,
            _ => Cause::Clean,
        }
    }

    /// Blocks that it moves.
    #[must_use]
    pub fn count(self) -> u64 {
        match self {
            Action::Read { count, .. }
            | Action::Write { count, .. }
            | Action::Append { count, .. } => count,
            Action::Reset { .. } | Action::Commit => 0,
        }
    }

    /// Whether others may be one with it.
    pub(super) fn may_go_on(self) -> bool {
        matches!(self, Action::Read { .. } | Action::Write { .. } | Action::Append { .. })
    }

    /// Itself and `next`, if that goes on where it ends.
    pub(super) fn and(self, next: Action) -> Option<Action> {
        match (self, next) {
            (Action::Read { from, count }, Action::Read { from: then, count: more })
                if from != Place::Nowhere && from.after(count) == then =>
            {
                Some(Action::Read { from, count: count + more })
            }
            (
                Action::Write { at, count, hosts },
                Action::Write { at: then, count: more, hosts: same },
            ) if at + count == then && hosts == same => {
                Some(Action::Write { at, count: count + more, hosts })
            }
            (
                Action::Append { zone, block, count, hosts },
                Action::Append { zone: then, count: more, hosts: same, .. },
            ) if zone == then && hosts == same => {
                Some(Action::Append { zone, block, count: count + more, hosts })
            }
            _ => None,
        }
    }
}
