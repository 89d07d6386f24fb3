//! Blocks that clients do not need any more: they leave the cache, and the disk is told, a piece at a time.
//!
//! A trim is answered at once; what follows goes on beside requests. A piece is 64 MiB at most, one is under way at a time,
//! and requests on its blocks wait meanwhile, so no request waits for more than a piece. What is written before its turn comes
//! is not told. Nor is what a crash meets: a trim is advice, and whoever gives it gives it again (`fstrim`).
//!
//! To the disk a trim is a write of anything. So what holds for writes past the cache holds for it: it comes after the
//! commit that says that the block has left, as otherwise the SSD would hold as clean what the disk has no more; and until
//! the disk was flushed, nothing that is read there may be cached, as the disk may go back to what it had.

use std::ops::Range;

use shingle_core::ranges::Ranges;
use shingle_core::units::{Block, Nanos, Request};

use crate::bugs::{Bug, Seeded};

/// Blocks of a piece: no piece goes over a multiple of it.
const PIECE_BLOCKS: u64 = 64 << 8;
/// While the disk does not answer no more pieces than that wait, so that they do not take all memory; a trim is advice.
const WAITING_MAX: usize = 1 << 20;
/// So long the end waits for what is left to be told.
const END_WITHIN: Nanos = Nanos::from_millis(10_000);

/// See the module.
#[derive(Clone, Default)]
pub(super) struct Trims {
    /// The disk is told; otherwise blocks leave the cache, and that is all.
    tells: bool,
    /// Not needed, not written since, and not told.
    waiting: Ranges,
    /// What lies before was looked at.
    next: u64,
    /// Something was told since the look at the first.
    told_some: bool,
    /// All was looked at and nothing of it can be told: not before something has changed.
    rests: bool,
    under_way: Option<Range<u64>>,
    /// A flush failed while it was under way.
    overtaken: bool,
    /// Told since the last flush of the disk began.
    unflushed: Ranges,
    /// Told before the flush that is under way began.
    flushing: Ranges,
    /// What the disk has of these nobody knows, until they are written.
    doubted: Ranges,
    /// When the end began.
    ends_since: Option<Nanos>,
    bugs: Seeded,
}

impl Trims {
    pub(super) fn new(tells: bool, bugs: Seeded) -> Trims {
        Trims { tells, bugs, ..Trims::default() }
    }

    /// Whether the disk is told from now on.
    pub(super) fn set_tells(&mut self, tells: bool) {
        self.tells = tells;
    }

    pub(super) fn tells(&self) -> bool {
        self.tells
    }

    /// Whether the disk knows of all that is not needed.
    pub(super) fn are_told(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Blocks that are not needed and of which the disk does not know.
    pub(super) fn waiting_blocks(&self) -> u64 {
        self.waiting.blocks()
    }

    /// Nobody needs these blocks.
    pub(super) fn add(&mut self, blocks: Range<u64>) {
        if self.waiting.len() < WAITING_MAX {
            self.waiting.insert(blocks);
            self.rests = false;
        }
    }

    /// These are about to be written. (Of what is doubted that says nothing yet: reads may come before.)
    #[inline]
    pub(super) fn written(&mut self, blocks: Range<u64>) {
        if !self.waiting.is_empty() && !self.bugs.has(Bug::TrimOfRewritten) {
            self.waiting.remove(blocks.clone());
        }
        if self.bugs.has(Bug::TrustedBeforeWritten) {
            self.doubted.remove(blocks);
        }
    }

    /// The disk has got something new of `block`: whether it keeps that, it says itself.
    #[inline]
    pub(super) fn trusts(&mut self, block: Block) {
        if !self.doubted.is_empty() {
            self.doubted.remove(block.0..block.0 + 1);
        }
    }

    /// What the disk has of `block` may change, though nobody writes it.
    #[inline]
    pub(super) fn is_unsettled(&self, block: Block) -> bool {
        if self.bugs.has(Bug::FillFromTrimmed) {
            return false;
        }
        let has = |ranges: &Ranges| !ranges.is_empty() && ranges.has(block.0..block.0 + 1);
        self.under_way.as_ref().is_some_and(|piece| piece.contains(&block.0))
            || [&self.waiting, &self.unflushed, &self.flushing, &self.doubted].into_iter().any(has)
    }

    /// What the disk is being told of.
    pub(super) fn under_way(&self) -> Option<Range<u64>> {
        self.under_way.clone()
    }

    /// Something is left to be looked at now.
    pub(super) fn may_go_on(&self) -> bool {
        !self.waiting.is_empty() && self.under_way.is_none() && !self.rests
    }

    /// Something may have changed for those that could not be told.
    pub(super) fn look_again(&mut self) {
        self.rests = false;
    }

    /// What to look at next.
    pub(super) fn next_piece(&mut self) -> Option<Range<u64>> {
        if !self.may_go_on() {
            return None;
        }
        match self.waiting.first_in(self.next..u64::MAX) {
            Some(rest) => {
                let border = (rest.start / PIECE_BLOCKS + 1) * PIECE_BLOCKS;
                Some(rest.start..rest.end.min(border))
            }
            None => {
                self.rests = !std::mem::take(&mut self.told_some);
                self.next = 0;
                None
            }
        }
    }

    /// These cannot be told now.
    pub(super) fn pass(&mut self, piece: &Range<u64>) {
        self.next = piece.end;
    }

    /// These need not be told.
    pub(super) fn forget(&mut self, piece: Range<u64>) {
        self.waiting.remove(piece);
        self.told_some = true;
    }

    /// The disk is told of these.
    pub(super) fn begin(&mut self, piece: Range<u64>) {
        self.next = piece.end;
        self.forget(piece.clone());
        self.under_way = Some(piece);
    }

    /// It was told, or does not take it: then there is no use in telling it of the others.
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
        self.rests = false;
    }

    /// A flush of the disk begins.
    pub(super) fn flush_begins(&mut self) {
        self.flushing = std::mem::take(&mut self.unflushed);
    }

    /// It is done, or has failed: what was told may be gone, and read for a while as if it were not.
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

    /// The end comes: whether nothing is left to be told.
    pub(super) fn is_done(&mut self, forgets: bool, now: Nanos) -> bool {
        let since = *self.ends_since.get_or_insert(now);
        if forgets || now.since(since) >= END_WITHIN {
            self.waiting.clear();
        }
        self.waiting.is_empty() && self.under_way.is_none()
    }
}

/// Blocks of which a request writes something.
pub(super) fn touched_by(request: &Request) -> Range<u64> {
    let first = request.first().0;
    first..first + request.blocks()
}

/// The first blocks of `piece` without any of `busy`, which is in order.
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

        let Trims { tells, waiting, next, told_some, rests, under_way, overtaken, .. } = self;
        let Trims { unflushed, flushing, doubted, ends_since, bugs: _, .. } = self;
        (tells, next, told_some, rests, under_way, overtaken).hash(into);
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
        while trims.may_go_on() {
            if let Some(piece) = trims.next_piece() {
                trims.pass(&piece);
            }
            looks += 1;
        }
        assert_eq!(looks, 3);
        trims.look_again();
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
        trims.trusts(Block(2));
        assert!(!trims.is_unsettled(Block(2)));
    }
}
