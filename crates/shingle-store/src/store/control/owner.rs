//! Checks who answers at a control socket: the same user, or root. Anyone may have made a folder in
//! /tmp, and its owner could claim that a cache is detached which is not.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use thiserror::Error;

/// Why a folder or a socket is not trusted.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum ForeignSocket {
    #[error("{0} is no folder (links are not followed); remove it, or set XDG_RUNTIME_DIR")]
    NoFolder(PathBuf),
    #[error(
        "{path} belongs to user {user}, who could answer in the server's place; \
         set XDG_RUNTIME_DIR to a folder of your own"
    )]
    Folder { path: PathBuf, user: u32 },
    #[error("others may write to {path} (mode {mode:o}): say `chmod 700 {path}`", path = .path.display())]
    Mode { path: PathBuf, mode: u32 },
    #[error("{path}: user {user} listens there, not you; ask as that user")]
    Listener { path: PathBuf, user: u32 },
    #[error("{path}: cannot find out its owner: {error}")]
    Unknown { path: PathBuf, error: io::Error },
}

/// Root can do all that a user can, so users trust it; root trusts only itself.
fn is_trusted(user: u32) -> bool {
    user == rustix::process::geteuid().as_raw() || user == 0
}

/// Checks that only this user or root can write to the folder of a control socket. A missing folder
/// is no error here: nothing listens in it, which the caller finds out.
pub(super) fn folder(path: &Path) -> Result<(), ForeignSocket> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ForeignSocket::Unknown { path: path.to_owned(), error }),
        Ok(found) => found,
    };
    let (path, user, mode) = (path.to_owned(), found.uid(), found.mode() & 0o7777);
    if !found.is_dir() {
        return Err(ForeignSocket::NoFolder(path));
    }
    if !is_trusted(user) {
        return Err(ForeignSocket::Folder { path, user });
    }
    if mode & 0o022 != 0 {
        return Err(ForeignSocket::Mode { path, mode });
    }
    Ok(())
}

/// Checks that the listener is this user or root. The kernel stores who called `listen`, so this
/// holds even if the folder was changed since it was checked.
pub(super) fn listener(stream: &UnixStream, path: &Path) -> Result<(), ForeignSocket> {
    let path = path.to_owned();
    match getsockopt(stream, PeerCredentials) {
        Err(error) => Err(ForeignSocket::Unknown { path, error: error.into() }),
        Ok(peer) if is_trusted(peer.uid()) => Ok(()),
        Ok(peer) => Err(ForeignSocket::Listener { path, user: peer.uid() }),
    }
}
