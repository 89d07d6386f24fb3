//! TOML files of users: reading up to a size limit, and errors of one line.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;

/// Largest file: profiles and sheets are a few kilobytes.
pub(crate) const TEXT_BYTES_MAX: u64 = 8 << 20;

/// Reads a file, at most one byte more than the limit, so that a longer file is detected.
pub(crate) fn load(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the line of a byte, counted from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

/// Formats a parser message as one line with its line number.
pub(crate) fn in_line(text: &str, message: &str, span: Option<Range<usize>>) -> String {
    // The message may quote the text.
    let message = message.trim().replace('\n', ", ").replace(char::is_control, "\u{fffd}");
    match span {
        Some(span) => format!("line {}: {message}", line_of(text, span.start)),
        None => message,
    }
}

/// Quotes a word of the text in an error: short, and without line breaks or control characters.
pub(crate) fn quoted(word: &str) -> String {
    word.chars().filter(|c| !c.is_control()).take(40).collect()
}
