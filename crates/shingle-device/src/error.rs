//! Errors of I/O: the device, the operation, its place and length, and the error of the system.

use std::fmt;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use shingle_core::size::show_bytes;
use shingle_engine::format::PAGE_BYTES;
use shingle_engine::{self as engine, Io, Kind};

/// An operation on a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The device.
    pub device: engine::Device,
    /// The kind.
    pub kind: Kind,
    /// The first block of 4 KiB. Not used for a flush.
    pub block: u64,
    /// The number of blocks; 0 for a flush.
    pub blocks: u64,
}

impl Operation {
    /// The operation of an I/O.
    #[must_use]
    pub fn of(io: &Io) -> Operation {
        let Io { device, kind, page, ref buffers, .. } = *io;
        let blocks = if let Kind::Trim(blocks) = kind { blocks } else { buffers.len() as u64 };
        Operation { device, kind, block: page, blocks }
    }

    /// `disk` or `SSD`.
    #[must_use]
    pub fn device_name(&self) -> &'static str {
        match self.device {
            engine::Device::Ssd => "SSD",
            engine::Device::Disk => "disk",
        }
    }

    /// `read`, `write`, `flush` or `trim`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Flush => "flush",
            Kind::Trim(_) => "trim",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.device_name(), self.name())?;
        if self.kind == Kind::Flush {
            return Ok(());
        }
        write!(f, " of {} at block {}", show_bytes(self.blocks * PAGE_BYTES as u64), self.block)
    }
}

/// An operation that failed.
#[derive(Debug, thiserror::Error)]
#[error("{operation} failed: {}", cause(error))]
pub struct IoError {
    /// The operation.
    pub operation: Operation,
    /// The reason.
    #[source]
    pub error: io::Error,
}

/// The error of an I/O that ended early: nothing is known of the rest.
pub(crate) fn ended_early(done: usize, wanted: usize) -> io::Error {
    let mut text = format!("it ended after {done} of {wanted} bytes");
    if done == 0 {
        text += ", as where a device was removed or is shorter than before";
    }
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}

/// The text of the system for an error, with its short name in manuals if there is one:
/// `Input/output error (EIO)`.
#[must_use]
pub fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    let Some(number) = error.raw_os_error() else { return text };
    let text = text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text);
    match short_name(Errno::from_raw_os_error(number)) {
        Some(name) => format!("{text} ({name})"),
        None => format!("{text} (error {number})"),
    }
}

/// The short names of errors of block devices and file systems.
fn short_name(errno: Errno) -> Option<&'static str> {
    Some(match errno {
        Errno::IO => "EIO",
        Errno::NXIO => "ENXIO",
        Errno::BADF => "EBADF",
        Errno::AGAIN => "EAGAIN",
        Errno::NOMEM => "ENOMEM",
        Errno::BUSY => "EBUSY",
        Errno::NODEV => "ENODEV",
        Errno::INVAL => "EINVAL",
        Errno::FBIG => "EFBIG",
        Errno::NOSPC => "ENOSPC",
        Errno::ROFS => "EROFS",
        Errno::PERM => "EPERM",
        Errno::BADE => "EBADE",
        Errno::NODATA => "ENODATA",
        Errno::TIME => "ETIME",
        Errno::NOLINK => "ENOLINK",
        Errno::OVERFLOW => "EOVERFLOW",
        Errno::ILSEQ => "EILSEQ",
        Errno::OPNOTSUPP => "EOPNOTSUPP",
        Errno::TIMEDOUT => "ETIMEDOUT",
        Errno::STALE => "ESTALE",
        Errno::REMOTEIO => "EREMOTEIO",
        Errno::DQUOT => "EDQUOT",
        Errno::CANCELED => "ECANCELED",
        _ => return None,
    })
}

/// Ignores errors of a wait for I/O that are no failure: the caller tries again.
pub(crate) fn passes(error: io::Error) -> io::Result<()> {
    match Errno::from_io_error(&error) {
        // A signal, the timeout, or a full queue of completions, which are taken next.
        Some(Errno::INTR | Errno::TIME | Errno::BUSY) => Ok(()),
        // Memory is short: I/O in flight goes on, and releases some.
        Some(Errno::AGAIN | Errno::NOMEM) => {
            thread::sleep(Duration::from_millis(1));
            Ok(())
        }
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_failed_where_and_why() {
        let error = |kind, blocks, error| {
            let operation = Operation { device: engine::Device::Disk, kind, block: 4096, blocks };
            IoError { operation, error }.to_string()
        };
        let system = |errno: Errno| io::Error::from_raw_os_error(errno.raw_os_error());
        assert_eq!(
            error(Kind::Write, 32, system(Errno::IO)),
            "disk: write of 128 KiB at block 4096 failed: Input/output error (EIO)"
        );
        assert_eq!(
            error(Kind::Flush, 0, system(Errno::NOSPC)),
            "disk: flush failed: No space left on device (ENOSPC)"
        );
        let odd = error(Kind::Read, 1, io::Error::from_raw_os_error(45));
        assert!(odd.starts_with("disk: read of 4 KiB at block 4096 failed: "), "{odd}");
        assert!(odd.ends_with(" (error 45)") && !odd.contains("os error"), "{odd}");
        let own = error(Kind::Read, 2, ended_early(4096, 8192));
        assert!(own.ends_with("failed: it ended after 4096 of 8192 bytes"), "{own}");
    }

    #[test]
    fn what_passes_is_no_failure() {
        let told = |errno: Errno| passes(io::Error::from_raw_os_error(errno.raw_os_error()));
        for errno in [Errno::INTR, Errno::TIME, Errno::BUSY, Errno::AGAIN, Errno::NOMEM] {
            assert!(told(errno).is_ok(), "{errno:?}");
        }
        for errno in [Errno::BADF, Errno::IO, Errno::INVAL, Errno::FAULT] {
            assert!(told(errno).is_err(), "{errno:?}");
        }
    }
}
