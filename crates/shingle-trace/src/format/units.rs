//! What the numbers of a text whose format knows their units say about them: whether they are odd in
//! these.

use shingle_core::units::{BLOCK_BYTES, SECTOR_BYTES};

use super::number;

/// Fewer lines than this are no evidence.
pub(super) const LINES_MIN: u64 = 16;

/// Adds what is new to a short list.
pub(super) fn remember<T: PartialEq>(list: &mut Vec<T>, value: T) {
    const REMEMBERED_MAX: usize = 8;
    if list.len() < REMEMBERED_MAX && !list.contains(&value) {
        list.push(value);
    }
}

/// Times, addresses and sizes of a text whose format knows their units: whether they are odd in
/// them.
#[derive(Default)]
pub(super) struct Columns {
    lines: u64,
    with_point: u64,
    different_times: Vec<Vec<u8>>,
    different_offsets: Vec<u64>,
    /// The greatest number that divides all of them.
    offsets_gcd: u64,
    sizes_gcd: u64,
    sizes_sum: u128,
    /// Sizes below 512, and addresses that are no multiples of it.
    small: u64,
    unaligned: u64,
}

impl Columns {
    pub(super) fn add(&mut self, time: &[u8], offset: &[u8], size: &[u8]) {
        let (Some(offset), Some(size)) = (number::whole(offset), number::whole(size)) else {
            return;
        };
        self.add_numbers(offset, size);
        self.with_point += u64::from(time.contains(&b'.'));
        // Two are enough to see that time goes on.
        if self.different_times.len() < 2 && !self.different_times.iter().any(|known| known == time)
        {
            self.different_times.push(time.to_vec());
        }
    }

    /// The same of a request whose time tells nothing.
    pub(super) fn add_numbers(&mut self, offset: u64, size: u64) {
        self.lines += 1;
        remember(&mut self.different_offsets, offset);
        self.offsets_gcd = gcd(self.offsets_gcd, offset);
        self.sizes_gcd = gcd(self.sizes_gcd, size);
        self.sizes_sum += u128::from(size);
        self.small += u64::from(size < SECTOR_BYTES);
        self.unaligned += u64::from(!offset.is_multiple_of(SECTOR_BYTES));
    }

    /// So many requests tell enough.
    pub(super) fn are_many(&self) -> bool {
        const LINES_MAX: u64 = 1 << 16;
        self.lines >= LINES_MAX
    }

    /// Time goes on, and never has a fraction.
    pub(super) fn are_whole_times(&self) -> bool {
        self.with_point == 0 && self.different_times.len() > 1
    }

    /// Hardly a size is a sector long: a request of 512 sectors or more is rare, and one of fewer bytes no
    /// disk is asked for.
    pub(super) fn are_sizes_in_sectors(&self) -> bool {
        self.lines >= LINES_MIN && self.small * 10 >= self.lines * 9
    }

    /// Most addresses are no multiples of 512, though sizes are, or are in sectors themselves.
    pub(super) fn are_offsets_in_sectors(&self) -> bool {
        self.lines >= LINES_MIN
            && self.unaligned * 2 > self.lines
            && (self.sizes_gcd.is_multiple_of(SECTOR_BYTES) || self.are_sizes_in_sectors())
    }

    /// All of several addresses are multiples of 512, and aligned as the sizes are, which are bytes.
    pub(super) fn are_offsets_in_bytes(&self) -> bool {
        const DIFFERENT_MIN: usize = 4;
        self.lines >= LINES_MIN
            && self.offsets_gcd.is_multiple_of(self.sizes_gcd.max(SECTOR_BYTES))
            && self.different_offsets.len() >= DIFFERENT_MIN
    }

    /// All sizes are multiples of 512, and 4,096 on average: as sectors that is 2 MiB, which hosts send in
    /// parts.
    pub(super) fn are_sizes_in_bytes(&self) -> bool {
        self.lines >= LINES_MIN
            && self.sizes_gcd.is_multiple_of(SECTOR_BYTES)
            && self.sizes_sum >= u128::from(self.lines) * u128::from(BLOCK_BYTES)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
