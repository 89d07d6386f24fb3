//! Loop devices: a file has two users if one opens it by its name and the other as a loop device,
//! or by two loop devices. No lock shows that.

use std::fs::{read_dir, read_to_string};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use crate::lock;
use crate::same::is_same;

/// A loop device, as the system describes it.
struct Loop {
    name: String,
    file: PathBuf,
    /// The part of the file that it shows.
    bytes: Range<u64>,
}

impl Loop {
    /// Reads it from its folder in /sys; `None` for other devices.
    fn of(folder: &Path) -> Option<Loop> {
        let told = |what: &str| read_to_string(folder.join("loop").join(what)).ok();
        let number = |what| told(what).and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let file = told("backing_file")?.trim_end_matches('\n').into();
        let name = folder.canonicalize().ok()?.file_name()?.display().to_string();
        let (first, limit): (u64, u64) = (number("offset"), number("sizelimit"));
        let end = if limit == 0 { u64::MAX } else { first.saturating_add(limit) };
        Some(Loop { name, file, bytes: first..end })
    }

    /// The loop device with this number, or the one of this partition.
    fn numbered(number: u64) -> Option<Loop> {
        let folder = format!("/sys/dev/block/{}:{}", major(number), minor(number));
        let folder = Path::new(&folder);
        Loop::of(folder).or_else(|| Loop::of(&folder.join("..")))
    }

    fn all() -> impl Iterator<Item = Loop> {
        let devices = read_dir("/sys/block").into_iter().flatten().flatten();
        devices.filter_map(|device| Loop::of(&device.path()))
    }

    /// Those that use a file, as far as it can be seen from here.
    fn all_of(file: &Path) -> impl Iterator<Item = Loop> {
        Loop::all().filter(move |device| is_same(file, &device.file))
    }

    /// The other ones of the same bytes.
    fn others(&self) -> impl Iterator<Item = Loop> {
        // Nothing is known of a file that cannot be seen from here, or was deleted.
        let there = self.file.exists().then(|| Loop::all_of(&self.file));
        there.into_iter().flatten().filter(|other| {
            let (one, two) = (&self.bytes, &other.bytes);
            other.name != self.name && one.start < two.end && two.start < one.end
        })
    }

    fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }
}

/// The loop device that uses a file, as far as it can be seen from here.
pub(crate) fn of_file(path: &Path) -> Option<String> {
    Loop::all_of(path).next().map(|device| device.path())
}

/// The file of a loop device, or of a partition of it, if another process has locked the file: the
/// loop device may have been made after that.
pub(crate) fn file_in_use(number: u64) -> Option<PathBuf> {
    let Loop { file, .. } = Loop::numbered(number)?;
    let held = lock::open_unlocked(&file).is_ok_and(|file| lock::is_locked(&file));
    held.then_some(file)
}

/// Another loop device of the same bytes of a file.
pub(crate) fn beside(number: u64) -> Option<String> {
    let this = Loop::numbered(number)?;
    this.others().next().map(|device| device.path())
}

/// Whether a process has locked a file or block device, by this name or by that of a loop device or of its file.
///
/// # Errors
/// If it cannot be opened.
pub fn is_in_use(path: &Path) -> io::Result<bool> {
    let file = lock::open_unlocked(path)?;
    let metadata = file.metadata()?;
    let mut others: Vec<PathBuf> = Vec::new();
    if metadata.is_file() {
        others.extend(Loop::all_of(path).map(|device| device.path().into()));
    } else if let Some(this) = Loop::numbered(metadata.rdev()) {
        others.extend(this.others().map(|device| device.path().into()));
        others.push(this.file);
    }
    let is_locked = |path: &PathBuf| lock::open_unlocked(path).is_ok_and(|f| lock::is_locked(&f));
    Ok(lock::is_locked(&file) || others.iter().any(is_locked))
}
