//! A strict host-managed disk in memory, under the [`Executor`].
//!
//! [`Bench`] carries out the steps of a translation over blocks that know their versions. It panics
//! when a step breaks a rule of the zones or of [`Step`], when a read would not return the last
//! write, when a power cut would lose a block (after any action, and after any block of a write),
//! and when a block has moved that no step and no work has named. [`Bench::crash`] cuts the power
//! and opens what is left.

mod crash;
mod disk;

use self::crash::Moves;
use self::disk::Disk;
use crate::executor::{Action, Executor};
use crate::translation::{Layout, Piece, Place, Queue, Step, Translation, Work};
use shingle_core::units::{Block, Zone};
use std::collections::BTreeSet;

/// One version of a block of the host; versions count up from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Version {
    block: Block,
    number: u64,
}

/// The contents of a place: `None` if never written, or synthesized.
type Content = Option<Version>;

/// A limit above the steps of any work in the tests.
const STEPS_MAX: usize = 1 << 20;

/// A disk, what the host knows of it, and the translation between them.
pub struct Bench {
    executor: Executor<Content>,
    disk: Disk,
    moves: Moves,
    /// Blocks of the buffer; 0 if the translation has none.
    buffer_blocks: u64,
    /// The last acknowledged version of each block of the host; 0 if it may read as anything.
    acknowledged: Vec<u64>,
    versions: u64,
    written_blocks: u64,
}

impl Bench {
    /// Creates an empty disk under `translation`, which was made for `layout`.
    /// `survives_power_cuts` as in
    #[must_use]
    pub fn new(
        translation: Box<dyn Translation>,
        layout: Layout,
        survives_power_cuts: bool,
    ) -> Bench {
        let blocks = translation.blocks();
        assert!(blocks <= u64::from(layout.zones) * layout.zone_blocks, "too many blocks");
        let held = translation.buffer_state();
        let buffer_blocks = held.used + held.free;
        assert!([0, layout.buffer_blocks].contains(&buffer_blocks), "the buffer adds up: {held:?}");
        Bench {
            buffer_blocks,
            executor: keeping(translation),
            disk: Disk::new(layout, blocks, survives_power_cuts),
            moves: Moves::new(blocks),
            acknowledged: vec![0; blocks as usize],
            versions: 0,
            written_blocks: 0,
        }
    }

    /// Returns the translation.
    #[must_use]
    pub fn translation(&self) -> &dyn Translation {
        self.executor.translation()
    }

    /// Replaces the translation by another one that knows the current disk.
    pub fn replace(&mut self, translation: Box<dyn Translation>) {
        self.executor = keeping(translation);
    }

    /// Locates blocks through the translation itself, which may count that as use of them.
    pub fn locate(&mut self, block: Block, count: u64, out: &mut Vec<Piece>) {
        self.executor.locate(block, count, out);
    }

    /// Does `work` and checks everything afterwards. Returns the steps.
    pub fn run(&mut self, work: Work, queue: &dyn Queue) -> Vec<Step> {
        self.begin(work);
        let (steps, _) = self.resume(work, queue, usize::MAX);
        if let Work::Write { block, count } = work {
            for block in host(block, count) {
                self.acknowledged[block.0 as usize] = self.versions;
            }
        }
        self.check(work, &steps);
        steps
    }

    fn begin(&mut self, work: Work) {
        let mut data = Vec::new();
        match work {
            Work::Write { block, count } => {
                self.versions += 1;
                let number = self.versions;
                data.extend(host(block, count).map(|block| Some(Version { block, number })));
                self.written_blocks += count;
            }
            Work::Trim { block, count } => {
                for block in host(block, count) {
                    self.acknowledged[block.0 as usize] = 0;
                    self.disk.durable[block.0 as usize].1 = 0;
                }
            }
            Work::Idle | Work::Drain => {}
        }
        self.moves.works_on(work);
        self.executor.begin(work, &data);
    }

    /// Does up to `actions` actions of the current `work`. Returns their steps, and whether the
    /// work is done.
    fn resume(&mut self, work: Work, queue: &dyn Queue, actions: usize) -> (Vec<Step>, bool) {
        let mut steps = Vec::new();
        for _ in 0..actions {
            let Some(action) = self.executor.next(queue) else { return (steps, true) };
            steps.extend_from_slice(self.executor.steps());
            assert!(steps.len() < STEPS_MAX, "{work:?} does not end");
            self.moves.steps(self.executor.steps());
            self.carry_out(action, &steps);
            self.executor.done();
        }
        (steps, false)
    }

    /// Does a FLUSH of the host: the current map becomes durable.
    pub fn flush(&mut self) {
        let places = self.places();
        self.moves.point(&places);
        for ((place, durable), &least) in
            each(&places).zip(&mut self.disk.durable).zip(&self.acknowledged)
        {
            *durable = (place, least);
        }
        self.disk.durable_zones.clone_from(&self.disk.zones);
    }

    /// Returns the places of all blocks, from a copy, as locating counts as use of them.
    fn places(&self) -> Vec<Piece> {
        let mut places = Vec::new();
        self.translation().copy().locate(Block(0), self.acknowledged.len() as u64, &mut places);
        places
    }

    /// Carries out `action`. `steps` are those of the work so far, including its own.
    fn carry_out(&mut self, action: Action, steps: &[Step]) {
        let (disk, data) = (&mut self.disk, self.executor.data());
        assert_eq!(data.len() as u64, action.count(), "{action:?}: the data of each block");
        match action {
            Action::Read { from, .. } => {
                for (ahead, room) in (0..).zip(data) {
                    let content = disk.content(from.after(ahead));
                    *room = content.unwrap_or_else(|| panic!("{action:?}: beyond the end"));
                }
            }
            Action::Write { at, count, .. } => {
                let end = at + count;
                assert!(count > 0 && end <= disk.layout.buffer_blocks, "{action:?}: outside");
                for (at, content) in (at..).zip(data) {
                    disk.buffer[at as usize] = *content;
                    disk.cut_power(steps);
                }
            }
            Action::Append { zone, count, .. } => {
                let end = disk.zones[zone.index()].len() as u64 + count;
                assert!(count > 0 && end <= disk.layout.zone_blocks, "{action:?}: over the end");
                for content in data {
                    disk.append(zone, *content);
                    disk.cut_power(steps);
                }
            }
            Action::Reset { zone } => {
                let was = core::mem::take(&mut disk.zones[zone.index()]).len();
                disk.rewriting.insert(zone, was);
                disk.cut_power(steps);
            }
            Action::Commit => {
                self.flush();
                self.disk.cut_power(steps);
            }
        }
    }

    /// Panics unless reads return the last writes and the translation's own counts are right.
    fn check(&mut self, work: Work, steps: &[Step]) {
        let doing = format!("after {work:?}: {steps:?}");
        let places = self.places();
        self.moves.point(&places);
        let (translation, disk) = (self.translation(), &self.disk);
        translation.check();
        let blocks = self.acknowledged.len() as u64;
        assert_eq!(places.iter().map(|piece| piece.count).sum::<u64>(), blocks, "{doing}");
        assert!(
            !places.windows(2).any(|two| two[0].place.after(two[0].count) == two[1].place),
            "neighbours are not joined: {places:?}"
        );
        let held = translation.buffer_state();
        let counters = *translation.counters();
        let (mut buffered, mut zones, mut slots) = (0, BTreeSet::new(), BTreeSet::new());
        for (at, place) in each(&places).enumerate() {
            if let Place::Buffer(slot) = place {
                buffered += 1;
                zones.insert(at as u64 / disk.layout.zone_blocks);
                assert!(slots.insert(slot), "slot {slot} is named twice, {doing}");
            }
            let content = disk.content(place);
            let content = content.unwrap_or_else(|| panic!("block {at} at {place:?}, {doing}"));
            let found = content.map_or((at as u64, 0), |found| (found.block.0, found.number));
            let wanted = self.acknowledged[at];
            assert!(
                wanted == 0 || found == (at as u64, wanted),
                "block {at}, version {wanted}, is (block, version) {found:?} at {place:?}, {doing}"
            );
        }
        assert_eq!((held.blocks, held.zones), (buffered, zones.len() as u64), "{doing}");
        assert_eq!(held.used + held.free, self.buffer_blocks, "{doing}");
        assert!(held.blocks <= held.used, "{held:?}, {doing}");
        assert_eq!(counters.written_blocks, self.written_blocks, "{doing}");
        assert_eq!(counters.victims, counters.rmw + counters.rmw_free, "{counters:?}, {doing}");
        assert!(counters.write_hits <= counters.written_blocks, "{counters:?}, {doing}");
        assert!(counters.hot_hits <= counters.write_hits, "{counters:?}, {doing}");
        assert!(counters.aborted <= counters.victims, "{counters:?}, {doing}");
        for (zone, written) in disk.zones.iter().enumerate() {
            let believed = translation.write_pointer(Zone(zone as u32));
            assert_eq!(believed, written.len() as u64, "write pointer of {zone}, {doing}");
        }
        if work == Work::Drain {
            assert_eq!(held.blocks, 0, "{doing}");
        }
    }
}

/// Creates an executor that moves data.
fn keeping(translation: Box<dyn Translation>) -> Executor<Content> {
    let mut executor = Executor::new(translation);
    executor.keep_data();
    executor
}

fn host(block: Block, count: u64) -> impl Iterator<Item = Block> {
    (block.0..block.0 + count).map(Block)
}

fn each(pieces: &[Piece]) -> impl Iterator<Item = Place> + '_ {
    pieces.iter().flat_map(|piece| (0..piece.count).map(|ahead| piece.place.after(ahead)))
}
