//! A device with a volatile cache: when the power goes, of every write that was not flushed any of
//! its sectors may be there.

use std::convert::Infallible;

use shingle_store::engine::{Failed, Io, Kind};
use shingle_store::format::{PAGE_BYTES, Page};
use shingle_store::recover::Pages;

use super::Rng;

/// A device.
#[derive(Clone)]
pub(crate) struct Simulated {
    /// What a power cut leaves.
    safe: Vec<Page>,
    /// What is read.
    now: Vec<Page>,
    /// Written and not flushed, in order.
    volatile: Vec<(usize, Page)>,
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
    fn refuses(self, io: &Io) -> bool {
        match (self, io.kind) {
            (Gone::Silent, _) | (Gone::ReadOnly, Kind::Write) | (Gone::Unflushed, Kind::Flush) => {
                true
            }
            (Gone::Part(from, to), Kind::Write) => (from..to).contains(&io.page),
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
}

/// An I/O under way.
pub(crate) struct Pending {
    pub(crate) io: Io,
    /// Writes done before a flush began.
    covers: usize,
}

impl Simulated {
    pub(crate) fn new(pages: Vec<Page>, atom_bytes: usize) -> Simulated {
        let (safe, now) = (pages.clone(), pages);
        Simulated {
            safe,
            now,
            volatile: Vec::new(),
            atom_bytes,
            faults: Faults::default(),
            gone: None,
        }
    }

    pub(crate) fn page(&self, at: u64) -> &Page {
        &self.now[at as usize]
    }

    pub(crate) fn flip_bit(&mut self, page: u64, bit: usize) {
        for copy in [&mut self.now, &mut self.safe] {
            copy[page as usize][bit / 8] ^= 1 << (bit % 8);
        }
    }

    pub(crate) fn begin(&self, io: Io) -> Pending {
        assert!(io.page as usize + io.buffers.len() <= self.now.len(), "I/O beyond the end");
        Pending { io, covers: self.volatile.len() }
    }

    /// Carries an I/O out. `others` are under way, too.
    pub(crate) fn end(
        &mut self,
        pending: &mut Pending,
        others: &mut [Pending],
        rng: &mut Rng,
    ) -> Result<(), Failed> {
        let io = &mut pending.io;
        let at = io.page as usize;
        if self.gone.is_some_and(|gone| gone.refuses(io)) {
            return Err(Failed);
        }
        match io.kind {
            Kind::Read => {
                if rng.one_in(self.faults.reads) {
                    return Err(Failed);
                }
                for (buffer, page) in io.buffers.iter_mut().zip(&self.now[at..]) {
                    buffer.0 = *page;
                }
            }
            Kind::Write => {
                let fails = rng.one_in(self.faults.writes);
                for (n, buffer) in io.buffers.iter().enumerate() {
                    // Of a write that failed nobody knows what is there.
                    if !fails || rng.one_in(2) {
                        self.now[at + n] = buffer.0;
                        self.volatile.push((at + n, buffer.0));
                    }
                }
                if fails {
                    return Err(Failed);
                }
            }
            Kind::Flush => {
                if rng.one_in(self.faults.flushes) {
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
        Ok(())
    }

    /// The power goes.
    pub(crate) fn cut(&mut self, under_way: &[&Io], rng: &mut Rng) {
        let mut lost = std::mem::take(&mut self.volatile);
        for io in under_way.iter().filter(|io| io.kind == Kind::Write) {
            lost.extend((io.page as usize..).zip(&io.buffers).map(|(at, b)| (at, b.0)));
        }
        let whole = rng.below(4);
        for (page, bytes) in lost {
            let arrived = match rng.below(3) {
                _ if whole == 0 => 0,
                0 => 0,
                1 => u64::MAX,
                _ => rng.next(),
            };
            for (n, part) in bytes.chunks(self.atom_bytes).enumerate() {
                if arrived >> n & 1 != 0 {
                    self.safe[page][n * self.atom_bytes..][..part.len()].copy_from_slice(part);
                }
            }
        }
        self.now.clone_from(&self.safe);
    }

    /// The process is killed: what was handed over is there, what was under way perhaps.
    pub(crate) fn kill(&mut self, under_way: &[&Io], rng: &mut Rng) {
        for io in under_way.iter().filter(|io| io.kind == Kind::Write) {
            for (at, buffer) in (io.page as usize..).zip(&io.buffers) {
                if rng.one_in(2) {
                    self.now[at] = buffer.0;
                    self.volatile.push((at, buffer.0));
                }
            }
        }
    }
}

impl Pages for Simulated {
    type Error = Infallible;

    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), Infallible> {
        out.copy_from_slice(&self.now[first as usize..][..out.len()]);
        Ok(())
    }
}

const _: () = assert!(PAGE_BYTES == 4096);
