//! An executor that works like a store: it keeps 32 requests in flight over real bytes, completes
//! I/O out of order and fails some destages. Every read must return the last acknowledged write.

use std::collections::{BTreeMap, VecDeque};

use shingle_core::cache::{CacheCore, Outcome};
use shingle_core::plan::Plan;
use shingle_core::policy::{Access, Cost};
use shingle_core::units::{Block, Nanos, Op, Slot};

use crate::setup::{DISK_BLOCKS, Rng};

const IN_FLIGHT: usize = 32;
const BYTES: usize = 16;
type Data = [u8; BYTES];

/// One block of a request.
#[derive(Clone, Copy, Debug)]
struct HostOp {
    access: Access,
    /// The data of a write; a partial write uses only the first half.
    data: Data,
}

/// Submitted I/O.
#[derive(Debug)]
enum Io {
    /// The SSD reads or writes a slot for the host.
    Ssd(HostOp, Slot),
    /// The disk reads a block into a slot. Then the host's operation continues there.
    Fill(HostOp, Slot),
    /// The disk serves the host.
    Disk(HostOp),
    /// The disk writes the content that a slot had at submission.
    Destage { slot: Slot, block: Block, data: Data, fails: bool },
}

/// A cache with its SSD and its disk, and the I/O in flight.
pub(crate) struct InFlight {
    cache: Box<dyn CacheCore>,
    plan: Plan,
    ssd: Vec<Data>,
    disk: BTreeMap<Block, Data>,
    /// What each block must read as; `None` after a trim, when any content is allowed.
    expected: BTreeMap<Block, Option<Data>>,
    in_flight: Vec<Io>,
    /// For each block with an operation in flight: the operations that wait for it, in order.
    locked: BTreeMap<Block, VecDeque<HostOp>>,
    no_room: VecDeque<HostOp>,
    pending_ops: usize,
    rng: Rng,
    pub(crate) digest: u64,
    pub(crate) reads_checked: u64,
    pub(crate) idle_destages: u64,
}

impl InFlight {
    pub(crate) fn new(cache: Box<dyn CacheCore>, seed: u64) -> InFlight {
        let slots = cache.slots().capacity() as usize;
        InFlight {
            cache,
            plan: Plan::default(),
            ssd: vec![[0xEE; BYTES]; slots],
            disk: BTreeMap::new(),
            expected: BTreeMap::new(),
            in_flight: Vec::new(),
            locked: BTreeMap::new(),
            no_room: VecDeque::new(),
            pending_ops: 0,
            rng: Rng(seed),
            digest: 0,
            reads_checked: 0,
            idle_destages: 0,
        }
    }

    /// Serves `requests` requests, waits for the last one, and checks every block.
    pub(crate) fn run(&mut self, requests: u64) {
        for number in 0..requests {
            self.request(number);
            while self.pending_ops >= IN_FLIGHT {
                self.complete_one();
            }
            match self.rng.below(40) {
                0 => {
                    self.cache.idle(4, &mut self.plan);
                    self.idle_destages += self.plan.destages().len() as u64;
                }
                1 => self.cache.evict(2, &mut self.plan),
                2 => self.trim(),
                3 => self.cache.check(),
                _ => {}
            }
            self.execute_plan();
        }
        while !self.in_flight.is_empty() || self.pending_ops > 0 {
            self.complete_one();
        }
        self.cache.check();
        (0..DISK_BLOCKS).map(Block).for_each(|block| self.check_at_rest(block));
    }

    /// Starts a request of one to four adjacent blocks, skewed towards a few hot zones.
    fn request(&mut self, number: u64) {
        let range = if self.rng.chance(60) { 48 } else { DISK_BLOCKS - 4 };
        let first = self.rng.below(range);
        let op = if self.rng.chance(60) { Op::Write } else { Op::Read };
        for place in 0..1 + self.rng.below(4) {
            let mut access = Access::whole(number, Block(first + place), op);
            access.place = place as u32;
            access.partial = self.rng.chance(25);
            let data = self.rng.bits().to_le_bytes();
            let data = core::array::from_fn(|i| data[i % 8] ^ i as u8);
            self.pending_ops += 1;
            self.start(HostOp { access, data });
        }
    }

    fn start(&mut self, op: HostOp) {
        if let Some(waiting) = self.locked.get_mut(&op.access.block) {
            waiting.push_back(op);
            return;
        }
        self.locked.insert(op.access.block, VecDeque::new());
        let mut op = op;
        let outcome = self.cache.access(&mut op.access, &mut self.plan);
        self.submit(op, outcome);
    }

    fn submit(&mut self, op: HostOp, outcome: Outcome) {
        self.execute_plan();
        let merges = op.access.op == Op::Read || op.access.partial;
        match outcome {
            Outcome::Hit(slot) | Outcome::Miss(slot) => {
                self.cache.pin(slot);
                let fill = merges && matches!(outcome, Outcome::Miss(_));
                self.in_flight.push(if fill { Io::Fill(op, slot) } else { Io::Ssd(op, slot) });
            }
            Outcome::Bypass => self.in_flight.push(Io::Disk(op)),
            Outcome::NoRoom => self.no_room.push_back(op),
        }
    }

    /// Submits the destages of the plan, with the current content of the slots.
    fn execute_plan(&mut self) {
        for destage in self.plan.destages() {
            let (slot, block) = (destage.slot, destage.block);
            assert_eq!(self.cache.lookup(block), Some(slot), "a leaving block must be findable");
            let (data, fails) = (self.ssd[slot.index()], self.rng.chance(5));
            self.in_flight.push(Io::Destage { slot, block, data, fails });
        }
        self.plan.clear();
    }

    fn complete_one(&mut self) {
        assert!(!self.in_flight.is_empty(), "{} operations wait for nothing", self.pending_ops);
        let at = self.rng.below(self.in_flight.len() as u64) as usize;
        match self.in_flight.swap_remove(at) {
            Io::Fill(op, slot) => {
                self.ssd[slot.index()] = self.on_disk(op.access.block);
                self.in_flight.push(Io::Ssd(op, slot));
                return;
            }
            Io::Ssd(op, slot) => {
                match op.access.op {
                    Op::Write => merge(&mut self.ssd[slot.index()], &op),
                    _ => self.check_read(op.access.block, self.ssd[slot.index()]),
                }
                self.cache.unpin(slot);
                self.finish(&op);
            }
            Io::Disk(op) => {
                let mut data = self.on_disk(op.access.block);
                match op.access.op {
                    Op::Write => {
                        merge(&mut data, &op);
                        self.disk.insert(op.access.block, data);
                    }
                    _ => self.check_read(op.access.block, data),
                }
                self.finish(&op);
            }
            Io::Destage { slot, fails: true, .. } => self.cache.destage_failed(slot),
            Io::Destage { slot, block, data, .. } => {
                self.disk.insert(block, data);
                self.cache.destaged(slot);
                let took = Nanos::from_micros(self.rng.below(900));
                self.cache.observe(&Cost { op: Op::Write, blocks: 1, took });
            }
        }
        self.retry();
    }

    fn retry(&mut self) {
        for _ in 0..self.no_room.len() {
            let Some(mut op) = self.no_room.pop_front() else { return };
            let outcome = self.cache.retry(&mut op.access, &mut self.plan);
            self.submit(op, outcome);
        }
    }

    /// Acknowledges the host's operation, and starts the next one on the block.
    fn finish(&mut self, op: &HostOp) {
        let block = op.access.block;
        self.pending_ops -= 1;
        self.digest = self.digest.rotate_left(7) ^ block.0 ^ u64::from(op.data[0]) << 32;
        if op.access.op == Op::Write {
            let mut data = self.expected.get(&block).copied().flatten().unwrap_or_default();
            let known = !op.access.partial || self.expected.get(&block) != Some(&None);
            merge(&mut data, op);
            self.expected.insert(block, known.then_some(data));
        }
        let mut waiting = self.locked.remove(&block).expect("the block was locked");
        if let Some(next) = waiting.pop_front() {
            self.start(next);
            self.locked.entry(block).or_default().extend(waiting);
        }
    }

    fn trim(&mut self) {
        let block = Block(self.rng.below(DISK_BLOCKS));
        if !self.locked.contains_key(&block) && self.cache.trim(block, 1) == 1 {
            self.expected.insert(block, None);
        }
    }

    fn on_disk(&self, block: Block) -> Data {
        self.disk.get(&block).copied().unwrap_or_default()
    }

    fn check_read(&mut self, block: Block, data: Data) {
        if let Some(expected) = self.expected.get(&block).copied().unwrap_or(Some([0; BYTES])) {
            assert_eq!(data, expected, "block {} is not current", block.0);
            self.reads_checked += 1;
        }
    }

    fn check_at_rest(&mut self, block: Block) {
        let data = match self.cache.lookup(block) {
            Some(slot) => self.ssd[slot.index()],
            None => self.on_disk(block),
        };
        self.check_read(block, data);
    }
}

fn merge(into: &mut Data, op: &HostOp) {
    let bytes = if op.access.partial { BYTES / 2 } else { BYTES };
    into[..bytes].copy_from_slice(&op.data[..bytes]);
}
