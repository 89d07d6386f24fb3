//! What can be wrong with a trace or with what was asked of one, always told in one line.

use core::fmt;

/// What sort of thing went wrong, for callers that act on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// The file cannot be opened or read.
    Io,
    /// Whoever reads what is written has gone.
    Unread,
    /// The file ends in the middle of something.
    Truncated,
    /// The bytes are not what their format promises.
    Corrupt,
    /// No format recognises the content, or the named format does not exist or fit.
    Format,
    /// A line or record does not make a request.
    Syntax,
    /// A value is outside what a request may hold.
    Range,
    /// A request comes too long after a later one.
    Order,
    /// Several volumes are mixed.
    Volume,
    /// There is not a single request.
    Empty,
    /// A wrong option, parameter or name, as that of a volume that is not there.
    Usage,
}

/// Where in a trace it went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Place {
    /// The trace as a whole.
    Whole,
    /// A line, counted from 1, of the decompressed text.
    Line(u64),
    /// A byte, counted from 0, of the decompressed content.
    Byte(u64),
    /// A byte, counted from 0, of the file as it is stored.
    StoredByte(u64),
    /// A record or request, counted from 1.
    Record(u64),
}

/// Why a trace cannot be read: one line that names the place and the way out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceError {
    /// What sort of thing went wrong.
    pub kind: Kind,
    /// The file or workload, as the user named it.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl TraceError {
    pub(crate) fn new(kind: Kind, file: &str, place: Place, message: impl Into<String>) -> Self {
        TraceError { kind, file: file.to_owned(), place, message: message.into() }
    }

    /// Whether the request was wrong (an option or a name) rather than the data.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self.kind, Kind::Usage)
    }

    /// Whether whoever reads what is written has seen enough, as `head` has after ten lines.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        matches!(self.kind, Kind::Unread)
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A file name may hold anything but NUL, and an error is one line whatever it holds.
        if !self.file.is_empty() {
            write!(f, "{}: ", one_line(&self.file))?;
        }
        match self.place {
            Place::Whole => {}
            Place::Line(line) => write!(f, "line {line}: ")?,
            Place::Byte(byte) => write!(f, "byte {byte}: ")?,
            Place::StoredByte(byte) => write!(f, "byte {byte} of the stored file: ")?,
            Place::Record(record) => write!(f, "request {record}: ")?,
        }
        f.write_str(&one_line(&self.message))
    }
}

impl core::error::Error for TraceError {}

/// A fault found where the file and the line are not known; whoever knows them adds them.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) kind: Kind,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Problem { kind, message: message.into() }
    }

    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        Problem::new(Kind::Syntax, message)
    }

    pub(crate) fn range(message: impl Into<String>) -> Self {
        Problem::new(Kind::Range, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Problem::new(Kind::Usage, message)
    }

    pub(crate) fn at(self, file: &str, place: Place) -> TraceError {
        TraceError::new(self.kind, file, place, self.message)
    }
}

/// The text without what moves on or commands a terminal.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// A piece of the input as an error may show it: quoted, printable, short.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const SHOWN_BYTES_MAX: usize = 60;
    let cut = bytes.len() > SHOWN_BYTES_MAX;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES_MAX)]);
    let mut quoted = String::from("'");
    quoted.push_str(&one_line(&text));
    quoted.push_str(if cut { "…'" } else { "'" });
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_whatever_it_names() {
        let error = TraceError::new(
            Kind::Syntax,
            "a\nb.csv",
            Place::Line(3),
            format!("no number in {}", shown(b"x\ty\n\xff")),
        );
        let text = error.to_string();
        assert_eq!(text.lines().count(), 1);
        assert!(text.starts_with("a\\nb.csv: line 3: no number in 'x\\ty\\n"), "{text}");
    }
}
