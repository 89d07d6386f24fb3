//! Whether the name by which a file or block device was opened still leads to it.

use std::io::ErrorKind;
use std::path::Path;

use crate::device::Device;
use crate::same::identity;

/// What has become of the name of an open file or block device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// It leads to what is open, as far as the system says.
    #[default]
    Kept,
    /// It leads nowhere. What is open has another name, or is a device that went away.
    Gone,
    /// It leads to another file or device.
    Taken,
    /// The file has no name any more: its content is lost when it is closed. Another file may have
    /// its former name.
    Deleted,
}

impl Device {
    /// What has become of the name by which it was opened. May take long: the folder may be on another device.
    #[must_use]
    pub fn place(&self) -> Place {
        if self.is_deleted() {
            return Place::Deleted;
        }
        self.place_at(self.path())
    }

    /// The same of another name.
    #[must_use]
    pub fn place_at(&self, path: &Path) -> Place {
        match (self.direct().metadata(), std::fs::metadata(path)) {
            (Ok(open), Ok(named)) if identity(&open) != identity(&named) => Place::Taken,
            (Ok(_), Err(error)) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => Place::Gone,
                _ => Place::Kept,
            },
            _ => Place::Kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_name_is_followed_while_the_file_is_open() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("real"), [0; 4096]).expect("made");
        std::os::unix::fs::symlink("real", path("link")).expect("made");
        let device = Device::open(&path("link")).expect("opened");
        assert_eq!(device.place(), Place::Kept);
        fs::rename(path("real"), path("moved")).expect("moved");
        assert_eq!(device.place(), Place::Gone);
        fs::write(path("real"), [1; 4096]).expect("made");
        assert_eq!(device.place(), Place::Taken);
        assert_eq!(device.place_at(&path("moved")), Place::Kept);
        fs::rename(path("moved"), path("real")).expect("moved back");
        assert_eq!(device.place(), Place::Kept);
        fs::remove_file(path("real")).expect("removed");
        assert_eq!(device.place(), Place::Deleted);
        fs::write(path("real"), [1; 4096]).expect("made");
        assert_eq!(device.place(), Place::Deleted, "what is open is lost, whatever has its name");
    }
}
