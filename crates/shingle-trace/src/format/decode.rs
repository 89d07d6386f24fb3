//! The interface of a format of lines or of records of one size; `text.rs` and `binary.rs` do the
//! rest.

use crate::error::{Kind, Problem};
use crate::source::Raw;
use crate::volume::Volumes;

/// Decodes a line or a record into a request.
pub(super) trait Decode: Send {
    /// Returns `None` if the piece is to be skipped, as one of another volume.
    fn decode(&mut self, piece: &[u8]) -> Result<Option<Raw>, Problem>;

    /// Returns a further request of the line decoded last; called until `None`. A record has only
    /// one.
    fn pending(&mut self) -> Option<Raw> {
        None
    }

    fn volumes(&self) -> Option<&Volumes> {
        None
    }

    /// Returns why the trace has no request. The default is for texts.
    fn empty_error(&self) -> Problem {
        Problem::new(Kind::Empty, "holds no request: only blank lines, comments or a header")
    }

    /// Returns what the user should know although it is no error.
    fn warning(&self) -> Option<String> {
        None
    }
}
