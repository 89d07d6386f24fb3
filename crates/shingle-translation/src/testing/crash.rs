//! Power cuts, and what is opened after them.

use super::{Bench, each, keeping};
use crate::translation::{Piece, Place, Queue, Saved, Step, Translation, Work};
use shingle_core::units::Block;

impl Bench {
    /// Begins `work` and does so many I/Os and commits of it, or all of them. [`Bench::crash`] is to follow.
    pub fn run_until(&mut self, work: Work, queue: &dyn Queue, actions: usize) {
        self.begin(work);
        self.go_on(work, queue, actions);
    }

    /// The power is cut, at any time, and what is on the disk is opened: the map that was durable, zones as they were
    /// when it became so, and the buffer as it is now. Returns the map.
    ///
    /// # Panics
    /// If the map leads to something older than what was durable, or the translation that `open` makes of it has blocks
    /// elsewhere.
    pub fn crash(&mut self, open: impl FnOnce(&Saved) -> Box<dyn Translation>) -> Saved {
        let disk = &mut self.disk;
        disk.zones.clone_from(&disk.durable_zones);
        disk.rewriting.clear();
        let durable: Vec<Place> = disk.durable.iter().map(|&(place, _)| place).collect();
        let saved = Saved {
            runs: joined(&durable),
            pointers: disk.zones.iter().map(|zone| zone.len() as u64).collect(),
        };
        for (at, &place) in durable.iter().enumerate() {
            let content = disk.content(place);
            let content = content.unwrap_or_else(|| panic!("block {at} at {place:?} was durable"));
            let found = content.filter(|found| found.block.0 == at as u64);
            let (found, least) = (found.map_or(0, |found| found.number), disk.durable[at].1);
            assert!(found >= least, "block {at}, version {least}, is version {found} at {place:?}");
            disk.durable[at].1 = found;
            self.acknowledged[at] = found;
        }
        let opened = open(&saved);
        opened.check();
        let mut places = Vec::new();
        opened.copy().locate(Block(0), durable.len() as u64, &mut places);
        assert!(each(&places).eq(durable.iter().copied()), "{places:?} opened from {saved:?}");
        self.moves.places = durable;
        self.moves.named.fill(false);
        self.executor = keeping(opened);
        self.written_blocks = 0;
        saved
    }
}

/// Places as runs, which are joined where neighbours lie together.
fn joined(places: &[Place]) -> Vec<(Block, Piece)> {
    let mut runs: Vec<(Block, Piece)> = Vec::new();
    for (block, &place) in (0..).map(Block).zip(places) {
        match runs.last_mut() {
            _ if place == Place::Nowhere => {}
            Some((first, run))
                if first.after(run.count) == block && run.place.after(run.count) == place =>
            {
                run.count += 1;
            }
            _ => runs.push((block, Piece { place, count: 1 })),
        }
    }
    runs
}

/// Which blocks may have moved. What a live disk knows of places it asks anew for these only.
pub(super) struct Moves {
    /// Where each block lay when last asked: at the end of a work, or at a commit.
    places: Vec<Place>,
    /// Blocks that a step, but for reads, or a work has named since.
    named: Vec<bool>,
}

impl Moves {
    pub(super) fn new(blocks: u64) -> Moves {
        Moves { places: vec![Place::Nowhere; blocks as usize], named: vec![false; blocks as usize] }
    }

    pub(super) fn works_on(&mut self, work: Work) {
        if let Work::Write { block, count } | Work::Trim { block, count } = work {
            self.named[block.0 as usize..(block.0 + count) as usize].fill(true);
        }
    }

    pub(super) fn steps(&mut self, steps: &[Step]) {
        for step in steps.iter().filter(|step| !matches!(step, Step::Read { .. })) {
            // A zone may be filled with zeros beyond the last block of the host.
            let (blocks, end) = (step.blocks(), self.named.len() as u64);
            self.named[blocks.start.min(end) as usize..blocks.end.min(end) as usize].fill(true);
        }
    }

    /// All that is not where it was was named.
    pub(super) fn point(&mut self, places: &[Piece]) {
        for (at, place) in each(places).enumerate() {
            let before = core::mem::replace(&mut self.places[at], place);
            let named = core::mem::take(&mut self.named[at]);
            assert!(
                named || place == before,
                "block {at} has moved from {before:?} to {place:?}, and no step or work has named it"
            );
        }
    }
}
