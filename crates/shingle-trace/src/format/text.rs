//! What text formats share: their lines, and fields that all of them write alike.

use shingle_core::units::{Op, SECTOR_BYTES};

use super::number;
use crate::error::{Kind, Problem, TraceError, shown};
use crate::input::{Input, PEEK_BYTES_MAX};

/// Returns whether a line is blank or a comment.
#[inline]
pub(super) fn is_skipped(line: &[u8]) -> bool {
    match line.first() {
        None | Some(b'#') => true,
        Some(b' ' | b'\t') => line.iter().all(|&byte| byte == b' ' || byte == b'\t'),
        Some(_) => false,
    }
}

/// Replaces the error if the line is binary, because then the whole file is.
#[cold]
pub(super) fn prefer_binary_error(problem: Problem, line: &[u8]) -> Problem {
    if is_binary(line) { binary_error(line) } else { problem }
}

#[cold]
pub(super) fn binary_error(bytes: &[u8]) -> Problem {
    if let Some(problem) = utf16_error(bytes) {
        return problem;
    }
    let byte = bytes.iter().copied().find(|&byte| is_control(byte)).unwrap_or(0);
    Problem::new(
        Kind::Format,
        format!(
            "byte 0x{byte:02x} in what should be text: this is a binary file, or it is damaged here; copy it \
             again, or name its format (--format)"
        ),
    )
}

/// Returns the error for text of two bytes a character, as spreadsheets and PowerShell write it.
#[cold]
pub(super) fn utf16_error(bytes: &[u8]) -> Option<Problem> {
    // Digits and commas have a zero byte beside them; a byte order mark may come first.
    const LOOKED_AT_BYTES: usize = 64;
    let looked = &bytes[..bytes.len().min(LOOKED_AT_BYTES)];
    let (marked, body) = match looked {
        [0xff, 0xfe, body @ ..] | [0xfe, 0xff, body @ ..] => (true, body),
        body => (false, body),
    };
    let pairs = body.chunks_exact(2);
    let latin = |&pair: &&[u8]| matches!(pair, [0, other] | [other, 0] if !is_control(*other) && *other != 0);
    let (count, fit) = (pairs.len(), pairs.filter(latin).count());
    let is = if marked { count > 0 && fit * 2 > count } else { count >= 4 && fit * 4 > count * 3 };
    is.then(|| {
        Problem::new(
            Kind::Format,
            "is text in UTF-16, of two bytes a character; convert it: iconv -f UTF-16 -t UTF-8 FILE \
             | shingle … -",
        )
    })
}

/// Returns the error for text whose lines end with a carriage return alone, as on a Mac before
/// 2001.
pub(super) fn lone_returns_error(head: &[u8]) -> Option<Problem> {
    let body = head.strip_suffix(b"\r").unwrap_or(head);
    let is = memchr::memchr(b'\r', body).is_some()
        && memchr::memchr(b'\n', body).is_none()
        && !is_binary(body);
    is.then(|| {
        Problem::new(
            Kind::Format,
            "is text whose lines end with a carriage return alone; convert it: tr '\\r' '\\n' < FILE | shingle … -",
        )
    })
}

fn is_control(byte: u8) -> bool {
    (byte < b' ' && !matches!(byte, b'\t' | b'\r' | b'\n' | 0x0c)) || byte == 0x7f
}

/// Returns whether the bytes are no text.
pub(super) fn is_binary(head: &[u8]) -> bool {
    head.iter().any(|&byte| is_control(byte))
}

/// Returns the lines of a sniffed head that are neither blank nor comments. The last one may be cut
/// off by the look-ahead; then it counts only if it is the only one.
pub(super) fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = match memchr::memrchr(b'\n', head) {
        Some(end) if head.len() >= PEEK_BYTES_MAX => &head[..end],
        _ => head,
    };
    whole
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !is_skipped(line))
}

/// Consumes the first line that is neither blank nor a comment, and the lines above it.
pub(super) fn consume_first_line(input: &mut Input) -> Result<Option<Vec<u8>>, TraceError> {
    while let Some(line) = input.next_line()? {
        if !is_skipped(line) {
            return Ok(Some(line.to_vec()));
        }
    }
    Ok(None)
}

/// Returns how many lines are `good`, and of how many, if most of the first ones are. Not all need
/// be: a single bad line is better reported by its format, with its line, than as "not recognised".
pub(super) fn mostly<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    good: impl Fn(&[u8]) -> bool,
) -> Option<(usize, usize)> {
    const LINES_MAX: usize = 20;
    let (mut all, mut fit) = (0, 0);
    for line in lines {
        if all == LINES_MAX && fit * 2 <= all {
            return None;
        }
        all += 1;
        fit += usize::from(good(line));
    }
    (fit * 2 > all.min(LINES_MAX)).then_some((fit, all))
}

/// Removes blanks and quotes around a field.
#[inline]
pub(super) fn unquoted(field: &[u8]) -> &[u8] {
    match (field.first(), field.last()) {
        (Some(b'!'..=b'~'), Some(b'!'..=b'~')) if field[0] != b'"' => field,
        _ => strip_quotes(field),
    }
}

#[cold]
fn strip_quotes(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    match field {
        [b'"', inner @ .., b'"'] => inner.trim_ascii(),
        _ => field,
    }
}

/// Parses a whole number; the error names the column.
#[inline]
pub(super) fn whole(field: &[u8], what: &str) -> Result<u64, Problem> {
    number::whole(unquoted(field)).ok_or_else(|| not_a_number(field, what))
}

/// Parses a time in units of `unit_ns` nanoseconds; the error names the column.
#[inline]
pub(super) fn time(field: &[u8], unit_ns: u64, what: &str) -> Result<u64, Problem> {
    number::scaled(unquoted(field), unit_ns).ok_or_else(|| {
        let digits = unquoted(field).iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
        if digits && !field.is_empty() { too_large(field, what) } else { not_a_number(field, what) }
    })
}

/// Parses a number of sectors and returns their bytes; the error names the column.
#[inline]
pub(super) fn sectors(field: &[u8], what: &str) -> Result<u64, Problem> {
    of_sectors(whole(field, what)?)
}

#[inline]
pub(super) fn of_sectors(sectors: u64) -> Result<u64, Problem> {
    sectors.checked_mul(SECTOR_BYTES).ok_or_else(|| {
        Problem::range(format!("{sectors} sectors of 512 bytes go past 64 PiB, the largest disk"))
    })
}

/// Parses a read or a write in words: `R`, `read`, `W`, `write`, in any case.
#[inline]
pub(super) fn op_of(field: &[u8]) -> Option<Op> {
    match field {
        b"Write" | b"W" | b"w" => Some(Op::Write),
        b"Read" | b"R" | b"r" => Some(Op::Read),
        _ => op_of_any_case(unquoted(field)),
    }
}

/// Parses 0, a read, or 1, a write.
#[inline]
pub(super) fn op_of_digit(field: &[u8]) -> Option<Op> {
    match field {
        b"0" => Some(Op::Read),
        b"1" => Some(Op::Write),
        _ => None,
    }
}

#[cold]
fn op_of_any_case(word: &[u8]) -> Option<Op> {
    let is = |known: &[u8]| word.eq_ignore_ascii_case(known);
    if is(b"write") || is(b"w") {
        Some(Op::Write)
    } else if is(b"read") || is(b"r") {
        Some(Op::Read)
    } else {
        None
    }
}

#[cold]
pub(super) fn too_large(field: &[u8], what: &str) -> Problem {
    Problem::range(format!(
        "the {what} is {}, out of range; if its unit is another, say so: --format \
         csv:time=1/us,op=2,offset=3/bytes,size=4/bytes",
        shown(field)
    ))
}

#[cold]
pub(super) fn too_few(line: &[u8], columns: &str) -> Problem {
    Problem::syntax(format!(
        "a line is {columns}, and this one is {}; for others use --format csv:time=1/us,op=2,…",
        shown(line)
    ))
}

#[cold]
pub(super) fn not_a_number(field: &[u8], what: &str) -> Problem {
    Problem::syntax(format!(
        "the {what} is {}, not a number; if that is another column, say which: --format \
         csv:time=1/us,op=2,offset=3/bytes,size=4/bytes",
        shown(field)
    ))
}

#[cold]
pub(super) fn unknown_op(field: &[u8], known: &str) -> Problem {
    Problem::syntax(format!(
        "the operation {} is unknown ({known}); --format csv:…,read=WORD,write=WORD names others",
        shown(field)
    ))
}
