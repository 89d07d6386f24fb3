//! Checks whether the numbers of a text are plausible in the units of its format.

use shingle_core::units::{BLOCK_BYTES, SECTOR_BYTES};

use super::number::{self, gcd};

pub(super) const LINES_MIN: u64 = 16;

/// Adds a value to a short list of distinct ones.
pub(super) fn add_distinct<T: PartialEq>(list: &mut Vec<T>, value: T) {
    const REMEMBERED_MAX: usize = 8;
    if list.len() < REMEMBERED_MAX && !list.contains(&value) {
        list.push(value);
    }
}

/// Statistics of times, addresses and sizes of a text whose format defines their units.
#[derive(Default)]
pub(super) struct Columns {
    lines: u64,
    with_point: u64,
    different_times: Vec<Vec<u8>>,
    different_offsets: Vec<u64>,
    /// The greatest common divisor of all offsets.
    offsets_gcd: u64,
    sizes_gcd: u64,
    sizes_sum: u128,
    /// Number of sizes below 512, and of addresses that are not multiples of 512.
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
        // Two are enough to see that time advances.
        if self.different_times.len() < 2 && !self.different_times.iter().any(|known| known == time)
        {
            self.different_times.push(time.to_vec());
        }
    }

    /// Adds a request whose time has no information.
    pub(super) fn add_numbers(&mut self, offset: u64, size: u64) {
        self.lines += 1;
        add_distinct(&mut self.different_offsets, offset);
        self.offsets_gcd = gcd(self.offsets_gcd, offset);
        self.sizes_gcd = gcd(self.sizes_gcd, size);
        self.sizes_sum += u128::from(size);
        self.small += u64::from(size < SECTOR_BYTES);
        self.unaligned += u64::from(!offset.is_multiple_of(SECTOR_BYTES));
    }

    pub(super) fn is_enough(&self) -> bool {
        const LINES_MAX: u64 = 1 << 16;
        self.lines >= LINES_MAX
    }

    /// Returns whether times advance and never have a fraction.
    pub(super) fn are_whole_times(&self) -> bool {
        self.with_point == 0 && self.different_times.len() > 1
    }

    /// Returns whether nearly all sizes are below 512. In bytes no disk gets such requests; in
    /// sectors only a rare request has 512 sectors or more.
    pub(super) fn are_sizes_in_sectors(&self) -> bool {
        self.lines >= LINES_MIN && self.small * 10 >= self.lines * 9
    }

    /// Returns whether most addresses are no multiples of 512, though sizes are, or are in sectors
    /// themselves.
    pub(super) fn are_offsets_in_sectors(&self) -> bool {
        self.lines >= LINES_MIN
            && self.unaligned * 2 > self.lines
            && (self.sizes_gcd.is_multiple_of(SECTOR_BYTES) || self.are_sizes_in_sectors())
    }

    /// Returns whether all addresses are multiples of 512, and aligned to the sizes, which are
    /// bytes.
    pub(super) fn are_offsets_in_bytes(&self) -> bool {
        const DIFFERENT_MIN: usize = 4;
        self.lines >= LINES_MIN
            && self.offsets_gcd.is_multiple_of(self.sizes_gcd.max(SECTOR_BYTES))
            && self.different_offsets.len() >= DIFFERENT_MIN
    }

    /// Returns whether all sizes are multiples of 512, and 4,096 on average: in sectors that would
    /// be 2 MiB, and hosts split such requests.
    pub(super) fn are_sizes_in_bytes(&self) -> bool {
        self.lines >= LINES_MIN
            && self.sizes_gcd.is_multiple_of(SECTOR_BYTES)
            && self.sizes_sum >= u128::from(self.lines) * u128::from(BLOCK_BYTES)
    }
}
