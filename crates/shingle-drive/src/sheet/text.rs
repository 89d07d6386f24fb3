//! Files of TOML that users give: read up to a limit, and what is wrong with them told in one line.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;

/// Profiles and sheets are a few kilobytes; what is longer is something else.
pub(crate) const TEXT_BYTES_MAX: u64 = 8 << 20;

/// The text of a file, or so much of it that it is seen to be too long.
pub(crate) fn load(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// The line of the text in which a byte lies, counted from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

/// What a parser says of a place in the text, in one line with its number.
pub(crate) fn in_line(text: &str, message: &str, span: Option<Range<usize>>) -> String {
    // It may quote the text.
    let message = message.trim().replace('\n', ", ").replace(char::is_control, "\u{fffd}");
    match span {
        Some(span) => format!("line {}: {message}", line_of(text, span.start)),
        None => message,
    }
}

/// A word of the text as an error may quote it: short, and nothing that moves on or commands a terminal.
pub(crate) fn quoted(word: &str) -> String {
    word.chars().filter(|c| !c.is_control()).take(40).collect()
}
