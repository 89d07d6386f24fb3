//! A device with a volatile cache: in a power cut any sectors of unflushed writes may survive. A
//! failed flush may lose data, as in the page cache of Linux: data that could not be written counts
//! as written from then on, and later flushes succeed.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::Pages;
use shingle_engine::{Device, Failed, Io, Kind};

use super::Rng;

/// A device.
#[derive(Clone)]
pub(crate) struct Simulated {
    /// What survives a power cut.
    safe: Vec<Arc<Page>>,
    /// What reads return.
    now: Vec<Arc<Page>>,
    /// Written but not flushed, in order.
    volatile: Vec<(usize, Arc<Page>)>,
    /// Pages that a failed flush has lost, although reads still return them.
    lingering: BTreeSet<usize>,
    /// Pages whose newest data a failed flush has lost, until `take_lost`.
    lost: Vec<usize>,
    /// The size of an atomic write.
    atom_bytes: usize,
    /// One I/O in this many fails; 0: none.
    pub(crate) faults: Faults,
    /// How it has failed, until it recovers.
    pub(crate) gone: Option<Gone>,
}

/// How a device fails for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gone {
    /// All I/O fails.
    Silent,
    /// Writes fail.
    ReadOnly,
    /// Writes fail on these pages.
    Part(u64, u64),
    /// Flushes fail.
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

/// How often an I/O fails: one in this many, 0 for never.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Faults {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) flushes: u64,
    /// Reads and writes that are only partly done.
    pub(crate) short: u64,
}

/// An I/O in flight.
pub(crate) struct Pending {
    pub(crate) io: Io,
    /// Number of writes that were done before a flush began.
    covers: usize,
    /// Its data arrived before a failed flush lost it, and does not arrive again.
    swallowed: bool,
}

impl Simulated {
    pub(crate) fn new(pages: Vec<Page>, atom_bytes: usize) -> Simulated {
        let safe: Vec<_> = pages.into_iter().map(Arc::new).collect();
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

    /// Adds pages.
    pub(crate) fn grow(&mut self, pages: impl Iterator<Item = Page>) {
        for page in pages {
            let page = Arc::new(page);
            self.safe.push(Arc::clone(&page));
            self.now.push(page);
        }
    }

    pub(crate) fn pages(&self) -> u64 {
        self.now.len() as u64
    }

    pub(crate) fn page(&self, at: u64) -> &Page {
        &self.now[at as usize]
    }

    /// Writes a page and flushes it. (A device would flush everything: this is worse.)
    pub(crate) fn keep(&mut self, page: u64, bytes: &Page) {
        self.volatile.retain(|&(at, _)| at as u64 != page);
        let bytes = Arc::new(*bytes);
        for copy in [&mut self.now, &mut self.safe] {
            copy[page as usize] = Arc::clone(&bytes);
        }
    }

    pub(crate) fn flip_bit(&mut self, page: u64, bit: usize) {
        for copy in [&mut self.now, &mut self.safe] {
            Arc::make_mut(&mut copy[page as usize])[bit / 8] ^= 1 << (bit % 8);
        }
    }

    pub(crate) fn begin(&self, io: Io) -> Pending {
        let pages = if let Kind::Trim(pages) = io.kind { pages as usize } else { io.buffers.len() };
        assert!(io.page as usize + pages <= self.now.len(), "I/O beyond the end");
        Pending { io, covers: self.volatile.len(), swallowed: false }
    }

    fn write(&mut self, at: usize, page: Page) {
        let page = Arc::new(page);
        self.now[at] = Arc::clone(&page);
        self.volatile.push((at, page));
        self.lingering.remove(&at);
    }

    /// Takes the pages whose newest data a failed flush has lost, with their remaining data.
    pub(crate) fn take_lost(&mut self) -> Vec<(u64, Page)> {
        let lost = std::mem::take(&mut self.lost);
        lost.into_iter().map(|at| (at as u64, *self.safe[at])).collect()
    }

    /// A flush fails. The newest data of each unflushed page is kept, or may still be kept, or is
    /// lost, including data of writes in flight.
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
        let newest: BTreeMap<usize, Arc<Page>> =
            std::mem::take(&mut self.volatile).into_iter().collect();
        for (at, page) in newest {
            match rng.below(4) {
                0 => self.safe[at] = page,
                1 => self.volatile.push((at, page)),
                lost => {
                    self.lost.push(at);
                    match lost {
                        2 => drop(self.lingering.insert(at)),
                        _ => self.now[at] = Arc::clone(&self.safe[at]),
                    }
                }
            }
        }
    }

    /// The page cache may drop pages that are lost and still read.
    fn evict(&mut self, rng: &mut Rng) {
        if let Some(&at) = self.lingering.first()
            && rng.one_in(8)
        {
            self.lingering.remove(&at);
            self.now[at] = Arc::clone(&self.safe[at]);
        }
    }

    /// Completes an I/O, and returns its number of bytes. `others` are in flight too.
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
                    // Pages may keep their old contents, whether the trim succeeds or not.
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
                    // After a failed write the contents are unknown.
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

    /// A power cut.
    pub(crate) fn cut(&mut self, under_way: &[&Io], rng: &mut Rng) {
        let mut lost = std::mem::take(&mut self.volatile);
        for io in under_way.iter().filter(|io| changes(io)) {
            lost.extend(written(io).into_iter().map(|(at, page)| (at, Arc::new(page))));
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
                    let safe = Arc::make_mut(&mut self.safe[page]);
                    safe[n * self.atom_bytes..][..part.len()].copy_from_slice(part);
                }
            }
        }
        self.now.clone_from(&self.safe);
        self.lingering.clear();
    }

    /// A kill of the process: submitted data is there, data in flight may be, in any order. (The
    /// devices are locked as long as any I/O lives: they are not read before.) Data lost by a
    /// failed flush is no longer read: no later process could know about it.
    pub(crate) fn kill(&mut self, under_way: &[&Io], rng: &mut Rng) {
        for at in std::mem::take(&mut self.lingering) {
            self.now[at] = Arc::clone(&self.safe[at]);
        }
        let mut under_way = under_way.to_vec();
        while !under_way.is_empty() {
            self.land(under_way.swap_remove(rng.below(under_way.len() as u64) as usize), rng);
        }
    }

    /// Late I/O of a killed process: any of its pages arrive.
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

/// The new contents of pages: trimmed ones are zeros.
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
