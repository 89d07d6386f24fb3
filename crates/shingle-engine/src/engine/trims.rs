//! Trims of clients: the blocks leave the cache, and are trimmed on the disk piece by piece.
//!
//! A trim is answered at once; the rest is done in the background. A piece has at most 64 MiB, and
//! one is in flight at a time. Requests on its blocks wait meanwhile, so no request waits for more
//! than one piece. Blocks that are written before their turn are not trimmed on the disk, nor are
//! those that a crash interrupts: a trim is advice, and its sender repeats it (`fstrim`).
//!
//! For the disk a trim is a write of undefined data, so it follows the rules of a write past the
//! cache. It comes after the commit of the record that the block has left: otherwise the SSD would
//! hold as clean what the disk does not have any more. Until a flush of the disk, nothing read
//! there may be cached: the disk may return to the older data.

use std::ops::Range;

use shingle_core::ranges::Ranges;
use shingle_core::units::{Block, Nanos, Request};

use crate::bugs::{Bug, Seeded};

/// The size of a piece. No piece crosses a multiple of it.
const PIECE_BLOCKS: u64 = 64 << 8;
/// The highest number of ranges that wait, to limit memory while the disk does not answer. Further
/// trims are ignored, as a trim is advice.
const WAITING_MAX: usize = 1 << 20;
/// How long the end waits for pending trims.
const END_WITHIN: Nanos = Nanos::from_millis(10_000);

/// Pending trims; see the module.
#[derive(Clone, Default)]
pub(super) struct Trims {
    /// Whether the disk is trimmed. If not, blocks leave the cache only.
    passdown: bool,
    /// Blocks trimmed by clients, not written since, and not yet trimmed on the disk.
    waiting: Ranges,
    /// The next block to look at in this pass.
    next: u64,
    /// A trim was submitted, or dropped, in this pass.
    progressed: bool,
    /// A whole pass has found nothing that can be trimmed now: the next one comes after something
    /// has changed.
    is_stalled: bool,
    under_way: Option<Range<u64>>,
    /// A flush failed while the trim was in flight.
    overtaken: bool,
    /// Trimmed since the last flush of the disk was submitted.
    unflushed: Ranges,
    /// Trimmed before the flush in flight was submitted.
    flushing: Ranges,
    /// The content of these blocks on the disk is unknown until they are written.
    doubted: Ranges,
    /// When the end began.
    ends_since: Option<Nanos>,
    bugs: Seeded,
}

impl Trims {
    pub(super) fn new(passdown: bool, bugs: Seeded) -> Trims {
        Trims { passdown, bugs, ..Trims::default() }
    }

    /// Sets whether the disk is trimmed.
    pub(super) fn set_passdown(&mut self, passdown: bool) {
        self.passdown = passdown;
    }

    pub(super) fn passdown(&self) -> bool {
        self.passdown
    }

    /// Whether no trim is pending.
    pub(super) fn are_done(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The number of blocks with a pending trim.
    pub(super) fn waiting_blocks(&self) -> u64 {
        self.waiting.blocks()
    }

    /// Adds a trim of these blocks.
    pub(super) fn add(&mut self, blocks: Range<u64>) {
        if self.waiting.len() < WAITING_MAX {
            self.waiting.insert(blocks);
            self.is_stalled = false;
        }
    }

    /// Notes that these blocks are about to be written. Blocks in doubt stay so: a read may come
    /// before the write.
    #[inline]
    pub(super) fn written(&mut self, blocks: Range<u64>) {
        if !self.waiting.is_empty() && !self.bugs.has(Bug::TrimOfRewritten) {
            self.waiting.remove(blocks.clone());
        }
        if self.bugs.has(Bug::TrustedBeforeWritten) {
            self.doubted.remove(blocks);
        }
    }

    /// Notes that the disk has new data of `block`. Whether that is durable, [`super::disk`]
    /// decides.
    #[inline]
    pub(super) fn mark_written(&mut self, block: Block) {
        if !self.doubted.is_empty() {
            self.doubted.remove(block.0..block.0 + 1);
        }
    }

    /// Whether the content of `block` on the disk may change although nothing writes it.
    #[inline]
    pub(super) fn is_unsettled(&self, block: Block) -> bool {
        if self.bugs.has(Bug::FillFromTrimmed) {
            return false;
        }
        let has = |ranges: &Ranges| !ranges.is_empty() && ranges.has(block.0..block.0 + 1);
        self.under_way.as_ref().is_some_and(|piece| piece.contains(&block.0))
            || [&self.waiting, &self.unflushed, &self.flushing, &self.doubted].into_iter().any(has)
    }

    /// The range of the trim in flight.
    pub(super) fn under_way(&self) -> Option<Range<u64>> {
        self.under_way.clone()
    }

    /// Whether there is a piece to look at now.
    pub(super) fn may_continue(&self) -> bool {
        !self.waiting.is_empty() && self.under_way.is_none() && !self.is_stalled
    }

    /// Begins a new pass: something may have changed for trims that could not be submitted.
    pub(super) fn begin_pass(&mut self) {
        self.is_stalled = false;
    }

    /// The next piece to look at.
    pub(super) fn next_piece(&mut self) -> Option<Range<u64>> {
        if !self.may_continue() {
            return None;
        }
        match self.waiting.first_in(self.next..u64::MAX) {
            Some(rest) => {
                let border = (rest.start / PIECE_BLOCKS + 1) * PIECE_BLOCKS;
                Some(rest.start..rest.end.min(border))
            }
            None => {
                self.is_stalled = !std::mem::take(&mut self.progressed);
                self.next = 0;
                None
            }
        }
    }

    /// Skips a piece that cannot be trimmed now.
    pub(super) fn pass(&mut self, piece: &Range<u64>) {
        self.next = piece.end;
    }

    /// Drops a piece that need not be trimmed.
    pub(super) fn forget(&mut self, piece: Range<u64>) {
        self.waiting.remove(piece);
        self.progressed = true;
    }

    /// Notes that the trim of a piece is submitted.
    pub(super) fn begin(&mut self, piece: Range<u64>) {
        self.next = piece.end;
        self.forget(piece.clone());
        self.under_way = Some(piece);
    }

    /// Handles the completed trim. If it failed, all others are dropped: the disk would not take
    /// them either.
    pub(super) fn done(&mut self, well: bool) {
        let piece = self.under_way.take().expect("one is under way");
        let overtaken = std::mem::take(&mut self.overtaken);
        match well && !overtaken {
            true => self.unflushed.insert(piece),
            false => self.doubted.insert(piece),
        }
        if !well {
            self.waiting.clear();
        }
        self.is_stalled = false;
    }

    /// Notes that a flush of the disk is submitted.
    pub(super) fn flush_begins(&mut self) {
        self.flushing = std::mem::take(&mut self.unflushed);
    }

    /// Handles the completed flush. If it failed, the trims may be undone, and reads may still show
    /// them for a while.
    pub(super) fn flushed(&mut self, well: bool) {
        let flushing = std::mem::take(&mut self.flushing);
        if well {
            return;
        }
        let unflushed = std::mem::take(&mut self.unflushed);
        for told in [flushing, unflushed] {
            told.iter().for_each(|range| self.doubted.insert(range));
        }
        self.overtaken = self.under_way.is_some();
    }

    /// Whether the end has to wait for no trim any more.
    pub(super) fn is_done(&mut self, forgets: bool, now: Nanos) -> bool {
        let since = *self.ends_since.get_or_insert(now);
        if forgets || now.since(since) >= END_WITHIN {
            self.waiting.clear();
        }
        self.waiting.is_empty() && self.under_way.is_none()
    }
}

/// The blocks that a request writes, wholly or in part.
pub(super) fn touched_by(request: &Request) -> Range<u64> {
    let first = request.first().0;
    first..first + request.blocks()
}

/// The first blocks of `piece` without any of `busy`, which is sorted.
pub(super) fn first_without(piece: &Range<u64>, busy: &[u64]) -> Option<Range<u64>> {
    let mut start = piece.start;
    for &block in busy.iter().filter(|block| piece.contains(block)) {
        if block > start {
            return Some(start..block);
        }
        start = block + 1;
    }
    (start < piece.end).then_some(start..piece.end)
}

#[cfg(feature = "bugs")]
impl Trims {
    pub(super) fn hash_state<H: std::hash::Hasher>(&self, view: &super::state::View, into: &mut H) {
        use std::hash::Hash;

        let Trims { passdown, waiting, next, progressed, is_stalled, under_way, overtaken, .. } =
            self;
        let Trims { unflushed, flushing, doubted, ends_since, bugs: _, .. } = self;
        (passdown, next, progressed, is_stalled, under_way, overtaken).hash(into);
        for ranges in [waiting, unflushed, flushing, doubted] {
            ranges.len().hash(into);
            ranges.iter().for_each(|range| range.hash(into));
        }
        ends_since.map(|since| view.age(since, END_WITHIN)).hash(into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_before_what_is_busy() {
        assert_eq!(first_without(&(3..9), &[]), Some(3..9));
        assert_eq!(first_without(&(3..9), &[1, 3, 4, 7, 20]), Some(5..7));
        assert_eq!(first_without(&(3..5), &[3, 4]), None);
    }

    #[test]
    fn what_waits_has_a_bound() {
        let mut trims = Trims::new(true, Seeded::default());
        let count = WAITING_MAX as u64;
        (0..count + 10).for_each(|at| trims.add(2 * at..2 * at + 1));
        assert_eq!(trims.waiting_blocks(), count);
        let piece = trims.next_piece().expect("one waits");
        trims.begin(piece);
        trims.add(2 * count..2 * count + 5);
        assert_eq!(trims.waiting_blocks(), count + 4, "there is room again");
    }

    #[test]
    fn pieces_end_at_borders_and_what_was_written_is_not_told() {
        let mut trims = Trims::new(true, Seeded::default());
        trims.add(PIECE_BLOCKS - 10..3 * PIECE_BLOCKS);
        trims.written(2 * PIECE_BLOCKS + 5..2 * PIECE_BLOCKS + 6);
        let mut told = Vec::new();
        while let Some(piece) = trims.next_piece() {
            trims.begin(piece.clone());
            assert_eq!(trims.next_piece(), None, "one at a time");
            told.push(piece);
            trims.done(true);
        }
        let two = 2 * PIECE_BLOCKS;
        let rest = two + 6..two + PIECE_BLOCKS;
        assert_eq!(told, [PIECE_BLOCKS - 10..PIECE_BLOCKS, PIECE_BLOCKS..two, two..two + 5, rest]);
        assert_eq!(trims.waiting_blocks(), 0);
    }

    #[test]
    fn what_cannot_be_told_is_not_looked_at_for_ever() {
        let mut trims = Trims::new(true, Seeded::default());
        trims.add(0..2 * PIECE_BLOCKS);
        let mut looks = 0;
        while trims.may_continue() {
            if let Some(piece) = trims.next_piece() {
                trims.pass(&piece);
            }
            looks += 1;
        }
        assert_eq!(looks, 3);
        trims.begin_pass();
        assert_eq!(trims.next_piece(), Some(0..PIECE_BLOCKS));
    }

    #[test]
    fn a_flush_settles_what_was_told_before_it_began() {
        let mut trims = Trims::new(true, Seeded::default());
        let tell = |trims: &mut Trims, block: u64| {
            trims.add(block..block + 1);
            let piece = trims.next_piece().expect("it waits");
            trims.begin(piece);
            trims.done(true);
        };
        tell(&mut trims, 1);
        trims.flush_begins();
        tell(&mut trims, 2);
        trims.flushed(true);
        assert_eq!([1, 2].map(|block| trims.is_unsettled(Block(block))), [false, true]);
        trims.flush_begins();
        trims.flushed(false);
        assert!(trims.is_unsettled(Block(2)), "the disk may have forgotten it");
        trims.flush_begins();
        trims.flushed(true);
        assert!(trims.is_unsettled(Block(2)));
        trims.written(2..3);
        assert!(trims.is_unsettled(Block(2)), "it is not written yet");
        trims.mark_written(Block(2));
        assert!(!trims.is_unsettled(Block(2)));
    }
}
