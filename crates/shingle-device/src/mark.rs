//! The mark of a disk: which cache it belongs to, and since which edition of its superblock. For a
//! disk that is a file, it is an extended attribute. The edition increases with each start of the
//! cache, on the SSD first, so a cache with a lower edition is an older copy.
//!
//! A block device has no place for a mark: all of its bytes belong to its user. A zoned disk has
//! the mark in its map (`shingle-translated`).

use std::fs::File;
use std::path::Path;

use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr, fsync};
use rustix::io::Errno;
use uuid::Uuid;

use crate::device::{Device, DeviceError};

/// The name of the attribute. Its text is the UUID and the edition.
const ATTRIBUTE: &str = "user.shingle";
/// The longest attribute that can be a mark.
const BYTES_MAX: usize = 128;

/// The mark of a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The UUID of the cache.
    pub uuid: [u8; 16],
    /// The edition of its superblock at its start.
    pub edition: u64,
}

impl Mark {
    /// The mark of a disk whose cache was detached, or that was served without it: from then on no
    /// SSD has data for it. It contains the name of the disk, if it has one.
    #[must_use]
    pub fn without_cache(disk: Option<[u8; 16]>) -> Mark {
        Mark { uuid: disk.unwrap_or_default(), edition: 0 }
    }

    /// Whether it is such a mark of a disk with this name.
    #[must_use]
    pub fn is_without_cache(&self, disk: Option<[u8; 16]>) -> bool {
        *self == Mark::without_cache(disk)
    }

    /// The UUID of the cache that the disk with this name belongs to; `None` for a mark of
    /// [`Mark::without_cache`].
    #[must_use]
    pub fn cache(&self, disk: Option<[u8; 16]>) -> Option<Uuid> {
        (!self.is_without_cache(disk)).then(|| Uuid::from_bytes(self.uuid))
    }

    /// The mark of a disk; `None` if there is none, or it is not valid.
    pub fn of(disk: &Device) -> Result<Option<Mark>, DeviceError> {
        if !disk.is_regular() {
            return Ok(None);
        }
        get(disk.direct(), disk.path())
    }

    fn parse(text: &str) -> Option<Mark> {
        let (uuid, edition) = text.split_once(' ')?;
        let uuid = Uuid::parse_str(uuid).ok()?.into_bytes();
        Some(Mark { uuid, edition: edition.parse().ok()? })
    }

    fn text(&self) -> String {
        format!("{} {}", Uuid::from_bytes(self.uuid), self.edition)
    }

    /// Writes the mark durably to a disk that has a place for it. Returns whether it has: a block
    /// device, and a file on a file system without user attributes, has not.
    pub fn write_to(&self, disk: &Device) -> Result<bool, DeviceError> {
        if !disk.is_regular() {
            return Ok(false);
        }
        put(disk.direct(), disk.path(), self)
    }

    /// Removes the mark of a disk.
    pub fn remove(disk: &Device) -> Result<(), DeviceError> {
        if !disk.is_regular() {
            return Ok(());
        }
        clear(disk.direct(), disk.path())
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(Errno) -> DeviceError {
    let path = path.to_owned();
    move |error| DeviceError::System { what, path, error: error.into() }
}

fn get(file: &File, path: &Path) -> Result<Option<Mark>, DeviceError> {
    let mut bytes = [0; BYTES_MAX];
    let length = match fgetxattr(file, ATTRIBUTE, &mut bytes) {
        // There is no mark, marks are not supported, or the attribute is longer than any mark.
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::RANGE) => return Ok(None),
        other => other.map_err(failed("read the mark of", path))?,
    };
    let text = bytes.get(..length).and_then(|bytes| str::from_utf8(bytes).ok());
    Ok(text.and_then(Mark::parse))
}

fn put(file: &File, path: &Path, mark: &Mark) -> Result<bool, DeviceError> {
    match fsetxattr(file, ATTRIBUTE, mark.text().as_bytes(), XattrFlags::empty()) {
        Err(Errno::OPNOTSUPP | Errno::PERM) => return Ok(false),
        other => other.map_err(failed("mark", path))?,
    }
    fsync(file).map_err(failed("mark", path))?;
    Ok(true)
}

fn clear(file: &File, path: &Path) -> Result<(), DeviceError> {
    match fremovexattr(file, ATTRIBUTE) {
        Err(Errno::NODATA | Errno::OPNOTSUPP) => return Ok(()),
        other => other.map_err(failed("clear the mark of", path))?,
    }
    fsync(file).map_err(failed("clear the mark of", path))
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

    fn disk() -> (tempfile::NamedTempFile, Device) {
        let exe = std::env::current_exe().expect("a program");
        let file = tempfile::NamedTempFile::new_in(exe.parent().expect("its folder"));
        let file = file.expect("a file");
        file.as_file().set_len(4096).expect("its length");
        let disk = Device::open(file.path()).expect("opened");
        (file, disk)
    }

    #[test]
    fn a_mark_stays_until_it_is_removed() {
        let (_file, disk) = disk();
        let mark = Mark { uuid: [7; 16], edition: 3 };
        assert_eq!(Mark::of(&disk).expect("told"), None);
        Mark::remove(&disk).expect("there is none");
        if !mark.write_to(&disk).expect("left, if it can be") {
            return println!("SKIPPED: this file system keeps no attributes of users");
        }
        assert_eq!(Mark::of(&disk).expect("told"), Some(mark));
        // An invalid mark counts as none, and can be removed.
        for odd in [&b"odd"[..], &[0xff; 300]] {
            fsetxattr(disk.direct(), ATTRIBUTE, odd, XattrFlags::empty()).expect("set");
            assert_eq!(Mark::of(&disk).expect("told"), None);
        }
        Mark::remove(&disk).expect("removed");
        assert_eq!(fgetxattr(disk.direct(), ATTRIBUTE, &mut [0; 400]), Err(Errno::NODATA));
    }

    /// A file system without such attributes is the only one that need not take a mark.
    #[test]
    fn a_mark_that_finds_no_room_is_an_error() {
        let (_file, disk) = disk();
        // Fills the space for attributes, if the file system limits it.
        let fill = |number: usize, bytes: usize| {
            let name = format!("user.f{bytes}.{number}");
            fsetxattr(disk.direct(), name, &vec![1; bytes], XattrFlags::empty())
        };
        let full =
            [1000, 100, 10, 0].map(|bytes| (0..100).any(|number| fill(number, bytes).is_err()));
        let mark = Mark { uuid: [7; 16], edition: 3 };
        match mark.write_to(&disk) {
            Err(error) => {
                let text = error.to_string();
                assert!(text.starts_with("cannot mark ") && text.contains("os error"), "{text}");
            }
            Ok(_) if full != [true; 4] => println!("SKIPPED: attributes have no limit here"),
            Ok(left) => assert!(!left, "it can carry none at all"),
        }
    }
}
