//! Which cache a disk belongs to, and since which edition of its superblock: written beside a disk that
//! is a file, as an extended attribute. The edition goes up at each start of the cache, on the SSD
//! first; so a cache with a lower one is an older copy.
//!
//! A block device has no place for it: the disk belongs to its user to the last byte.

use std::io;

use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr, fsync};
use rustix::io::Errno;
use uuid::Uuid;

use crate::device::Device;

/// Its text is the UUID and the edition.
const ATTRIBUTE: &str = "user.shingle";
/// No mark is longer.
const BYTES_MAX: usize = 128;

/// What stands beside a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Of the cache.
    pub uuid: [u8; 16],
    /// Of its superblock, when it was started.
    pub edition: u64,
}

impl Mark {
    /// The mark of a disk, if it has one that can be read.
    #[must_use]
    pub fn of(disk: &Device) -> Option<Mark> {
        let mut bytes = [0; BYTES_MAX];
        let length = fgetxattr(disk.direct(), ATTRIBUTE, &mut bytes).ok()?;
        Mark::parse(str::from_utf8(bytes.get(..length)?).ok()?)
    }

    fn parse(text: &str) -> Option<Mark> {
        let (uuid, edition) = text.split_once(' ')?;
        let uuid = Uuid::parse_str(uuid).ok()?.into_bytes();
        Some(Mark { uuid, edition: edition.parse().ok()? })
    }

    fn text(&self) -> String {
        format!("{} {}", Uuid::from_bytes(self.uuid), self.edition)
    }

    /// Leaves it on a disk that can carry one, to stay when this is done. Returns whether it can.
    ///
    /// # Errors
    /// If the system fails.
    pub fn leave(&self, disk: &Device) -> io::Result<bool> {
        if !disk.is_regular() {
            return Ok(false);
        }
        match fsetxattr(disk.direct(), ATTRIBUTE, self.text().as_bytes(), XattrFlags::empty()) {
            Err(Errno::OPNOTSUPP | Errno::PERM) => return Ok(false),
            other => other?,
        }
        fsync(disk.direct())?;
        Ok(true)
    }

    /// As [`Mark::leave`]; a mark that cannot be renewed (the file system is full) stays what it was,
    /// which is less than could be known, and nothing false.
    pub fn leave_if_possible(&self, disk: &Device) {
        let _ = self.leave(disk);
    }

    /// The disk belongs to no cache any more.
    ///
    /// # Errors
    /// If the system fails.
    pub fn remove(disk: &Device) -> io::Result<()> {
        if Mark::of(disk).is_some() {
            fremovexattr(disk.direct(), ATTRIBUTE)?;
            fsync(disk.direct())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_from_its_text() {
        let mark = Mark { uuid: *b"0123456789abcdef", edition: u64::MAX };
        assert_eq!(Mark::parse(&mark.text()), Some(mark));
        for text in ["", "7", "6f1d7b81-7184-4930-94c8-04de79cd700a", "x 7", "\u{1F9C0} -1"] {
            assert_eq!(Mark::parse(text), None, "{text}");
        }
    }
}
