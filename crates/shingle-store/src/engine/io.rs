//! I/O of the engine: pages are queued one by one, neighbours leave as one I/O, and an I/O of many
//! pages that fails is tried again page by page, so that an error stays with the page it concerns.

use shingle_core::policy::Cost;
use shingle_core::units::{Block, Nanos, Op};
use shingle_core::witness::Event;
use slab::Slab;

use super::bugs::Bug;
use super::destage::JobKey;
use super::{Engine, OpKey};
use crate::buffer::Buffer;
use crate::journal::What;

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
}

/// Names an I/O until it is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct IoId(pub u64);

/// An I/O to be carried out. I/Os that are under way together may be done in any order.
pub struct Io {
    /// Its name.
    pub id: IoId,
    /// Where.
    pub device: Device,
    /// What.
    pub kind: Kind,
    /// The first page of 4 KiB.
    pub page: u64,
    /// A buffer a page; none for a flush.
    pub buffers: Vec<Buffer>,
}

/// A device did not do what it was asked to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failed;

/// What a page is wanted for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Then {
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
    /// A page of metadata is written.
    Meta(What),
    /// The SSD was flushed.
    SsdFlushed,
    /// A copy of the superblock is written that says what does not count any more.
    WrittenOff,
    /// The disk was flushed.
    DiskFlushed,
}

struct Queued {
    device: Device,
    kind: Kind,
    page: u64,
    buffer: Buffer,
    then: Then,
}

struct UnderWay {
    device: Device,
    kind: Kind,
    page: u64,
    then: Vec<Then>,
    since: Nanos,
}

/// What was queued and what is under way.
#[derive(Default)]
pub(super) struct Ios {
    queued: Vec<Queued>,
    under_way: Slab<UnderWay>,
    issued: Vec<Io>,
}

impl Ios {
    pub(super) fn push(
        &mut self,
        device: Device,
        kind: Kind,
        page: u64,
        buffer: Buffer,
        then: Then,
    ) {
        self.queued.push(Queued { device, kind, page, buffer, then });
    }

    pub(super) fn flush(&mut self, device: Device, then: Then, now: Nanos) {
        self.begin(device, Kind::Flush, 0, vec![then], Vec::new(), now);
    }

    /// Makes I/Os of the pages that were queued.
    pub(super) fn issue(&mut self, now: Nanos) {
        let mut queued = std::mem::take(&mut self.queued).into_iter().peekable();
        while let Some(first) = queued.next() {
            let (device, kind, page) = (first.device, first.kind, first.page);
            let (mut then, mut buffers) = (vec![first.then], vec![first.buffer]);
            while then.len() < IO_PAGES_MAX
                && let Some(next) = queued.next_if(|next| {
                    (next.device, next.kind, next.page) == (device, kind, page + then.len() as u64)
                })
            {
                then.push(next.then);
                buffers.push(next.buffer);
            }
            self.begin(device, kind, page, then, buffers, now);
        }
    }

    fn begin(
        &mut self,
        device: Device,
        kind: Kind,
        page: u64,
        then: Vec<Then>,
        buffers: Vec<Buffer>,
        since: Nanos,
    ) {
        let id = self.under_way.insert(UnderWay { device, kind, page, then, since });
        self.issued.push(Io { id: IoId(id as u64), device, kind, page, buffers });
    }

    pub(super) fn take_issued(&mut self) -> Vec<Io> {
        std::mem::take(&mut self.issued)
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
            },
            first: Block(self.page),
            blocks: if self.kind == Kind::Flush { 0 } else { self.then.len() as u64 },
            at: self.since,
            took: now.since(self.since),
            done: result.is_ok(),
        }
    }
}

impl Engine {
    /// An I/O is done; its buffers come back.
    ///
    /// # Panics
    /// If no such I/O is under way, or buffers are missing.
    pub fn done(&mut self, id: IoId, result: Result<(), Failed>, buffers: Vec<Buffer>) {
        let io = self.ios.under_way.remove(id.0 as usize);
        self.tell(|| io.event(result, self.now));
        if io.kind == Kind::Flush {
            match io.device {
                Device::Ssd => self.ssd_flushed(result),
                Device::Disk => self.disk_flushed(result),
            }
            return self.pump();
        }
        assert_eq!(io.then.len(), buffers.len(), "all buffers come back");
        if result.is_err() && io.then.len() > 1 {
            for ((at, then), buffer) in (io.page..).zip(io.then).zip(buffers) {
                self.ios.begin(io.device, io.kind, at, vec![then], vec![buffer], self.now);
            }
            return;
        }
        if io.device == Device::Disk && result.is_ok() {
            let op = if io.kind == Kind::Read { Op::Read } else { Op::Write };
            let took = self.now.since(io.since);
            self.cache.observe(&Cost { op, blocks: io.then.len() as u64, took });
        }
        let hidden = self.bug(Bug::WriteErrorHidden) && io.kind == Kind::Write;
        let result = if hidden { Ok(()) } else { result };
        for (then, buffer) in io.then.into_iter().zip(buffers) {
            match then {
                Then::FrameRead(op) => self.frame_read(op, result, buffer),
                Then::DiskRead(op) => self.disk_read(op, result, buffer),
                Then::FrameWritten(op) => self.frame_written(op, result, buffer),
                Then::DiskWritten(op) => self.disk_written(op, result, buffer),
                Then::DestageRead(job) => self.destage_read(job, result, buffer),
                Then::Destaged(job) => self.destage_written(job, result, buffer),
                Then::Meta(what) => self.meta_written(what, result, buffer),
                Then::WrittenOff => self.written_off(result, buffer),
                Then::SsdFlushed | Then::DiskFlushed => unreachable!("they have no pages"),
            }
        }
        self.pump();
    }
}
