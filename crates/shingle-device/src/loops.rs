//! Loop devices: a file is used by two as soon as one uses it by its name and another as a device, or by two devices. No lock
//! tells them of each other.

use std::fs::{read_dir, read_to_string};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use crate::lock;
use crate::same::is_same;

/// A loop device as the system tells of it.
struct Loop {
    name: String,
    file: PathBuf,
    /// The part of the file that it is.
    bytes: Range<u64>,
}

impl Loop {
    /// By its folder in /sys; nothing of other devices.
    fn of(folder: &Path) -> Option<Loop> {
        let told = |what: &str| read_to_string(folder.join("loop").join(what)).ok();
        let number = |what| told(what).and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let file = told("backing_file")?.trim_end_matches('\n').into();
        let name = folder.canonicalize().ok()?.file_name()?.display().to_string();
        let (first, limit): (u64, u64) = (number("offset"), number("sizelimit"));
        let end = if limit == 0 { u64::MAX } else { first.saturating_add(limit) };
        Some(Loop { name, file, bytes: first..end })
    }

    /// The one of this number, or of which that is a partition.
    fn numbered(number: u64) -> Option<Loop> {
        let folder = format!("/sys/dev/block/{}:{}", major(number), minor(number));
        let folder = Path::new(&folder);
        Loop::of(folder).or_else(|| Loop::of(&folder.join("..")))
    }

    fn all() -> impl Iterator<Item = Loop> {
        let devices = read_dir("/sys/block").into_iter().flatten().flatten();
        devices.filter_map(|device| Loop::of(&device.path()))
    }

    fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }
}

/// The loop device behind which a file is, as far as it can be seen from here.
pub(crate) fn of_file(path: &Path) -> Option<String> {
    Loop::all().find(|device| is_same(path, &device.file)).map(|device| device.path())
}

/// The file behind a loop device or a partition of it, if somebody has that for himself: the loop device may have been made
/// after he opened it.
pub(crate) fn file_in_use(number: u64) -> Option<PathBuf> {
    let Loop { file, .. } = Loop::numbered(number)?;
    let held = lock::open_to_look(&file).is_ok_and(|file| lock::is_held(&file));
    held.then_some(file)
}

/// Another loop device of the same bytes of a file.
pub(crate) fn beside(number: u64) -> Option<String> {
    let this = Loop::numbered(number)?;
    // (Of a file that cannot be seen from here, or has no name any more, nothing can be told.)
    let is_beside = |other: &Loop| {
        let overlaps = this.bytes.start < other.bytes.end && other.bytes.start < this.bytes.end;
        let same = this.file.exists() && is_same(&this.file, &other.file);
        other.name != this.name && overlaps && same
    };
    Loop::all().find(is_beside).map(|device| device.path())
}
