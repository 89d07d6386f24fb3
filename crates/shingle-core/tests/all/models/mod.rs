//! Each order once more, from its paper's pseudo-code alone: vectors that are searched, newest
//! first, and no thought of speed. A cache of blocks that are all clean and never in use.

use std::collections::BTreeMap;

use shingle_core::parts::Sketch;
use shingle_core::units::Block;

pub(crate) trait Model {
    /// Whether `block` was in the cache. `next` is when it is used again.
    fn access(&mut self, block: u64, next: u64) -> bool;
    fn cached(&self) -> Vec<u64>;
}

/// The model of the order called `name`, for a cache of `c` blocks.
pub(crate) fn model(name: &str, c: usize) -> Box<dyn Model> {
    let part = |thousandths: usize| (c * thousandths / 1000).max(1);
    match name {
        "lru" => Box::new(Lru { c, list: Vec::new() }),
        "fifo" => Box::new(Fifo { c, list: Vec::new() }),
        "clock" => Box::new(Clock { c, ring: Vec::new(), hand: 0 }),
        "sieve" => Box::new(Sieve { c, list: Vec::new(), hand: None }),
        "2q" => Box::new(TwoQ { c, kin: part(250), kout: part(500), ..TwoQ::default() }),
        "arc" => Box::new(Arc { c, ..Arc::default() }),
        "lirs" => Box::new(Lirs {
            c,
            lirs_max: c - part(10),
            ghosts_max: c / 2,
            stack: Vec::new(),
            queue: Vec::new(),
            gone: Vec::new(),
        }),
        "s3-fifo" => Box::new(S3Fifo { c, small_max: part(100), ..S3Fifo::default() }),
        "w-tinylfu" => {
            let main = c - part(10);
            Box::new(WTinyLfu {
                c,
                window_max: part(10),
                protected_max: main * 8 / 10,
                sketch: Sketch::new(c as u32, 10 * c as u64),
                window: Vec::new(),
                probation: Vec::new(),
                protected: Vec::new(),
            })
        }
        "belady" => Box::new(Min { c, next: BTreeMap::new() }),
        _ => panic!("write a model of {name}"),
    }
}

/// Takes `block` off `list`, if it is there.
fn take(list: &mut Vec<u64>, block: u64) -> bool {
    let at = list.iter().position(|&other| other == block);
    at.map(|at| list.remove(at)).is_some()
}

struct Lru {
    c: usize,
    list: Vec<u64>,
}

impl Model for Lru {
    fn access(&mut self, block: u64, _: u64) -> bool {
        let hit = take(&mut self.list, block);
        self.list.insert(0, block);
        self.list.truncate(self.c);
        hit
    }

    fn cached(&self) -> Vec<u64> {
        self.list.clone()
    }
}

struct Fifo {
    c: usize,
    list: Vec<u64>,
}

impl Model for Fifo {
    fn access(&mut self, block: u64, _: u64) -> bool {
        if self.list.contains(&block) {
            return true;
        }
        self.list.insert(0, block);
        self.list.truncate(self.c);
        false
    }

    fn cached(&self) -> Vec<u64> {
        self.list.clone()
    }
}

/// Frames in a ring, as in Multics: the newcomer takes the frame of who leaves.
struct Clock {
    c: usize,
    ring: Vec<(u64, bool)>,
    hand: usize,
}

impl Model for Clock {
    fn access(&mut self, block: u64, _: u64) -> bool {
        if let Some(frame) = self.ring.iter_mut().find(|frame| frame.0 == block) {
            frame.1 = true;
            return true;
        }
        if self.ring.len() < self.c {
            self.ring.push((block, false));
            return false;
        }
        while std::mem::take(&mut self.ring[self.hand].1) {
            self.hand = (self.hand + 1) % self.c;
        }
        self.ring[self.hand] = (block, false);
        self.hand = (self.hand + 1) % self.c;
        false
    }

    fn cached(&self) -> Vec<u64> {
        self.ring.iter().map(|frame| frame.0).collect()
    }
}

/// The hand names its block; `None` is the tail.
struct Sieve {
    c: usize,
    list: Vec<(u64, bool)>,
    hand: Option<u64>,
}

impl Model for Sieve {
    fn access(&mut self, block: u64, _: u64) -> bool {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.0 == block) {
            entry.1 = true;
            return true;
        }
        if self.list.len() == self.c {
            let place = |hand| self.list.iter().position(|entry| Some(entry.0) == hand);
            let mut at = place(self.hand).unwrap_or(self.list.len() - 1);
            while self.list[at].1 {
                self.list[at].1 = false;
                at = at.checked_sub(1).unwrap_or(self.list.len() - 1);
            }
            self.hand = at.checked_sub(1).map(|before| self.list[before].0);
            self.list.remove(at);
        }
        self.list.insert(0, (block, false));
        false
    }

    fn cached(&self) -> Vec<u64> {
        self.list.iter().map(|entry| entry.0).collect()
    }
}

#[derive(Default)]
struct TwoQ {
    c: usize,
    kin: usize,
    kout: usize,
    a1in: Vec<u64>,
    a1out: Vec<u64>,
    am: Vec<u64>,
}

impl TwoQ {
    fn reclaim(&mut self) {
        if self.a1in.len() + self.am.len() < self.c {
            return;
        }
        if self.a1in.len() > self.kin || self.am.is_empty() {
            let y = self.a1in.pop().unwrap();
            self.a1out.insert(0, y);
            self.a1out.truncate(self.kout);
        } else {
            self.am.pop();
        }
    }
}

impl Model for TwoQ {
    fn access(&mut self, x: u64, _: u64) -> bool {
        if take(&mut self.am, x) {
            self.am.insert(0, x);
            true
        } else if self.a1out.contains(&x) {
            self.reclaim();
            take(&mut self.a1out, x);
            self.am.insert(0, x);
            false
        } else if self.a1in.contains(&x) {
            true
        } else {
            self.reclaim();
            self.a1in.insert(0, x);
            false
        }
    }

    fn cached(&self) -> Vec<u64> {
        [self.a1in.as_slice(), &self.am].concat()
    }
}

/// `p` in 2^-32 blocks.
#[derive(Default)]
struct Arc {
    c: usize,
    p: u64,
    t1: Vec<u64>,
    t2: Vec<u64>,
    b1: Vec<u64>,
    b2: Vec<u64>,
}

const ONE: u64 = 1 << 32;

impl Arc {
    fn replace(&mut self, in_b2: bool) {
        let t1 = self.t1.len() as u64 * ONE;
        if !self.t1.is_empty() && ((in_b2 && t1 == self.p) || t1 > self.p) {
            self.b1.insert(0, self.t1.pop().unwrap());
        } else if let Some(block) = self.t2.pop() {
            self.b2.insert(0, block);
        } else {
            // The paper takes it that T2 is not empty here.
            self.b1.insert(0, self.t1.pop().unwrap());
        }
    }
}

impl Model for Arc {
    fn access(&mut self, x: u64, _: u64) -> bool {
        let c = self.c;
        let delta = |this: usize, other: usize| {
            if this >= other { ONE } else { other as u64 * ONE / this as u64 }
        };
        if take(&mut self.t1, x) || take(&mut self.t2, x) {
            self.t2.insert(0, x);
            return true;
        }
        if self.b1.contains(&x) {
            let step = delta(self.b1.len(), self.b2.len());
            self.p = (self.p + step).min(c as u64 * ONE);
            self.replace(false);
            take(&mut self.b1, x);
            self.t2.insert(0, x);
            return false;
        }
        if self.b2.contains(&x) {
            let step = delta(self.b2.len(), self.b1.len());
            self.p = self.p.saturating_sub(step);
            self.replace(true);
            take(&mut self.b2, x);
            self.t2.insert(0, x);
            return false;
        }
        let l1 = self.t1.len() + self.b1.len();
        let total = l1 + self.t2.len() + self.b2.len();
        if l1 == c {
            if self.t1.len() < c {
                self.b1.pop();
                self.replace(false);
            } else {
                self.t1.pop();
            }
        } else if total >= c {
            if total == 2 * c {
                self.b2.pop();
            }
            self.replace(false);
        }
        self.t1.insert(0, x);
        false
    }

    fn cached(&self) -> Vec<u64> {
        [self.t1.as_slice(), &self.t2].concat()
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Status {
    Lir,
    Hir,
    Gone,
}

struct Lirs {
    c: usize,
    lirs_max: usize,
    ghosts_max: usize,
    /// From the top.
    stack: Vec<(u64, Status)>,
    /// The front, who leaves next, is first.
    queue: Vec<u64>,
    /// Those gone but remembered, the one that left first at the front.
    gone: Vec<u64>,
}

impl Lirs {
    fn lirs(&self) -> usize {
        self.stack.iter().filter(|entry| entry.1 == Status::Lir).count()
    }

    fn off_stack(&mut self, block: u64) -> Option<Status> {
        let at = self.stack.iter().position(|entry| entry.0 == block)?;
        Some(self.stack.remove(at).1)
    }

    fn prune(&mut self) {
        while self.stack.last().is_some_and(|entry| entry.1 != Status::Lir) {
            let (block, _) = self.stack.pop().unwrap();
            take(&mut self.gone, block);
        }
    }

    /// On top as LIR; the LIR block at the bottom makes room for it.
    fn becomes_lir(&mut self, block: u64) {
        self.stack.insert(0, (block, Status::Lir));
        if self.lirs() > self.lirs_max {
            self.prune();
            let (bottom, _) = self.stack.pop().unwrap();
            self.queue.push(bottom);
        }
    }

    fn evict(&mut self) {
        let victim = self.queue.remove(0);
        if let Some(entry) = self.stack.iter_mut().find(|entry| entry.0 == victim) {
            entry.1 = Status::Gone;
            self.gone.push(victim);
            if self.gone.len() > self.ghosts_max {
                let oldest = self.gone.remove(0);
                self.off_stack(oldest);
            }
        }
    }
}

impl Model for Lirs {
    fn access(&mut self, block: u64, _: u64) -> bool {
        let status = self.stack.iter().find(|entry| entry.0 == block).map(|entry| entry.1);
        let queued = self.queue.contains(&block);
        let hit = queued || status == Some(Status::Lir);
        if !hit && self.lirs() + self.queue.len() == self.c {
            self.evict();
        }
        self.off_stack(block);
        take(&mut self.gone, block);
        match status {
            Some(Status::Lir) => self.stack.insert(0, (block, Status::Lir)),
            Some(_) => {
                take(&mut self.queue, block);
                self.becomes_lir(block);
            }
            None if self.lirs() < self.lirs_max => {
                take(&mut self.queue, block);
                self.becomes_lir(block);
            }
            None => {
                take(&mut self.queue, block);
                self.stack.insert(0, (block, Status::Hir));
                self.queue.push(block);
            }
        }
        self.prune();
        hit
    }

    fn cached(&self) -> Vec<u64> {
        let lirs = self.stack.iter().filter(|entry| entry.1 == Status::Lir);
        lirs.map(|entry| entry.0).chain(self.queue.iter().copied()).collect()
    }
}

/// Blocks with their counts.
#[derive(Default)]
struct S3Fifo {
    c: usize,
    small_max: usize,
    small: Vec<(u64, u8)>,
    main: Vec<(u64, u8)>,
    ghosts: Vec<u64>,
}

impl S3Fifo {
    /// Whether a block has left.
    fn evict_main(&mut self) -> bool {
        while let Some((block, freq)) = self.main.pop() {
            if freq == 0 {
                return true;
            }
            self.main.insert(0, (block, freq - 1));
        }
        false
    }

    fn evict_small(&mut self) -> bool {
        while let Some((block, freq)) = self.small.pop() {
            if freq <= 1 {
                self.ghosts.insert(0, block);
                self.ghosts.truncate(self.c - self.small_max);
                return true;
            }
            self.main.insert(0, (block, 0));
            if self.main.len() > self.c - self.small_max {
                return self.evict_main();
            }
        }
        false
    }
}

impl Model for S3Fifo {
    fn access(&mut self, block: u64, _: u64) -> bool {
        let mut entries = self.small.iter_mut().chain(&mut self.main);
        if let Some(entry) = entries.find(|entry| entry.0 == block) {
            entry.1 = (entry.1 + 1).min(3);
            return true;
        }
        while self.small.len() + self.main.len() >= self.c {
            if self.small.len() >= self.small_max {
                self.evict_small();
            } else {
                self.evict_main();
            }
        }
        if take(&mut self.ghosts, block) {
            self.main.insert(0, (block, 0));
        } else {
            self.small.insert(0, (block, 0));
        }
        false
    }

    fn cached(&self) -> Vec<u64> {
        self.small.iter().chain(&self.main).map(|entry| entry.0).collect()
    }
}

/// The newcomer enters the window first, and then a block leaves it, as in the paper. Counts come
/// from the sketch itself, which has tests of its own.
struct WTinyLfu {
    c: usize,
    window_max: usize,
    protected_max: usize,
    sketch: Sketch,
    window: Vec<u64>,
    probation: Vec<u64>,
    protected: Vec<u64>,
}

impl Model for WTinyLfu {
    fn access(&mut self, block: u64, _: u64) -> bool {
        self.sketch.record(Block(block));
        if take(&mut self.window, block) {
            self.window.insert(0, block);
            return true;
        }
        if take(&mut self.protected, block) {
            self.protected.insert(0, block);
            return true;
        }
        if take(&mut self.probation, block) {
            self.protected.insert(0, block);
            if self.protected.len() > self.protected_max {
                self.probation.insert(0, self.protected.pop().unwrap());
            }
            return true;
        }
        self.window.insert(0, block);
        if self.window.len() > self.window_max {
            let candidate = self.window.pop().unwrap();
            let main = self.probation.len() + self.protected.len();
            if main < self.c - self.window_max {
                self.probation.insert(0, candidate);
                return false;
            }
            let victim = self.probation.last().or(self.protected.last()).copied();
            let uses = |block| self.sketch.estimate(Block(block));
            if let Some(victim) = victim.filter(|&victim| uses(candidate) > uses(victim)) {
                assert!(take(&mut self.probation, victim) || take(&mut self.protected, victim));
                self.probation.insert(0, candidate);
            }
        }
        false
    }

    fn cached(&self) -> Vec<u64> {
        [self.window.as_slice(), &self.probation, &self.protected].concat()
    }
}

/// MIN. Which of several blocks that are never used again leaves is not said: the newest does here.
struct Min {
    c: usize,
    next: BTreeMap<u64, u64>,
}

impl Model for Min {
    fn access(&mut self, block: u64, next: u64) -> bool {
        let hit = self.next.contains_key(&block);
        if !hit && self.next.len() == self.c {
            let (&victim, _) = self.next.iter().max_by_key(|&(_, next)| next).unwrap();
            self.next.remove(&victim);
        }
        self.next.insert(block, next);
        hit
    }

    fn cached(&self) -> Vec<u64> {
        self.next.keys().copied().collect()
    }
}
