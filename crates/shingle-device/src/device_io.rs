//! The I/O of an engine on two devices: by io_uring, or by threads where the system does not allow
//! it.

mod file;
mod ring;
mod threads;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use shingle_engine::Io;

use crate::direct::Direct;
use crate::done::Done;
use file::IoFiles;
use ring::{Ring, is_not_allowed};
use threads::IoThreads;

pub use file::IoFile;

/// How I/O is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoMethod {
    /// By io_uring.
    IoUring,
    /// By threads, which takes more processor time. Containers and hardened systems often allow no
    /// io_uring.
    Threads,
}

/// Does I/O on two devices.
pub struct DeviceIo {
    files: IoFiles,
    by: By,
    /// I/O that was done at once.
    finished: Vec<Done>,
}

enum By {
    Ring(Ring),
    Threads(IoThreads),
}

impl DeviceIo {
    /// Prepares I/O on these devices. Without a disk, its I/O has to go elsewhere. The doorbell is
    /// an eventfd that other threads write to end [`DeviceIo::wait`]. Without a method, I/O is done
    /// by io_uring if the system allows that.
    ///
    /// # Errors
    /// If the system does not describe a file, or has no memory or no thread for this.
    pub fn new(
        ssd: Direct,
        disk: Option<Direct>,
        doorbell: File,
        method: Option<IoMethod>,
    ) -> io::Result<DeviceIo> {
        let open = |file| IoFile::new(file).map(Arc::new);
        let files = IoFiles { ssd: open(ssd)?, disk: disk.map(open).transpose()? };
        let by = match method {
            Some(IoMethod::Threads) => By::Threads(IoThreads::start(doorbell)?),
            Some(IoMethod::IoUring) => By::Ring(Ring::new(doorbell)?),
            None => match Ring::new(doorbell.try_clone()?) {
                Err(error) if is_not_allowed(&error) => By::Threads(IoThreads::start(doorbell)?),
                ring => By::Ring(ring?),
            },
        };
        Ok(DeviceIo { files, by, finished: Vec::new() })
    }

    /// How it is done.
    #[must_use]
    pub fn method(&self) -> IoMethod {
        match self.by {
            By::Ring(_) => IoMethod::IoUring,
            By::Threads(_) => IoMethod::Threads,
        }
    }

    /// Replaces the SSD.
    ///
    /// # Panics
    /// If I/O of the old one is not done yet.
    pub fn set_ssd(&mut self, ssd: IoFile) {
        let in_use = match &self.by {
            By::Ring(ring) => ring.uses_ssd(),
            By::Threads(threads) => threads.uses_ssd(),
        };
        assert!(!in_use, "the SSD is in use");
        self.files.ssd = Arc::new(ssd);
    }

    /// Submits an I/O of the engine.
    ///
    /// # Panics
    /// If it is for the disk, and there is none.
    pub fn begin(&mut self, io: Io) {
        let file = self.files.of(io.device);
        if file.in_memory {
            let done = Done::by(io, |kind, page, buffers| file.carry_out(kind, page, buffers));
            return self.finished.push(done);
        }
        match &mut self.by {
            By::Ring(ring) => ring.begin(io, file),
            By::Threads(threads) => threads.begin(io, file),
        }
    }

    /// Returns when something is done, the doorbell is written, or `timeout` is over.
    ///
    /// # Errors
    /// If this cannot be used any more.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        let timeout = if self.has_finished() { Duration::ZERO } else { timeout };
        match &mut self.by {
            By::Ring(ring) => ring.wait(timeout),
            By::Threads(threads) => threads.wait(timeout),
        }
    }

    /// Whether [`DeviceIo::wait`] would return at once, as an I/O is done.
    #[must_use]
    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Appends completed I/Os to `done`.
    pub fn done(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.finished);
        match &mut self.by {
            By::Ring(ring) => ring.done(&self.files, done),
            By::Threads(threads) => threads.done(done),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::time::Instant;

    use rustix::event::{EventfdFlags, eventfd};
    use rustix::io::Errno;
    use shingle_engine::buffer::zeroed;
    use shingle_engine::format::PAGE_BYTES;
    use shingle_engine::{Device, IoId, Kind};

    use super::*;
    use crate::error::IoError;

    const METHODS: [IoMethod; 2] = [IoMethod::IoUring, IoMethod::Threads];

    fn doorbell() -> File {
        File::from(eventfd(0, EventfdFlags::CLOEXEC).expect("a doorbell"))
    }

    /// A file that is not in memory.
    fn on_disk() -> File {
        let exe = std::env::current_exe().expect("a program");
        tempfile::tempfile_in(exe.parent().expect("its folder")).expect("a file")
    }

    fn in_memory() -> File {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        File::from(rustix::fs::memfd_create("shingle-test", flags).expect("a file in memory"))
    }

    /// Both methods, with a file on a disk and one in memory, where other system calls are used.
    fn methods_and_files() -> impl Iterator<Item = (IoMethod, File)> {
        METHODS.into_iter().flat_map(|method| [(method, on_disk()), (method, in_memory())])
    }

    /// I/O on these files by `method`; `None` where the system does not allow it.
    fn io_on(method: IoMethod, ssd: File, disk: File) -> Option<DeviceIo> {
        io_with(method, ssd, disk, doorbell())
    }

    fn io_with(method: IoMethod, ssd: File, disk: File, doorbell: File) -> Option<DeviceIo> {
        match DeviceIo::new(Direct(ssd), Some(Direct(disk)), doorbell, Some(method)) {
            Err(error) if is_not_allowed(&error) => {
                eprintln!("SKIPPED: {method:?}: {error}");
                None
            }
            io => Some(io.expect("prepared")),
        }
    }

    fn begin(io: &mut DeviceIo, id: u64, device: Device, kind: Kind, page: u64) {
        let count = match kind {
            Kind::Read | Kind::Write => 2,
            Kind::Flush | Kind::Trim(_) => 0,
        };
        let buffers = (0..count).map(|_| zeroed()).collect();
        io.begin(Io { id: IoId(id), device, kind, page, buffers });
    }

    /// Waits for `count` I/Os.
    fn wait(io: &mut DeviceIo, count: usize) -> Vec<Done> {
        let mut done = Vec::new();
        while done.len() < count {
            io.wait(Duration::from_secs(1)).expect("it waits");
            io.done(&mut done);
        }
        done
    }

    fn result(io: &mut DeviceIo, device: Device, kind: Kind, page: u64) -> Result<(), IoError> {
        begin(io, 1, device, kind, page);
        wait(io, 1).remove(0).result
    }

    #[test]
    fn threads_take_over_only_what_the_system_does_not_allow() {
        let is = |errno: Errno| is_not_allowed(&io::Error::from_raw_os_error(errno.raw_os_error()));
        assert!([Errno::PERM, Errno::ACCESS, Errno::NOSYS].into_iter().all(is));
        assert!(![Errno::NOMEM, Errno::MFILE, Errno::INVAL].into_iter().any(is));
    }

    /// More I/Os than threads, of both devices.
    #[test]
    fn what_is_written_is_read() {
        for (method, file) in methods_and_files() {
            let Some(mut io) = io_on(method, on_disk(), file) else { continue };
            assert_eq!(io.method(), method);
            let mut pages: Vec<u64> = (0..100).collect();
            for device in [Device::Ssd, Device::Disk] {
                for &page in &pages {
                    let mut buffers = vec![zeroed(), zeroed()];
                    buffers.iter_mut().for_each(|buffer| buffer.0.fill(page as u8 + 1));
                    let (id, kind) = (IoId(page), Kind::Write);
                    io.begin(Io { id, device, kind, page: 2 * page, buffers });
                }
            }
            assert!(wait(&mut io, 200).iter().all(|done| done.result.is_ok()));
            for device in [Device::Ssd, Device::Disk] {
                pages.reverse();
                pages.iter().for_each(|&p| begin(&mut io, p, device, Kind::Read, 2 * p));
                for Done { id, result, buffers } in wait(&mut io, 100) {
                    assert!(result.is_ok());
                    let is = |buffer: &shingle_engine::buffer::Buffer| {
                        buffer.0.iter().all(|&byte| byte == id.0 as u8 + 1)
                    };
                    assert!(buffers.iter().all(is), "{method:?}: {device:?}, page {}", id.0);
                }
            }
        }
    }

    #[test]
    fn the_doorbell_ends_a_wait() {
        for method in METHODS {
            let bell = doorbell();
            let again = bell.try_clone().expect("a doorbell");
            let Some(mut io) = io_with(method, on_disk(), on_disk(), bell) else { continue };
            for _ in 0..3 {
                io::Write::write_all(&mut &again, &1_u64.to_ne_bytes()).expect("rung");
                let begun = Instant::now();
                io.wait(Duration::from_secs(600)).expect("it waits");
                io.done(&mut Vec::new());
                assert!(begun.elapsed() < Duration::from_secs(300), "{method:?}");
            }
        }
    }

    /// The SSD that was replaced is not written any more.
    #[test]
    fn a_new_ssd_takes_the_place_of_the_old_one() {
        for method in METHODS {
            let (old, new) = (on_disk(), on_disk());
            let lengths = [&old, &new].map(|file| file.try_clone().expect("a file"));
            let Some(mut io) = io_on(method, old, on_disk()) else { continue };
            result(&mut io, Device::Ssd, Kind::Write, 0).expect("written");
            io.set_ssd(IoFile::new(Direct(new)).expect("looked at"));
            result(&mut io, Device::Ssd, Kind::Write, 2).expect("written");
            let lengths = lengths.map(|file| file.metadata().expect("there").len());
            assert_eq!(lengths, [2, 4].map(|pages| pages * PAGE_BYTES as u64), "{method:?}");
        }
    }

    #[test]
    fn a_trim_makes_a_hole_of_these_pages_and_no_others() {
        for (method, file) in methods_and_files() {
            file.write_all_at(&[7; 4 * PAGE_BYTES], 0).expect("written");
            let again = file.try_clone().expect("a file");
            let Some(mut io) = io_on(method, doorbell(), again) else { continue };
            result(&mut io, Device::Disk, Kind::Trim(2), 1).expect("it takes holes");
            let mut is = vec![1; 4 * PAGE_BYTES];
            file.read_exact_at(&mut is, 0).expect("as long as before");
            let firsts: Vec<u8> = is.chunks(PAGE_BYTES).map(|page| page[0]).collect();
            assert_eq!(firsts, [7, 0, 0, 7], "{method:?}");
        }
    }

    #[test]
    fn what_fails_says_what_where_and_why() {
        for method in METHODS {
            let short = on_disk();
            short.set_len(4096).expect("its length");
            let full = File::options().read(true).write(true).open("/dev/full").expect("there");
            let Some(mut io) = io_on(method, short, full) else { continue };
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
                    "SSD: read of 8 KiB at block 0 failed: it ended after 4096 of 8192 bytes",
                ),
            ] {
                let error = result(&mut io, device, kind, page).expect_err("it fails").to_string();
                assert_eq!(error, told, "{method:?}");
            }
        }
    }

    /// Only a file can be flushed, an eventfd cannot: the result shows which one was flushed.
    #[test]
    fn a_flush_goes_to_the_device_it_is_for() {
        for (method, file) in methods_and_files() {
            for flushed in [Device::Ssd, Device::Disk] {
                let file = file.try_clone().expect("a file");
                let (ssd, disk) = match flushed {
                    Device::Ssd => (file, doorbell()),
                    Device::Disk => (doorbell(), file),
                };
                let Some(mut io) = io_on(method, ssd, disk) else { continue };
                for device in [Device::Ssd, Device::Disk] {
                    let result = result(&mut io, device, Kind::Flush, 0);
                    assert_eq!(result.is_ok(), device == flushed, "{method:?}: {device:?}");
                }
            }
        }
    }
}
