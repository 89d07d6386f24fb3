//! The long runs of a trace, one by one.
//!
//! A few hundred runs may carry most of the bytes, so chance does not do for them: what is long and rare is
//! listed, what is short and frequent is counted. A run is placed relative to an older one, or freely.

use shingle_core::units::Op;

use crate::zones::ZONE_BYTES;

/// Runs of fewer bytes are never listed.
const BYTES_MIN: u64 = 1 << 20;

/// The longest are.
pub(super) const RUNS_MAX: usize = 512;

/// A long run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Long {
    /// Requests before it.
    pub(super) at: u64,
    pub(super) op: Op,
    /// Requests before its last one.
    pub(super) until: u64,
    /// Bytes of its longest request, and of all.
    pub(super) each: u64,
    pub(super) bytes: u64,
    pub(super) start: Start,
}

impl Long {
    /// Bytes that should be done when so many requests were made.
    pub(super) fn due(&self, made: u64) -> u64 {
        let (passed, all) = (made.saturating_sub(self.at) + 1, self.until - self.at + 1);
        let due = u128::from(self.bytes) * u128::from(passed.min(all)) / u128::from(all);
        u64::try_from(due).unwrap_or(u64::MAX)
    }
}

/// Where a long run begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Start {
    /// So many bytes behind the beginning of another long run, by its number.
    Behind(usize, u64),
    /// In untouched blocks of a zone of this class.
    Free(usize),
}

/// The length from which on runs are listed.
pub(super) fn threshold(mut runs: Vec<u64>) -> u64 {
    runs.retain(|&bytes| bytes >= BYTES_MIN);
    runs.sort_unstable_by(|a, b| b.cmp(a));
    runs.get(RUNS_MAX).map_or(BYTES_MIN, |bytes| bytes + 1)
}

/// Where a run at `offset` begins: behind the nearest older one, if that reaches to within a zone.
pub(super) fn start(offset: u64, class: usize, older: &[(u64, u64)]) -> Start {
    let near = |&(_, &(begin, bytes)): &(usize, &(u64, u64))| {
        begin <= offset && offset < begin + bytes + ZONE_BYTES
    };
    let nearest =
        older.iter().enumerate().filter(near).min_by_key(|(_, (begin, _))| offset - begin);
    nearest.map_or(Start::Free(class), |(number, (begin, _))| Start::Behind(number, offset - begin))
}
