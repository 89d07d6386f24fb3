//! Summary figures of a list of requests.
//!
//! An access is one block of one request. A block that is touched only in part counts, and counts
//! again for the next request. Trims and flushes move no data: they count as requests but access
//! nothing.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use shingle_core::units::{BLOCK_BYTES, Nanos, Op, Request};

use crate::touched::Touched;
use crate::zones::{LARGE_ZONE_BYTES, ZONE_BYTES};

/// A count for each operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerOp {
    /// Of reads.
    pub read: u64,
    /// Of writes.
    pub write: u64,
    /// Of trims.
    pub trim: u64,
    /// Of flushes.
    pub flush: u64,
}

impl PerOp {
    /// Returns the sum over all operations.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.read + self.write + self.trim + self.flush
    }

    /// Adds to the count of an operation.
    pub fn add(&mut self, op: Op, count: u64) {
        let field = match op {
            Op::Read => &mut self.read,
            Op::Write => &mut self.write,
            Op::Trim => &mut self.trim,
            Op::Flush => &mut self.flush,
        };
        *field = field.saturating_add(count);
    }
}

/// Lengths of reads and writes in bytes, at the nearest rank. All 0 if there are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    /// The shortest length.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The longest length.
    pub max: u64,
}

/// The figures of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Requests.
    pub requests: PerOp,
    /// Their bytes.
    pub bytes: PerOp,
    /// Blocks that reads access.
    pub read_blocks: u64,
    /// Blocks that writes access.
    pub write_blocks: u64,
    /// Distinct blocks among both.
    pub distinct_blocks: u64,
    /// Distinct blocks that are written.
    pub distinct_written_blocks: u64,
    /// 5,000-block zones in which any block is read or written.
    pub accessed_zones: u64,
    /// 5,000-block zones in which any block is written.
    pub written_zones: u64,
    /// 256 MiB zones in which any block is written, the zones of most host-managed disks.
    pub written_large_zones: u64,
    /// One past the highest byte of any request.
    pub end_bytes: u64,
    /// Arrival of the first request.
    pub first: Nanos,
    /// Arrival of the last.
    pub last: Nanos,
    /// The longest time without an arrival.
    pub longest_idle: Nanos,
    /// Reads and writes whose start or end is not on a block boundary.
    pub unaligned_requests: u64,
    /// Lengths of reads and writes.
    pub sizes: Sizes,
}

/// Sums over a stream of requests, none of which is kept.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) requests: PerOp,
    bytes: PerOp,
    read_blocks: u64,
    write_blocks: u64,
    end_bytes: u64,
    last: Nanos,
    touched: Touched,
}

impl Tally {
    pub(crate) fn add(&mut self, request: &Request) {
        self.requests.add(request.op, 1);
        self.bytes.add(request.op, request.bytes);
        self.end_bytes = self.end_bytes.max(request.offset + request.bytes);
        self.last = request.at;
        match request.op {
            Op::Read => self.read_blocks += request.blocks(),
            Op::Write => self.write_blocks += request.blocks(),
            Op::Trim | Op::Flush => return,
        }
        self.touched.access(request.first().0, request.blocks(), request.op == Op::Write);
    }

    /// Returns a summary of these sums; [`Counted`] adds the other figures.
    pub(crate) fn summary(&self) -> Summary {
        Summary {
            requests: self.requests,
            bytes: self.bytes,
            read_blocks: self.read_blocks,
            write_blocks: self.write_blocks,
            distinct_blocks: self.touched.blocks(),
            distinct_written_blocks: self.touched.written_blocks(),
            accessed_zones: self.touched.zones(),
            written_zones: self.touched.written_zones(),
            end_bytes: self.end_bytes,
            last: self.last,
            ..Summary::default()
        }
    }
}

/// A summary of a stream of requests, none of which is kept.
#[derive(Default)]
pub struct Counted {
    tally: Tally,
    first: Option<Nanos>,
    longest_idle: Nanos,
    unaligned_requests: u64,
    /// Zones of 256 MiB that are written; `last_large` is the latest.
    large: HashSet<u64>,
    last_large: Option<u64>,
    /// Number of reads and writes by length, without the current run of equal lengths, which is
    /// `size`.
    sizes: HashMap<u64, u64>,
    size: (u64, u64),
}

impl Counted {
    /// Adds the next request.
    pub fn add(&mut self, request: &Request) {
        if self.first.is_none() {
            (self.first, self.tally.last) = (Some(request.at), request.at);
        }
        self.longest_idle = self.longest_idle.max(request.at.since(self.tally.last));
        self.tally.add(request);
        if matches!(request.op, Op::Trim | Op::Flush) {
            return;
        }
        let end = request.offset + request.bytes;
        if request.op == Op::Write && request.bytes > 0 {
            let (first, last) = (request.offset / LARGE_ZONE_BYTES, (end - 1) / LARGE_ZONE_BYTES);
            if [first, last] != [self.last_large.unwrap_or(u64::MAX); 2] {
                self.large.extend(first..=last);
                self.last_large = Some(last);
            }
        }
        // Most requests are as long as the one before.
        if self.size.0 == request.bytes {
            self.size.1 += 1;
        } else {
            let (bytes, count) = std::mem::replace(&mut self.size, (request.bytes, 1));
            *self.sizes.entry(bytes).or_default() += count;
        }
        self.unaligned_requests += u64::from(!(request.offset | end).is_multiple_of(BLOCK_BYTES));
    }

    /// Returns the summary of all added requests.
    #[must_use]
    pub fn summary(mut self) -> Summary {
        *self.sizes.entry(self.size.0).or_default() += self.size.1;
        Summary {
            written_large_zones: self.large.len() as u64,
            first: self.first.unwrap_or(Nanos::ZERO),
            longest_idle: self.longest_idle,
            unaligned_requests: self.unaligned_requests,
            sizes: quantiles(self.sizes),
            ..self.tally.summary()
        }
    }
}

impl Summary {
    /// Summarises `requests`.
    #[must_use]
    pub fn of(requests: &[Request]) -> Summary {
        let mut counted = Counted::default();
        requests.iter().for_each(|request| counted.add(request));
        counted.summary()
    }

    /// Returns the accesses of reads and writes.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.read_blocks + self.write_blocks
    }

    /// Returns the bytes of the 5,000-block zones that are accessed, the whole of `5%accessed`.
    #[must_use]
    pub fn accessed_zone_bytes(&self) -> u64 {
        self.accessed_zones * ZONE_BYTES
    }

    /// Returns the bytes of the 5,000-block zones that are written.
    #[must_use]
    pub fn written_zone_bytes(&self) -> u64 {
        self.written_zones * ZONE_BYTES
    }

    /// Returns the bytes of the 256 MiB zones that are written.
    #[must_use]
    pub fn written_large_zone_bytes(&self) -> u64 {
        self.written_large_zones * LARGE_ZONE_BYTES
    }

    /// Returns writes divided by accesses.
    #[must_use]
    pub fn write_ratio(&self) -> Option<f64> {
        ratio(self.write_blocks, self.blocks())
    }

    /// Returns write accesses to a block that was written before, divided by all write accesses.
    #[must_use]
    pub fn update_ratio(&self) -> Option<f64> {
        ratio(self.write_blocks - self.distinct_written_blocks, self.write_blocks)
    }

    /// Returns unaligned requests divided by reads and writes.
    #[must_use]
    pub fn unaligned_ratio(&self) -> Option<f64> {
        ratio(self.unaligned_requests, self.requests.read + self.requests.write)
    }

    /// Returns the mean length of reads and writes in bytes.
    #[must_use]
    pub fn mean_bytes(&self) -> Option<f64> {
        let bytes = self.bytes.read.saturating_add(self.bytes.write);
        ratio(bytes, self.requests.read + self.requests.write)
    }
}

/// Returns `part / whole` for reports; `None` if `whole` is 0.
#[must_use]
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Returns the quantiles of lengths, given the number of requests of each length.
fn quantiles(sizes: HashMap<u64, u64>) -> Sizes {
    // Sorted, so that the result does not depend on the order of the hash table.
    let sizes: BTreeMap<u64, u64> = sizes.into_iter().filter(|&(_, count)| count > 0).collect();
    let all: u64 = sizes.values().sum();
    let at = |percent: u64| {
        let mut rank = (u128::from(all) * u128::from(percent)).div_ceil(100).max(1);
        let is_there = |&(_, &count): &(&u64, &u64)| {
            let there = rank <= u128::from(count);
            rank = rank.saturating_sub(u128::from(count));
            there
        };
        sizes.iter().find(is_there).map_or(0, |(&bytes, _)| bytes)
    };
    Sizes { min: at(0), p50: at(50), p90: at(90), p99: at(99), max: at(100) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::zones::ZONE_BLOCKS;

    fn request(at: u64, offset: u64, bytes: u64, op: Op) -> Request {
        Request { at: Nanos(at), offset, bytes, op }
    }

    #[test]
    fn a_small_trace_adds_up() {
        let summary = Summary::of(&[
            request(0, 0, 4096, Op::Write),
            request(10, 4095, 2, Op::Read),
            request(15, ZONE_BYTES - 4096, 8192, Op::Write),
            request(90, 0, 4096, Op::Write),
            request(91, 0, 0, Op::Flush),
            request(92, 9 * ZONE_BYTES, 1 << 30, Op::Trim),
        ]);
        assert_eq!(summary.requests, PerOp { read: 1, write: 3, trim: 1, flush: 1 });
        assert_eq!((summary.read_blocks, summary.write_blocks), (2, 4));
        assert_eq!((summary.distinct_blocks, summary.distinct_written_blocks), (4, 3));
        assert_eq!((summary.accessed_zones, summary.written_zones), (2, 2));
        assert_eq!(summary.accessed_zone_bytes(), 40_960_000);
        assert_eq!((summary.longest_idle, summary.last), (Nanos(75), Nanos(92)));
        assert_eq!(summary.unaligned_requests, 1);
        assert_eq!(summary.update_ratio(), Some(0.25));
        assert_eq!((summary.sizes.min, summary.sizes.p50, summary.sizes.max), (2, 4096, 8192));
        assert_eq!(summary.end_bytes, 9 * ZONE_BYTES + (1 << 30));
        assert_eq!(Summary::of(&[]).write_ratio(), None);
    }

    proptest! {
        #[test]
        fn bitmaps_agree_with_a_set(
            requests in prop::collection::vec(
                (0..3 * ZONE_BYTES, 1..2 * ZONE_BYTES, any::<bool>()), 0..20)
        ) {
            let requests: Vec<Request> = requests
                .iter()
                .map(|&(offset, bytes, write)| {
                    request(0, offset, bytes, if write { Op::Write } else { Op::Read })
                })
                .collect();
            let (mut all, mut written) = (BTreeSet::new(), BTreeSet::new());
            for request in &requests {
                for block in request.first().0..request.first().0 + request.blocks() {
                    all.insert(block);
                    if request.op == Op::Write {
                        written.insert(block);
                    }
                }
            }
            let zones = |set: &BTreeSet<u64>| {
                set.iter().map(|b| b / ZONE_BLOCKS).collect::<BTreeSet<_>>().len() as u64
            };
            let summary = Summary::of(&requests);
            prop_assert_eq!(summary.distinct_blocks, all.len() as u64);
            prop_assert_eq!(summary.distinct_written_blocks, written.len() as u64);
            prop_assert_eq!(summary.accessed_zones, zones(&all));
            prop_assert_eq!(summary.written_zones, zones(&written));
        }
    }
}
