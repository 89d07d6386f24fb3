//! Re-queues hot blocks at the tail of the log: they are read, appended at the head, and released
//! when the new place is known.

use super::Fluid;
use super::heat::Heat;
use crate::parts::Buffered;
use crate::translation::{Place, Step};
use shingle_core::params::Params;
use shingle_core::parts::Bitmap;
use shingle_core::units::Zone;

/// The state of re-queueing.
#[derive(Clone, Debug)]
pub(super) struct Requeue {
    pub(super) heat: Heat,
    /// Blocks moved together, and kept free for that.
    pub(super) batch: u32,
    /// One bit per slot: its block was re-queued.
    marks: Bitmap,
    marked: u32,
    marked_max: u32,
    /// Blocks appended since the head last went around.
    appended: u32,
    moving: Option<Moving>,
}

/// Neighbours in the log that are being moved to its head.
#[derive(Clone, Copy, Debug)]
struct Moving {
    from: u32,
    to: u32,
    count: u32,
    /// How many have been read, or, if all have been `read`, written.
    done: u32,
    read: bool,
}

impl Requeue {
    /// Creates the state of a log of `slots` without re-queued blocks.
    pub(super) fn new(params: &Params, slots: u32, zones: u32) -> Requeue {
        Requeue {
            heat: Heat::new(zones, params.thousandths("sigma")),
            batch: params.blocks("batch").min(u64::from(slots / 8).max(1)) as u32,
            marks: Bitmap::new(slots.into()),
            marked: 0,
            marked_max: params.part_of("requeued", slots).min(u64::from(slots)) as u32,
            appended: 0,
            moving: None,
        }
    }

    fn mark(&mut self, slot: u32) {
        let before = self.marks.set(slot.into());
        debug_assert!(!before, "holes are not marked");
        self.marked += 1;
    }

    fn marked(&self, slot: u32) -> bool {
        self.marks.get(slot.into())
    }

    /// Records that a block was appended at the head.
    pub(super) fn appended(&mut self, buffered: &Buffered) {
        self.appended += 1;
        if self.appended == buffered.slots() {
            self.appended = 0;
            self.heat.halve(|zone| buffered.live_of(zone) > 0);
        }
    }

    /// Records that `slot` of `zone` has become a hole.
    pub(super) fn emptied(&mut self, buffered: &Buffered, slot: u32, zone: Zone) {
        self.marked -= u32::from(self.marks.clear(slot.into()));
        if buffered.live_of(zone) == 0 {
            self.heat.leave(zone);
        }
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.heat.memory_bytes() + self.marks.bytes() as u64
    }

    /// Panics if an invariant is broken.
    pub(super) fn check(&self, buffered: &Buffered) {
        self.heat.check(|zone| buffered.live_of(zone) > 0);
        let marked = (0..buffered.slots()).filter(|&slot| self.marked(slot));
        assert!(marked.clone().all(|slot| buffered.block(slot).is_some()), "a hole is marked");
        assert_eq!(marked.count(), self.marked as usize);
        assert!(self.marked <= self.marked_max, "too many were re-queued");
    }
}

impl<const LOOP: bool> Fluid<LOOP> {
    /// Returns how many neighbours from the tail on are to be re-queued together.
    pub(super) fn hot_run(&self) -> u32 {
        let Some(requeue) = &self.requeue else { return 0 };
        let slots = self.buffered.slots();
        let free = slots - self.used;
        let most = requeue.batch.min(free).min(slots - self.tail).min(slots - self.head());
        let mut marked = requeue.marked;
        let again = |slot| {
            marked += u32::from(!requeue.marked(slot));
            let block = self.buffered.block(slot);
            block.is_some_and(|block| requeue.heat.is_hot(self.native.zone(block)))
                && marked <= requeue.marked_max
        };
        (self.tail..self.tail + most.min(self.used)).map(again).take_while(|&again| again).count()
            as u32
    }

    /// Returns the next step of re-queueing.
    pub(super) fn next_requeue(&mut self) -> Option<Step> {
        let requeue = self.requeue.as_mut()?;
        let moving = requeue.moving.as_mut()?;
        if moving.done == moving.count && !moving.read {
            (moving.read, moving.done) = (true, 0);
        }
        let Moving { from, to, count, done, read } = *moving;
        if done < count {
            let block = |ahead| self.buffered.block(from + ahead).expect("what moves is live");
            let first = block(done);
            let next = |ahead: u32| block(ahead) == first.after(u64::from(ahead - done));
            let run = (done..count).take_while(|&ahead| next(ahead)).count() as u32;
            moving.done += run;
            let run = u64::from(run);
            return Some(if read {
                Step::Buffer { block: first, count: run, at: u64::from(to + done) }
            } else {
                let from = Place::Buffer(u64::from(from + done));
                Step::Read { from, block: first, count: run }
            });
        }
        requeue.moving = None;
        for ahead in 0..count {
            let block = self.buffered.block(from + ahead).expect("what moves is live");
            let zone = self.native.zone(block);
            self.empty(from + ahead, zone);
            self.append(block);
            self.requeue.as_mut().expect("it re-queues").mark(to + ahead);
        }
        self.release();
        self.counters.moved_blocks += u64::from(count);
        Some(Step::Commit)
    }

    /// Begins to re-queue `count` neighbours from the tail on.
    pub(super) fn begin_requeue(&mut self, count: u32) {
        let (from, to) = (self.tail, self.head());
        let requeue = self.requeue.as_mut().expect("it re-queues");
        requeue.moving = Some(Moving { from, to, count, done: 0, read: false });
    }
}
