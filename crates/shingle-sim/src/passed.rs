//! The I/O that a sample leaves out between two of its requests.
//!
//! Requests that are left out would have moved the head of the disk, and their data would have
//! replaced earlier reads in its memory. Without them the disk would read neighbours of a sample
//! that were far apart in time as if nothing had come between, and would be too fast. So before a
//! read of the sample the disk reads what was left out since the last one, as far as it matters and
//! is likely to have reached the disk: with the same probability as sampled requests. This time is
//! not counted. A write of a part of a block that is not cached needs a read, too, of the rest of
//! the block. Other writes need none: they go to the log. The disk returns to the log as often as
//! it has read in between, and a sample contains its share of these returns.

use std::collections::VecDeque;
use std::sync::Arc;

use shingle_core::units::{Block, Op, Request};
use shingle_drive::{Counters, Io, Rng};

/// Reads that the disk's memory may hold: of those that reached it, earlier ones do not matter.
const READS_MAX: usize = 16;

/// The most reads that are noted between two requests of a sample, as not all of them reach the disk.
const NOTED_MAX: usize = 2 * READS_MAX;

/// The requests left out before each request of a sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftOut {
    gaps: Vec<Gap>,
    reads: Vec<Read>,
}

/// A read that is left out.
#[derive(Clone, Copy, Debug)]
struct Read {
    first: Block,
    blocks: u32,
    /// Of the rest of a block that is written in part.
    rest: bool,
}

/// The requests left out before one request of a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    requests: u32,
    /// The last of them, as a read of a block.
    last: Option<Io>,
    reads: u32,
}

impl LeftOut {
    /// Ends a gap, in which these requests, which have these marks, are left out: a request of the sample follows.
    pub(crate) fn end_gap(&mut self, left_out: &[Request], marks: &[u8]) {
        let begin = self.reads.len();
        let reads = left_out.iter().zip(marks).rev().filter(|(_, mark)| *mark & READS != 0);
        for (request, _) in reads {
            match request.op {
                Op::Read => self.reads.push(Read {
                    first: request.first(),
                    blocks: u32::try_from(request.blocks()).unwrap_or(u32::MAX),
                    rest: false,
                }),
                _ => self.reads.extend(rests(request).rev().map(|first| Read {
                    first,
                    blocks: 1,
                    rest: true,
                })),
            }
            // Earlier ones do not matter.
            if self.reads.len() - begin >= NOTED_MAX {
                self.reads.truncate(begin + NOTED_MAX);
                break;
            }
        }
        self.reads[begin..].reverse();
        let accesses = |mark: &u8| mark & ACCESSES != 0;
        let last = marks.iter().rposition(accesses).map(|at| left_out[at].first());
        self.gaps.push(Gap {
            requests: marks.iter().copied().filter(|mark| accesses(mark)).count() as u32,
            last: last.map(|block| Io { op: Op::Read, block, count: 1 }),
            reads: (self.reads.len() - begin) as u32,
        });
    }
}

/// Bit of the mark of a request that accesses blocks.
const ACCESSES: u8 = 1 << 6;

/// Bit of the mark of a request that may read the disk.
const READS: u8 = 1 << 7;

pub(crate) fn mark_of(request: &Request) -> u8 {
    match request.op {
        Op::Read | Op::Write if request.bytes == 0 => 0,
        Op::Read => ACCESSES | READS,
        Op::Write if rests(request).next().is_some() => ACCESSES | READS,
        Op::Write => ACCESSES,
        _ => 0,
    }
}

/// Returns the blocks that a write covers in part: the first or the last one.
fn rests(request: &Request) -> impl DoubleEndedIterator<Item = Block> {
    let (first, last) = (request.first(), request.first().after(request.blocks() - 1));
    let outer = [Some(first), Some(last).filter(|&last| last != first)];
    outer.into_iter().flatten().filter(|&block| request.partial(block))
}

/// A count, and the part of it that reached the disk.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    of: u64,
    reached: u64,
}

impl Share {
    /// Draws whether one more reaches the disk.
    fn draw(self, rng: &mut Rng) -> bool {
        rng.below(self.of.max(1)) < self.reached
    }
}

/// The position of a disk in the sample, and the extra I/O it did.
#[derive(Clone)]
pub(crate) struct Passed {
    left_out: Arc<LeftOut>,
    /// Requests of the sample begun so far, and reads left out before them.
    begun: usize,
    passed_reads: usize,
    /// Of the requests of the sample, of those that read, and of the blocks written in part.
    requests: Share,
    reads: Share,
    rests: Share,
    /// The current request: whether it reads, how many blocks it writes in part, whether it reached the disk, and the number of
    /// its reads of the disk.
    reading: bool,
    parts: u64,
    reaches: bool,
    disk_reads: u64,
    /// Reads left out since the last read of the sample, and drawn to have reached the disk.
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
            requests: Share::default(),
            reads: Share::default(),
            rests: Share::default(),
            reading: false,
            parts: 0,
            reaches: false,
            disk_reads: 0,
            waiting: VecDeque::with_capacity(READS_MAX),
            others: 0,
            last: None,
            rng: Rng::new(1),
            beside: Counters::default(),
        }
    }

    /// Notes the start of the next request of the sample.
    #[inline(never)]
    pub(crate) fn begin(&mut self, request: &Request) {
        let reached = u64::from(std::mem::take(&mut self.reaches));
        self.requests.reached += reached;
        self.reads.reached += reached * u64::from(self.reading);
        // (A host that reads to write a zone back reads more than rests.)
        self.rests.reached += std::mem::take(&mut self.disk_reads).min(self.parts);
        self.reading = request.op == Op::Read;
        self.parts = match request.op {
            Op::Write => rests(request).count() as u64,
            _ => 0,
        };
        self.requests.of += 1;
        self.reads.of += u64::from(self.reading);
        self.rests.of += self.parts;
        let gap = self.left_out.gaps.get(self.begun).copied().unwrap_or_default();
        self.begun += 1;
        let to = self.passed_reads + gap.reads as usize;
        for read in &self.left_out.reads[self.passed_reads..to] {
            let share = if read.rest { self.rests } else { self.reads };
            if share.draw(&mut self.rng) {
                let io = Io { op: Op::Read, block: read.first, count: read.blocks.into() };
                if self.waiting.len() == READS_MAX {
                    self.waiting.pop_front();
                }
                self.waiting.push_back(io);
            }
        }
        self.passed_reads = to;
        self.others += u64::from(gap.requests);
        self.last = gap.last.or(self.last);
    }

    /// Appends the I/O that the disk did in between to `ios`. Called before an I/O of the sample.
    pub(crate) fn before(&mut self, op: Op, ios: &mut Vec<Io>) {
        self.reaches = true;
        self.disk_reads += u64::from(op == Op::Read);
        if op != Op::Read || self.others == 0 {
            return;
        }
        ios.extend(self.waiting.drain(..));
        // At least one of the other requests has moved the head.
        let Share { of, reached } = self.requests;
        if ios.is_empty() && self.rng.below(of) < self.others.saturating_mul(reached) {
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
            left_out.end_gap(gap, &gap.iter().map(mark_of).collect::<Vec<_>>());
        }
        let mut passed = Passed::new(left_out.into());
        let of_each = gaps.iter().map(|_| {
            let mut ios = Vec::new();
            passed.begin(&request(Op::Read, 0, 1));
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
        // Of the first it is not yet known whether reads reach the disk.
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

    /// Of blocks that are written in part the rest is read, as often as by the sample: here by each second of its writes.
    #[test]
    fn the_rest_of_a_block_that_is_left_out_is_read() {
        let part = |block, blocks| Request {
            offset: block * BLOCK_BYTES + 512,
            ..request(Op::Write, block, blocks)
        };
        assert_eq!(rests(&part(5, 3)).map(|block| block.0).collect::<Vec<_>>(), [5, 8]);
        assert_eq!(rests(&request(Op::Write, 5, 3)).count(), 0);
        let mut left_out = LeftOut::default();
        let gaps = 2_000;
        for _ in 0..gaps {
            let gap = part(700, 1);
            left_out.end_gap(&[gap], &[mark_of(&gap)]);
        }
        let mut passed = Passed::new(left_out.into());
        let mut of_rests = [0_u32; 2];
        for gap in 0..gaps {
            passed.begin(&part(9, 1));
            if gap % 2 == 0 {
                // Both of its outer blocks.
                for _ in 0..2 {
                    let mut ios = Vec::new();
                    passed.before(Op::Read, &mut ios);
                    let rests = ios.iter().filter(|io| [700, 701].contains(&io.block.0));
                    of_rests[0] += rests.count() as u32;
                }
                of_rests[1] += 4;
            }
        }
        let share = f64::from(of_rests[0]) / f64::from(of_rests[1]);
        assert!((0.45..0.55).contains(&share), "{share}");
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
