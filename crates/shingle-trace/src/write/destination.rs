//! Where a file is written: no reader ever sees half of it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Where a file is written.
pub enum Destination {
    /// Beside its name, which it gets once it is whole.
    Beside {
        /// Where it is written.
        partial: PathBuf,
        /// Its name.
        path: PathBuf,
    },
    /// Straight to a device or a pipe, which nothing may replace.
    Straight(PathBuf),
}

impl Destination {
    /// Where what is called `path` is written.
    #[must_use]
    pub fn of(path: &Path) -> Destination {
        let path = match fs::metadata(path) {
            Ok(there) if !there.is_file() => return Destination::Straight(path.into()),
            // A link stays one: the file that it leads to is replaced.
            Ok(_) => path.canonicalize().unwrap_or_else(|_| path.into()),
            Err(_) => path.into(),
        };
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        Destination::Beside { partial: partial.into(), path }
    }

    /// What to write to.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn create(&self) -> io::Result<File> {
        match self {
            Destination::Beside { partial, .. } => File::create(partial),
            Destination::Straight(path) => File::options().write(true).open(path),
        }
    }

    /// Gives the file its name, or removes what was `written` of it.
    ///
    /// # Errors
    /// If it was not written, or does not get its name.
    pub fn finish(self, written: io::Result<()>) -> io::Result<()> {
        let Destination::Beside { partial, path } = &self else { return written };
        let named = written.and_then(|()| fs::rename(partial, path));
        if named.is_err() {
            self.give_up();
        }
        named
    }

    /// Removes what was written of a file that does not get its name.
    pub(crate) fn give_up(self) {
        if let Destination::Beside { partial, .. } = self {
            let _ = fs::remove_file(partial);
        }
    }
}
