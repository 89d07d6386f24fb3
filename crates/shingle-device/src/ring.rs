//! I/O by io_uring. The only file of this crate with unsafe code: the kernel uses buffers while an
//! I/O is in flight, and they stay in the memory of the ring until it is done.

#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;

use io_uring::types::{Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::fs::FallocateFlags;
use shingle_engine::buffer::Buffer;
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::{Io, IoId, Kind};
use slab::Slab;

use crate::direct::Direct;
use crate::error::{IoError, Operation, ended_early};

/// The entries of the submission queue. Further I/O waits in [`Ring`].
const ENTRIES: u32 = 256;

/// How blocks are trimmed: with a hole in a file. A block device discards what it can then read as
/// zeros, or refuses.
const HOLE: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

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

/// A completed I/O.
pub struct Done {
    /// Its id.
    pub id: IoId,
    /// Whether all of it was done.
    pub result: Result<(), IoError>,
    /// Its buffers.
    pub buffers: Vec<Buffer>,
}

/// A file, and how its I/O is done.
pub struct RingFile {
    file: File,
    /// The file is in memory: the ring would pass each I/O to a thread of the kernel, which takes
    /// longer than doing it here.
    at_once: bool,
    /// The file is on a FUSE file system: the kernel asks it for the file size before a read, and
    /// the submitter waits for the answer. So the I/O is passed to a thread of the kernel.
    flags: squeue::Flags,
}

impl RingFile {
    /// Finds out on which kind of file system the file is. This blocks on a file system that hangs.
    ///
    /// # Errors
    /// If the system does not describe the file.
    pub fn new(Direct(file): Direct) -> io::Result<RingFile> {
        const TMPFS: rustix::fs::FsWord = 0x0102_1994;
        const FUSE: rustix::fs::FsWord = 0x6573_5546;
        // Of a block device this would be the file system of its name: /dev is in memory.
        let regular = file.metadata()?.is_file();
        let system = rustix::fs::fstatfs(&file)?.f_type;
        let at_once = regular && system == TMPFS;
        let by_thread = regular && system == FUSE;
        let flags = if by_thread { squeue::Flags::ASYNC } else { squeue::Flags::empty() };
        Ok(RingFile { file, at_once, flags })
    }

    /// The file of a device.
    fn of<'a>(
        device: shingle_engine::Device,
        ssd: &'a RingFile,
        disk: Option<&'a RingFile>,
    ) -> &'a RingFile {
        match device {
            shingle_engine::Device::Ssd => ssd,
            shingle_engine::Device::Disk => disk.expect("its I/O comes here"),
        }
    }

    /// Does an I/O at once.
    fn carry_out(&self, kind: Kind, page: u64, buffers: &mut [Buffer]) -> io::Result<()> {
        match kind {
            Kind::Flush => return self.file.sync_data(),
            Kind::Trim(pages) => {
                let (offset, bytes) = (page * PAGE_BYTES as u64, pages * PAGE_BYTES as u64);
                return Ok(rustix::fs::fallocate(&self.file, HOLE, offset, bytes)?);
            }
            Kind::Read | Kind::Write => {}
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

/// A ring for two devices, and a doorbell: an eventfd that other threads write to wake the ring.
pub struct Ring {
    ring: IoUring,
    under_way: Slab<UnderWay>,
    waiting: VecDeque<squeue::Entry>,
    /// I/O that was done at once.
    finished: Vec<Done>,
    ssd: RingFile,
    /// `None` if its I/O goes elsewhere.
    disk: Option<RingFile>,
    doorbell: File,
    /// The bytes read from the doorbell; they do not move.
    rings: Box<[u8; 8]>,
    listening: bool,
}

impl Ring {
    /// Makes a ring for these devices. Without a disk, its I/O has to go elsewhere.
    ///
    /// # Errors
    /// If the system allows no io_uring, or does not describe a file.
    pub fn new(ssd: Direct, disk: Option<Direct>, doorbell: File) -> io::Result<Ring> {
        Ok(Ring {
            ring: IoUring::new(ENTRIES)?,
            under_way: Slab::new(),
            waiting: VecDeque::new(),
            finished: Vec::new(),
            ssd: RingFile::new(ssd)?,
            disk: disk.map(RingFile::new).transpose()?,
            doorbell,
            rings: Box::new([0; 8]),
            listening: false,
        })
    }

    /// Replaces the SSD.
    ///
    /// # Panics
    /// If I/O of the old one waits to be submitted.
    pub fn set_ssd(&mut self, ssd: RingFile) {
        let of_ssd = |io: &UnderWay| io.operation.device == shingle_engine::Device::Ssd;
        assert!(!self.under_way.iter().any(|(_, io)| of_ssd(io)), "the SSD is in use");
        self.ssd = ssd;
    }

    /// Submits an I/O of the engine.
    ///
    /// # Panics
    /// If it is for the disk, and the ring has none.
    pub fn begin(&mut self, io: Io) {
        let operation = Operation::of(&io);
        let Io { id, device, kind, page, mut buffers } = io;
        let of = RingFile::of(device, &self.ssd, self.disk.as_ref());
        if of.at_once {
            let result = of.carry_out(kind, page, &mut buffers);
            let result = result.map_err(|error| IoError { operation, error });
            return self.finished.push(Done { id, result, buffers });
        }
        let fd = Fd(of.file.as_raw_fd());
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
        self.waiting.push_back(entry.flags(of.flags).user_data(place.key() as u64));
        place.insert(UnderWay { id, operation, buffers, _parts: parts });
    }

    /// Submits what waits, and returns when something is done, the doorbell is written, or
    /// `timeout` is over.
    ///
    /// # Errors
    /// If the ring itself fails: it cannot be used any more.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        if !self.listening {
            let fd = Fd(self.doorbell.as_raw_fd());
            let entry = opcode::Read::new(fd, self.rings.as_mut_ptr(), 8).build().user_data(WOKEN);
            self.waiting.push_front(entry);
            self.listening = true;
        }
        if self.waiting.is_empty() && (self.has_finished() || timeout.is_zero()) {
            return Ok(());
        }
        self.hand_over();
        let timespec = Timespec::from(timeout);
        let args = SubmitArgs::new().timespec(&timespec);
        // If something did not fit, it is submitted at once in the next call.
        let want = usize::from(self.waiting.is_empty() && self.finished.is_empty());
        match self.ring.submitter().submit_with_args(want, &args) {
            Ok(_) => Ok(()),
            Err(error) => passes(error),
        }
    }

    /// Whether [`Ring::wait`] would return at once, as an I/O is done.
    #[must_use]
    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
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
    pub fn done(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.finished);
        for completion in self.ring.completion() {
            if completion.user_data() == WOKEN {
                self.listening = false;
                continue;
            }
            let (key, said) = (completion.user_data() as usize, completion.result());
            let UnderWay { id, operation, mut buffers, .. } = self.under_way.remove(key);
            let result = if is_cancelled(said) {
                let of = RingFile::of(operation.device, &self.ssd, self.disk.as_ref());
                of.carry_out(operation.kind, operation.block, &mut buffers)
            } else {
                outcome(said, buffers.len() * PAGE_BYTES)
            };
            let result = result.map_err(|error| IoError { operation, error });
            done.push(Done { id, result, buffers });
        }
    }
}

/// Whether the kernel has cancelled an I/O, after trying for a while, because it could make no
/// thread for it, for example because of a limit of the user or service. Nothing was done then, and
/// the device has not failed: a cancelled flush does not mean that an SSD has failed.
fn is_cancelled(said: i32) -> bool {
    said == -rustix::io::Errno::CANCELED.raw_os_error()
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

/// Ignores results of the wait that are no failure: the caller tries again.
fn passes(error: io::Error) -> io::Result<()> {
    use rustix::io::Errno;
    match Errno::from_io_error(&error) {
        // A signal, the timeout, or a full queue of completions, which are taken next.
        Some(Errno::INTR | Errno::TIME | Errno::BUSY) => Ok(()),
        // Memory is short: I/O in flight goes on, and releases some.
        Some(Errno::AGAIN | Errno::NOMEM) => {
            thread::sleep(Duration::from_millis(1));
            Ok(())
        }
        _ => Err(error),
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
        let mut done = Vec::new();
        while self.listening || !self.under_way.is_empty() {
            let _ = io::Write::write(&mut &self.doorbell, &1_u64.to_ne_bytes());
            let waited = self.ring.submitter().submit_and_wait(1);
            if waited.map(drop).or_else(passes).is_err() {
                // Memory that the kernel may write to is leaked rather than freed.
                std::mem::forget(std::mem::take(&mut self.under_way));
                std::mem::forget(std::mem::replace(&mut self.rings, Box::new([0; 8])));
                return;
            }
            self.done(&mut done);
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{EventfdFlags, eventfd};

    use super::*;
    use shingle_engine::Device;
    use shingle_engine::buffer::zeroed;

    #[test]
    fn what_passes_is_no_failure() {
        use rustix::io::Errno;
        let told = |errno: Errno| passes(io::Error::from_raw_os_error(errno.raw_os_error()));
        for errno in [Errno::INTR, Errno::TIME, Errno::BUSY, Errno::AGAIN, Errno::NOMEM] {
            assert!(told(errno).is_ok(), "{errno:?}");
        }
        for errno in [Errno::BADF, Errno::IO, Errno::INVAL, Errno::FAULT] {
            assert!(told(errno).is_err(), "{errno:?}");
        }
    }

    /// Its name is in memory, which does not mean that its I/O is fast.
    #[test]
    fn a_file_in_memory_is_served_at_once_and_a_device_is_not() {
        let shm = std::path::Path::new("/dev/shm");
        if let Ok(file) = tempfile::tempfile_in(shm) {
            assert!(RingFile::new(Direct(file)).expect("looked at").at_once);
        }
        // In place of a block device, which a test does not have.
        let device = File::open("/dev/null").expect("there");
        assert!(!RingFile::new(Direct(device)).expect("looked at").at_once);
    }

    #[test]
    fn what_the_kernel_cancels_is_done_here() {
        let exe = std::env::current_exe().expect("a program");
        let ssd = tempfile::tempfile_in(exe.parent().expect("its folder")).expect("a file");
        // A read waits until something is written, and cannot be done here, as its error shows.
        let (disk, _writer) = io::pipe().expect("a pipe");
        let disk = Direct(File::from(std::os::fd::OwnedFd::from(disk)));
        let mut ring = Ring::new(Direct(ssd), Some(disk), doorbell()).expect("a ring");
        let (id, device, kind) = (IoId(1), Device::Disk, Kind::Read);
        ring.begin(Io { id, device, kind, page: 0, buffers: vec![zeroed()] });
        ring.wait(Duration::ZERO).expect("handed over");
        let cancel = opcode::AsyncCancel::new(0).build().user_data(WOKEN - 1);
        ring.waiting.push_back(cancel.flags(squeue::Flags::SKIP_SUCCESS));
        let mut done = Vec::new();
        while done.is_empty() {
            ring.wait(Duration::from_secs(1)).expect("it waits");
            ring.done(&mut done);
        }
        let error = done[0].result.as_ref().expect_err("a pipe has no places").to_string();
        assert_eq!(error, "disk: read of 4 KiB at block 0 failed: Illegal seek (error 29)");
    }

    fn doorbell() -> File {
        File::from(eventfd(0, EventfdFlags::CLOEXEC).expect("a doorbell"))
    }

    /// Carries out an I/O, and returns its result.
    fn carried_out(ring: &mut Ring, io: Io) -> Result<(), IoError> {
        ring.begin(io);
        let mut done = Vec::new();
        while done.is_empty() {
            ring.wait(Duration::from_secs(1)).expect("it waits");
            ring.done(&mut done);
        }
        done.remove(0).result
    }

    /// In memory and on a disk, where another system call is used.
    #[test]
    fn a_trim_makes_a_hole_of_these_pages_and_no_others() {
        let in_memory = rustix::fs::memfd_create("trimmed", rustix::fs::MemfdFlags::CLOEXEC);
        let in_memory = File::from(in_memory.expect("a file in memory"));
        let on_disk = std::env::current_exe().expect("a program");
        let on_disk = tempfile::tempfile_in(on_disk.parent().expect("its folder")).expect("a file");
        for file in [in_memory, on_disk] {
            file.write_all_at(&[7; 4 * PAGE_BYTES], 0).expect("written");
            let again = file.try_clone().expect("a file");
            let mut ring = Ring::new(Direct(doorbell()), Some(Direct(again)), doorbell());
            let ring = ring.as_mut().expect("a ring");
            let (id, device, kind) = (IoId(1), Device::Disk, Kind::Trim(2));
            let io = Io { id, device, kind, page: 1, buffers: Vec::new() };
            carried_out(ring, io).expect("it takes holes");
            let mut is = vec![1; 4 * PAGE_BYTES];
            file.read_exact_at(&mut is, 0).expect("as long as before");
            let firsts: Vec<u8> = is.chunks(PAGE_BYTES).map(|page| page[0]).collect();
            assert_eq!(firsts, [7, 0, 0, 7]);
        }
    }

    #[test]
    fn what_fails_says_what_where_and_why() {
        let exe = std::env::current_exe().expect("a program");
        let short = tempfile::tempfile_in(exe.parent().expect("its folder")).expect("a file");
        short.set_len(4096).expect("its length");
        let full = File::options().read(true).write(true).open("/dev/full").expect("there");
        let mut ring = Ring::new(Direct(short), Some(Direct(full)), doorbell()).expect("a ring");
        for (device, kind, page, told) in [
            (
                Device::Disk,
                Kind::Write,
                3,
                "disk: write of 8 KiB at block 3 failed: No space left on device (ENOSPC)",
            ),
            (Device::Disk, Kind::Flush, 0, "disk: flush failed: Invalid argument (EINVAL)"),
            (
                Device::Ssd,
                Kind::Read,
                0,
                // For a file in memory the text differs.
                "SSD: read of 8 KiB at block 0 failed: ",
            ),
        ] {
            let count = if kind == Kind::Flush { 0 } else { 2 };
            let buffers = (0..count).map(|_| shingle_engine::buffer::zeroed()).collect();
            let io = Io { id: IoId(1), device, kind, page, buffers };
            let error = carried_out(&mut ring, io).expect_err("it fails");
            let error = error.to_string();
            assert!(error.starts_with(told), "{error}");
        }
        assert_eq!(
            outcome(4096, 8192).expect_err("a part").to_string(),
            "it ended after 4096 of 8192 bytes"
        );
    }

    /// Only a file can be flushed, an eventfd cannot: the result shows which one was flushed.
    #[test]
    fn a_flush_goes_to_the_device_it_is_for() {
        let in_memory = rustix::fs::memfd_create("flushed", rustix::fs::MemfdFlags::CLOEXEC);
        let in_memory = File::from(in_memory.expect("a file in memory"));
        let on_disk = std::env::current_exe().expect("a program");
        let on_disk = tempfile::tempfile_in(on_disk.parent().expect("its folder")).expect("a file");
        for file in [in_memory, on_disk] {
            for flushed in [Device::Ssd, Device::Disk] {
                let file = file.try_clone().expect("a file");
                let (ssd, disk) = match flushed {
                    Device::Ssd => (file, doorbell()),
                    Device::Disk => (doorbell(), file),
                };
                let mut ring =
                    Ring::new(Direct(ssd), Some(Direct(disk)), doorbell()).expect("a ring");
                for device in [Device::Ssd, Device::Disk] {
                    let (id, kind, page) = (IoId(7), Kind::Flush, 0);
                    let io = Io { id, device, kind, page, buffers: Vec::new() };
                    let result = carried_out(&mut ring, io);
                    assert_eq!(result.is_ok(), device == flushed, "{device:?}");
                }
            }
        }
    }
}
