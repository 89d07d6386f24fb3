//! Compares the identity of files and block devices.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// Identifies a file or block device independently of its name.
pub(crate) fn identity(metadata: &Metadata) -> (u64, u64) {
    if metadata.file_type().is_block_device() {
        return (0, metadata.rdev());
    }
    (metadata.dev(), metadata.ino())
}

/// Whether two paths name the same file or block device, for example by a link.
#[must_use]
pub fn is_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| std::fs::metadata(path).ok().map(|metadata| identity(&metadata));
    one == other || place(one).is_some_and(|one| place(other) == Some(one))
}
