//! Power cuts, and opening afterwards.

use super::{Bench, Version, each, keeping};
use crate::translation::{Layout, Piece, Place, Queue, Saved, Step, Translation, Work};
use shingle_core::units::Block;

impl Bench {
    /// Creates a disk with the contents of a map, one version of each of its blocks, and opens it
    /// with `opened`.
    ///
    /// # Panics
    /// If the opened translation has blocks elsewhere.
    #[must_use]
    pub fn over(
        saved: &Saved,
        opened: Box<dyn Translation>,
        layout: Layout,
        survives_power_cuts: bool,
    ) -> Bench {
        let mut bench = Bench::new(opened, layout, survives_power_cuts);
        bench.versions = 1;
        let disk = &mut bench.disk;
        for (zone, &pointer) in disk.zones.iter_mut().zip(&saved.pointers) {
            zone.resize(pointer as usize, None);
        }
        for &(first, Piece { place, count }) in &saved.runs {
            for ahead in 0..count {
                let (block, place) = (first.after(ahead), place.after(ahead));
                let content = disk.at(place).unwrap_or_else(|| panic!("{place:?} is outside"));
                assert_eq!(*content, None, "{place:?} is named twice");
                *content = Some(Version { block, number: 1 });
                bench.acknowledged[block.0 as usize] = 1;
            }
        }
        bench.translation().check();
        let places = bench.places();
        for (at, place) in each(&places).enumerate() {
            let found = bench.disk.content(place).unwrap_or_else(|| panic!("{place:?} is outside"));
            let found = found.filter(|found| found.block.0 == at as u64).map_or(0, |_| 1);
            assert_eq!(found, bench.acknowledged[at], "block {at} at {place:?}");
            bench.moves.places[at] = place;
        }
        bench.flush();
        bench
    }

    /// Begins `work` and does up to `actions` I/Os and commits of it. [`Bench::crash`] has to
    /// follow.
    pub fn run_until(&mut self, work: Work, queue: &dyn Queue, actions: usize) {
        self.begin(work);
        self.resume(work, queue, actions);
    }

    /// Cuts the power, at any time, and opens what is on the disk: the durable map, the zones as
    /// they were when it became durable, and the current buffer. Returns the map.
    ///
    /// # Panics
    /// If the map leads to an older version than the durable one, or the translation that `open`
    /// creates has blocks elsewhere.
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

/// Joins places to runs.
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

/// Tracks which blocks may have moved. A live disk updates its copy of the map only for these.
pub(super) struct Moves {
    /// Place of each block when last located: at the end of a work, or at a commit.
    places: Vec<Place>,
    /// Blocks that a step (except reads) or a work has named since.
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

    /// Panics unless every block that has moved was named.
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
