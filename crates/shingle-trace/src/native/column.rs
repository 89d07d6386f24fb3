//! Packs the numbers of a block: each is base + unit × a number of few bits. Numbers that need more
//! bits than most are listed as exceptions (patched frame of reference, Zukowski et al., ICDE
//! 2006).
//!
//! ```text
//!  0  base        u64
//!  8  unit        u64   at least 1
//! 16  width       u8    bits of a packed number: 0 to 56, or 64
//! 17  zero        u8
//! 18  exceptions  u16
//! 20  zero        u32
//! 24  packed      bits from the lowest of the first byte on; to a multiple of 8 bytes, and 8 more
//!     exceptions  u64 each, in place of the packed number
//!     places      u16 each: which number; to a multiple of 8 bytes
//! ```

use super::{BLOCK_REQUESTS, pad, u32_at, u64_at};
use crate::format::number::gcd;

const HEAD_BYTES: usize = 24;

const EXCEPTION_BYTES: usize = 10;

/// The most bits of a number that eight bytes always hold, whatever bit it begins at.
const WIDTH_MAX: usize = 56;

/// The largest size of a column: the one at 64 bits a number.
pub(super) const BYTES_MAX: usize = HEAD_BYTES + packed_bytes(BLOCK_REQUESTS, 64);

/// Returns the size of packed numbers, with eight more bytes so that eight can be read at any
/// number.
const fn packed_bytes(count: usize, width: usize) -> usize {
    (count * width).div_ceil(64) * 8 + 8
}

const fn mask(width: usize) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - width) }
}

fn bits(value: u64) -> usize {
    (u64::BITS - value.leading_zeros()) as usize
}

/// Appends `values` in packed form to `out`. `scratch` is overwritten.
pub(super) fn encode(values: &[u64], scratch: &mut Vec<u64>, out: &mut Vec<u8>) {
    let base = values.iter().copied().min().unwrap_or(0);
    let unit = values.iter().fold(0, |unit, value| gcd(value - base, unit)).max(1);
    scratch.clear();
    scratch.extend(values.iter().map(|value| (value - base) / unit));
    let width = cheapest(scratch);
    let packed_max = mask(width);
    let exceptions = scratch.iter().filter(|&&number| number > packed_max).count();
    out.extend_from_slice(&base.to_le_bytes());
    out.extend_from_slice(&unit.to_le_bytes());
    out.extend_from_slice(&[width as u8, 0]);
    out.extend_from_slice(&(exceptions as u16).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    let from = out.len();
    out.resize(from + packed_bytes(values.len(), width), 0);
    for (index, &number) in scratch.iter().enumerate() {
        let (at, bit) = (from + index * width / 8, index * width % 8);
        let word = u64_at(out, at) | ((number & packed_max) << bit);
        out[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
    for &number in scratch.iter().filter(|&&number| number > packed_max) {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for (place, _) in scratch.iter().enumerate().filter(|(_, number)| **number > packed_max) {
        out.extend_from_slice(&(place as u16).to_le_bytes());
    }
    pad(out);
}

/// Returns the width that needs the fewest bytes for numbers and exceptions.
fn cheapest(numbers: &[u64]) -> usize {
    let mut counts_by_bits = [0_usize; 65];
    for &number in numbers {
        counts_by_bits[bits(number)] += 1;
    }
    let (mut best, mut fewest) = (64, packed_bytes(numbers.len(), 64));
    let mut exceptions_count = counts_by_bits[WIDTH_MAX + 1..].iter().sum::<usize>();
    for width in (0..=WIDTH_MAX).rev() {
        let bytes = packed_bytes(numbers.len(), width)
            + (exceptions_count * EXCEPTION_BYTES).next_multiple_of(8);
        if bytes < fewest {
            (best, fewest) = (width, bytes);
        }
        exceptions_count += counts_by_bits[width];
    }
    best
}

/// Fills `values` with numbers from the front of `bytes`, and returns the rest. `None` if the bytes
/// are no column.
pub(super) fn decode<'a>(bytes: &'a [u8], values: &mut [u64]) -> Option<&'a [u8]> {
    if bytes.len() < HEAD_BYTES {
        return None;
    }
    let (head, rest) = bytes.split_at(HEAD_BYTES);
    let (base, unit) = (u64_at(head, 0), u64_at(head, 8));
    let width = usize::from(head[16]);
    let exceptions = usize::from(u16::from_le_bytes([head[18], head[19]]));
    let valid = unit > 0 && (width <= WIDTH_MAX || width == 64) && exceptions <= values.len();
    if !valid || head[17] != 0 || u32_at(head, 20) != 0 {
        return None;
    }
    let (packed, rest) = rest.split_at_checked(packed_bytes(values.len(), width))?;
    unpack(packed, width, base, unit, values);
    let (numbers, rest) = rest.split_at_checked(exceptions * 8)?;
    let (places, rest) = rest.split_at_checked((exceptions * 2).next_multiple_of(8))?;
    for (number, place) in numbers.chunks_exact(8).zip(places.chunks_exact(2)) {
        let place = usize::from(u16::from_le_bytes([place[0], place[1]]));
        *values.get_mut(place)? = base.wrapping_add(u64_at(number, 0).wrapping_mul(unit));
    }
    Some(rest)
}

/// Unpacks numbers. An overflow yields a wrong value, which the check of the request detects.
#[inline]
fn unpack(packed: &[u8], width: usize, base: u64, unit: u64, values: &mut [u64]) {
    if width == 0 {
        values.fill(base);
        return;
    }
    let mask = mask(width);
    let mut bit = 0;
    for value in values {
        let number = (u64_at(packed, bit / 8) >> (bit % 8)) & mask;
        *value = base.wrapping_add(number.wrapping_mul(unit));
        bit += width;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(values: &[u64]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(values, &mut Vec::new(), &mut out);
        assert!(out.len() <= BYTES_MAX && out.len().is_multiple_of(8));
        out
    }

    #[test]
    fn numbers_take_the_bits_they_need() {
        // 5 + 1000 × 0..=3: two bits each; 64 of them are 16 bytes.
        let values: Vec<u64> = (0..64).map(|n| 5 + 1000 * (n % 4)).collect();
        let bytes = packed(&values);
        assert_eq!(bytes.len(), 24 + 16 + 8);
        assert_eq!((u64_at(&bytes, 0), u64_at(&bytes, 8), bytes[16]), (5, 1000, 2));
        assert_eq!(bytes[24], 0b1110_0100);
        // An outlier is listed, instead of widening all.
        let mut far = values.clone();
        far[9] = 5 + (1000 << 40);
        let bytes = packed(&far);
        assert_eq!((bytes[16], bytes[18], bytes.len()), (2, 1, 24 + 16 + 8 + 8 + 8));
        assert_eq!(packed(&[7; 4096]).len(), 24 + 8);
    }

    proptest! {
        #[test]
        fn any_numbers_come_back(
            values in prop::collection::vec((any::<u64>(), 0_u32..64), 1..300),
            unit in 1_u64..5000, few in any::<bool>(),
        ) {
            let values: Vec<u64> = values
                .into_iter()
                .map(|(value, bits)| if few { (value >> 40) * unit } else { value >> bits })
                .collect();
            let mut bytes = packed(&values);
            bytes.extend_from_slice(b"rest");
            let mut back = vec![0; values.len()];
            prop_assert_eq!(decode(&bytes, &mut back), Some(&b"rest"[..]));
            prop_assert_eq!(back, values);
        }

        #[test]
        fn any_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200), width in 0_u8..66) {
            let mut bytes = bytes;
            if bytes.len() > 24 {
                bytes[16] = width;
                bytes[17..24].fill(0);
                bytes[18] = 2;
            }
            let _ = decode(&bytes, &mut [0; 20]);
        }
    }
}
