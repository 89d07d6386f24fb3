//! Names of what is under way, which rooms give each other.

/// An operation on one block: a part of a command.
pub(super) type OpKey = usize;
/// A command that was begun.
pub(super) type CommandKey = usize;
/// A destage.
pub(super) type JobKey = usize;
