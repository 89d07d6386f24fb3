//! The I/O that a sample leaves out between two of its requests.
//!
//! Requests that are left out would have moved the head of the disk, and their data would have
//! replaced earlier reads in its memory. Without them the disk would read neighbours of a sample
//! that were far apart in time as if nothing had come between, and would be too fast. So before a
//! read of the sample the disk reads what was left out since the last one, as far as it matters and
//! is likely to have reached the disk: with the same probability as sampled requests. This time is
//! not counted. Writes need none of it: they go to the log. The disk returns to the log as often as
//! it has read in between, and a sample contains its share of these returns.

use std::collections::VecDeque;
use std::sync::Arc;

use shingle_core::units::{Op, Request};
use shingle_drive::{Counters, Io, Rng};

/// Reads that the disk's memory may hold: of the requests left out, earlier ones do not matter.
const READS_MAX: usize = 16;

/// The requests left out before each request of a sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftOut {
    gaps: Vec<Gap>,
    reads: Vec<Io>,
    /// The gap before the next request.
    gap: Gap,
    next: VecDeque<Io>,
}

/// The requests left out before one request of a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    requests: u32,
    /// The last of them, as a read of a block.
    last: Option<Io>,
    /// Number of its reads that are kept.
    reads: u32,
}

impl LeftOut {
    /// Adds a request that is left out.
    pub(crate) fn add(&mut self, request: &Request) {
        if !matches!(request.op, Op::Read | Op::Write) || request.bytes == 0 {
            return;
        }
        let (block, count) = (request.first(), request.blocks());
        self.gap.requests = self.gap.requests.saturating_add(1);
        self.gap.last = Some(Io { op: Op::Read, block, count: 1 });
        if request.op == Op::Read {
            keep(&mut self.next, Io { op: Op::Read, block, count });
        }
    }

    /// Ends the gap: a request of the sample follows.
    pub(crate) fn end_gap(&mut self) {
        let reads = self.next.len() as u32;
        self.reads.extend(self.next.drain(..));
        self.gaps.push(Gap { reads, ..std::mem::take(&mut self.gap) });
    }
}

/// Adds a read, and removes the earliest if there are too many.
fn keep(reads: &mut VecDeque<Io>, read: Io) {
    if reads.len() == READS_MAX {
        reads.pop_front();
    }
    reads.push_back(read);
}

/// The position of a disk in the sample, and the extra I/O it did.
#[derive(Clone)]
pub(crate) struct Passed {
    left_out: Arc<LeftOut>,
    /// Requests of the sample begun so far, and reads left out before them.
    begun: usize,
    passed_reads: usize,
    /// Read requests so far; requests, and read requests, that reached the disk.
    reads: u64,
    reached: u64,
    reads_reached: u64,
    /// Whether the current request is a read, and whether it reached the disk.
    reading: bool,
    reaches: bool,
    /// Reads left out since the last read of the sample.
    waiting: VecDeque<Io>,
    others: u64,
    last: Option<Io>,
    rng: Rng,
    beside: Counters,
}

impl Passed {
    pub(crate) fn new(left_out: Arc<LeftOut>) -> Passed {
        Passed {
            left_out,
            begun: 0,
            passed_reads: 0,
            reads: 0,
            reached: 0,
            reads_reached: 0,
            reading: false,
            reaches: false,
            waiting: VecDeque::with_capacity(READS_MAX),
            others: 0,
            last: None,
            rng: Rng::new(1),
            beside: Counters::default(),
        }
    }

    /// Notes the start of the next request of the sample.
    pub(crate) fn begin(&mut self, op: Op) {
        let reached = u64::from(std::mem::take(&mut self.reaches));
        self.reached += reached;
        self.reads_reached += reached * u64::from(self.reading);
        self.reading = op == Op::Read;
        self.reads += u64::from(self.reading);
        let gap = self.left_out.gaps.get(self.begun).copied().unwrap_or_default();
        self.begun += 1;
        let to = self.passed_reads + gap.reads as usize;
        for read in &self.left_out.reads[self.passed_reads..to] {
            keep(&mut self.waiting, *read);
        }
        self.passed_reads = to;
        self.others += u64::from(gap.requests);
        self.last = gap.last.or(self.last);
    }

    /// Appends the I/O that the disk did in between to `ios`. Called before an I/O of the sample.
    pub(crate) fn before(&mut self, op: Op, ios: &mut Vec<Io>) {
        self.reaches = true;
        if op != Op::Read || self.others == 0 {
            return;
        }
        let (rng, of, reached) = (&mut self.rng, self.reads.max(1), self.reads_reached);
        ios.extend(self.waiting.drain(..).filter(|_| rng.below(of) < reached));
        // At least one of the other requests has moved the head.
        let reached = self.others.saturating_mul(self.reached);
        if ios.is_empty() && self.rng.below(self.begun as u64) < reached {
            ios.extend(self.last);
        }
        (self.others, self.last) = (0, None);
    }

    /// Counts extra I/O of the disk.
    pub(crate) fn count(&mut self, done: Counters) {
        self.beside += done;
    }

    /// Returns the counters of all extra I/O.
    pub(crate) fn beside(&self) -> Counters {
        self.beside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::{BLOCK_BYTES, Block, Nanos};

    fn request(op: Op, block: u64, blocks: u64) -> Request {
        Request { at: Nanos::ZERO, offset: block * BLOCK_BYTES, bytes: blocks * BLOCK_BYTES, op }
    }

    /// What the disk does before a read of each request of a sample of reads that all reach it.
    fn before_each(gaps: &[&[Request]]) -> Vec<Vec<(u64, u64)>> {
        let mut left_out = LeftOut::default();
        for gap in gaps {
            gap.iter().for_each(|request| left_out.add(request));
            left_out.end_gap();
        }
        let mut passed = Passed::new(left_out.into());
        let of_each = gaps.iter().map(|_| {
            let mut ios = Vec::new();
            passed.begin(Op::Read);
            passed.before(Op::Write, &mut ios);
            assert!(ios.is_empty(), "writes go to the log");
            passed.before(Op::Read, &mut ios);
            assert!(ios.iter().all(|io| io.op == Op::Read));
            ios.iter().map(|io| (io.block.0, io.count)).collect()
        });
        of_each.collect()
    }

    #[test]
    fn reads_left_out_are_done_as_often_as_those_sampled_reach_the_disk() {
        let (a, b) = (request(Op::Read, 7, 3), request(Op::Read, 90, 1));
        // Of the first nobody knows yet whether reads reach the disk.
        let told = before_each(&[&[a], &[], &[a], &[a, b], &[]]);
        assert!(told[0].is_empty() && told[1].is_empty() && told[4].is_empty(), "{told:?}");
        // By then one or two of two or three had: as likely, and in order.
        assert!([vec![], vec![(7, 3)], vec![(7, 1)]].contains(&told[2]), "{told:?}");
        let many: Vec<Request> = (0..40).map(|block| request(Op::Read, block * 100, 1)).collect();
        let mut gaps = vec![&[][..]; 1000];
        gaps.push(&many);
        let last = before_each(&gaps).pop().expect("the last");
        assert!((12..=READS_MAX).contains(&last.len()), "{last:?}");
        assert!(last.is_sorted() && last[0].0 >= 2_400, "the latest ones: {last:?}");
    }

    #[test]
    fn a_write_left_out_moves_the_head() {
        let write = request(Op::Write, 5_000, 4);
        let mut gaps = vec![&[][..]; 1000];
        let several = [write; 30];
        gaps.push(&several);
        assert_eq!(before_each(&gaps).pop(), Some(vec![(5_000, 1)]));
        let nothing = [request(Op::Flush, 0, 0), request(Op::Trim, 9, 1)];
        gaps[1000] = &nothing;
        assert_eq!(before_each(&gaps).pop(), Some(vec![]));
        assert_eq!(Block(5_000).bytes(), write.offset);
    }
}
