//! The port: I/O to both devices, and the memory for it. Pages are queued one by one, and
//! neighbours are joined to one I/O. An I/O of many pages that fails is repeated page by page, so
//! that only the pages with an error fail.

mod completions;
#[cfg(feature = "bugs")]
mod state;

use shingle_core::observer::{Event, Shared};
use shingle_core::policy::Cost;
use shingle_core::units::{Block, Nanos, Op};
use slab::Slab;

use super::keys::{JobKey, OpKey};
use crate::buffer::Buffer;
use crate::bugs::{Bug, Seeded};
use crate::data::{Data, Pool};
use crate::format::{PAGE_BYTES, Page};
use crate::journal::PageKind;
pub(super) use completions::Completions;

/// The highest number of pages in one I/O: 512 KiB, as in the simulator.
pub const IO_PAGES_MAX: usize = 128;

/// One of the two devices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Device {
    /// The device of the cache.
    Ssd,
    /// The device that is cached.
    Disk,
}

/// The kind of an I/O.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Read into the buffers.
    Read,
    /// Write the buffers.
    Write,
    /// Make everything durable that was written before the flush was submitted.
    Flush,
    /// Discard this many pages. They may then read as anything that was ever written there, or as
    /// zeros; after the next flush that does not change any more.
    Trim(u64),
}

impl Kind {
    /// Whether I/Os of this kind have no buffers.
    #[must_use]
    pub fn is_without_data(self) -> bool {
        matches!(self, Kind::Flush | Kind::Trim(_))
    }
}

/// Identifies an I/O until it is done. Ids are small and reused, so an owner may use them as
/// indices of a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct IoId(pub u64);

/// The id of an I/O that is queued.
const UNNAMED: IoId = IoId(u64::MAX);

/// An I/O to carry out. I/Os in flight may complete in any order.
#[derive(Clone)]
pub struct Io<D = Buffer> {
    /// Its id.
    pub id: IoId,
    /// The device.
    pub device: Device,
    /// What to do.
    pub kind: Kind,
    /// The first page, in units of 4 KiB.
    pub page: u64,
    /// One buffer a page; none for a flush or a trim.
    pub buffers: Vec<D>,
}

/// The error of a device that did not carry out an I/O.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failed;

/// What has to follow when a page, a flush or a trim is done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Completion {
    /// A block was read from its frame, for a request.
    FrameRead(OpKey),
    /// A block was read from the disk, for a request.
    DiskRead(OpKey),
    /// The data of a request is in its frame.
    FrameWritten(OpKey),
    /// The data of a request is on the disk.
    DiskWritten(OpKey),
    /// A block to be destaged was read from its frame.
    DestageRead(JobKey),
    /// A destaged block was written to the disk.
    Destaged(JobKey),
    /// A block of a band was read from the disk, to be written back. Numbers count from the start
    /// of the band.
    BandRead(u32),
    /// A block of a band was read from its frame.
    BandSlotRead(u32),
    /// A block of a band was written to the disk.
    BandWritten(u32),
    /// A page of metadata was written.
    Meta(PageKind),
    SsdFlushed,
    /// A copy of the superblock that invalidates the SSD was written.
    InvalidationWritten,
    DiskFlushed,
    /// A range of the disk was trimmed.
    Trimmed,
}

/// An I/O that is in flight.
#[derive(Clone)]
struct UnderWay {
    device: Device,
    kind: Kind,
    page: u64,
    completions: Completions,
    since: Nanos,
    /// A flush of the disk failed in the meantime and may have lost this write: it is repeated.
    repeat: bool,
}

/// The result of a completed I/O.
pub(super) struct Done {
    /// What has to follow: one entry a page, or one for a flush or a trim. Empty if the I/O is
    /// repeated.
    pub(super) completions: Completions,
    pub(super) result: Result<(), Failed>,
    /// How long the disk took.
    pub(super) cost: Option<Cost>,
}

/// Queued I/O, I/O in flight, and unused memory.
#[derive(Clone)]
pub(super) struct Port<D> {
    under_way: Slab<UnderWay>,
    /// Submitted I/Os, then queued ones. A queued I/O has no id yet, and following pages may join
    /// the last one.
    ios: Vec<Io<D>>,
    issued: usize,
    /// The completions of the queued I/Os.
    queued: Vec<Completions>,
    pool: Pool<D>,
    /// Pages written to the SSD since the count was last taken.
    ssd_written: u64,
    /// Empty lists of I/Os that are done, kept for reuse.
    lists: Vec<Vec<D>>,
    many: Vec<Vec<Completion>>,
    bugs: Seeded,
}

/// The highest number of such lists.
const LISTS_MAX: usize = 1024;

impl<D: Data> Port<D> {
    pub(super) fn new(bugs: Seeded) -> Port<D> {
        Port {
            under_way: Slab::new(),
            ios: Vec::new(),
            issued: 0,
            queued: Vec::new(),
            pool: Pool::default(),
            ssd_written: 0,
            lists: Vec::new(),
            many: Vec::new(),
            bugs,
        }
    }

    /// A buffer with arbitrary content.
    pub(super) fn buffer(&mut self) -> D {
        self.pool.take()
    }

    pub(super) fn give(&mut self, buffer: D) {
        self.pool.give(buffer);
    }

    pub(super) fn read(&mut self, device: Device, page: u64, completion: Completion) {
        let buffer = self.pool.take();
        self.queue(device, Kind::Read, page, buffer, completion);
    }

    pub(super) fn write(&mut self, device: Device, page: u64, buffer: D, completion: Completion) {
        self.queue(device, Kind::Write, page, buffer, completion);
    }

    fn queue(&mut self, device: Device, kind: Kind, page: u64, buffer: D, completion: Completion) {
        self.ssd_written += u64::from((device, kind) == (Device::Ssd, Kind::Write));
        if let (Some(completions), Some(last)) = (self.queued.last_mut(), self.ios.last_mut())
            && (last.page + last.buffers.len() as u64, last.device, last.kind)
                == (page, device, kind)
            && last.buffers.len() < IO_PAGES_MAX
        {
            last.buffers.push(buffer);
            return completions.push(completion, &mut self.many);
        }
        let mut buffers = self.lists.pop().unwrap_or_default();
        buffers.push(buffer);
        self.ios.push(Io { id: UNNAMED, device, kind, page, buffers });
        self.queued.push(Completions::One(completion));
    }

    /// Queues the write of a page of metadata to the SSD.
    pub(super) fn write_meta(&mut self, page: u64, bytes: &Page, completion: Completion) {
        let mut buffer = self.pool.take();
        buffer.set_page(bytes);
        self.write(Device::Ssd, page, buffer, completion);
    }

    /// Submits a flush at once. It covers the writes that are done. Callers must not rely on it for
    /// writes that are queued or in flight.
    pub(super) fn flush(&mut self, device: Device, completion: Completion, now: Nanos) {
        self.begin(device, Kind::Flush, 0, Completions::One(completion), Vec::new(), now);
    }

    /// Submits a trim at once.
    pub(super) fn trim(&mut self, page: u64, pages: u64, now: Nanos) {
        let completions = Completions::One(Completion::Trimmed);
        self.begin(Device::Disk, Kind::Trim(pages), page, completions, Vec::new(), now);
    }

    /// Submits the queued I/O.
    pub(super) fn issue(&mut self, now: Nanos) {
        let queued = self.ios[self.issued..].iter_mut().zip(self.queued.drain(..));
        for (io, completions) in queued {
            let Io { device, kind, page, .. } = *io;
            let (since, repeat) = (now, false);
            let under_way = UnderWay { device, kind, page, completions, since, repeat };
            io.id = IoId(self.under_way.insert(under_way) as u64);
        }
        self.issued = self.ios.len();
    }

    /// Returns the empty list of an I/O that was handled, for reuse.
    pub(super) fn recycle(&mut self, buffers: Vec<D>) {
        debug_assert!(buffers.is_empty());
        if buffers.capacity() > 0 && self.lists.len() < LISTS_MAX {
            self.lists.push(buffers);
        }
    }

    /// Returns the empty list of completions, for reuse.
    pub(super) fn recycle_many(&mut self, many: Vec<Completion>) {
        debug_assert!(many.is_empty());
        if self.many.len() < LISTS_MAX {
            self.many.push(many);
        }
    }

    fn begin(
        &mut self,
        device: Device,
        kind: Kind,
        page: u64,
        completions: Completions,
        buffers: Vec<D>,
        since: Nanos,
    ) {
        let io = UnderWay { device, kind, page, completions, since, repeat: false };
        let id = IoId(self.under_way.insert(io) as u64);
        self.ios.insert(self.issued, Io { id, device, kind, page, buffers });
        self.issued += 1;
    }

    /// Handles a completed I/O, which transferred this number of bytes. If it has to be repeated,
    /// `buffers` are taken for that.
    #[inline]
    pub(super) fn done(
        &mut self,
        id: IoId,
        result: Result<usize, Failed>,
        buffers: &mut Vec<D>,
        now: Nanos,
        observer: Option<&Shared>,
    ) -> Done {
        let io = self.under_way.remove(id.0 as usize);
        let result = self.check_length(io.kind, result, buffers.len());
        if let Some(observer) = observer {
            observer.event(&io.event(result, now));
        }
        if io.kind.is_without_data() {
            return Done { completions: io.completions, result, cost: None };
        }
        let nothing = || Done { completions: Completions::Many(Vec::new()), result, cost: None };
        let pages = io.completions.as_slice().len();
        assert_eq!(pages, buffers.len(), "all buffers come back");
        // A write that was in flight during a failed flush may be lost even if it succeeded.
        if io.repeat && result.is_ok() && !self.bugs.has(Bug::OvertakenKept) {
            let buffers = std::mem::take(buffers);
            self.begin(io.device, io.kind, io.page, io.completions, buffers, now);
            return nothing();
        }
        // Repeated page by page, it shows which pages fail.
        if result.is_err() && pages > 1 {
            let completions = io.completions.as_slice().iter().map(|&one| Completions::One(one));
            for ((at, completion), buffer) in (io.page..).zip(completions).zip(buffers.drain(..)) {
                self.begin(io.device, io.kind, at, completion, vec![buffer], now);
            }
            return nothing();
        }
        let cost = (io.device == Device::Disk && result.is_ok()).then(|| Cost {
            op: if io.kind == Kind::Read { Op::Read } else { Op::Write },
            blocks: pages as u64,
            took: now.since(io.since),
        });
        let hidden = self.bugs.has(Bug::WriteErrorHidden) && io.kind == Kind::Write;
        let result = if hidden { Ok(()) } else { result };
        Done { completions: io.completions, result, cost }
    }

    /// Turns an incomplete transfer into an error.
    fn check_length(
        &self,
        kind: Kind,
        result: Result<usize, Failed>,
        pages: usize,
    ) -> Result<(), Failed> {
        let believed = match kind {
            Kind::Read => self.bugs.has(Bug::ShortReadAsWhole),
            Kind::Write => self.bugs.has(Bug::ShortWriteAsWhole),
            Kind::Flush | Kind::Trim(_) => true,
        };
        match result {
            Ok(bytes) if believed || bytes == pages * PAGE_BYTES => Ok(()),
            _ => Err(Failed),
        }
    }

    /// Lets all writes in flight to the disk be repeated, after a flush that failed.
    pub(super) fn repeat_writes(&mut self) {
        let writes = self.under_way.iter_mut().map(|(_, io)| io);
        writes
            .filter(|io| (io.device, io.kind) == (Device::Disk, Kind::Write))
            .for_each(|io| io.repeat = true);
    }

    /// Whether something is queued.
    #[inline]
    pub(super) fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    /// Whether I/O of the SSD is queued or in flight.
    pub(super) fn uses_ssd(&self) -> bool {
        self.queued().any(|(io, _)| io.device == Device::Ssd)
            || self.under_way.iter().any(|(_, io)| io.device == Device::Ssd)
    }

    /// Takes the count of pages written to the SSD.
    pub(super) fn take_ssd_written(&mut self) -> u64 {
        std::mem::take(&mut self.ssd_written)
    }

    pub(super) fn take_issued(&mut self, into: &mut Vec<Io<D>>) {
        if into.is_empty() && self.queued.is_empty() {
            std::mem::swap(into, &mut self.ios);
        } else {
            into.extend(self.ios.drain(..self.issued));
        }
        self.issued = 0;
    }

    fn queued(&self) -> impl Iterator<Item = (&Io<D>, &Completions)> {
        self.ios[self.issued..].iter().zip(&self.queued)
    }

    /// The number of I/Os queued or in flight.
    pub(super) fn ios(&self) -> usize {
        self.under_way.len() + self.queued.len()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_empty() && self.queued.is_empty()
    }
}

impl UnderWay {
    fn event(&self, result: Result<(), Failed>, now: Nanos) -> Event {
        Event::Io {
            ssd: self.device == Device::Ssd,
            op: match self.kind {
                Kind::Read => Op::Read,
                Kind::Write => Op::Write,
                Kind::Flush => Op::Flush,
                Kind::Trim(_) => Op::Trim,
            },
            first: Block(self.page),
            blocks: match self.kind {
                Kind::Flush => 0,
                Kind::Trim(pages) => pages,
                Kind::Read | Kind::Write => self.completions.as_slice().len() as u64,
            },
            at: self.since,
            took: now.since(self.since),
            done: result.is_ok(),
        }
    }
}
