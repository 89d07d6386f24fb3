//! Writing a zone back: its blocks in the buffer go to their native places (Amphisbaena §2.3,
//! Figure 4).
//!
//! If the lowest of these *victims* is below the zone's write pointer, this is an RMW: everything
//! in the zone is read, in one read; the victims are collected and replace older copies; the zone
//! is reset and written again from its start to its old write pointer or to behind the highest
//! victim, whichever is further. Otherwise it is RMW-free: the victims are collected and appended
//! at the write pointer. Gaps are synthesized in both cases.
//!
//! Victims are collected in the order in which the owner names them. Blocks that are neighbours
//! both in the buffer and to the host are one read. An executor may join more ([`Step`]), including
//! blocks between them that the owner names to be read and dropped.

use super::native::Native;
use crate::translation::{Counters, Place, Step};
use shingle_core::units::{Block, Zone};

/// A run of victims that one step reads.
#[derive(Clone, Copy, Debug)]
struct Run {
    at: u32,
    /// Offset of the first of them in the zone.
    offset: u32,
    count: u32,
    /// Number of blocks before it that are read with it and dropped.
    over: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    ReadNative,
    Collect,
    Reset,
    Append,
    Commit,
    Done,
}

/// The write-back of a zone. Each translation has one, and reuses it for each zone.
///
/// The owner asks for steps until there is none. Before [`WriteBack::close`] this means that all
/// victims named so far have been collected, and it may name more. It frees the victims' places in
/// the buffer before it passes [`Step::Commit`] on.
#[derive(Clone, Debug)]
pub(crate) struct WriteBack {
    zone: Zone,
    stage: Stage,
    closed: bool,
    rmw: bool,
    runs: Vec<Run>,
    /// Number of `runs` already read.
    read: usize,
    victims: u64,
    /// End of the highest victim, in blocks from the start of the zone.
    end: u64,
}

impl WriteBack {
    /// Allocates for zones with up to `victims_max` victims.
    pub(crate) fn new(victims_max: u64) -> WriteBack {
        WriteBack {
            zone: Zone(0),
            stage: Stage::Done,
            closed: true,
            rmw: false,
            runs: Vec::with_capacity(victims_max as usize),
            read: 0,
            victims: 0,
            end: 0,
        }
    }

    /// Begins with `zone`, whose lowest victim will be `lowest`.
    pub(crate) fn begin(&mut self, zone: Zone, lowest: Block, native: &Native) {
        debug_assert!(self.stage == Stage::Done && native.zone(lowest) == zone);
        self.zone = zone;
        self.rmw = native.offset(lowest) < native.pointer(zone);
        self.stage = if self.rmw { Stage::ReadNative } else { Stage::Collect };
        self.closed = false;
        self.runs.clear();
        (self.read, self.victims, self.end) = (0, 0, 0);
    }

    /// Names `count` victims from `block` on, which are in the buffer from `at` on.
    #[inline]
    pub(crate) fn collect(&mut self, at: u64, block: Block, count: u64, native: &Native) {
        self.collect_over(0, at, block, count, native);
    }

    /// As [`WriteBack::collect`]; the `over` blocks of the buffer before `at` are read, too, and
    /// dropped.
    #[inline]
    pub(crate) fn collect_over(
        &mut self,
        over: u64,
        at: u64,
        block: Block,
        count: u64,
        native: &Native,
    ) {
        debug_assert!(!self.closed && native.zone(block) == self.zone, "a victim of the zone");
        self.victims += count;
        let (at, offset, count) = (at as u32, native.offset(block) as u32, count as u32);
        let over = over as u32;
        self.end = self.end.max(u64::from(offset) + u64::from(count));
        if let Some(run) = self.runs[self.read..].last_mut()
            && over == 0
            && (run.at + run.count, run.offset + run.count) == (at, offset)
        {
            run.count += count;
            return;
        }
        if self.read == self.runs.len() {
            self.runs.clear();
            self.read = 0;
        }
        self.runs.push(Run { at, offset, count, over });
    }

    /// Notes that all victims have been named.
    pub(crate) fn close(&mut self) {
        debug_assert!(self.victims > 0, "a zone without victims is not written back");
        self.closed = true;
    }

    /// Returns the zone being written back.
    pub(crate) fn zone(&self) -> Zone {
        self.zone
    }

    /// Returns the next step, and moves the write pointer with the steps that do.
    pub(crate) fn next(&mut self, native: &mut Native, counters: &mut Counters) -> Option<Step> {
        let (zone, first) = (self.zone, native.first(self.zone));
        loop {
            match self.stage {
                Stage::ReadNative => {
                    self.stage = Stage::Collect;
                    let count = native.pointer(zone);
                    return Some(Step::Read { from: Place::Native(first.0), block: first, count });
                }
                Stage::Collect => {
                    if let Some(run) = self.runs.get_mut(self.read) {
                        let over = core::mem::replace(&mut run.over, 0);
                        if over > 0 {
                            let from = Place::Buffer(u64::from(run.at - over));
                            return Some(Step::Over { from, count: over.into() });
                        }
                        self.read += 1;
                        let from = Place::Buffer(u64::from(run.at));
                        let block = first.after(u64::from(run.offset));
                        return Some(Step::Read { from, block, count: u64::from(run.count) });
                    }
                    if !self.closed {
                        return None;
                    }
                    self.end = self.end.max(native.pointer(zone));
                    self.stage = if self.rmw { Stage::Reset } else { Stage::Append };
                }
                Stage::Reset => {
                    self.stage = Stage::Append;
                    native.set_pointer(zone, 0);
                    return Some(Step::Reset { zone });
                }
                Stage::Append => {
                    self.stage = Stage::Commit;
                    let from = native.pointer(zone);
                    native.set_pointer(zone, self.end);
                    let (block, count) = (first.after(from), self.end - from);
                    return Some(Step::Append { zone, block, count });
                }
                Stage::Commit => {
                    self.stage = Stage::Done;
                    counters.victims += 1;
                    counters.rmw += u64::from(self.rmw);
                    counters.rmw_free += u64::from(!self.rmw);
                    counters.evicted_blocks += self.victims;
                    return Some(Step::Commit);
                }
                Stage::Done => return None,
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.runs.capacity() * size_of::<Run>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translation::Layout;

    const LAYOUT: Layout = Layout { zone_blocks: 10, buffer_blocks: 20, zones: 3 };

    fn steps(back: &mut WriteBack, native: &mut Native, counters: &mut Counters) -> Vec<Step> {
        core::iter::from_fn(|| back.next(native, counters)).collect()
    }

    fn read(from: Place, block: u64, count: u64) -> Step {
        Step::Read { from, block: Block(block), count }
    }

    #[test]
    fn what_lies_behind_the_write_pointer_is_appended() {
        let (mut native, mut counters) = (Native::new("x", LAYOUT).unwrap(), Counters::default());
        let (mut back, zone) = (WriteBack::new(10), Zone(1));
        native.set_pointer(zone, 2);
        back.begin(zone, Block(12), &native);
        back.collect(4, Block(12), 1, &native);
        back.collect(5, Block(13), 1, &native);
        back.collect(6, Block(17), 1, &native);
        back.close();
        let wanted = [
            read(Place::Buffer(4), 12, 2),
            read(Place::Buffer(6), 17, 1),
            Step::Append { zone, block: Block(12), count: 6 },
            Step::Commit,
        ];
        assert_eq!(steps(&mut back, &mut native, &mut counters), wanted);
        assert_eq!((counters.rmw, counters.rmw_free, counters.evicted_blocks), (0, 1, 3));
        assert_eq!((native.pointer(zone), native.place(Block(18))), (8, Place::Nowhere));
    }

    #[test]
    fn what_lies_between_victims_is_read_and_dropped() {
        let (mut native, mut counters) = (Native::new("x", LAYOUT).unwrap(), Counters::default());
        let (mut back, zone) = (WriteBack::new(10), Zone(1));
        back.begin(zone, Block(10), &native);
        back.collect(4, Block(10), 1, &native);
        back.collect_over(2, 7, Block(13), 1, &native);
        back.close();
        let wanted = [
            read(Place::Buffer(4), 10, 1),
            Step::Over { from: Place::Buffer(5), count: 2 },
            read(Place::Buffer(7), 13, 1),
            Step::Append { zone, block: Block(10), count: 4 },
            Step::Commit,
        ];
        assert_eq!(steps(&mut back, &mut native, &mut counters), wanted);
        assert_eq!(counters.evicted_blocks, 2);
    }

    #[test]
    fn a_victim_below_the_write_pointer_rewrites_the_zone() {
        let (mut native, mut counters) = (Native::new("x", LAYOUT).unwrap(), Counters::default());
        let (mut back, zone) = (WriteBack::new(10), Zone(0));
        native.set_pointer(zone, 6);
        back.begin(zone, Block(5), &native);
        // Collected in two stages; the first ends without a word of the second.
        back.collect(9, Block(5), 1, &native);
        let first = steps(&mut back, &mut native, &mut counters);
        assert_eq!(first, [read(Place::Native(0), 0, 6), read(Place::Buffer(9), 5, 1)]);
        back.collect(10, Block(6), 2, &native);
        back.close();
        let second = steps(&mut back, &mut native, &mut counters);
        let append = Step::Append { zone, block: Block(0), count: 8 };
        let wanted = [read(Place::Buffer(10), 6, 2), Step::Reset { zone }, append, Step::Commit];
        assert_eq!(second, wanted);
        assert_eq!((counters.rmw, counters.rmw_free, counters.evicted_blocks), (1, 0, 3));
        // Victims that end before the write pointer leave it where it is.
        back.begin(zone, Block(1), &native);
        back.collect(0, Block(1), 1, &native);
        back.close();
        let third = steps(&mut back, &mut native, &mut counters);
        assert_eq!(third[3], Step::Append { zone, block: Block(0), count: 8 });
        assert_eq!((counters.victims, native.pointer(zone)), (2, 8));
    }
}
