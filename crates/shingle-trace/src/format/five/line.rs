//! Parses a line of five columns.

use crate::format::{fields, number};

/// A line's time, sector and size, and whether its flags are only 0 or 1.
pub(super) struct Numbers<'a> {
    pub(super) time: &'a [u8],
    pub(super) sector: u64,
    pub(super) size: u64,
    pub(super) flag: bool,
}

/// Returns the numbers of a line that has these five columns and nothing else.
pub(super) fn numbers(line: &[u8]) -> Option<Numbers<'_>> {
    let ([time, device, sector, size, flags], rest) = fields::words_and_rest::<5>(line)?;
    let is_whole = number::whole(device).is_some() && rest.trim_ascii().is_empty();
    number::scaled(time, 1).filter(|_| is_whole)?;
    Some(Numbers {
        time,
        sector: number::whole(sector)?,
        size: number::whole(size)?,
        flag: hexadecimal(flags)? <= 1,
    })
}

/// Parses flags in hexadecimal digits.
#[inline]
pub(super) fn hexadecimal(field: &[u8]) -> Option<u32> {
    const DIGITS_MAX: usize = 8;
    if field.is_empty() || field.len() > DIGITS_MAX {
        return None;
    }
    field
        .iter()
        .try_fold(0, |value, &byte| char::from(byte).to_digit(16).map(|digit| value << 4 | digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_hexadecimal() {
        assert_eq!([&b"0"[..], b"1", b"8F"].map(hexadecimal), [Some(0), Some(1), Some(0x8f)]);
        assert_eq!([&b""[..], b"-1", b"123456789"].map(hexadecimal), [None; 3]);
    }
}
