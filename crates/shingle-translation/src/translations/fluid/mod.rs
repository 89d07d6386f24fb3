//! Fluid and Fluid_loop, the circular logs with which Amphisbaena is compared (§2.2, §6.1, after
//! Wu, Li and Du, FluidSMR, ACM Transactions on Storage 17(4), 2021).
//!
//! ```text
//!        tail                         head = tail + used
//!         │ oldest                     │
//!   ┈┈┈┈┈┈█░█░░███░█████░██████████████┈┈┈┈┈┈     █ live   ░ hole
//! ```
//! A block that is in the log is updated in place; any other is appended at the head. When the log
//! is full, the zone of the oldest block is written back, with all its blocks in the log, read in
//! the order of the log, which moves the arm least (§2.3 says only that they are scattered). That
//! leaves holes; the tail passes over them.
//!
//! Fluid_loop does not write back blocks of a hot zone: it reads them at the tail and appends them
//! at the head. The papers do not define hot zones, so here: a zone is hot if its written blocks, a
//! count that is halved each time the head has gone around, exceed the mean of the zones in the log
//! by `sigma` standard deviations; at most `requeued` of the log is re-queued blocks; and `batch`
//! blocks of the log are kept free, so that as many can be read and appended at a time, each read
//! from its old place until its new place is known.

use crate::parts::{Buffered, FRESH, Native, WriteBack};
use crate::translation::{
    BufferState, Counters, Layout, Make, Piece, Queue, SavedMap, Step, Translation, Work,
};
use requeue::Requeue;
use shingle_core::param;
use shingle_core::params::{Param, Params};
use shingle_core::units::{Block, Zone};

mod heat;
mod open;
mod requeue;

/// Fluid, or with `LOOP` Fluid_loop. See the module.
#[derive(Clone, Debug)]
pub(crate) struct Fluid<const LOOP: bool> {
    native: Native,
    buffered: Buffered,
    tail: u32,
    /// Slots between tail and head, holes included.
    used: u32,
    fresh_to_zones: bool,
    /// `None` without `LOOP`.
    requeue: Option<Requeue>,
    work: Work,
    back: WriteBack,
    counters: Counters,
    /// Blocks that the log held when it was opened.
    opened: u32,
}

impl<const LOOP: bool> Fluid<LOOP> {
    fn head(&self) -> u32 {
        let head = u64::from(self.tail) + u64::from(self.used);
        (head % u64::from(self.buffered.slots())) as u32
    }

    /// Returns how many slots may be appended to before a cleaning.
    fn room(&self) -> u32 {
        let batch = self.requeue.as_ref().map_or(0, |requeue| requeue.batch);
        (self.buffered.slots() - self.used).saturating_sub(batch)
    }

    /// Moves the tail over holes.
    fn release(&mut self) {
        while self.used > 0 && self.buffered.block(self.tail).is_none() {
            self.tail = if self.tail + 1 == self.buffered.slots() { 0 } else { self.tail + 1 };
            self.used -= 1;
        }
    }

    /// Appends `block` at the head.
    fn append(&mut self, block: Block) {
        let (slot, zone) = (self.head(), self.native.zone(block));
        self.buffered.fill(slot, block, zone);
        self.used += 1;
        if let Some(requeue) = &mut self.requeue {
            if self.buffered.live_of(zone) == 1 {
                requeue.heat.enter(zone);
            }
            requeue.appended(&self.buffered);
        }
    }

    /// Writes as many of the host's next blocks as go into neighbouring slots.
    fn write(&mut self, block: Block, count: u64) -> Option<Step> {
        if self.fresh_to_zones
            && let Some((count, step)) = self.buffered.append_fresh(&mut self.native, block, count)
        {
            self.wrote(count);
            return Some(step);
        }
        let mut written = 0;
        let at = if let Some(slot) = self.buffered.find(block) {
            let same = |ahead| self.buffered.find(block.after(ahead)) == Some(slot + ahead as u32);
            written += (0..count).take_while(|&ahead| same(ahead)).count() as u64;
            self.counters.write_hits += written;
            slot
        } else {
            let head = self.head();
            let most = u64::from(self.room().min(self.buffered.slots() - head));
            while written < most.min(count) && self.buffered.find(block.after(written)).is_none() {
                self.append(block.after(written));
                written += 1;
            }
            head
        };
        if written == 0 {
            return None;
        }
        self.wrote(written);
        if let Some(requeue) = &mut self.requeue {
            for block in (block.0..block.0 + written).map(Block) {
                requeue.heat.write(self.native.zone(block));
            }
        }
        Some(Step::Buffer { block, count: written, at: u64::from(at) })
    }

    /// Records that the next `written` blocks of the host are written.
    fn wrote(&mut self, written: u64) {
        self.counters.written_blocks += written;
        if let Work::Write { block, count } = self.work {
            self.work = Work::Write { block: block.after(written), count: count - written };
        }
    }

    /// Begins to re-queue hot blocks at the tail, or to write a zone back.
    fn clean(&mut self) {
        let oldest = self.buffered.block(self.tail).expect("the tail is live");
        let hot = if self.work == Work::Drain { 0 } else { self.hot_run() };
        if hot > 0 {
            self.begin_requeue(hot);
        } else {
            self.counters.cleanings += 1;
            self.buffered.write_back(self.native.zone(oldest), &mut self.back, &self.native);
        }
    }

    fn empty(&mut self, slot: u32, zone: Zone) {
        self.buffered.empty(slot, zone);
        if let Some(requeue) = &mut self.requeue {
            requeue.emptied(&self.buffered, slot, zone);
        }
    }
}

impl<const LOOP: bool> Translation for Fluid<LOOP> {
    fn blocks(&self) -> u64 {
        self.native.blocks()
    }

    fn locate(&mut self, block: Block, count: u64, out: &mut Vec<Piece>) {
        self.buffered.locate(&self.native, block, count, out);
    }

    fn begin(&mut self, work: Work) {
        self.work = work;
        if let Work::Trim { block, count } = work {
            self.buffered.trim(block, count, &self.native, |buffered, slot, zone| {
                if let Some(requeue) = &mut self.requeue {
                    requeue.emptied(buffered, slot, zone);
                }
            });
            self.release();
        }
    }

    fn next(&mut self, _: &dyn Queue) -> Option<Step> {
        loop {
            if let Some(step) = self.back.next(&mut self.native, &mut self.counters) {
                if step == Step::Commit {
                    let zone = self.back.zone();
                    while let Some(slot) = self.buffered.first_of(zone) {
                        self.empty(slot, zone);
                    }
                    self.release();
                }
                return Some(step);
            }
            if let Some(step) = self.next_requeue() {
                return Some(step);
            }
            match self.work {
                Work::Write { count: 0, .. } => return None,
                Work::Write { block, count } => {
                    if let Some(step) = self.write(block, count) {
                        return Some(step);
                    }
                }
                Work::Drain if self.buffered.live() > 0 => {}
                Work::Drain | Work::Trim { .. } | Work::Idle => return None,
            }
            self.clean();
        }
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn buffer_state(&self) -> BufferState {
        self.buffered.buffer_state(self.used)
    }

    fn write_pointer(&self, zone: Zone) -> u64 {
        self.native.pointer(zone)
    }

    fn memory_bytes(&self) -> u64 {
        let requeue = self.requeue.as_ref().map_or(0, Requeue::memory_bytes);
        let parts = self.native.memory_bytes() + self.buffered.memory_bytes();
        size_of::<Self>() as u64 + parts + self.back.memory_bytes() + requeue
    }

    fn copy(&self) -> Box<dyn Translation> {
        Box::new(self.clone())
    }

    fn check(&self) {
        self.buffered.check(&self.native);
        let slots = self.buffered.slots();
        assert!(self.used == 0 || self.buffered.block(self.tail).is_some(), "a hole at the tail");
        let outside = (self.used..slots)
            .map(|ahead| (u64::from(self.tail) + u64::from(ahead)) % u64::from(slots));
        for slot in outside {
            assert!(self.buffered.block(slot as u32).is_none(), "slot {slot} is not in the log");
        }
        if let Some(requeue) = &self.requeue {
            requeue.check(&self.buffered);
        }
        let Counters { written_blocks, write_hits, evicted_blocks, .. } = self.counters;
        let entered = u64::from(self.opened) + written_blocks - write_hits;
        assert!(evicted_blocks + u64::from(self.buffered.live()) <= entered);
    }
}

impl<const LOOP: bool> Fluid<LOOP> {
    fn over(name: &str, params: &Params, layout: Layout) -> Result<Self, String> {
        Ok(Fluid {
            native: Native::new(name, layout)?,
            buffered: Buffered::new(layout),
            tail: 0,
            used: 0,
            fresh_to_zones: params.choice("fresh") == "sequential",
            requeue: None,
            work: Work::Idle,
            back: WriteBack::new(layout.zone_blocks.min(layout.buffer_blocks)),
            counters: Counters::default(),
            opened: 0,
        })
    }
}

impl Make for Fluid<false> {
    const NAME: &'static str = "fluid";
    const ABOUT: &'static str =
        "circular log, updated in place, zones written back in FIFO order (FluidSMR 2021)";

    const PARAMS: &'static [Param] = &[FRESH];

    fn new(params: &Params, layout: Layout) -> Result<Self, String> {
        Fluid::over(Self::NAME, params, layout)
    }

    fn open(params: &Params, layout: Layout, saved: &dyn SavedMap) -> Result<Self, String> {
        Self::new(params, layout)?.open_log(Self::NAME, layout, saved)
    }
}

impl Make for Fluid<true> {
    const NAME: &'static str = "fluid-loop";
    const ABOUT: &'static str =
        "the log of fluid, blocks of hot zones re-queued instead of written back (FluidSMR 2021)";
    const PARAMS: &'static [Param] = &[
        param!("sigma": Ratio = "1",
            "standard deviations above the mean of written blocks that make a zone hot"),
        param!("requeued": Ratio = "0.75", "most of the log that re-queued blocks may take"),
        param!("batch": Blocks = "64b",
            "blocks re-queued together, and kept free for it; an eighth of the log at most"),
        FRESH,
    ];

    fn new(params: &Params, layout: Layout) -> Result<Self, String> {
        if layout.buffer_blocks < 2 {
            return Err(format!("{} needs a buffer of at least 2 blocks", Self::NAME));
        }
        let mut fluid = Fluid::over(Self::NAME, params, layout)?;
        fluid.requeue = Some(Requeue::new(params, fluid.buffered.slots(), layout.zones));
        Ok(fluid)
    }

    fn open(params: &Params, layout: Layout, saved: &dyn SavedMap) -> Result<Self, String> {
        Self::new(params, layout)?.open_log(Self::NAME, layout, saved)
    }
}
