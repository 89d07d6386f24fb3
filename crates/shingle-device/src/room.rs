//! Reserves the space for all that will be written to a file.

use std::os::unix::fs::MetadataExt;

use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use rustix::io::Errno;

use crate::device::{Device, DeviceError};

/// The unit of `st_blocks`.
const SECTOR_BYTES: u64 = 512;

impl Device {
    /// Reserves the space that a file needs when all of it is written: otherwise any write may
    /// later find the file system full. Existing data is kept. A block device has its space, and
    /// some file systems cannot reserve any.
    ///
    /// # Errors
    /// If there is not enough space, or the system does not report it.
    pub fn reserve(&self) -> Result<(), DeviceError> {
        // An empty file is too small for anything, which other checks report.
        if !self.is_regular() || self.bytes() == 0 {
            return Ok(());
        }
        let file = self.direct();
        let metadata = file.metadata().map_err(self.system("measure"))?;
        let needed = self.bytes().saturating_sub(metadata.blocks() * SECTOR_BYTES);
        // Checked before, as a file system that reserves piece by piece would be full when it
        // fails.
        let system = fstatvfs(file).map_err(|errno| self.system("measure")(errno.into()))?;
        let found = system.f_bavail * system.f_frsize;
        let too_little = || DeviceError::Room { path: self.path().to_owned(), needed, found };
        if needed > found {
            return Err(too_little());
        }
        match fallocate(file, FallocateFlags::empty(), 0, self.bytes()) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(Errno::NOSPC | Errno::DQUOT) => Err(too_little()),
            Err(errno) => Err(self.system("set room aside for")(errno.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_file_has_room_for_all_of_it_and_what_it_holds_stays() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        std::io::Write::write_all(&mut file, &[7; 4096]).expect("written");
        file.as_file().set_len(1 << 20).expect("with a hole");
        let device = Device::open(file.path()).expect("opened");
        device.reserve().expect("there is a megabyte");
        let mut page = [0; 4096];
        device.read_block(shingle_core::units::Block(0), &mut page).expect("read");
        assert_eq!((page, file.as_file().metadata().expect("there").len()), ([7; 4096], 1 << 20));
        // If the file system supports it.
        let allocated = file.as_file().metadata().expect("there").blocks() * SECTOR_BYTES;
        let can = fallocate(file.as_file(), FallocateFlags::empty(), 0, 1 << 20).is_ok();
        assert!(!can || allocated >= 1 << 20, "{allocated} bytes");
    }

    #[test]
    fn what_has_no_room_is_refused_and_takes_none() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let system = fstatvfs(file.as_file()).expect("a file system");
        let all = system.f_blocks * system.f_frsize;
        let bytes = (all + (1 << 30)).next_multiple_of(4096);
        if file.as_file().set_len(bytes).is_err() {
            return println!("SKIPPED: no file of {bytes} bytes here");
        }
        let device = Device::open(file.path()).expect("opened");
        let error = device.reserve().expect_err("more than there is").to_string();
        assert!(error.contains("free some, or make it smaller"), "{error}");
        let blocks =
            File::open(file.path()).and_then(|file| file.metadata()).expect("there").blocks();
        assert!(blocks < 1 << 20, "{blocks} sectors were taken");
    }
}
