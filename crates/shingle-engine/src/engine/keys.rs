//! Keys of operations in flight, which modules pass to each other.

/// An operation on one block: a part of a command.
pub(super) type OpKey = usize;
pub(super) type CommandKey = usize;
/// A destage.
pub(super) type JobKey = usize;
