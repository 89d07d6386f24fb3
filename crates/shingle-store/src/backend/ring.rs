//! I/O by io_uring. The one file with unsafe code: buffers belong to the kernel while an I/O is under
//! way, and stay in the ring's own memory until it is done.

#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use io_uring::types::{Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use slab::Slab;

use crate::buffer::Buffer;
use crate::engine::{Failed, Io, IoId, Kind};
use crate::format::PAGE_BYTES;

/// Entries of the submission queue: what does not fit waits here.
const ENTRIES: u32 = 256;

/// Marks what is no I/O of the engine: somebody wants to talk.
const WOKEN: u64 = u64::MAX;

/// As `struct iovec`, of which the kernel reads an array; the address is a number, as nobody here uses
/// it.
#[repr(C)]
struct Part {
    start: usize,
    bytes: usize,
}

struct UnderWay {
    id: IoId,
    kind: Kind,
    buffers: Vec<Buffer>,
    /// Points into `buffers`, which are boxed and do not move.
    parts: Vec<Part>,
}

/// An I/O that is done.
pub(super) struct Done {
    pub(super) id: IoId,
    pub(super) result: Result<(), Failed>,
    pub(super) buffers: Vec<Buffer>,
}

/// A file, and how it is asked.
struct Asked {
    file: File,
    /// It lies in memory: the ring would give each I/O to a thread of the kernel, which takes longer than
    /// to do it here.
    at_once: bool,
}

impl Asked {
    fn new(file: File) -> io::Result<Asked> {
        const TMPFS: rustix::fs::FsWord = 0x0102_1994;
        let kind = rustix::fs::fstatfs(&file)?.f_type;
        Ok(Asked { file, at_once: kind == TMPFS })
    }

    /// Does an I/O here and now.
    fn carry_out(&self, kind: Kind, page: u64, buffers: &mut [Buffer]) -> io::Result<()> {
        if kind == Kind::Flush {
            return self.file.sync_data();
        }
        for (page, buffer) in (page..).zip(buffers) {
            let offset = page * PAGE_BYTES as u64;
            match kind {
                Kind::Read => self.file.read_exact_at(&mut buffer.0, offset)?,
                _ => self.file.write_all_at(&buffer.0, offset)?,
            }
        }
        Ok(())
    }
}

/// A ring over two devices and a bell.
pub(super) struct Ring {
    ring: IoUring,
    under_way: Slab<UnderWay>,
    waiting: VecDeque<squeue::Entry>,
    /// Was done at once.
    finished: Vec<Done>,
    ssd: Asked,
    disk: Asked,
    bell: File,
    /// What was read from the bell; it does not move.
    rung: Box<[u8; 8]>,
    listening: bool,
}

impl Ring {
    pub(super) fn new(ssd: File, disk: File, bell: File) -> io::Result<Ring> {
        Ok(Ring {
            ring: IoUring::new(ENTRIES)?,
            under_way: Slab::new(),
            waiting: VecDeque::new(),
            finished: Vec::new(),
            ssd: Asked::new(ssd)?,
            disk: Asked::new(disk)?,
            bell,
            rung: Box::new([0; 8]),
            listening: false,
        })
    }

    /// Begins an I/O of the engine.
    pub(super) fn begin(&mut self, io: Io) {
        let Io { id, device, kind, page, mut buffers } = io;
        let asked = match device {
            crate::engine::Device::Ssd => &self.ssd,
            crate::engine::Device::Disk => &self.disk,
        };
        if asked.at_once {
            let result = asked.carry_out(kind, page, &mut buffers).map_err(|_| Failed);
            return self.finished.push(Done { id, result, buffers });
        }
        let fd = Fd(asked.file.as_raw_fd());
        let part =
            |buffer: &mut Buffer| Part { start: buffer.0.as_mut_ptr() as usize, bytes: PAGE_BYTES };
        let parts: Vec<Part> = buffers.iter_mut().map(part).collect();
        let entry = self.under_way.vacant_entry();
        let key = entry.key() as u64;
        let io = entry.insert(UnderWay { id, kind, buffers, parts });
        let (parts, count) = (io.parts.as_ptr().cast(), io.parts.len() as u32);
        let offset = page * PAGE_BYTES as u64;
        let entry = match kind {
            Kind::Read => opcode::Readv::new(fd, parts, count).offset(offset).build(),
            Kind::Write => opcode::Writev::new(fd, parts, count).offset(offset).build(),
            Kind::Flush => opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build(),
        };
        self.waiting.push_back(entry.user_data(key));
    }

    /// Hands over what was begun, and waits until something is done, somebody rings, or `timeout` is
    /// over.
    pub(super) fn wait(&mut self, timeout: std::time::Duration) -> io::Result<()> {
        if !self.listening {
            let fd = Fd(self.bell.as_raw_fd());
            let entry = opcode::Read::new(fd, self.rung.as_mut_ptr(), 8).build().user_data(WOKEN);
            self.waiting.push_front(entry);
            self.listening = true;
        }
        if !self.finished.is_empty() && self.waiting.is_empty() {
            return Ok(());
        }
        self.hand_over();
        let timespec = Timespec::from(timeout);
        let args = SubmitArgs::new().timespec(&timespec);
        // What is left behind is handed over at once, without waiting.
        let want = usize::from(self.waiting.is_empty() && self.finished.is_empty());
        match self.ring.submitter().submit_with_args(want, &args) {
            Ok(_) => Ok(()),
            Err(error) if is_no_error(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn hand_over(&mut self) {
        let mut queue = self.ring.submission();
        while let Some(entry) = self.waiting.front() {
            // SAFETY: the entry points to the bell's bytes or to parts and buffers of an I/O in
            // `under_way`; both are heap memory of the ring, which are neither moved nor freed until
            // the completion was seen, and `Drop` waits for all completions.
            if unsafe { queue.push(entry) }.is_err() {
                break;
            }
            self.waiting.pop_front();
        }
    }

    /// What is done.
    pub(super) fn done(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.finished);
        for completion in self.ring.completion() {
            if completion.user_data() == WOKEN {
                self.listening = false;
                continue;
            }
            let io = self.under_way.remove(completion.user_data() as usize);
            let bytes = io.buffers.len() * PAGE_BYTES;
            let whole = match io.kind {
                Kind::Flush => completion.result() >= 0,
                // A part is an error: page by page it shows where.
                Kind::Read | Kind::Write => completion.result() == bytes as i32,
            };
            let result = if whole { Ok(()) } else { Err(Failed) };
            done.push(Done { id: io.id, result, buffers: io.buffers });
        }
    }
}

/// A signal, the end of the wait, or a full queue of completions, which are looked at next.
fn is_no_error(error: &io::Error) -> bool {
    const ETIME: i32 = 62;
    const EBUSY: i32 = 16;
    error.kind() == io::ErrorKind::Interrupted
        || matches!(error.raw_os_error(), Some(ETIME | EBUSY))
}

impl Drop for Ring {
    /// The kernel may still write into buffers of the ring: waits until it does not. The bell is rung
    /// for its own sake.
    fn drop(&mut self) {
        for entry in self.waiting.drain(..) {
            match entry.get_user_data() {
                WOKEN => self.listening = false,
                key => drop(self.under_way.remove(key as usize)),
            }
        }
        let mut done = Vec::new();
        while self.listening || !self.under_way.is_empty() {
            let _ = io::Write::write(&mut &self.bell, &1_u64.to_ne_bytes());
            if self.ring.submitter().submit_and_wait(1).is_err() {
                // Rather leak than free memory that the kernel writes to.
                std::mem::forget(std::mem::take(&mut self.under_way));
                std::mem::forget(std::mem::replace(&mut self.rung, Box::new([0; 8])));
                return;
            }
            self.done(&mut done);
        }
    }
}
