//! A device of cells: a test determines the outcome of each I/O, and gets the possible outcomes of
//! a crash.

use std::convert::Infallible;
use std::hash::{Hash, Hasher};

use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::Pages;
use shingle_engine::{Device, Failed, Io, Kind};

use super::cell::Cell;
use crate::simulated::device::Gone;

/// The outcome of an I/O.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    Well,
    /// An error; nothing was done.
    Fails,
    /// An error of a write that was done nevertheless.
    FailsDone,
    /// Nothing was done, without an error: a short count.
    Short,
    /// An error of a flush. The unflushed data is lost, and reads return the old data.
    Forgets,
    /// Likewise, but reads return the lost data for a while.
    ForgetsLater,
    /// Likewise at once; data of writes in flight had arrived before, and is lost too.
    ForgetsUnderWay,
}

/// An I/O in flight.
#[derive(Clone)]
pub(crate) struct Pending {
    pub(crate) io: Io<Cell>,
    /// Number of writes that were done before a flush began.
    covers: usize,
    /// Its data arrived before a failed flush lost it, and does not arrive again.
    swallowed: bool,
}

/// A device.
#[derive(Clone)]
pub(crate) struct Medium {
    device: Device,
    /// What survives a power cut.
    safe: Vec<Cell>,
    /// What reads return.
    now: Vec<Cell>,
    /// Written but not flushed, in order.
    volatile: Vec<(usize, Cell)>,
    /// Pages that a failed flush has lost, although reads still return them.
    lingering: Vec<usize>,
    /// Pages whose newest data a failed flush has lost, until `take_lost`.
    lost: Vec<usize>,
    /// How many bytes of a torn write arrive in a power cut; `None` if writes are not torn.
    torn_bytes: Option<usize>,
    /// A power cut loses either all or none of the unflushed pages from this one on.
    together_from: usize,
    pub(crate) gone: Option<Gone>,
}

impl Medium {
    pub(crate) fn new(device: Device, pages: Vec<Cell>, torn_bytes: Option<usize>) -> Medium {
        let (safe, now) = (pages.clone(), pages);
        let (volatile, lingering, lost) = (Vec::new(), Vec::new(), Vec::new());
        let (together_from, gone) = (usize::MAX, None);
        Medium { device, safe, now, volatile, lingering, lost, torn_bytes, together_from, gone }
    }

    /// For too many pages to be lost or kept individually.
    pub(crate) fn together_from(self, together_from: usize) -> Medium {
        Medium { together_from, ..self }
    }

    /// Adds pages.
    pub(crate) fn grow(&mut self, more: impl Iterator<Item = Cell>) {
        self.now.extend(more);
        self.safe.extend_from_slice(&self.now[self.safe.len()..]);
    }

    pub(crate) fn pages(&self) -> u64 {
        self.now.len() as u64
    }

    pub(crate) fn cell(&self, at: u64) -> Cell {
        self.now[at as usize]
    }

    /// Writes a page and flushes it.
    pub(crate) fn keep(&mut self, page: u64, cell: Cell) {
        self.volatile.retain(|&(at, _)| at as u64 != page);
        (self.now[page as usize], self.safe[page as usize]) = (cell, cell);
    }

    /// Tears a page whose flushed write the power cut interrupted.
    pub(crate) fn tear(&mut self, page: u64, cell: Cell) {
        let torn = self.cell(page).torn(cell, 32, self.device);
        self.keep(page, torn);
    }

    pub(crate) fn flip(&mut self, page: u64) {
        let flipped = self.now[page as usize].flipped();
        (self.now[page as usize], self.safe[page as usize]) = (flipped, flipped);
    }

    pub(crate) fn begin(&self, io: Io<Cell>) -> Pending {
        let pages = if let Kind::Trim(pages) = io.kind { pages as usize } else { io.buffers.len() };
        assert!(io.page as usize + pages <= self.now.len(), "I/O beyond the end");
        Pending { io, covers: self.volatile.len(), swallowed: false }
    }

    fn write(&mut self, at: usize, cell: Cell) {
        self.now[at] = cell;
        self.volatile.push((at, cell));
        self.lingering.retain(|&page| page != at);
    }

    /// The possible faults of an I/O.
    pub(crate) fn faults(&self, pending: &Pending, forgets: bool) -> &'static [How] {
        match pending.io.kind {
            Kind::Read => &[How::Fails, How::Short],
            Kind::Write => &[How::Fails, How::FailsDone, How::Short],
            Kind::Trim(_) => &[How::Fails, How::FailsDone],
            Kind::Flush if forgets => {
                &[How::Fails, How::Forgets, How::ForgetsLater, How::ForgetsUnderWay]
            }
            Kind::Flush => &[How::Fails],
        }
    }

    /// Takes the pages whose newest data a failed flush has lost, with their remaining data.
    pub(crate) fn take_lost(&mut self) -> Vec<(u64, Cell)> {
        let lost = std::mem::take(&mut self.lost);
        lost.into_iter().map(|at| (at as u64, self.safe[at])).collect()
    }

    fn forget(&mut self, others: &mut [Pending], how: How) {
        let device = self.device;
        for other in others.iter_mut().filter(|other| other.io.device == device) {
            other.covers = 0;
            let under_way = changes(&other.io) && !other.swallowed;
            if under_way && how == How::ForgetsUnderWay {
                other.swallowed = true;
                for (at, cell) in made_by(&other.io) {
                    self.write(at, cell);
                }
            }
        }
        let mut pages: Vec<_> =
            std::mem::take(&mut self.volatile).into_iter().map(|(at, _)| at).collect();
        pages.sort_unstable();
        pages.dedup();
        for at in pages {
            self.lost.push(at);
            match how {
                How::ForgetsLater => self.lingering.push(at),
                _ => self.now[at] = self.safe[at],
            }
        }
    }

    /// Completes an I/O, and returns its number of bytes. `others` are in flight too.
    pub(crate) fn end(
        &mut self,
        pending: &mut Pending,
        others: &mut [Pending],
        how: How,
    ) -> Result<usize, Failed> {
        let refused = self.gone.is_some_and(|gone| gone.refuses(&pending.io));
        let how = if refused && how == How::Well { How::Fails } else { how };
        let at = pending.io.page as usize;
        match (pending.io.kind, how) {
            (_, How::Short) => return Ok(0),
            (_, How::Fails) => return Err(Failed),
            (Kind::Read, _) => {
                for (buffer, &cell) in pending.io.buffers.iter_mut().zip(&self.now[at..]) {
                    *buffer = cell;
                }
            }
            (Kind::Write | Kind::Trim(_), _) if pending.swallowed => {}
            (Kind::Write | Kind::Trim(_), _) => {
                for (at, cell) in made_by(&pending.io) {
                    self.write(at, cell);
                }
                if how == How::FailsDone {
                    return Err(Failed);
                }
            }
            (Kind::Flush, How::Well) => {
                for (page, cell) in self.volatile.drain(..pending.covers) {
                    self.safe[page] = cell;
                }
                for other in others.iter_mut().filter(|other| other.io.device == self.device) {
                    other.covers = other.covers.saturating_sub(pending.covers);
                }
            }
            (Kind::Flush, how) => {
                self.forget(others, how);
                return Err(Failed);
            }
        }
        Ok(pending.io.buffers.len() * PAGE_BYTES)
    }

    /// For each page that may have changed since it was flushed: its possible contents after a
    /// power cut.
    pub(crate) fn left_by_cut(&self, pending: &[Pending]) -> Vec<(usize, Vec<Cell>)> {
        let mut left: Vec<(usize, Vec<Cell>)> = Vec::new();
        for (at, cell) in self.volatile.iter().copied().chain(self.written(pending)) {
            let page = match left.iter_mut().find(|(page, _)| *page == at) {
                Some((_, page)) => page,
                None => {
                    left.push((at, vec![self.safe[at]]));
                    &mut left.last_mut().expect("just there").1
                }
            };
            let before = *page.last().expect("what is safe");
            if !page.contains(&cell) {
                page.push(cell);
            }
            let torn = self.torn_bytes.map(|bytes| before.torn(cell, bytes, self.device));
            page.extend(torn.filter(|torn| !page.contains(torn)));
        }
        left.retain(|(_, cells)| cells.len() > 1);
        left
    }

    /// The number of possible outcomes of a power cut.
    pub(crate) fn cut_outcomes(&self, pending: &[Pending]) -> usize {
        let left = self.left_by_cut(pending);
        let (alone, together): (Vec<_>, Vec<_>) =
            left.iter().partition(|(page, _)| *page < self.together_from);
        let each: usize = alone.iter().map(|(_, cells)| cells.len()).product();
        each << usize::from(!together.is_empty())
    }

    /// Cuts the power, with one of these outcomes; the rest of the number is for the next device.
    pub(crate) fn cut(&mut self, pending: &[Pending], outcome: &mut usize) {
        let mut together = None;
        for (at, cells) in self.left_by_cut(pending) {
            let mut choose = |ways: usize| {
                let chosen = *outcome % ways;
                *outcome /= ways;
                chosen
            };
            self.safe[at] = match at < self.together_from {
                true => cells[choose(cells.len())],
                false => cells[*together.get_or_insert_with(|| choose(2)) * (cells.len() - 1)],
            };
        }
        self.now.clone_from(&self.safe);
        self.volatile.clear();
        self.lingering.clear();
    }

    /// Pages in flight to the medium.
    pub(crate) fn written(&self, pending: &[Pending]) -> Vec<(usize, Cell)> {
        let of = |pending: &&Pending| {
            pending.io.device == self.device && changes(&pending.io) && !pending.swallowed
        };
        pending.iter().filter(of).flat_map(|pending| made_by(&pending.io)).collect()
    }

    /// Kills the process: of the pages in flight these arrive.
    pub(crate) fn kill(&mut self, arrived: impl IntoIterator<Item = (usize, Cell)>) {
        for at in std::mem::take(&mut self.lingering) {
            self.now[at] = self.safe[at];
        }
        for (at, cell) in arrived {
            self.write(at, cell);
        }
    }

    /// Hashes everything that affects the future.
    pub(crate) fn hash_state<H: Hasher>(&self, pending: &[Pending], into: &mut H) {
        let Medium { device, safe, now, volatile, lingering, gone, .. } = self;
        let Medium { lost: _, torn_bytes: _, together_from: _, .. } = self;
        safe.hash(into);
        // (For all other pages the data read follows from the safe and the volatile data.)
        lingering.iter().for_each(|&at| (at, now[at]).hash(into));
        gone.map(|gone| format!("{gone:?}")).hash(into);
        // In the order of pages, as the order matters only among writes of one page; with the
        // flushes in flight that cover each.
        let flushes = pending.iter().filter(|one| one.io.kind == Kind::Flush);
        let flushes: Vec<_> = flushes.filter(|one| one.io.device == *device).collect();
        let covered = |at: usize| flushes.iter().filter(|flush| at < flush.covers).count();
        let mut by_page: Vec<_> =
            volatile.iter().enumerate().map(|(at, &(page, cell))| (page, at, cell)).collect();
        by_page.sort_unstable_by_key(|&(page, at, _)| (page, at));
        by_page.len().hash(into);
        by_page.iter().for_each(|&(page, at, cell)| (page, covered(at), cell).hash(into));
    }
}

pub(crate) fn changes(io: &Io<Cell>) -> bool {
    matches!(io.kind, Kind::Write | Kind::Trim(_))
}

/// The new contents of pages: trimmed ones are zeros.
fn made_by(io: &Io<Cell>) -> Vec<(usize, Cell)> {
    let first = io.page as usize;
    match io.kind {
        Kind::Write => (first..).zip(io.buffers.iter().copied()).collect(),
        Kind::Trim(pages) => (first..first + pages as usize).map(|at| (at, Cell::ZEROS)).collect(),
        Kind::Read | Kind::Flush => Vec::new(),
    }
}

impl Pending {
    /// Hashes everything except its number.
    pub(crate) fn hash_state<H: Hasher>(&self, into: &mut H) {
        let Io { id: _, device, kind, page, buffers } = &self.io;
        (device, kind, page, self.swallowed).hash(into);
        if *kind == Kind::Write {
            buffers.hash(into);
        }
    }
}

impl Pages for Medium {
    type Error = Infallible;

    fn read(&mut self, first: u64, out: &mut [Page]) -> Result<(), Infallible> {
        for (page, cell) in out.iter_mut().zip(&self.now[first as usize..]) {
            *page = cell.page();
        }
        Ok(())
    }
}
