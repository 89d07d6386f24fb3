//! The destination of a file, so that no reader sees an incomplete one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The destination of a file.
pub enum Destination {
    /// Written under another name, and renamed when complete.
    ViaTemporary {
        /// The path while it is written.
        partial: PathBuf,
        /// The final path.
        path: PathBuf,
    },
    /// Written directly to a device or a pipe, which must not be replaced.
    Direct(PathBuf),
}

impl Destination {
    /// Returns the destination for the file `path`.
    #[must_use]
    pub fn of(path: &Path) -> Destination {
        let path = match fs::metadata(path) {
            Ok(there) if !there.is_file() => return Destination::Direct(path.into()),
            // A link is kept: the file that it points to is replaced.
            Ok(_) => path.canonicalize().unwrap_or_else(|_| path.into()),
            Err(_) => path.into(),
        };
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        Destination::ViaTemporary { partial: partial.into(), path }
    }

    /// Opens the file to write to.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn create(&self) -> io::Result<File> {
        match self {
            Destination::ViaTemporary { partial, .. } => File::create(partial),
            Destination::Direct(path) => File::options().write(true).open(path),
        }
    }

    /// Renames the complete file, or removes it if `written` is an error.
    ///
    /// # Errors
    /// If writing or renaming failed.
    pub fn finish(self, written: io::Result<()>) -> io::Result<()> {
        let Destination::ViaTemporary { partial, path } = &self else { return written };
        let named = written.and_then(|()| fs::rename(partial, path));
        if named.is_err() {
            self.discard();
        }
        named
    }

    /// Removes the incomplete file.
    pub(crate) fn discard(self) {
        if let Destination::ViaTemporary { partial, .. } = self {
            let _ = fs::remove_file(partial);
        }
    }
}
