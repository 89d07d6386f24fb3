//! A device of cells, which does to each I/O what it is told to, and says what a crash may leave.

use std::convert::Infallible;
use std::hash::{Hash, Hasher};

use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::Pages;
use shingle_engine::{Device, Failed, Io, Kind};

use super::cell::Cell;
use crate::simulated::device::Gone;

/// What becomes of an I/O.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    Well,
    /// An error, and nothing was done.
    Fails,
    /// An error of a write that was done, all the same.
    FailsDone,
    /// It says that nothing of it was done, and gives no error.
    Short,
    /// An error of a flush. What was not flushed is gone, and reads as it was before.
    Forgets,
    /// Likewise, and reads as if it were not gone.
    ForgetsLater,
    /// Likewise at once; and what is being written had arrived before, and is gone, too.
    ForgetsUnderWay,
}

/// An I/O under way.
#[derive(Clone)]
pub(crate) struct Pending {
    pub(crate) io: Io<Cell>,
    /// Writes done before a flush began.
    covers: usize,
    /// Its data arrived before a flush failed that has lost it, and does not arrive again.
    swallowed: bool,
}

/// A device.
#[derive(Clone)]
pub(crate) struct Medium {
    device: Device,
    /// What a power cut leaves.
    safe: Vec<Cell>,
    /// What is read.
    now: Vec<Cell>,
    /// Written and not flushed, in order.
    volatile: Vec<(usize, Cell)>,
    /// Lost by a flush that failed, and read as if it were not.
    lingering: Vec<usize>,
    /// Pages of which a failed flush has lost the newest, until they are asked for.
    lost: Vec<usize>,
    /// Of a write that a power cut tears so many bytes arrive; `None` if it tears none.
    torn_bytes: Option<usize>,
    /// From this page on a power cut takes all that was not flushed, or nothing of it.
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

    /// Where there are too many pages for each to be lost or kept by itself.
    pub(crate) fn together_from(self, together_from: usize) -> Medium {
        Medium { together_from, ..self }
    }

    /// It has more pages.
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

    /// Writes a page, and flushes it.
    pub(crate) fn keep(&mut self, page: u64, cell: Cell) {
        self.volatile.retain(|&(at, _)| at as u64 != page);
        (self.now[page as usize], self.safe[page as usize]) = (cell, cell);
    }

    /// Of a page that was being kept when the power went.
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

    /// Which ways an I/O may go wrong.
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

    /// What of pages a failed flush has lost, with what is left.
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

    /// Carries an I/O out, and returns how many bytes of it. `others` are under way, too.
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

    /// Of each page that is not as it was flushed last: what the power may leave there when it goes.
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

    /// How many different things a power cut may leave.
    pub(crate) fn cut_outcomes(&self, pending: &[Pending]) -> usize {
        let left = self.left_by_cut(pending);
        let (alone, together): (Vec<_>, Vec<_>) =
            left.iter().partition(|(page, _)| *page < self.together_from);
        let each: usize = alone.iter().map(|(_, cells)| cells.len()).product();
        each << usize::from(!together.is_empty())
    }

    /// The power goes, and leaves this one of them; what is left of the number is for the next device.
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

    /// Pages that are being written.
    pub(crate) fn written(&self, pending: &[Pending]) -> Vec<(usize, Cell)> {
        let of = |pending: &&Pending| {
            pending.io.device == self.device && changes(&pending.io) && !pending.swallowed
        };
        pending.iter().filter(of).flat_map(|pending| made_by(&pending.io)).collect()
    }

    /// The process is killed: of the pages that were being written these arrive.
    pub(crate) fn kill(&mut self, arrived: impl IntoIterator<Item = (usize, Cell)>) {
        for at in std::mem::take(&mut self.lingering) {
            self.now[at] = self.safe[at];
        }
        for (at, cell) in arrived {
            self.write(at, cell);
        }
    }

    /// All that decides what it does from now on.
    pub(crate) fn hash_state<H: Hasher>(&self, pending: &[Pending], into: &mut H) {
        let Medium { device, safe, now, volatile, lingering, gone, .. } = self;
        let Medium { lost: _, torn_bytes: _, together_from: _, .. } = self;
        safe.hash(into);
        // (Of all others what is read follows from what is safe and what was written since.)
        lingering.iter().for_each(|&at| (at, now[at]).hash(into));
        gone.map(|gone| format!("{gone:?}")).hash(into);
        // In the order of pages, as the order matters only where there are several of one; and by which flushes
        // that are under way each is covered.
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

/// What an I/O makes of pages: those that are trimmed are zeros.
fn made_by(io: &Io<Cell>) -> Vec<(usize, Cell)> {
    let first = io.page as usize;
    match io.kind {
        Kind::Write => (first..).zip(io.buffers.iter().copied()).collect(),
        Kind::Trim(pages) => (first..first + pages as usize).map(|at| (at, Cell::ZEROS)).collect(),
        Kind::Read | Kind::Flush => Vec::new(),
    }
}

impl Pending {
    /// All of it but its number.
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
