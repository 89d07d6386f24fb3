//! Notices for the operator of a serving process.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use shingle_nbd::server::Event;
use uuid::Uuid;

use super::errors::ServeError;
use crate::backend::FailedIo;
use crate::measures::NotServed;

/// Receives notices.
pub(super) type TellNotice = Arc<dyn Fn(Notice) + Send + Sync>;

/// A notice for the operator, of one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice {
    /// An event of a client.
    Client(Event),
    /// Failed I/O of an export: the first of its kind, or one for all since the last notice.
    Device(String, FailedIo),
    /// The file of an export's counters, and why it cannot be used. Counters begin anew with this
    /// process.
    Counters(String, PathBuf, String),
    /// A change of an export that an operator has requested, and its outcome so far.
    Asked(String, String, Outcome),
    /// A remark on an export, about something that may need action.
    Remark(String, String),
    /// An export is to be served, and is not.
    NotServed(NotServed),
    /// An export is served: its name, and its cache.
    Begun(String, Uuid),
    /// An export is no longer served, and what is left of it.
    Ended(String, Uuid, Left),
    /// An export is no longer served because of an error, or was not ended properly.
    Failed(String, Uuid, ServeError),
}

/// How the devices of a cache were left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// The number of dirty blocks.
    pub dirty_blocks: u64,
    /// The number of dirty blocks whose data is lost: reads of them fail.
    pub lost_blocks: u64,
    /// Whether the SSD is marked as shut down. It is not if it has failed, or nothing on it is
    /// valid yet.
    pub in_order: bool,
    /// Whether the SSD was being exchanged, and the disk has everything.
    pub exchanging: bool,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.in_order, self.dirty_blocks) {
            _ if self.exchanging => {
                write!(f, "its SSD was being exchanged, and all is on the disk")
            }
            (false, dirty) => write!(f, "its SSD has failed, with {dirty} dirty blocks on it"),
            (true, 0) => write!(f, "all is on the disk"),
            (true, 1) => write!(f, "1 dirty block is on the SSD"),
            (true, dirty) => write!(f, "{dirty} dirty blocks are on the SSD"),
        }?;
        match self.lost_blocks {
            0 => Ok(()),
            lost => write!(f, " (blocks of which the data is lost: {lost})"),
        }
    }
}

/// The outcome of a request of an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is in progress.
    Begun,
    /// It is done.
    Done,
    /// It failed, with the reason.
    Failed(String),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Client(event) => event.fmt(f),
            Notice::Device(_, failed) => failed.fmt(f),
            Notice::Asked(_, what, Outcome::Begun) => write!(f, "`{what}`: asked for"),
            Notice::Asked(_, what, Outcome::Done) => write!(f, "`{what}`: done"),
            Notice::Asked(_, what, Outcome::Failed(why)) => write!(f, "`{what}`: failed: {why}"),
            Notice::Remark(_, text) => f.write_str(text),
            Notice::Counters(_, path, error) => {
                write!(f, "{}: counters do not go on over restarts: {error}", path.display())
            }
            Notice::NotServed(one) => one.fmt(f),
            Notice::Begun(_, uuid) => write!(f, "{uuid} is served"),
            Notice::Ended(_, uuid, left) => write!(f, "{uuid} is served no longer: {left}"),
            Notice::Failed(_, uuid, why) => write!(f, "{uuid} is served no longer: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ssd_that_was_being_exchanged_has_not_failed() {
        let left = |in_order, exchanging| {
            Left { dirty_blocks: 0, lost_blocks: 0, in_order, exchanging }.to_string()
        };
        assert_eq!(left(true, false), "all is on the disk");
        assert_eq!(left(false, false), "its SSD has failed, with 0 dirty blocks on it");
        let exchanging = "its SSD was being exchanged, and all is on the disk";
        assert_eq!(left(false, true), exchanging);
        assert_eq!(left(true, true), exchanging);
    }

    #[test]
    fn lost_blocks_are_named_beside_those_that_are_dirty() {
        let left = Left { dirty_blocks: 9, lost_blocks: 4, in_order: true, exchanging: false };
        let told = "9 dirty blocks are on the SSD (blocks of which the data is lost: 4)";
        assert_eq!(left.to_string(), told);
    }
}
