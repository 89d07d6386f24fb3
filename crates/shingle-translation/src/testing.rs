//! A strict host-managed disk in memory, and an executor for tests.
//!
//! [`Bench`] carries a translation's steps out over blocks that know whose version they are. It
//! panics as soon as a step breaks a rule of the zones or of [`crate::step`], when a read would not
//! return the last write, and when a power cut after the step would lose a block.

use crate::step::{Piece, Place, Step};
use crate::translation::{Layout, Queue, Translation, Work};
use shingle_core::units::{Block, Zone};
use std::collections::{BTreeMap, BTreeSet};

/// One version of a block of the host; versions count up from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Version {
    block: Block,
    number: u64,
}

/// What a place holds: `None` was never written, or was synthesized.
type Content = Option<Version>;

/// More steps than any work of a test takes.
const STEPS_MAX: usize = 1 << 20;

/// A disk, what the host knows of it, and the translation between them.
pub struct Bench {
    /// The translation.
    pub translation: Box<dyn Translation>,
    layout: Layout,
    /// Whether a zone may be reset before its blocks are durable elsewhere.
    survives_power_cuts: bool,
    buffer: Vec<Content>,
    /// Each up to its write pointer.
    zones: Vec<Vec<Content>>,
    /// The executor's memory; whether the host is writing the block.
    memory: BTreeMap<Block, (Content, bool)>,
    /// The last acknowledged version of each block of the host; 0 if it may read as anything.
    acknowledged: Vec<u64>,
    versions: u64,
    /// For each block the place that the durable map names, and the least version that must be there.
    durable: Vec<(Place, u64)>,
    /// Zones that were reset and are not written again as far as they were.
    rewriting: BTreeMap<Zone, usize>,
    written_blocks: u64,
}

impl Bench {
    /// An empty disk under `translation`, which was made for `layout`. `survives_power_cuts` as in
    /// [`crate::translation::Make::SURVIVES_POWER_CUTS`].
    #[must_use]
    pub fn new(
        translation: Box<dyn Translation>,
        layout: Layout,
        survives_power_cuts: bool,
    ) -> Bench {
        let blocks = translation.blocks();
        assert!(blocks <= u64::from(layout.zones) * layout.zone_blocks, "too many blocks");
        Bench {
            translation,
            layout,
            survives_power_cuts,
            buffer: vec![None; layout.buffer_blocks as usize],
            zones: vec![Vec::new(); layout.zones as usize],
            memory: BTreeMap::new(),
            acknowledged: vec![0; blocks as usize],
            versions: 0,
            durable: vec![(Place::Nowhere, 0); blocks as usize],
            rewriting: BTreeMap::new(),
            written_blocks: 0,
        }
    }

    /// Does `work` and checks everything after it. Returns the steps it took.
    pub fn run(&mut self, work: Work, queue: &dyn Queue) -> Vec<Step> {
        self.memory.clear();
        match work {
            Work::Write { block, count } => {
                self.versions += 1;
                let number = self.versions;
                self.memory.extend(
                    host(block, count)
                        .map(|block| (block, (Some(Version { block, number }), true))),
                );
                self.written_blocks += count;
            }
            Work::Trim { block, count } => {
                for block in host(block, count) {
                    self.acknowledged[block.0 as usize] = 0;
                    self.durable[block.0 as usize].1 = 0;
                }
            }
            Work::Idle | Work::Drain => {}
        }
        let mut steps = Vec::new();
        self.translation.begin(work);
        while let Some(step) = self.translation.next(queue) {
            steps.push(step);
            assert!(steps.len() < STEPS_MAX, "{work:?} does not end");
            self.carry_out(step);
            self.cut_power(&steps);
        }
        if let Work::Write { block, count } = work {
            for block in host(block, count) {
                self.acknowledged[block.0 as usize] = self.versions;
            }
        }
        self.check(work, &steps);
        steps
    }

    /// What a FLUSH of the host does: the map as it is becomes durable.
    pub fn flush(&mut self) {
        let blocks = self.acknowledged.len() as u64;
        // Of a copy: asking where blocks lie counts as use of them.
        let mut places = Vec::new();
        self.translation.copy().locate(Block(0), blocks, &mut places);
        for (at, place) in each(&places).enumerate() {
            self.durable[at] = (place, self.acknowledged[at]);
        }
    }

    fn carry_out(&mut self, step: Step) {
        match step {
            Step::Read { from, block, count } => {
                for ahead in 0..count {
                    let content = self.content(from.after(ahead));
                    let content = content.unwrap_or_else(|| panic!("{step:?}: beyond the end"));
                    let entry = self.memory.entry(block.after(ahead)).or_insert((content, false));
                    if !entry.1 {
                        entry.0 = content;
                    }
                }
            }
            Step::Buffer { block, count, at } => {
                assert!(count > 0 && at + count <= self.layout.buffer_blocks, "{step:?}: outside");
                for ahead in 0..count {
                    let content = self.memory.get(&block.after(ahead));
                    let content = content.unwrap_or_else(|| panic!("{step:?}: not in memory"));
                    self.buffer[(at + ahead) as usize] = content.0;
                }
            }
            Step::Append { zone, block, count } => {
                let end = self.zones[zone.index()].len() as u64 + count;
                assert!(count > 0 && end <= self.layout.zone_blocks, "{step:?}: over the end");
                for block in host(block, count) {
                    let content = self.memory.get(&block).and_then(|entry| entry.0);
                    self.zones[zone.index()].push(content);
                }
                if self.rewriting.get(&zone).is_some_and(|&was| end as usize >= was) {
                    self.rewriting.remove(&zone);
                }
            }
            Step::Reset { zone } => {
                let was = core::mem::take(&mut self.zones[zone.index()]).len();
                self.rewriting.insert(zone, was);
            }
            Step::Commit => self.flush(),
        }
    }

    /// What lies at `place`; `None` if nothing may be read there.
    fn content(&self, place: Place) -> Option<Content> {
        match place {
            Place::Buffer(at) => self.buffer.get(at as usize).copied(),
            Place::Native(at) => {
                let zone = self.zones.get((at / self.layout.zone_blocks) as usize)?;
                zone.get((at % self.layout.zone_blocks) as usize).copied()
            }
            Place::Nowhere => Some(None),
        }
    }

    /// Panics if the durable map no longer leads to what it led to, or to something newer.
    fn cut_power(&self, steps: &[Step]) {
        for (at, &(place, least)) in self.durable.iter().enumerate() {
            let block = Block(at as u64);
            if least == 0
                || self
                    .content(place)
                    .flatten()
                    .is_some_and(|found| found.block == block && found.number >= least)
            {
                continue;
            }
            let lost_while_rewriting = match place {
                Place::Native(at) => {
                    self.rewriting.contains_key(&Zone((at / self.layout.zone_blocks) as u32))
                }
                _ => false,
            };
            assert!(
                lost_while_rewriting && !self.survives_power_cuts,
                "a power cut now loses {block:?}, which the durable map has at {place:?}: {steps:?}"
            );
        }
    }

    /// Panics unless reads return the last writes and what the translation says of itself is true.
    fn check(&mut self, work: Work, steps: &[Step]) {
        let doing = format!("after {work:?}: {steps:?}");
        let translation = &mut self.translation;
        translation.check();
        let blocks = self.acknowledged.len() as u64;
        let mut places = Vec::new();
        translation.copy().locate(Block(0), blocks, &mut places);
        assert_eq!(places.iter().map(|piece| piece.count).sum::<u64>(), blocks, "{doing}");
        assert!(
            !places.windows(2).any(|two| two[0].place.after(two[0].count) == two[1].place),
            "neighbours are not joined: {places:?}"
        );
        let held = translation.held();
        let counters = *translation.counters();
        let (mut buffered, mut zones, mut slots) = (0, BTreeSet::new(), BTreeSet::new());
        for (at, place) in each(&places).enumerate() {
            if let Place::Buffer(slot) = place {
                buffered += 1;
                zones.insert(at as u64 / self.layout.zone_blocks);
                assert!(slots.insert(slot), "slot {slot} is named twice, {doing}");
            }
            let content = self.content(place);
            let content = content.unwrap_or_else(|| panic!("block {at} at {place:?}, {doing}"));
            let found = content.map_or((at as u64, 0), |found| (found.block.0, found.number));
            let wanted = self.acknowledged[at];
            assert!(
                wanted == 0 || found == (at as u64, wanted),
                "block {at}, version {wanted}, is (block, version) {found:?} at {place:?}, {doing}"
            );
        }
        assert_eq!((held.blocks, held.zones), (buffered, zones.len() as u64), "{doing}");
        assert_eq!(held.used + held.free, self.layout.buffer_blocks, "{doing}");
        assert!(held.blocks <= held.used, "{held:?}, {doing}");
        assert_eq!(counters.written_blocks, self.written_blocks, "{doing}");
        assert_eq!(counters.victims, counters.rmw + counters.rmw_free, "{counters:?}, {doing}");
        assert!(counters.write_hits <= counters.written_blocks, "{counters:?}, {doing}");
        assert!(counters.hot_hits <= counters.write_hits, "{counters:?}, {doing}");
        assert!(counters.aborted <= counters.victims, "{counters:?}, {doing}");
        for (zone, written) in self.zones.iter().enumerate() {
            let believed = self.translation.write_pointer(Zone(zone as u32));
            assert_eq!(believed, written.len() as u64, "write pointer of {zone}, {doing}");
        }
        if work == Work::Drain {
            assert_eq!(held.blocks, 0, "{doing}");
        }
    }
}

fn host(block: Block, count: u64) -> impl Iterator<Item = Block> {
    (block.0..block.0 + count).map(Block)
}

/// The place of each block.
fn each(pieces: &[Piece]) -> impl Iterator<Item = Place> + '_ {
    pieces.iter().flat_map(|piece| (0..piece.count).map(|ahead| piece.place.after(ahead)))
}
