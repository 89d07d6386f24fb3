//! Sizes as people write them.
//!
//! `K M G T` and `KiB … TiB` are powers of 1024, `kB MB GB TB` powers of 1000, `b` is a block of
//! 4 KiB, `B` or nothing is bytes. Fractions are taken exactly and rounded up to whole bytes.

use core::fmt;

use shingle_core::units::BLOCK_BYTES;

/// Why a text is not a size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SizeError {
    text: String,
    why: &'static str,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = crate::error::shown(self.text.as_bytes());
        write!(
            f,
            "{text} is not a size: {}; write it like 64GiB, 1.5G (powers of 1024), 40GB (powers \
             of 1000), 5000b (blocks of 4 KiB) or 4096 (bytes)",
            self.why
        )
    }
}

impl core::error::Error for SizeError {}

/// Every unit and its bytes.
const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("B", 1),
    ("b", BLOCK_BYTES),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    // Not ambiguous, so not worth an error.
    ("k", 1 << 10),
    ("KB", 1_000),
];

/// The bytes that `text` says.
///
/// # Errors
/// If it is no size or does not fit 64 bits.
pub fn parse(text: &str) -> Result<u64, SizeError> {
    let fail = |why| SizeError { text: text.to_owned(), why };
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    if number.is_empty() {
        return Err(fail("it does not begin with a number"));
    }
    let unit = unit.trim_start();
    let Some(&(_, unit_bytes)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(fail("the unit is unknown"));
    };
    scaled(number, unit_bytes).map_err(fail)
}

/// `number × unit` in whole numbers, rounded up.
pub(crate) fn scaled(number: &str, unit: u64) -> Result<u64, &'static str> {
    const TOO_LARGE: &str = "it is too large";
    // More digits than this cannot change the result by one byte, and ten to their number fits.
    const FRACTION_DIGITS_MAX: usize = 18;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err("the number is malformed");
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| TOO_LARGE)? };
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS_MAX)];
    let (part, ten) = fraction.bytes().fold((0_u128, 1_u128), |(part, ten), digit| {
        (part * 10 + u128::from(digit - b'0'), ten * 10)
    });
    let part = (part * u128::from(unit)).div_ceil(ten);
    let total = u128::from(whole) * u128::from(unit) + part;
    u64::try_from(total).map_err(|_| TOO_LARGE)
}

/// How many whole blocks hold `bytes`.
#[must_use]
pub fn to_blocks(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_mean_what_the_command_line_promises() {
        for (text, bytes) in [
            ("4096", 4096),
            ("64GiB", 64 << 30),
            ("64G", 64 << 30),
            ("1.5GiB", 3 << 29),
            ("40GB", 40_000_000_000),
            ("5000b", 20_480_000),
            ("20 MiB", 20 << 20),
            (".5K", 512),
            ("1kB", 1000),
            ("0.0001K", 1),
            ("16777215T", (1_u64 << 24).wrapping_sub(1) << 40),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        assert_eq!((to_blocks(0), to_blocks(1), to_blocks(4097)), (0, 1, 2));
    }

    #[test]
    fn what_is_no_size_is_told_with_examples() {
        for text in
            ["", "G", "-1", "1X", "1.2.3", ".", "16777216T", "1Mb", "1e3", "99999999999999999999"]
        {
            let told = parse(text).expect_err(text).to_string();
            assert!(told.contains("64GiB") && told.lines().count() == 1, "{told}");
        }
    }
}
