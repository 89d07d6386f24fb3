//! Errors of traces and of options about them. Each is written in one line.

use core::fmt;

/// The kind of an error, for callers that act on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// The file cannot be opened or read.
    Io,
    /// The reader of the output is gone, as at the other end of a pipe.
    Unread,
    /// The file ends in the middle of a line or record.
    Truncated,
    /// The bytes break the rules of their format.
    Corrupt,
    /// No format recognises the content, or the named format does not exist or fit.
    Format,
    /// A line or record is not a request.
    Syntax,
    /// A value is outside what a request may hold.
    Range,
    /// A request comes too long after a later one.
    Order,
    /// Several volumes are mixed.
    Volume,
    /// There is no request.
    Empty,
    /// A wrong option, parameter or name, such as that of a missing volume.
    Usage,
}

/// The place of an error in a trace.
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

/// The reason why a trace cannot be read: one line that names the place and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceError {
    /// The kind of error.
    pub kind: Kind,
    /// The file or workload, as the user named it.
    pub file: String,
    /// The place in the file.
    pub place: Place,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl TraceError {
    pub(crate) fn new(kind: Kind, file: &str, place: Place, message: impl Into<String>) -> Self {
        TraceError { kind, file: file.to_owned(), place, message: message.into() }
    }

    /// Returns whether an option or a name was wrong, rather than the data.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self.kind, Kind::Usage)
    }

    /// Returns whether the reader of the output is gone, as `head` is after ten lines.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        matches!(self.kind, Kind::Unread)
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A file name may hold any byte but NUL; the error must still be one line.
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

/// An error without its file and place, which the caller adds.
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

/// Escapes line breaks and other control characters.
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

/// Returns a piece of the input for an error: quoted, printable, short.
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
