//! Parses numbers strictly: digits only, and a fraction for times.

use shingle_core::units::NS_PER_S;

/// Parses a whole number of at most 64 bits; accepts nothing else.
#[inline]
pub(super) fn whole(field: &[u8]) -> Option<u64> {
    // Nineteen digits always fit, so the usual case needs no overflow check.
    const DIGITS_SAFE: usize = 19;
    if field.is_empty() || field.len() > DIGITS_SAFE + 1 {
        return None;
    }
    let (head, tail) = field.split_at(field.len().min(DIGITS_SAFE));
    let mut value = 0_u64;
    for &byte in head {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    match tail {
        [] => Some(value),
        [digit @ b'0'..=b'9'] => value.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    }
}

/// Parses a whole number with a zero fraction, `123.0`: tables write it so in a column with gaps.
#[cold]
pub(super) fn integral(field: &[u8]) -> Option<u64> {
    let (digits, zeros) = field.split_at(field.iter().position(|&byte| byte == b'.')?);
    zeros[1..].iter().all(|&byte| byte == b'0').then(|| whole(digits))?
}

/// Parses a hexadecimal number; the prefix 0x is optional if `bare`.
#[cold]
pub(super) fn hexadecimal(field: &[u8], bare: bool) -> Option<u64> {
    let digits = match field {
        [b'0', b'x' | b'X', digits @ ..] => digits,
        digits if bare => digits,
        _ => return None,
    };
    // The standard library accepts a sign, which is no digit.
    let digits = str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u64::from_str_radix(digits, 16).ok()
}

/// Returns `field × unit`, rounded down. The field may have a fraction.
#[inline]
pub(super) fn scaled(field: &[u8], unit: u64) -> Option<u64> {
    let Some(point) = field.iter().position(|&byte| byte == b'.') else {
        return whole(field)?.checked_mul(unit);
    };
    let whole_part = if point == 0 { 0 } else { whole(&field[..point])? };
    let fraction = &field[point + 1..];
    if point == 0 && fraction.is_empty() {
        return None;
    }
    let (mut part, mut digits) = (0_u64, 0);
    for &byte in fraction {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // No unit of time has more than 10^9 parts, so further digits have no effect.
        if digits < FRACTION_DIGITS_MAX {
            part = part * 10 + u64::from(digit);
            digits += 1;
        }
    }
    // In billionths, so that the division is by a constant. Both factors are at most 10^9, so the
    // product fits.
    let billionths = part * TEN_TO[FRACTION_DIGITS_MAX - digits];
    whole_part.checked_mul(unit)?.checked_add(billionths * unit / TEN_TO[FRACTION_DIGITS_MAX])
}

/// Returns [`scaled`] of a small fraction with an exponent, as tables of floating-point numbers
/// have it: `1.5e-05`. Large numbers with an exponent are not accepted, because they may have been
/// rounded.
#[cold]
pub(super) fn scaled_small(field: &[u8], unit: u64) -> Option<u64> {
    let (digits, exponent) = str::from_utf8(field).ok()?.split_once(['e', 'E'])?;
    let places = whole(exponent.strip_prefix('-')?.as_bytes()).filter(|&places| places < 1000)?;
    let (units, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    whole(units.as_bytes())?;
    let zeros = "0".repeat((places as usize).checked_sub(units.len())?);
    scaled(format!("0.{zeros}{units}{fraction}").as_bytes(), unit)
}

const FRACTION_DIGITS_MAX: usize = 9;

/// Powers of ten.
const TEN_TO: [u64; FRACTION_DIGITS_MAX + 1] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Returns [`scaled`] for units of any size.
pub(crate) fn scaled_wide(field: &[u8], unit: u64) -> Option<u64> {
    let parts = u128::from(scaled(field, NS_PER_S)?) * u128::from(unit);
    u64::try_from(parts / u128::from(NS_PER_S)).ok()
}

/// Returns the greatest common divisor; that of a number and 0 is the number.
pub(crate) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_make_a_number() {
        assert_eq!(whole(b"0"), Some(0));
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        for bad in [&b""[..], b"18446744073709551616", b"-1", b"+1", b"1 ", b"0x1", b"1e3"] {
            assert_eq!(whole(bad), None);
        }
    }

    #[test]
    fn a_fraction_of_nothing_is_none() {
        assert_eq!(integral(b"123.0"), Some(123));
        assert_eq!(integral(b"9223372036854775807.00"), Some((1 << 63) - 1));
        for bad in [&b"123.5"[..], b"123", b".0", b"1.0.0", b"-1.0", b"1.0e3"] {
            assert_eq!(integral(bad), None);
        }
    }

    #[test]
    fn hexadecimal_numbers_are_told_by_0x() {
        assert_eq!(hexadecimal(b"0x1F", false), Some(31));
        assert_eq!(hexadecimal(b"1f", true), Some(31));
        assert_eq!(hexadecimal(b"0xffffffffffffffff", true), Some(u64::MAX));
        for bad in [&b"1f"[..], b"0x", b"0x+1", b"0xg", b"0x10000000000000000"] {
            assert_eq!(hexadecimal(bad, false), None);
        }
    }

    #[test]
    fn a_small_fraction_may_have_an_exponent() {
        for (field, ns) in [
            (&b"1.5e-05"[..], 15_000),
            (b"1e-05", 10_000),
            (b"9.999999999E-6", 9_999),
            (b"12.5e-3", 12_500_000),
            (b"1e-300", 0),
        ] {
            assert_eq!(scaled_small(field, 1_000_000_000), Some(ns));
        }
        for bad in [
            &b"1e5"[..],
            b"1e+05",
            b"e-5",
            b".5e-5",
            b"-1e-5",
            b"1e-",
            b"1e--5",
            b"1e-+5",
            b"12e-1",
            b"1.5",
            b"1e-9999",
        ] {
            assert_eq!(scaled_small(bad, 1_000_000_000), None, "{}", bad.escape_ascii());
        }
    }

    #[test]
    fn a_fraction_of_a_unit_is_exact() {
        assert_eq!(scaled(b"1456095145.133076000", 1_000_000_000), Some(1_456_095_145_133_076_000));
        assert_eq!(scaled(b"26.214000", 1_000_000), Some(26_214_000));
        assert_eq!(scaled(b"1.9999999999", 1), Some(1));
        assert_eq!(scaled(b".5", 1_000), Some(500));
        assert_eq!(scaled(b"7.", 1_000), Some(7_000));
        for bad in [&b"."[..], b"1.2.3", b"1.x", b"99999999999.0", b"-1.5"] {
            assert_eq!(scaled(bad, 1_000_000_000), None);
        }
    }
}
