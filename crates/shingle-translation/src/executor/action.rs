//! Actions: the I/O that an executor requests from its caller.

use shingle_core::units::{Block, Zone};

use crate::translation::Place;

/// One I/O, or a point between I/Os.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Reads blocks. From [`Place::Nowhere`] it is no I/O: they are zeros.
    Read {
        /// Place of the first block.
        from: Place,
        /// Number of blocks.
        count: u64,
    },
    /// Writes into the buffer.
    Write {
        /// Destination, in blocks from the start of the buffer.
        at: u64,
        /// Number of blocks.
        count: u64,
        /// Whether they are from the host's current write, and are not moved.
        hosts: bool,
    },
    /// Writes at the write pointer of a zone. [`Executor::steps`] says which blocks of the host;
    /// those of one step are neighbours.
    ///
    /// [`Executor::steps`]: crate::Executor::steps
    Append {
        /// The zone, counted from the first sequential one.
        zone: Zone,
        /// The first of the host's blocks.
        block: Block,
        /// Number of blocks.
        count: u64,
        /// Whether they are from the host's current write, are not moved, and nothing was read to be
        /// written with them.
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

/// The cause of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A host write to the buffer.
    Log,
    /// A host write straight to a zone.
    Write,
    /// Cleaning of the buffer.
    Clean,
}

impl Action {
    /// Returns its cause.
    #[must_use]
    pub fn cause(self) -> Cause {
        match self {
            Action::Write { hosts: true, .. } => Cause::Log,
            Action::Append { hosts: true, .. } => Cause::Write,
            _ => Cause::Clean,
        }
    }

    /// Returns the number of blocks that it moves.
    #[must_use]
    pub fn count(self) -> u64 {
        match self {
            Action::Read { count, .. }
            | Action::Write { count, .. }
            | Action::Append { count, .. } => count,
            Action::Reset { .. } | Action::Commit => 0,
        }
    }

    /// Returns whether further actions may be joined to it.
    pub(super) fn is_joinable(self) -> bool {
        matches!(self, Action::Read { .. } | Action::Write { .. } | Action::Append { .. })
    }

    /// Joins `next` to it, if that begins where it ends.
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
