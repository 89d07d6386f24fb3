//! The files of SSD and disk, and how the I/O of each is done.

use std::io;
use std::sync::Arc;

use rustix::fs::FallocateFlags;
use shingle_engine::buffer::Buffer;
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::{Device, Kind};

use crate::direct::Direct;

/// How blocks are trimmed: with a hole in a file. A block device discards what it can then read as
/// zeros, or refuses.
pub(crate) const HOLE: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

/// A file, and how its I/O is done.
pub struct IoFile {
    pub(crate) direct: Direct,
    /// The file is in memory: to pass each I/O to a thread, of the kernel or of this process, takes
    /// longer than to do it at once.
    pub(crate) in_memory: bool,
    /// The file is on a FUSE file system: the kernel asks it for the file size before a read, and
    /// the submitter waits for the answer. So the I/O is passed to a thread of the kernel.
    pub(crate) on_fuse: bool,
}

impl IoFile {
    /// Finds out on which kind of file system the file is. This blocks on a file system that hangs.
    pub fn new(direct: Direct) -> io::Result<IoFile> {
        const TMPFS: rustix::fs::FsWord = 0x0102_1994;
        const FUSE: rustix::fs::FsWord = 0x6573_5546;
        // Of a block device this would be the file system of its name: /dev is in memory.
        let regular = direct.0.metadata()?.is_file();
        let system = rustix::fs::fstatfs(&direct.0)?.f_type;
        let (in_memory, on_fuse) = (regular && system == TMPFS, regular && system == FUSE);
        Ok(IoFile { direct, in_memory, on_fuse })
    }

    /// Does an I/O, and returns when it is done.
    pub(crate) fn carry_out(
        &self,
        kind: Kind,
        page: u64,
        buffers: &mut [Buffer],
    ) -> io::Result<()> {
        match kind {
            Kind::Read => self.direct.read(page, buffers),
            Kind::Write => self.direct.write(page, buffers),
            Kind::Flush => self.direct.flush(),
            Kind::Trim(pages) => {
                let (offset, bytes) = (page * PAGE_BYTES as u64, pages * PAGE_BYTES as u64);
                Ok(rustix::fs::fallocate(&self.direct.0, HOLE, offset, bytes)?)
            }
        }
    }
}

/// The files of both devices.
pub(crate) struct IoFiles {
    pub(crate) ssd: Arc<IoFile>,
    /// `None` if its I/O goes elsewhere.
    pub(crate) disk: Option<Arc<IoFile>>,
}

impl IoFiles {
    /// The file of a device.
    ///
    /// # Panics
    /// If it is the disk, and there is none.
    pub(crate) fn of(&self, device: Device) -> &Arc<IoFile> {
        match device {
            Device::Ssd => &self.ssd,
            Device::Disk => self.disk.as_ref().expect("its I/O comes here"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    /// Its name is in memory, which does not mean that its I/O is fast.
    #[test]
    fn a_file_in_memory_is_served_at_once_and_a_device_is_not() {
        let shm = std::path::Path::new("/dev/shm");
        if let Ok(file) = tempfile::tempfile_in(shm) {
            assert!(IoFile::new(Direct(file)).expect("looked at").in_memory);
        }
        // In place of a block device, which a test does not have.
        let device = File::open("/dev/null").expect("there");
        assert!(!IoFile::new(Direct(device)).expect("looked at").in_memory);
    }
}
