//! I/O by io_uring. The only file of this crate with unsafe code: the kernel uses buffers while an
//! I/O is in flight, and they stay in the memory of the ring until it is done.

#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::types::{Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::io::Errno;
use shingle_engine::buffer::Buffer;
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::{Device, Io, IoId, Kind};
use slab::Slab;

use super::file::{HOLE, IoFile, IoFiles};
use crate::done::Done;
use crate::error::{IoError, Operation, ended_early, passes};

/// The entries of the submission queue. Further I/O waits in [`Ring`].
const ENTRIES: u32 = 256;

/// The user data of the read of the doorbell.
const WOKEN: u64 = u64::MAX;

/// A `struct iovec`, of which the kernel reads an array. The address is a number, as it is not used
/// here.
#[repr(C)]
struct Part {
    start: usize,
    bytes: usize,
}

struct UnderWay {
    id: IoId,
    operation: Operation,
    buffers: Vec<Buffer>,
    /// Points into `buffers`, which are boxed and do not move. Only the kernel reads it.
    _parts: Vec<Part>,
}

/// A ring, and a doorbell: an eventfd that other threads write to wake the ring.
pub(crate) struct Ring {
    ring: IoUring,
    under_way: Slab<UnderWay>,
    waiting: VecDeque<squeue::Entry>,
    doorbell: File,
    /// The bytes read from the doorbell; they do not move.
    rings: Box<[u8; 8]>,
    listening: bool,
}

impl Ring {
    /// Makes a ring.
    ///
    /// # Errors
    /// If the system allows no io_uring, or has no memory for it.
    pub(crate) fn new(doorbell: File) -> io::Result<Ring> {
        Ok(Ring {
            ring: IoUring::new(ENTRIES)?,
            under_way: Slab::new(),
            waiting: VecDeque::new(),
            doorbell,
            rings: Box::new([0; 8]),
            listening: false,
        })
    }

    /// Whether I/O of the SSD is not done yet.
    pub(crate) fn uses_ssd(&self) -> bool {
        self.under_way.iter().any(|(_, io)| io.operation.device == Device::Ssd)
    }

    /// Submits an I/O on `file`.
    pub(crate) fn begin(&mut self, io: Io, file: &IoFile) {
        let operation = Operation::of(&io);
        let Io { id, kind, page, mut buffers, .. } = io;
        let flags = if file.on_fuse { squeue::Flags::ASYNC } else { squeue::Flags::empty() };
        let fd = Fd(file.direct.0.as_raw_fd());
        let part =
            |buffer: &mut Buffer| Part { start: buffer.0.as_mut_ptr() as usize, bytes: PAGE_BYTES };
        let parts: Vec<Part> = buffers.iter_mut().map(part).collect();
        let (start, count) = (parts.as_ptr().cast(), parts.len() as u32);
        let offset = page * PAGE_BYTES as u64;
        let entry = match kind {
            Kind::Read => opcode::Readv::new(fd, start, count).offset(offset).build(),
            Kind::Write => opcode::Writev::new(fd, start, count).offset(offset).build(),
            Kind::Flush => opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build(),
            Kind::Trim(pages) => opcode::Fallocate::new(fd, pages * PAGE_BYTES as u64)
                .offset(offset)
                .mode(HOLE.bits() as i32)
                .build(),
        };
        let place = self.under_way.vacant_entry();
        self.waiting.push_back(entry.flags(flags).user_data(place.key() as u64));
        place.insert(UnderWay { id, operation, buffers, _parts: parts });
    }

    /// Submits what waits, and returns when something is done, the doorbell is written, or
    /// `timeout` is over.
    ///
    /// # Errors
    /// If the ring itself fails: it cannot be used any more.
    pub(crate) fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        if !self.listening {
            let fd = Fd(self.doorbell.as_raw_fd());
            let entry = opcode::Read::new(fd, self.rings.as_mut_ptr(), 8).build().user_data(WOKEN);
            self.waiting.push_front(entry);
            self.listening = true;
        }
        if self.waiting.is_empty() && timeout.is_zero() {
            return Ok(());
        }
        self.hand_over();
        let timespec = Timespec::from(timeout);
        let args = SubmitArgs::new().timespec(&timespec);
        // If something did not fit, it is submitted at once in the next call.
        let want = usize::from(self.waiting.is_empty() && !timeout.is_zero());
        match self.ring.submitter().submit_with_args(want, &args) {
            Ok(_) => Ok(()),
            Err(error) => passes(error),
        }
    }

    fn hand_over(&mut self) {
        let mut queue = self.ring.submission();
        while let Some(entry) = self.waiting.front() {
            // SAFETY: the entry points to the doorbell's bytes or to parts and buffers of an I/O in
            // `under_way`; both are heap memory of the ring, which are neither moved nor freed until
            // the completion was seen, and `Drop` waits for all completions.
            if unsafe { queue.push(entry) }.is_err() {
                break;
            }
            self.waiting.pop_front();
        }
    }

    /// Appends completed I/Os to `done`.
    pub(crate) fn done(&mut self, files: &IoFiles, done: &mut Vec<Done>) {
        for completion in self.ring.completion() {
            if completion.user_data() == WOKEN {
                self.listening = false;
                continue;
            }
            let (key, said) = (completion.user_data() as usize, completion.result());
            let UnderWay { id, operation, mut buffers, .. } = self.under_way.remove(key);
            let result = if is_cancelled(said) {
                let file = files.of(operation.device);
                file.carry_out(operation.kind, operation.block, &mut buffers)
            } else {
                outcome(said, buffers.len() * PAGE_BYTES)
            };
            let result = result.map_err(|error| IoError { operation, error });
            done.push(Done { id, result, buffers });
        }
    }
}

/// Whether the system does not allow io_uring, or does not have it.
pub(crate) fn is_not_allowed(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::PERM | Errno::ACCESS | Errno::NOSYS))
}

/// Whether the kernel has cancelled an I/O, after trying for a while, because it could make no
/// thread for it, for example because of a limit of the user or service. Nothing was done then, and
/// the device has not failed: a cancelled flush does not mean that an SSD has failed.
fn is_cancelled(said: i32) -> bool {
    said == -Errno::CANCELED.raw_os_error()
}

/// The result of an I/O of `bytes` bytes. One that ended early is an error: the device gives no
/// reason, and a retry shows it.
fn outcome(said: i32, bytes: usize) -> io::Result<()> {
    match usize::try_from(said) {
        Ok(done) if done == bytes => Ok(()),
        Ok(done) => Err(ended_early(done, bytes)),
        Err(_) => Err(io::Error::from_raw_os_error(said.saturating_neg())),
    }
}

impl Drop for Ring {
    /// The kernel may still write to buffers of the ring: waits until it does not. The doorbell is
    /// written so that its read ends, too.
    fn drop(&mut self) {
        for entry in self.waiting.drain(..) {
            match entry.get_user_data() {
                WOKEN => self.listening = false,
                key => drop(self.under_way.remove(key as usize)),
            }
        }
        while self.listening || !self.under_way.is_empty() {
            // It fails only if the counter is full, which ends the read, too.
            let _ = io::Write::write(&mut &self.doorbell, &1_u64.to_ne_bytes());
            let waited = self.ring.submitter().submit_and_wait(1);
            if waited.map(drop).or_else(passes).is_err() {
                // Memory that the kernel may write to is leaked rather than freed.
                std::mem::forget(std::mem::take(&mut self.under_way));
                std::mem::forget(std::mem::replace(&mut self.rings, Box::new([0; 8])));
                return;
            }
            for completion in self.ring.completion() {
                match completion.user_data() {
                    WOKEN => self.listening = false,
                    key => drop(self.under_way.remove(key as usize)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustix::event::{EventfdFlags, eventfd};
    use shingle_engine::buffer::zeroed;

    use super::*;
    use crate::direct::Direct;

    #[test]
    fn what_the_kernel_cancels_is_done_here() {
        let exe = std::env::current_exe().expect("a program");
        let ssd = tempfile::tempfile_in(exe.parent().expect("its folder")).expect("a file");
        // A read waits until something is written, and cannot be done here, as its error shows.
        let (disk, _writer) = io::pipe().expect("a pipe");
        let disk = File::from(std::os::fd::OwnedFd::from(disk));
        let file = |file| Arc::new(IoFile::new(Direct(file)).expect("looked at"));
        let files = IoFiles { ssd: file(ssd), disk: Some(file(disk)) };
        let doorbell = File::from(eventfd(0, EventfdFlags::CLOEXEC).expect("a doorbell"));
        let mut ring = match Ring::new(doorbell) {
            Err(error) if is_not_allowed(&error) => return eprintln!("SKIPPED: io_uring: {error}"),
            ring => ring.expect("a ring"),
        };
        let (id, device, kind) = (IoId(1), Device::Disk, Kind::Read);
        ring.begin(Io { id, device, kind, page: 0, buffers: vec![zeroed()] }, files.of(device));
        ring.wait(Duration::ZERO).expect("handed over");
        let cancel = opcode::AsyncCancel::new(0).build().user_data(WOKEN - 1);
        ring.waiting.push_back(cancel.flags(squeue::Flags::SKIP_SUCCESS));
        let mut done = Vec::new();
        while done.is_empty() {
            ring.wait(Duration::from_secs(1)).expect("it waits");
            ring.done(&files, &mut done);
        }
        let error = done[0].result.as_ref().expect_err("a pipe has no places").to_string();
        assert_eq!(error, "disk: read of 4 KiB at block 0 failed: Illegal seek (error 29)");
    }

    #[test]
    fn what_ends_early_is_an_error() {
        let error = outcome(4096, 8192).expect_err("a part").to_string();
        assert_eq!(error, "it ended after 4096 of 8192 bytes");
        // A disk that was removed: its reads succeed, and return nothing.
        let error = outcome(0, 8192).expect_err("nothing").to_string();
        assert!(error.starts_with("it ended after 0 of 8192 bytes, as where a device was removed"));
        assert!(outcome(8192, 8192).is_ok());
    }
}
