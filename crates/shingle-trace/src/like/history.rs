//! What happened so far, as far as the next move can refer to it.
//!
//! The same history serves to say which move a request is, and to find the request of a move: so what
//! is counted in one trace means the same in another.

mod extent;
mod find;

use std::collections::VecDeque;

use hashbrown::HashMap;
use shingle_core::units::{BLOCK_BYTES, Op};

use super::moves::{Kind, Move, Situation, Size, Sort, side};
use super::statistics::length;
use crate::zones::{ZONE_BLOCKS, ZONE_BYTES};

/// The stack of all zones of a class.
pub(super) const ALL: usize = Sort::COUNT;

/// More classes of zones there are not.
pub(super) const CLASSES_MAX: usize = 64;

/// Jumps that a request may precede.
const JUMPS: usize = 8;
/// A request that begins in the middle of an older one is looked for so far behind its beginning.
const INSIDE_BLOCKS: u64 = 256;
const NOWHERE: u64 = u64::MAX;
const SECTOR_BYTES: u64 = 512;

/// A block where a request began or ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Of the last request that began here.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    sort: Option<Sort>,
    /// Where the jump after the one to here went.
    next: u64,
    /// Bytes of the last run that began here.
    pub(super) run: u64,
}

impl Place {
    /// Of the last run that used it.
    pub(super) fn size(&self) -> Size {
        self.sort.map_or(Size::Small, |sort| sort.size)
    }
}

const NO_PLACE: Place = Place { offset: 0, bytes: 0, sort: None, next: NOWHERE, run: 0 };

/// A zone by its distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    /// The one of the last jump.
    Same,
    /// One of a class, and how many of it were used since.
    Of { class: usize, rank: u64 },
}

/// Where a request goes, relative to the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Continue,
    /// One of the streams that go on with this operation, by how many were used since.
    Resume {
        rank: u64,
    },
    Precede {
        rank: u64,
    },
    Follow,
    /// How many places of the zone were used since.
    Back {
        zone: Which,
        place: u64,
    },
    Inside {
        zone: Which,
        place: u64,
        blocks: u64,
    },
    Near {
        zone: Which,
        blocks: i64,
    },
    New,
}

/// Requests one behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub(super) end: u64,
    /// Of its longest request: those that are shorter are exceptions.
    pub(super) bytes: u64,
    pub(super) op: Op,
    pub(super) length: u32,
    /// Bytes to come, and in all.
    pub(super) left: u64,
    run: u64,
}

struct Zone {
    number: u64,
    class: usize,
    touched: Box<[u64]>,
    /// Places by sort, the last used at the end; then the last used of all.
    places: [Vec<u16>; Sort::COUNT],
    last: u16,
}

pub(super) struct History {
    /// Of every zone that may be touched.
    classes: HashMap<u64, u8>,
    places: HashMap<u64, Place>,
    zones: Vec<Zone>,
    index: HashMap<u64, u32>,
    /// Zones of each class with places of a sort, the last used at the end; and all of a class.
    recent: Vec<[Vec<u32>; Sort::COUNT + 1]>,
    /// Those that go on, and whether the last request's is the last of them.
    streams: Vec<Stream>,
    open: bool,
    /// Where the last jumps went to.
    jumps: VecDeque<u64>,
    /// The block of the last jump, and of where it went on to the time before.
    head: Option<u64>,
    candidate: Option<u64>,
    situation: Option<Situation>,
}

impl History {
    pub(super) fn new(classes: HashMap<u64, u8>) -> History {
        History {
            classes,
            places: HashMap::new(),
            zones: Vec::new(),
            index: HashMap::new(),
            recent: vec![[const { Vec::new() }; Sort::COUNT + 1]; CLASSES_MAX],
            streams: Vec::new(),
            open: false,
            jumps: VecDeque::with_capacity(JUMPS),
            head: None,
            candidate: None,
            situation: None,
        }
    }

    /// The class of a zone.
    pub(super) fn class(&self, zone: u64) -> usize {
        // A run may go on into a zone that was not laid out; it is then like the one before.
        let known = |zone: &u64| self.classes.get(zone);
        let class = known(&zone).or_else(|| known(&zone.saturating_sub(1)));
        class.map_or(0, |&class| usize::from(class))
    }

    pub(super) fn situation(&self) -> Situation {
        let others = self.streams.len() - usize::from(self.open);
        Situation { open: self.open, others, ..self.situation.unwrap_or(Situation::START) }
    }

    /// The last request that began in this block, if it did so at this byte.
    pub(super) fn at(&self, offset: u64) -> Option<Place> {
        let place = self.places.get(&(offset / BLOCK_BYTES))?;
        (place.sort.is_some() && place.offset == offset).then_some(*place)
    }

    /// Whether the zone was ever touched.
    pub(super) fn knows_zone(&self, number: u64) -> bool {
        self.index.contains_key(&number)
    }

    /// How a request at `offset` would be said.
    pub(super) fn locate(&self, offset: u64, bytes: u64, op: Op) -> (Kind, Target) {
        let same = |stream: &&Stream| stream.op == op;
        let mut streams = self.streams.iter().rev().filter(same);
        if let Some(rank) = streams.position(|stream| stream.end == offset) {
            let last = self.streams.last().is_some_and(|stream| stream.op == op);
            if rank == 0 && self.open && last {
                return (Kind::Continue, Target::Continue);
            }
            return (Kind::Resume, Target::Resume { rank: rank as u64 });
        }
        if let Some(rank) = self.jumps.iter().rev().position(|&jump| jump == offset + bytes) {
            return (Kind::Precede, Target::Precede { rank: rank as u64 });
        }
        let block = offset / BLOCK_BYTES;
        let Some(&zone) = self.index.get(&(offset / ZONE_BYTES)) else {
            return (Kind::New, Target::New);
        };
        let zone = zone as usize;
        if self.place_sort(block).is_some() && self.candidate == Some(block) {
            return (Kind::Follow, Target::Follow);
        }
        if self.is_touched(zone, block) {
            let first =
                block.saturating_sub(INSIDE_BLOCKS).max(self.zones[zone].number * ZONE_BLOCKS);
            let from = (first..=block).rev().find_map(|b| Some((b, self.place_sort(b)?)));
            if let Some((from, sort)) = from {
                let place = self.zones[zone].rank(from, sort);
                let which = self.which(zone, sort.number());
                if from == block {
                    return (Kind::Back(sort), Target::Back { zone: which, place });
                }
                let target = Target::Inside { zone: which, place, blocks: block - from };
                return (Kind::Inside(sort), target);
            }
        }
        let last = self.zones[zone].number * ZONE_BLOCKS + u64::from(self.zones[zone].last);
        let blocks = block.cast_signed() - last.cast_signed();
        (Kind::Near, Target::Near { zone: self.which(zone, ALL), blocks })
    }

    fn place_sort(&self, block: u64) -> Option<Sort> {
        self.places.get(&block)?.sort
    }

    fn which(&self, zone: usize, stack: usize) -> Which {
        if self.head_zone() == Some(zone) {
            return Which::Same;
        }
        let class = self.zones[zone].class;
        Which::Of { class, rank: rank(&self.recent[class][stack], &(zone as u32)) }
    }

    fn head_zone(&self) -> Option<usize> {
        let zone = self.head? / ZONE_BLOCKS;
        Some(*self.index.get(&zone)? as usize)
    }

    /// The stream that a request goes on with.
    pub(super) fn stream_at(&self, offset: u64, op: Op) -> Option<Stream> {
        let mut streams = self.streams.iter().rev();
        streams.find(|stream| stream.end == offset && stream.op == op).copied()
    }

    /// Gives up a stream.
    pub(super) fn close(&mut self, offset: u64, op: Op) {
        let at = self.streams.iter().rposition(|stream| stream.end == offset && stream.op == op);
        if let Some(at) = at {
            self.open &= at + 1 != self.streams.len();
            self.streams.remove(at);
        }
    }

    /// Records a request, which was this move; `left` bytes are to come of its stream.
    pub(super) fn record(&mut self, offset: u64, bytes: u64, done: Move, left: u64) {
        let block = offset / BLOCK_BYTES;
        let at = self.streams.iter().rposition(|s| s.end == offset && s.op == done.op);
        let going = at.filter(|_| done.kind.continues()).map(|at| self.streams.remove(at));
        if going.is_none() {
            self.jump_to(block);
            if self.jumps.len() == JUMPS {
                self.jumps.pop_front();
            }
            self.jumps.push_back(offset);
        }
        let run = going.map_or(bytes + left, |stream| stream.run);
        self.enter(offset, bytes, done, Size::of(run));
        let stream = Stream {
            end: offset + bytes,
            bytes: going.map_or(bytes, |stream| stream.bytes.max(bytes)),
            op: done.op,
            length: going.map_or(1, |stream| stream.length.saturating_add(1)),
            left,
            run,
        };
        let before = self.situation.unwrap_or(Situation::START);
        let jump = if going.is_some() { before.jump } else { done.kind };
        self.situation = Some(Situation { last: done, jump, ..Situation::START });
        if going.is_none() {
            self.places.get_mut(&block).expect("it was just entered").run = bytes + left;
        }
        self.open = left > 0;
        if self.open {
            self.streams.push(stream);
        }
    }

    /// Records a request of a long run, which the next move does not depend on.
    pub(super) fn record_long(&mut self, offset: u64, bytes: u64, op: Op, run: u64) {
        self.enter(offset, bytes, Move { kind: Kind::Continue, op }, Size::of(run));
    }

    fn jump_to(&mut self, block: u64) {
        if let Some(head) = self.head {
            self.places.get_mut(&head).expect("jumps go to places").next = block;
        }
        let next = self.places.get(&block).map_or(NOWHERE, |place| place.next);
        self.candidate = (next != NOWHERE).then_some(next);
        self.head = Some(block);
    }

    /// Makes a place of the first block in each zone, and marks all as touched.
    fn enter(&mut self, offset: u64, bytes: u64, done: Move, size: Size) {
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let zone_end = (at / ZONE_BYTES + 1) * ZONE_BYTES;
            let here = end.min(zone_end);
            let zone = self.zone(at / ZONE_BYTES);
            self.touch(zone, at / BLOCK_BYTES, (here - 1) / BLOCK_BYTES);
            self.settle(zone, at, end - at, done, size);
            at = here;
        }
    }

    fn zone(&mut self, number: u64) -> usize {
        let class = self.class(number);
        let zones = &mut self.zones;
        let index = *self.index.entry(number).or_insert_with(|| {
            let touched = vec![0; (ZONE_BLOCKS as usize).div_ceil(64)].into();
            zones.push(Zone { number, class, touched, places: Default::default(), last: 0 });
            zones.len() as u32 - 1
        });
        index as usize
    }

    fn touch(&mut self, zone: usize, first: u64, last: u64) {
        for block in first..=last {
            let within = (block % ZONE_BLOCKS) as usize;
            self.zones[zone].touched[within / 64] |= 1 << (within % 64);
        }
    }

    /// The place at `offset` is the last one used, of its zone and of its sort.
    fn settle(&mut self, zone: usize, offset: u64, bytes: u64, done: Move, size: Size) {
        let block = offset / BLOCK_BYTES;
        let within = (block % ZONE_BLOCKS) as u16;
        let place = self.places.entry(block).or_insert(NO_PLACE);
        let before = place.sort;
        let within_stream = done.kind.continues();
        let sort = Sort { op: done.op, within_stream, again: before.is_some(), size };
        place.sort = Some(sort);
        (place.offset, place.bytes) = (offset, bytes);
        let Zone { class, places, last, .. } = &mut self.zones[zone];
        *last = within;
        let recent = &mut self.recent[*class];
        let index = zone as u32;
        if let Some(before) = before.map(Sort::number) {
            take(&mut places[before], &within);
            if places[before].is_empty() {
                take(&mut recent[before], &index);
            }
        }
        places[sort.number()].push(within);
        for stack in [sort.number(), ALL] {
            take(&mut recent[stack], &index);
            recent[stack].push(index);
        }
    }
}

impl Stream {
    /// Where requests of streams differ in length: the operation, the bytes in all, how long
    /// they were, whether the next is the second.
    pub(super) fn next(&self) -> usize {
        let all = match self.run {
            0..=65_536 => 0,
            65_537..=1_048_576 => 1,
            1_048_577..=8_388_608 => 2,
            _ => 3,
        };
        let size = length(self.bytes);
        let second = usize::from(self.length == 1);
        ((side(self.op) * 4 + all) * 4 + size) * 2 + second
    }
}

impl Zone {
    /// How many of its places were used after this one.
    fn rank(&self, block: u64, sort: Sort) -> u64 {
        rank(&self.places[sort.number()], &((block % ZONE_BLOCKS) as u16))
    }
}

/// The sector of a block that a byte lies in.
pub(super) fn sector(offset: u64) -> u32 {
    (offset % BLOCK_BYTES / SECTOR_BYTES) as u32
}

/// The first byte of a sector of a block.
pub(super) fn in_sector(block: u64, sector: u32) -> u64 {
    block * BLOCK_BYTES + u64::from(sector) * SECTOR_BYTES
}

/// How many were used after this one.
fn rank<T: PartialEq>(stack: &[T], item: &T) -> u64 {
    stack.iter().rev().position(|other| other == item).expect("what has a place is in its stack")
        as u64
}

fn take<T: PartialEq>(stack: &mut Vec<T>, item: &T) {
    if let Some(at) = stack.iter().rposition(|other| other == item) {
        stack.remove(at);
    }
}
