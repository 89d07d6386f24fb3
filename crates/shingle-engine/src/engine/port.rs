//! The port: I/O to both devices, and the memory for it. Pages are queued one by one, neighbours leave as one
//! I/O, and an I/O of many pages that fails is tried again page by page, so that an error stays with the
//! page it concerns.

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

/// Pages of one I/O at most: 512 KiB, as in the simulator.
pub const IO_PAGES_MAX: usize = 128;

/// A device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Device {
    /// The cache.
    Ssd,
    /// What is cached.
    Disk,
}

/// What is done to a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Read into the buffers.
    Read,
    /// Write the buffers.
    Write,
    /// Everything that was written before survives a power cut when this is done.
    Flush,
    /// Nobody needs so many pages any more. They may read as anything that was ever there, or as zeros; as what, does not
    /// change after the next flush.
    Trim(u64),
}

impl Kind {
    /// It has no buffers.
    #[must_use]
    pub fn is_without_data(self) -> bool {
        matches!(self, Kind::Flush | Kind::Trim(_))
    }
}

/// Names an I/O until it is done. Numbers are small, and used again: who owns the engine may keep what it knows of an
/// I/O in a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct IoId(pub u64);

/// The name of an I/O that is queued.
const UNNAMED: IoId = IoId(u64::MAX);

/// An I/O to be carried out. I/Os that are under way together may be done in any order.
#[derive(Clone)]
pub struct Io<D = Buffer> {
    /// Its name.
    pub id: IoId,
    /// Where.
    pub device: Device,
    /// What.
    pub kind: Kind,
    /// The first page of 4 KiB.
    pub page: u64,
    /// A buffer a page; none for a flush or a trim.
    pub buffers: Vec<D>,
}

/// A device did not do what it was asked to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failed;

/// What becomes of a page, or of a flush, when it is done.
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
    /// A block that is to be destaged was read.
    DestageRead(JobKey),
    /// It is on the disk.
    Destaged(JobKey),
    /// Of a band that is written whole this block was read from the disk, to be written back: the first is 0.
    BandRead(u32),
    /// This one was read from its frame.
    BandSlotRead(u32),
    /// This one is on the disk.
    BandWritten(u32),
    /// A page of metadata is written.
    Meta(PageKind),
    /// The SSD was flushed.
    SsdFlushed,
    /// A copy of the superblock is written that says what does not count any more.
    InvalidationWritten,
    /// The disk was flushed.
    DiskFlushed,
    /// It was told what nobody needs.
    Trimmed,
}

/// An I/O that was issued and is not done.
#[derive(Clone)]
struct UnderWay {
    device: Device,
    kind: Kind,
    page: u64,
    completions: Completions,
    since: Nanos,
    /// A flush of the disk failed meanwhile, and may have lost it: it is written once more.
    again: bool,
}

/// What is done.
pub(super) struct Done {
    /// What is to follow: one a buffer, or one for a flush or a trim. Nothing if it is done once more.
    pub(super) completions: Completions,
    pub(super) result: Result<(), Failed>,
    /// What the disk took for it.
    pub(super) cost: Option<Cost>,
}

/// What was queued and what is under way, and memory that nobody uses.
#[derive(Clone)]
pub(super) struct Port<D> {
    under_way: Slab<UnderWay>,
    /// I/Os that were issued, then those that are queued: pages which follow may join the last, and they have no
    /// names yet.
    ios: Vec<Io<D>>,
    issued: usize,
    /// Of those that are queued.
    queued: Vec<Completions>,
    pool: Pool<D>,
    /// Pages given to the SSD to be written, since they were asked for.
    ssd_written: u64,
    /// Empty lists of I/Os that are done.
    lists: Vec<Vec<D>>,
    many: Vec<Vec<Completion>>,
    bugs: Seeded,
}

/// So many of them are kept.
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

    /// Memory with anything in it.
    pub(super) fn buffer(&mut self) -> D {
        self.pool.take()
    }

    /// Nobody needs it any more.
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

    /// Writes a page of metadata to the SSD.
    pub(super) fn write_meta(&mut self, page: u64, bytes: &Page, completion: Completion) {
        let mut buffer = self.pool.take();
        buffer.set_page(bytes);
        self.write(Device::Ssd, page, buffer, completion);
    }

    /// Begins at once. It covers writes that are done; what is queued or under way it may or may not cover,
    /// and whoever asks for it counts on neither.
    pub(super) fn flush(&mut self, device: Device, completion: Completion, now: Nanos) {
        self.begin(device, Kind::Flush, 0, Completions::One(completion), Vec::new(), now);
    }

    /// Begins at once.
    pub(super) fn trim(&mut self, page: u64, pages: u64, now: Nanos) {
        let completions = Completions::One(Completion::Trimmed);
        self.begin(Device::Disk, Kind::Trim(pages), page, completions, Vec::new(), now);
    }

    /// Issues what was queued.
    pub(super) fn issue(&mut self, now: Nanos) {
        let queued = self.ios[self.issued..].iter_mut().zip(self.queued.drain(..));
        for (io, completions) in queued {
            let Io { device, kind, page, .. } = *io;
            let (since, again) = (now, false);
            let under_way = UnderWay { device, kind, page, completions, since, again };
            io.id = IoId(self.under_way.insert(under_way) as u64);
        }
        self.issued = self.ios.len();
    }

    /// What became of an I/O was seen to: its list, which is empty, is used again.
    pub(super) fn recycle(&mut self, buffers: Vec<D>) {
        debug_assert!(buffers.is_empty());
        if buffers.capacity() > 0 && self.lists.len() < LISTS_MAX {
            self.lists.push(buffers);
        }
    }

    /// Likewise the list of what was to follow.
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
        let io = UnderWay { device, kind, page, completions, since, again: false };
        let id = IoId(self.under_way.insert(io) as u64);
        self.ios.insert(self.issued, Io { id, device, kind, page, buffers });
        self.issued += 1;
    }

    /// An I/O is done, so many bytes of it. If it is to be done once more, `buffers` are taken for that.
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
        let result = self.whole(io.kind, result, buffers.len());
        if let Some(observer) = observer {
            observer.event(&io.event(result, now));
        }
        if io.kind.is_without_data() {
            return Done { completions: io.completions, result, cost: None };
        }
        let nothing = || Done { completions: Completions::Many(Vec::new()), result, cost: None };
        let pages = io.completions.as_slice().len();
        assert_eq!(pages, buffers.len(), "all buffers come back");
        // A write that a failed flush has overtaken may be lost although it went well.
        if io.again && result.is_ok() && !self.bugs.has(Bug::OvertakenKept) {
            let buffers = std::mem::take(buffers);
            self.begin(io.device, io.kind, io.page, io.completions, buffers, now);
            return nothing();
        }
        // Page by page it shows which of them fail.
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

    /// A part is an error.
    fn whole(&self, kind: Kind, result: Result<usize, Failed>, pages: usize) -> Result<(), Failed> {
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

    /// A flush of the disk has failed: whatever is being written there may be lost with the rest.
    pub(super) fn write_again(&mut self) {
        let writes = self.under_way.iter_mut().map(|(_, io)| io);
        writes
            .filter(|io| (io.device, io.kind) == (Device::Disk, Kind::Write))
            .for_each(|io| io.again = true);
    }

    /// Something is queued and not issued.
    #[inline]
    pub(super) fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    /// I/O of the SSD is queued or under way.
    pub(super) fn uses_ssd(&self) -> bool {
        self.queued().any(|(io, _)| io.device == Device::Ssd)
            || self.under_way.iter().any(|(_, io)| io.device == Device::Ssd)
    }

    /// Pages that the SSD was given to write since this was asked last.
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

    /// I/Os that are queued or under way.
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
