//! The files or devices of a replay: created if missing, and never overwritten silently.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, bail};
use shingle_core::size::show_bytes;
use shingle_core::units::BLOCK_BYTES;
use shingle_device::open_unlocked;
use shingle_engine::format::layout::Layout;
use shingle_store::backend::open_disk_read_only;

use crate::Usage;

/// Returns the length of a file or device; `None` if it does not exist or is empty.
fn length(path: &Path) -> anyhow::Result<Option<u64>> {
    match open_unlocked(path) {
        Ok(mut file) => {
            let bytes = file.seek(SeekFrom::End(0)).with_context(|| path.display().to_string())?;
            Ok(Some(bytes).filter(|&bytes| bytes > 0))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// A file that was created or extended. On drop it is restored unless kept: otherwise it would be
/// in the way of the next attempt.
pub(super) struct Made<'a> {
    path: &'a Path,
    /// Its old length, if it existed.
    before: Option<u64>,
    kept: bool,
}

impl Made<'_> {
    pub(super) fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        // The error that led here is reported already.
        let _ = match self.before {
            None => std::fs::remove_file(self.path),
            Some(bytes) => open(self.path).and_then(|file| file.set_len(bytes)),
        };
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

fn set_length(path: &Path, bytes: u64) -> io::Result<Made<'_>> {
    let before = path.metadata().ok().map(|metadata| metadata.len());
    let file = open(path)?;
    let made = Made { path, before, kept: false };
    file.set_len(bytes)?;
    Ok(made)
}

/// A file or device with its required length.
pub(super) struct Wanted<'a> {
    path: &'a Path,
    /// Its current length.
    before: u64,
    /// The length it has to be extended to.
    bytes: Option<u64>,
    /// Whether it is a zoned disk, which a translation makes writable anywhere.
    is_translated: bool,
}

impl<'a> Wanted<'a> {
    /// Extends it. Returns `None` if it is long enough.
    pub(super) fn make(&self) -> anyhow::Result<Option<Made<'a>>> {
        let made = self.bytes.map(|bytes| set_length(self.path, bytes)).transpose();
        made.with_context(|| self.path.display().to_string())
    }

    /// Returns the slots of a cache on it.
    pub(super) fn slots(&self) -> u64 {
        Layout::for_ssd(self.bytes.unwrap_or(self.before)).map_or(0, |layout| layout.slots)
    }

    pub(super) fn is_translated(&self) -> bool {
        self.is_translated
    }

    /// Returns whether it exists.
    pub(super) fn is_there(&self) -> bool {
        self.before > 0
    }
}

/// Checks the disk, which must hold `bytes`.
pub(super) fn disk(path: &Path, bytes: u64, overwrite: bool) -> anyhow::Result<Wanted<'_>> {
    let Some(there) = length(path)? else {
        return Ok(Wanted { path, before: 0, bytes: Some(bytes), is_translated: false });
    };
    if !overwrite {
        bail!(Usage(format!(
            "{}: holds {}, and a replay writes over it; name a file that is not there, or say \
             --overwrite",
            path.display(),
            show_bytes(there)
        )));
    }
    let disk = open_disk_read_only(path)?;
    let (has, is_translated) = (disk.bytes(), disk.device().is_none());
    if has < bytes && (is_translated || !path.metadata()?.is_file()) {
        bail!(
            "{}: has {has} bytes, and {bytes} are needed; name another file or device",
            path.display()
        );
    }
    let bytes = (has < bytes).then_some(bytes);
    Ok(Wanted { path, before: there, bytes, is_translated })
}

/// Checks the SSD, which must hold a cache of `slots`, if a number was requested.
pub(super) fn ssd(
    path: &Path,
    slots: Option<u64>,
    default_slots: u64,
) -> anyhow::Result<Wanted<'_>> {
    match (length(path)?, slots) {
        (None, slots) => {
            let bytes = Some(bytes_for(slots.unwrap_or(default_slots)));
            Ok(Wanted { path, before: 0, bytes, is_translated: false })
        }
        (Some(before), None) => Ok(Wanted { path, before, bytes: None, is_translated: false }),
        (Some(there), Some(slots)) => {
            let found = Layout::for_ssd(there).map_or(0, |layout| layout.slots);
            if found != slots {
                bail!(Usage(format!(
                    "{}: has room for {found} blocks, not {slots}; leave out -c, or name a \
                     file that is not there",
                    path.display()
                )));
            }
            Ok(Wanted { path, before: there, bytes: None, is_translated: false })
        }
    }
}

/// Returns the size of the smallest SSD with this number of slots.
fn bytes_for(slots: u64) -> u64 {
    let (mut least, mut most) = (16 << 20, (slots * 2 * BLOCK_BYTES).max(16 << 20));
    while least < most {
        let middle = (least + most) / 2 / BLOCK_BYTES * BLOCK_BYTES;
        if Layout::for_ssd(middle).is_some_and(|layout| layout.slots >= slots) {
            most = middle;
        } else {
            least = middle + BLOCK_BYTES;
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ssd_has_the_slots_that_were_asked_for() {
        for slots in [4_000, 10_000, 65_536, 1_000_000] {
            let layout = Layout::for_ssd(bytes_for(slots)).expect("large enough");
            assert_eq!(layout.slots, slots);
        }
        assert_eq!(bytes_for(5), 16 << 20, "the smallest there is");
    }
}
