//! Parsing and formatting of sizes as people write them: `20MiB`, `64G`, `2kB`, `5000b`.

use crate::units::BLOCK_BYTES;

/// Parses a size, in bytes: `K M G T` and `KiB … TiB` are powers of 1024, `kB MB GB TB` of 1000,
/// `b` counts blocks of 4 KiB, a bare number counts bytes. Fractions are allowed.
///
/// # Errors
/// One line that says what is wrong and shows examples.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size; write for instance 256MiB, 2G, 20MB or 5000b");
    let trimmed = text.trim();
    let unit_at = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(unit_at);
    let factor: u64 = match unit.trim_start() {
        "" | "B" => 1,
        "b" => BLOCK_BYTES,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    scaled(number, factor).ok_or_else(|| match is_too_large(number) {
        true => format!("`{text}` is too large: give less than 16777216T (2^64 bytes)"),
        false => wrong(),
    })
}

/// Returns whether `number`, which [`scaled`] refused, would be valid with a smaller integer part.
fn is_too_large(number: &str) -> bool {
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < number.len() && scaled(&format!("0{rest}"), 1).is_some()
}

/// As [`parse_bytes`], rounded up to whole blocks.
///
/// # Errors
/// As [`parse_bytes`].
pub fn parse_blocks(text: &str) -> Result<u64, String> {
    parse_bytes(text).map(|bytes| bytes.div_ceil(BLOCK_BYTES))
}

/// Parses a size of at least one block, in blocks, rounded up. A size whose unit was forgotten
/// would be less.
///
/// # Errors
/// As [`parse_bytes`], or if it is less than a block.
pub fn parse_whole_blocks(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        0..BLOCK_BYTES => Err(format!(
            "that is less than a block of {BLOCK_BYTES} bytes; give a size such as 20M or 5000b"
        )),
        bytes => Ok(bytes.div_ceil(BLOCK_BYTES)),
    }
}

/// Returns `number · factor` of a decimal number without sign, in integers, rounded down. `None` if
/// it is not such a number or the result does not fit.
#[must_use]
pub fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 18 {
        return None;
    }
    // `parse` would take a sign.
    let digits = |text: &str| match text {
        "" => Some(0),
        _ if !text.bytes().all(|byte| byte.is_ascii_digit()) => None,
        _ => text.parse::<u64>().ok(),
    };
    let whole = u128::from(digits(whole)?) * u128::from(factor);
    let part =
        u128::from(digits(fraction)?) * u128::from(factor) / 10u128.pow(fraction.len() as u32);
    u64::try_from(whole + part).ok()
}

/// Parses a count such as `5000`, `2M`, `1.5k`. The units are powers of 1000. `None` if it is not a
/// whole number, such as `1.5`.
#[must_use]
pub fn parse_count(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match &text[number.len()..] {
        "" => 0,
        "k" | "K" => 3,
        "M" | "m" => 6,
        "G" | "g" => 9,
        _ => return None,
    };
    let digits_after_point =
        number.split_once('.').map_or(0, |(_, fraction)| fraction.trim_end_matches('0').len());
    if digits_after_point > power {
        return None;
    }
    scaled(number, 10u64.pow(power as u32))
}

/// Formats bytes for people: in the largest binary unit that leaves a number of at least one.
#[must_use]
pub fn show_bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = (bytes.max(1).ilog2() / 10).min(4);
    let value = bytes as f64 / (1u64 << (10 * power)) as f64;
    let digits = if value.fract() == 0.0 || power == 0 { 0 } else { 1 };
    format!("{value:.digits$} {}", units[power as usize])
}

/// Formats the bytes of `blocks`, as [`show_bytes`].
#[must_use]
pub fn show_blocks(blocks: u64) -> String {
    show_bytes(blocks * BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_binary_unless_they_end_in_a_capital_b_alone() {
        let check = |text, bytes| assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        check("7", 7);
        check("5000b", 20_480_000);
        check("20MiB", 20 << 20);
        check("20M", 20 << 20);
        check("20MB", 20_000_000);
        check("1.5G", 3 << 29);
        check("0.25 kB", 250);
        check("2T", 2 << 40);
    }

    #[test]
    fn a_wrong_size_shows_right_ones() {
        for text in ["", "x", "12Q", "1.2.3G", "-1", ".", "1,5G"] {
            let error = parse_bytes(text).unwrap_err();
            assert!(error.contains("256MiB") && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn a_size_too_large_is_told_the_limit() {
        assert_eq!(parse_bytes("16777215.9T"), Ok((16_777_215 << 40) + (9 << 40) / 10));
        for text in ["16777216T", "99999999999T", "99999999999999999999999", "99999999.5 TiB"] {
            let error = parse_bytes(text).unwrap_err();
            assert!(error.contains("less than 16777216T") && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn counts_are_in_thousands_and_have_no_sign() {
        assert_eq!(parse_count("1.5k"), Some(1_500));
        assert_eq!(parse_count("2m"), Some(2_000_000));
        assert_eq!((parse_count("2.0"), parse_count("1.0500k")), (Some(2), Some(1_050)));
        for text in
            ["1.5", "0.1", "1.2345k", "", "k", "+5", "-5", "1.+5", "5 k", "5KiB", "99999999999999G"]
        {
            assert_eq!(parse_count(text), None, "{text}");
        }
        assert_eq!((scaled("0.+5", 100), scaled("+1", 100)), (None, None));
    }

    #[test]
    fn shown_sizes_read_well() {
        assert_eq!(show_bytes(0), "0 B");
        assert_eq!(show_bytes(256 << 20), "256 MiB");
        assert_eq!(show_bytes(3 << 29), "1.5 GiB");
    }
}
