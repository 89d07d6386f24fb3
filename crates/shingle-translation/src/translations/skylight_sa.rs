//! The set-associative buffer that Amphisbaena calls Skylight (§6.1, §6.2, after Aghayev, Shafaei and
//! Desnoyers, Skylight, FAST 2015).
//!
//! The buffer is divided into buckets, and a zone's blocks go to the bucket of its number modulo
//! the number of buckets. They are appended, newer copies too. When a bucket is full, each zone
//! that has blocks in it is written back, in the order of their oldest blocks, each read in the
//! order of the bucket, and the bucket is empty again.
//!
//! The paper has buckets of the size of a zone; but its buffers, 1 % of what a trace touches, are
//! usually smaller than one zone. So there are at least `buckets` buckets of equal size, and more
//! if they were larger than a zone.

use crate::parts::{Buffered, FRESH, InBuffer, Native, WriteBack, in_buffer, misplaced};
use crate::translation::{
    BufferState, Counters, Layout, Make, Piece, Place, Queue, SavedMap, Step, Translation, Work,
};
use core::ops::Range;
use shingle_core::param;
use shingle_core::params::{Param, Params};
use shingle_core::units::{Block, Zone};

#[derive(Clone, Debug)]
pub(crate) struct SkylightSa {
    native: Native,
    buffered: Buffered,
    fresh_to_zones: bool,
    /// Slots of each bucket in use.
    used: Vec<u32>,
    used_all: u32,
    work: Work,
    cleaning: Option<Cleaning>,
    back: WriteBack,
    counters: Counters,
}

/// A bucket that is being cleaned.
#[derive(Clone, Copy, Debug)]
struct Cleaning {
    bucket: usize,
    /// All slots before this one are holes.
    slot: u32,
}

impl SkylightSa {
    fn bucket(&self, zone: Zone) -> usize {
        zone.index() % self.used.len()
    }

    /// Returns the slots of a bucket. If they do not divide evenly, some buckets have one slot more
    /// than others.
    fn slots(&self, bucket: usize) -> Range<u32> {
        let (slots, buckets) = (u64::from(self.buffered.slots()), self.used.len() as u64);
        let start = |bucket: u64| (bucket * slots).div_ceil(buckets) as u32;
        start(bucket as u64)..start(bucket as u64 + 1)
    }

    /// Appends as many of the host's next blocks as fit into the first one's bucket.
    fn write(&mut self, block: Block, count: u64) -> Option<Step> {
        if self.fresh_to_zones
            && let Some((count, step)) = self.buffered.append_fresh(&mut self.native, block, count)
        {
            self.wrote(count);
            return Some(step);
        }
        let zone = self.native.zone(block);
        let bucket = self.bucket(zone);
        let slots = self.slots(bucket);
        let at = slots.start + self.used[bucket];
        let end = self.native.first(Zone(zone.0 + 1));
        let written = count.min(u64::from(slots.end - at)).min(end.0 - block.0) as u32;
        if written == 0 {
            return None;
        }
        for ahead in 0..written {
            let block = block.after(u64::from(ahead));
            if let Some(old) = self.buffered.find(block) {
                self.buffered.empty(old, zone);
                self.counters.write_hits += 1;
            }
            self.buffered.fill(at + ahead, block, zone);
        }
        self.used[bucket] += written;
        self.used_all += written;
        let written = u64::from(written);
        self.wrote(written);
        Some(Step::Buffer { block, count: written, at: u64::from(at) })
    }

    /// Records that the next `written` blocks of the host are written.
    fn wrote(&mut self, written: u64) {
        self.counters.written_blocks += written;
        if let Work::Write { block, count } = self.work {
            self.work = Work::Write { block: block.after(written), count: count - written };
        }
    }

    fn clean(&mut self, bucket: usize) {
        self.counters.cleanings += 1;
        self.cleaning = Some(Cleaning { bucket, slot: self.slots(bucket).start });
    }

    /// Begins with the next zone of the bucket that is being cleaned. Returns `false` if there is
    /// none: the bucket, if there was one, is then empty.
    fn next_zone(&mut self) -> bool {
        let Some(Cleaning { bucket, slot }) = self.cleaning else { return false };
        let used = self.slots(bucket).start + self.used[bucket];
        for slot in slot..used {
            if let Some(block) = self.buffered.block(slot) {
                let zone = self.native.zone(block);
                self.cleaning = Some(Cleaning { bucket, slot });
                self.buffered.write_back(zone, &mut self.back, &self.native);
                return true;
            }
        }
        self.used_all -= core::mem::take(&mut self.used[bucket]);
        self.cleaning = None;
        false
    }
}

impl Translation for SkylightSa {
    fn blocks(&self) -> u64 {
        self.native.blocks()
    }

    fn locate(&mut self, block: Block, count: u64, out: &mut Vec<Piece>) {
        self.buffered.locate(&self.native, block, count, out);
    }

    fn begin(&mut self, work: Work) {
        self.work = work;
        if let Work::Trim { block, count } = work {
            self.buffered.trim(block, count, &self.native, |_, _, _| {});
        }
    }

    fn next(&mut self, _: &dyn Queue) -> Option<Step> {
        loop {
            if let Some(step) = self.back.next(&mut self.native, &mut self.counters) {
                if step == Step::Commit {
                    self.buffered.empty_zone(self.back.zone());
                }
                return Some(step);
            }
            if self.next_zone() {
                continue;
            }
            match self.work {
                Work::Write { count: 0, .. } => return None,
                Work::Write { block, count } => {
                    if let Some(step) = self.write(block, count) {
                        return Some(step);
                    }
                    self.clean(self.bucket(self.native.zone(block)));
                }
                Work::Drain => {
                    let bucket = self.used.iter().position(|&used| used > 0)?;
                    self.clean(bucket);
                }
                Work::Trim { .. } | Work::Idle => return None,
            }
        }
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn buffer_state(&self) -> BufferState {
        self.buffered.buffer_state(self.used_all)
    }

    fn write_pointer(&self, zone: Zone) -> u64 {
        self.native.pointer(zone)
    }

    fn memory_bytes(&self) -> u64 {
        let parts = self.native.memory_bytes() + self.buffered.memory_bytes();
        let buckets = self.used.capacity() as u64 * 4;
        size_of::<Self>() as u64 + parts + self.back.memory_bytes() + buckets
    }

    fn copy(&self) -> Box<dyn Translation> {
        Box::new(self.clone())
    }

    fn check(&self) {
        self.buffered.check(&self.native);
        assert_eq!(self.used.iter().sum::<u32>(), self.used_all);
        let mut next = 0;
        for (bucket, &used) in self.used.iter().enumerate() {
            let slots = self.slots(bucket);
            assert_eq!(slots.start, next, "buckets lie side by side");
            next = slots.end;
            for slot in slots.clone() {
                if let Some(block) = self.buffered.block(slot) {
                    assert!(slot < slots.start + used, "slot {slot} is not in use");
                    assert_eq!(self.bucket(self.native.zone(block)), bucket);
                }
            }
        }
        assert_eq!(next, self.buffered.slots());
    }
}

impl Make for SkylightSa {
    const NAME: &'static str = "skylight-sa";
    const ABOUT: &'static str =
        "zones hashed to buckets that are appended to and cleaned whole (Skylight, FAST 2015)";
    const PARAMS: &'static [Param] = &[
        param!("buckets": Count = "8",
            "least number of buckets, at least 4; more if they were larger than a zone"),
        FRESH,
    ];

    fn new(params: &Params, layout: Layout) -> Result<Self, String> {
        let native = Native::new(Self::NAME, layout)?;
        let least = params.count("buckets").max(4);
        let buckets = least.max(layout.buffer_blocks.div_ceil(layout.zone_blocks));
        if buckets > layout.buffer_blocks {
            let (name, blocks) = (Self::NAME, layout.buffer_blocks);
            return Err(format!("{name} has {buckets} buckets, but {blocks} blocks of buffer"));
        }
        Ok(SkylightSa {
            native,
            buffered: Buffered::new(layout),
            fresh_to_zones: params.choice("fresh") == "sequential",
            used: vec![0; buckets as usize],
            used_all: 0,
            work: Work::Idle,
            cleaning: None,
            back: WriteBack::new(layout.zone_blocks.min(layout.buffer_blocks)),
            counters: Counters::default(),
        })
    }
    /// Assumes that a bucket is in use up to its last live block, and that its blocks were appended
    /// in the order of their places, as they were.
    fn open(params: &Params, layout: Layout, saved: &dyn SavedMap) -> Result<Self, String> {
        let mut opened = Self::new(params, layout)?;
        saved.check(Self::NAME, layout, opened.native.blocks())?;
        opened.native.open(Self::NAME, layout, saved)?;
        for (at, block) in
            in_buffer(Self::NAME, layout, saved)?.into_iter().flat_map(InBuffer::each)
        {
            let zone = opened.native.zone(block);
            let bucket = opened.bucket(zone);
            let (slot, slots) = (at as u32, opened.slots(bucket));
            if !slots.contains(&slot) {
                let why = format!("the bucket of its zone has blocks {slots:?}");
                return Err(misplaced(Self::NAME, layout, block, Place::Buffer(at), &why));
            }
            opened.buffered.fill(slot, block, zone);
            let used = slot + 1 - slots.start;
            opened.used_all += used - opened.used[bucket];
            opened.used[bucket] = used;
        }
        Ok(opened)
    }
}
