//! A device with a volatile cache: when the power goes, of every write that was not flushed any of
//! its sectors may be there. A flush that fails may forget what it should have kept, as the page cache of Linux
//! does: what could not be written counts as written from then on, and later flushes go well.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::rc::Rc;

use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::Pages;
use shingle_engine::{Device, Failed, Io, Kind};

use super::Rng;

/// A device.
#[derive(Clone)]
pub(crate) struct Simulated {
    /// What a power cut leaves.
    safe: Vec<Rc<Page>>,
    /// What is read.
    now: Vec<Rc<Page>>,
    /// Written and not flushed, in order.
    volatile: Vec<(usize, Rc<Page>)>,
    /// Lost by a flush that failed, and read as if it were not.
    lingering: BTreeSet<usize>,
    /// Pages of which a failed flush has lost the newest, until they are asked for.
    lost: Vec<usize>,
    /// Bytes that are written wholly or not at all.
    atom_bytes: usize,
    /// One in so many I/Os fails; 0: none.
    pub(crate) faults: Faults,
    /// It has failed, in this way, until it is healed.
    pub(crate) gone: Option<Gone>,
}

/// How a device fails for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gone {
    /// It does nothing any more.
    Silent,
    /// It is read, and takes no write.
    ReadOnly,
    /// It is read and takes no write on these pages.
    Part(u64, u64),
    /// It takes writes and does not flush them.
    Unflushed,
}

impl Gone {
    pub(crate) fn refuses<D>(self, io: &Io<D>) -> bool {
        match (self, io.kind) {
            (Gone::Silent, _)
            | (Gone::ReadOnly, Kind::Write | Kind::Trim(_))
            | (Gone::Unflushed, Kind::Flush) => true,
            (Gone::Part(from, to), Kind::Write | Kind::Trim(_)) => (from..to).contains(&io.page),
            _ => false,
        }
    }
}

/// How often something fails: one in so many, 0 for never.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Faults {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) flushes: u64,
    /// Reads and writes of which only a part is done.
    pub(crate) short: u64,
}

/// An I/O under way.
pub(crate) struct Pending {
    pub(crate) io: Io,
    /// Writes done before a flush began.
    covers: usize,
    /// Its data arrived before a flush failed that has lost it, and does not arrive again.
    swallowed: bool,
}

impl Simulated {
    pub(crate) fn new(pages: Vec<Page>, atom_bytes: usize) -> Simulated {
        let safe: Vec<_> = pages.into_iter().map(Rc::new).collect();
        let now = safe.clone();
        Simulated {
            safe,
            now,
            volatile: Vec::new(),
            lingering: BTreeSet::new(),
            lost: Vec::new(),
            atom_bytes,
            faults: Faults::default(),
            gone: None,
        }
    }

    /// It has more pages.
    pub(crate) fn grow(&mut self, pages: impl Iterator<Item = Page>) {
        for page in pages {
            let page = Rc::new(page);
            self.safe.push(Rc::clone(&page));
            self.now.push(page);
        }
    }

    pub(crate) fn pages(&self) -> u64 {
        self.now.len() as u64
    }

    pub(crate) fn page(&self, at: u64) -> &Page {
        &self.now[at as usize]
    }

    /// Writes a page, and flushes it. (A device would flush all it has: this is worse.)
    pub(crate) fn keep(&mut self, page: u64, bytes: &Page) {
        self.volatile.retain(|&(at, _)| at as u64 != page);
        let bytes = Rc::new(*bytes);
        for copy in [&mut self.now, &mut self.safe] {
            copy[page as usize] = Rc::clone(&bytes);
        }
    }

    pub(crate) fn flip_bit(&mut self, page: u64, bit: usize) {
        for copy in [&mut self.now, &mut self.safe] {
            Rc::make_mut(&mut copy[page as usize])[bit / 8] ^= 1 << (bit % 8);
        }
    }

    pub(crate) fn begin(&self, io: Io) -> Pending {
        let pages = if let Kind::Trim(pages) = io.kind { pages as usize } else { io.buffers.len() };
        assert!(io.page as usize + pages <= self.now.len(), "I/O beyond the end");
        Pending { io, covers: self.volatile.len(), swallowed: false }
    }

    fn write(&mut self, at: usize, page: Page) {
        let page = Rc::new(page);
        self.now[at] = Rc::clone(&page);
        self.volatile.push((at, page));
        self.lingering.remove(&at);
    }

    /// What is left of pages of which a failed flush has lost the newest.
    pub(crate) fn take_lost(&mut self) -> Vec<(u64, Page)> {
        let lost = std::mem::take(&mut self.lost);
        lost.into_iter().map(|at| (at as u64, *self.safe[at])).collect()
    }

    /// A flush fails. Of each page that was not flushed the newest is kept, or may be kept yet, or is
    /// lost. What is being written may be among it.
    fn forget(&mut self, others: &mut [Pending], device: Device, rng: &mut Rng) {
        for other in others.iter_mut().filter(|other| other.io.device == device) {
            other.covers = 0;
            if changes(&other.io) && !other.swallowed && rng.one_in(3) {
                other.swallowed = true;
                for (at, page) in written(&other.io) {
                    self.write(at, page);
                }
            }
        }
        let newest: BTreeMap<usize, Rc<Page>> =
            std::mem::take(&mut self.volatile).into_iter().collect();
        for (at, page) in newest {
            match rng.below(4) {
                0 => self.safe[at] = page,
                1 => self.volatile.push((at, page)),
                lost => {
                    self.lost.push(at);
                    match lost {
                        2 => drop(self.lingering.insert(at)),
                        _ => self.now[at] = Rc::clone(&self.safe[at]),
                    }
                }
            }
        }
    }

    /// Pages that are lost and still read may leave the page cache.
    fn evict(&mut self, rng: &mut Rng) {
        if let Some(&at) = self.lingering.first()
            && rng.one_in(8)
        {
            self.lingering.remove(&at);
            self.now[at] = Rc::clone(&self.safe[at]);
        }
    }

    /// Carries an I/O out, and returns how many bytes of it. `others` are under way, too.
    pub(crate) fn end(
        &mut self,
        pending: &mut Pending,
        others: &mut [Pending],
        rng: &mut Rng,
    ) -> Result<usize, Failed> {
        let io = &mut pending.io;
        let at = io.page as usize;
        if self.gone.is_some_and(|gone| gone.refuses(io)) {
            if io.kind == Kind::Flush && rng.one_in(2) {
                self.forget(others, io.device, rng);
            }
            return Err(Failed);
        }
        let pages = io.buffers.len();
        let short = !io.kind.is_without_data() && rng.one_in(self.faults.short);
        let done = if short { rng.below(pages as u64) as usize } else { pages };
        match io.kind {
            Kind::Read => {
                self.evict(rng);
                if rng.one_in(self.faults.reads) {
                    return Err(Failed);
                }
                for (buffer, page) in io.buffers.iter_mut().zip(&self.now[at..]).take(done) {
                    buffer.0 = **page;
                }
            }
            Kind::Write | Kind::Trim(_) if pending.swallowed => {}
            Kind::Trim(_) => {
                let fails = rng.one_in(self.faults.writes);
                for (at, page) in written(io) {
                    // It may as well keep what is there, of those that it does and of those that it does not.
                    if rng.one_in(2) {
                        self.write(at, page);
                    }
                }
                if fails {
                    return Err(Failed);
                }
            }
            Kind::Write => {
                let fails = rng.one_in(self.faults.writes);
                for (n, buffer) in io.buffers.iter().enumerate().take(done) {
                    // Of a write that failed nobody knows what is there.
                    if !fails || rng.one_in(2) {
                        self.write(at + n, buffer.0);
                    }
                }
                if fails {
                    return Err(Failed);
                }
            }
            Kind::Flush => {
                if rng.one_in(self.faults.flushes) {
                    if rng.one_in(2) {
                        self.forget(others, io.device, rng);
                    }
                    return Err(Failed);
                }
                for (page, bytes) in self.volatile.drain(..pending.covers) {
                    self.safe[page] = bytes;
                }
                for other in others.iter_mut().filter(|other| other.io.device == io.device) {
                    other.covers = other.covers.saturating_sub(pending.covers);
                }
            }
        }
        Ok(done * PAGE_BYTES)
    }

    /// The power goes.
    pub(crate) fn cut(&mut self, under_way: &[&Io], rng: &mut Rng) {
        let mut lost = std::mem::take(&mut self.volatile);
        for io in under_way.iter().filter(|io| changes(io)) {
            lost.extend(written(io).into_iter().map(|(at, page)| (at, Rc::new(page))));
        }
        let whole = rng.below(4);
        for (page, bytes) in lost {
            let arrived = match rng.below(3) {
                _ if whole == 0 => 0,
                0 => 0,
                1 => u64::MAX,
                _ => rng.next(),
            };
            if arrived == u64::MAX {
                self.safe[page] = bytes;
                continue;
            }
            for (n, part) in bytes.chunks(self.atom_bytes).enumerate() {
                if arrived >> n & 1 != 0 {
                    let safe = Rc::make_mut(&mut self.safe[page]);
                    safe[n * self.atom_bytes..][..part.len()].copy_from_slice(part);
                }
            }
        }
        self.now.clone_from(&self.safe);
        self.lingering.clear();
    }

    /// The process is killed: what was handed over is there, what was under way perhaps, in any order.
    /// (The lock on the devices lives as long as any I/O: nobody reads them before.) What a failed flush
    /// has lost is not read any more: no later process could know of it.
    pub(crate) fn kill(&mut self, under_way: &[&Io], rng: &mut Rng) {
        for at in std::mem::take(&mut self.lingering) {
            self.now[at] = Rc::clone(&self.safe[at]);
        }
        let mut under_way = under_way.to_vec();
        while !under_way.is_empty() {
            self.land(under_way.swap_remove(rng.below(under_way.len() as u64) as usize), rng);
        }
    }

    /// I/O of a process that is no more: any of its pages arrive.
    pub(crate) fn land(&mut self, io: &Io, rng: &mut Rng) {
        for (at, page) in written(io) {
            if rng.one_in(2) {
                self.write(at, page);
            }
        }
    }
}

fn changes(io: &Io) -> bool {
    matches!(io.kind, Kind::Write | Kind::Trim(_))
}

/// What an I/O makes of pages: those that are trimmed are zeros.
fn written(io: &Io) -> Vec<(usize, Page)> {
    let first = io.page as usize;
    match io.kind {
        Kind::Write => (first..).zip(io.buffers.iter().map(|buffer| buffer.0)).collect(),
        Kind::Trim(pages) => {
            (first..first + pages as usize).map(|at| (at, [0; PAGE_BYTES])).collect()
        }
        Kind::Read | Kind::Flush => Vec::new(),
    }
}

impl Pages for Simulated {
    type Error = Infallible;

    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), Infallible> {
        for (out, page) in out.iter_mut().zip(&self.now[first as usize..]) {
            *out = **page;
        }
        Ok(())
    }
}

const _: () = assert!(PAGE_BYTES == 4096);
