//! What a format of lines, or of records of one size, has to say; `text.rs` and `binary.rs` do the rest.

use crate::error::{Kind, Problem};
use crate::source::Raw;
use crate::volume::Volumes;

/// Makes a request of a line or a record.
pub(super) trait Decode: Send {
    /// `None` if it is of no concern (another volume).
    fn decode(&mut self, piece: &[u8]) -> Result<Option<Raw>, Problem>;

    /// A second request of the line decoded last, to be asked for until there is none. Records have one each.
    fn owed(&mut self) -> Option<Raw> {
        None
    }

    /// The volumes, if the format knows some.
    fn volumes(&self) -> Option<&Volumes> {
        None
    }

    /// Why there was not a single request: as a text has it, unless said otherwise.
    fn nothing(&self) -> Problem {
        Problem::new(Kind::Empty, "holds no request: only blank lines, comments or a header")
    }

    /// What the user should know.
    fn warning(&self) -> Option<String> {
        None
    }
}
