//! A trim of the whole disk: answered at once, passed on in pieces of 64 MiB with one in flight at
//! a time; no request waits for more than that piece.

use shingle_core::units::Nanos;
use shingle_engine::{CommandOp, Device, Failed, Io, Kind};

use crate::memory::{Fate, Store};

const PIECE: u64 = 16_384;
const PIECES: u64 = 10;
const DISK_BLOCKS: u64 = PIECES * PIECE;

/// Devices complete I/O at once, except for trims.
struct Bed {
    store: Store,
    /// The trim in flight, and all trims so far.
    trim: Option<Io>,
    told: Vec<(u64, u64)>,
    /// Whether flushes of the disk fail.
    no_flush: bool,
}

impl Bed {
    fn new() -> Bed {
        let store = Store::new(DISK_BLOCKS, |config| config.trim_passdown = true);
        let mut bed = Bed { store, trim: None, told: Vec::new(), no_flush: false };
        bed.pass();
        bed
    }

    fn ask(&mut self, op: CommandOp, block: u64, blocks: u64) -> u64 {
        let number = self.store.ask(op, block, blocks);
        self.work();
        number
    }

    /// Completes everything except trims.
    fn work(&mut self) {
        let (told, no_flush) = (&mut self.told, self.no_flush);
        let trims = self.store.work(|io| match (io.device, io.kind) {
            (_, Kind::Trim(pages)) => {
                told.push((io.page, pages));
                Fate::Stays
            }
            (Device::Disk, Kind::Flush) if no_flush => Fate::Failed,
            _ => Fate::Done,
        });
        for trim in trims {
            let Kind::Trim(pages) = trim.kind else { unreachable!("nothing else stays") };
            assert!(self.trim.is_none() && pages <= PIECE, "one piece at a time");
            self.trim = Some(trim);
        }
        let replies = self.store.replies.iter();
        replies.for_each(|reply| assert!(reply.result.is_ok(), "{:?}", reply.result));
    }

    /// Ends the trim in flight with `result`.
    fn end_trim(&mut self, result: Result<usize, Failed>) {
        let io = self.trim.take().expect("one is under way");
        self.store.engine.io_done(io.id, result, io.buffers);
        self.work();
    }

    fn pass(&mut self) {
        self.store.tick(Nanos::from_millis(1_100));
        self.work();
    }
}

#[test]
fn a_trim_of_everything_holds_up_nothing_but_its_piece() {
    let mut bed = Bed::new();
    // A part of the third piece is dirty.
    bed.ask(CommandOp::Write, 2 * PIECE + 5, 3);
    bed.pass();
    let trim = bed.ask(CommandOp::Trim, 0, DISK_BLOCKS);
    assert!(bed.store.is_answered(trim), "at once");
    assert_eq!(bed.told, [(0, PIECE)]);
    // The disk is slow: requests for other pieces do not notice.
    let (within, elsewhere) =
        (bed.ask(CommandOp::Write, 7, 1), bed.ask(CommandOp::Write, PIECE, 1));
    let reads = bed.ask(CommandOp::Read, 5 * PIECE, 8);
    assert!(bed.store.is_answered(elsewhere) && bed.store.is_answered(reads));
    assert!(!bed.store.is_answered(within));
    bed.end_trim(Ok(0));
    assert!(bed.store.is_answered(within), "it waited for one piece");
    // Written blocks are not trimmed: of the second piece all but its first block are.
    assert_eq!(bed.told[1], (PIECE + 1, PIECE - 1));
    while bed.trim.is_some() {
        bed.end_trim(Ok(0));
    }
    bed.pass();
    while bed.trim.is_some() {
        bed.end_trim(Ok(0));
    }
    assert_eq!(bed.told.iter().map(|(_, pages)| pages).sum::<u64>(), DISK_BLOCKS - 1);
    assert_eq!(bed.told.len() as u64, PIECES, "what had been cached is told with its piece");
    let status = bed.store.engine.status();
    let cached = status.dirty_blocks + status.clean_blocks;
    assert_eq!((status.trimming_blocks, cached), (0, 2), "{status:?}");
}

#[test]
fn a_disk_that_takes_no_trim_is_not_asked_for_ever() {
    let mut bed = Bed::new();
    bed.ask(CommandOp::Trim, 0, DISK_BLOCKS);
    bed.end_trim(Err(Failed));
    (0..5).for_each(|_| bed.pass());
    let errors = bed.store.engine.status().errors;
    assert_eq!((bed.told.len(), errors.disk_trims, errors.disk_writes), (1, 1, 0));
    // The next trim is tried again; its failure does not delay anything.
    bed.ask(CommandOp::Trim, 0, PIECE);
    assert_eq!(bed.told.len(), 2);
    bed.store.engine.shut_down();
    bed.end_trim(Err(Failed));
    bed.pass();
    assert!(bed.store.engine.is_stopped());
}

/// The end waits for the trims that are left, for a while.
#[test]
fn what_waits_at_the_end_is_told_within_ten_seconds() {
    let mut bed = Bed::new();
    bed.ask(CommandOp::Trim, 0, DISK_BLOCKS);
    bed.store.engine.shut_down();
    bed.end_trim(Ok(0));
    assert!(!bed.store.engine.is_stopped() && bed.trim.is_some());
    (0..10).for_each(|_| bed.pass());
    bed.end_trim(Ok(0));
    assert!(bed.trim.is_none() && bed.store.engine.is_stopped(), "what is left is not told");
    assert_eq!(bed.told.len(), 2);
}

/// Before the flush the disk may return its old contents.
#[test]
fn what_is_read_of_trimmed_blocks_is_cached_after_a_flush_and_not_before() {
    for flushes in [true, false] {
        let mut bed = Bed::new();
        let fills = |bed: &mut Bed, block| {
            let before = bed.store.engine.status().counts.fills;
            bed.ask(CommandOp::Read, block, 1);
            bed.store.engine.status().counts.fills - before
        };
        assert_eq!(fills(&mut bed, 1), 1);
        bed.no_flush = !flushes;
        bed.ask(CommandOp::Trim, 7, 1);
        bed.end_trim(Ok(0));
        assert_eq!(fills(&mut bed, 7), u64::from(flushes), "flushed as soon as all is told");
        // A later successful flush does not restore what a failed one has lost.
        bed.no_flush = false;
        (0..3).for_each(|_| bed.pass());
        assert_eq!(fills(&mut bed, 7), 0, "it is cached, or in doubt");
        bed.ask(CommandOp::Write, 7, 1);
        let written = bed.store.engine.status().counts.write_hits;
        assert_eq!(written, u64::from(flushes));
    }
}
