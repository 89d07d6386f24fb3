//! Errors of zoned disks: the device, the command, the zone, the block, and the reason.

use std::fmt;
use std::io;

use rustix::io::Errno;
use shingle_core::size::show_blocks;
use shingle_core::units::{Block, Zone};
use shingle_device::cause;

/// A command of a zoned disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Operation {
    /// Report the state of zones.
    Report,
    /// Read blocks.
    Read,
    /// Write blocks.
    Write,
    /// Finish a zone.
    Finish,
    /// Reset a zone.
    Reset,
    /// Make everything durable that was written.
    Flush,
}

impl Operation {
    /// A short description.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Operation::Report => "report",
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Finish => "finish",
            Operation::Reset => "reset",
            Operation::Flush => "flush",
        }
    }
}

/// Why a command failed. All reasons except the last two are rules of zones (ZBC); then nothing has
/// changed.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs)] // fields are named
pub enum Reason {
    /// A write must begin at the write pointer (ZBC: unaligned write command).
    NotAtPointer { pointer: Block },
    /// The write pointer is inside a block of 4 KiB, where a power cut has torn a write.
    Torn { pointer: Block },
    /// A write must not cross the end of its zone, or of its capacity, or, in conventional zones,
    /// the end of the last one (ZBC: write boundary violation).
    Boundary { end: Block },
    /// A full zone cannot be written (ZBC: invalid field in CDB).
    Full,
    /// The limit of explicitly open zones is reached (ZBC: insufficient zone resources).
    TooManyOpen { max: u32 },
    /// The limit of active zones, open or closed, is reached.
    TooManyActive { max: u32 },
    /// A conventional zone has no write pointer (ZBC: invalid field in CDB).
    Conventional,
    /// A read must end at the write pointer, if the disk reads no zeros beyond it (ZBC: attempt to
    /// read invalid data).
    ReadBeyond { pointer: Block },
    /// The zone is read-only.
    ReadOnly,
    /// The zone is offline: its data is lost.
    Offline,
    /// The range is beyond the end of the disk.
    OutOfRange {
        /// The size of the disk in blocks.
        blocks: u64,
    },
    /// What was written and acknowledged is not there after a flush.
    LostWrites,
    /// The device failed. A failed write may have moved the write pointer: a report returns it.
    Device(io::Error),
}

impl Reason {
    /// Whether write pointers, or the number of zones begun, are in the way.
    pub(crate) fn is_of_pointers(&self) -> bool {
        use Reason::{Full, NotAtPointer, TooManyActive, TooManyOpen, Torn};
        matches!(
            self,
            NotAtPointer { .. } | Torn { .. } | Full | TooManyOpen { .. } | TooManyActive { .. }
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotAtPointer { pointer: Block(at) } => {
                write!(
                    f,
                    "a write begins at the write pointer, block {at}; write there, or reset the zone"
                )
            }
            Reason::Torn { pointer: Block(at) } => write!(
                f,
                "the write pointer is inside block {at}, as a power cut tore a write; reset the zone, or finish it"
            ),
            Reason::Boundary { end: Block(end) } => {
                write!(
                    f,
                    "a write ends at block {end} at the latest, as the zone does; cut it there"
                )
            }
            Reason::Full => f.write_str("the zone is full; reset it first"),
            Reason::TooManyOpen { max } => {
                write!(
                    f,
                    "all {max} zones that can be open were opened by command; close or finish one"
                )
            }
            Reason::TooManyActive { max } => {
                write!(f, "all {max} zones that can be open or closed are; finish or reset one")
            }
            Reason::Conventional => {
                f.write_str("a conventional zone has no write pointer; write it in place")
            }
            Reason::ReadBeyond { pointer: Block(at) } => {
                write!(f, "a read ends at the write pointer, block {at}; read what was written")
            }
            Reason::ReadOnly => f.write_str("the zone is read-only for good; write to another"),
            Reason::Offline => f.write_str("the zone is offline: what was in it is lost"),
            Reason::OutOfRange { blocks } => write!(f, "the disk has {blocks} blocks"),
            Reason::LostWrites => f.write_str(
                "what was written there and acknowledged is not there: the disk has lost writes, as it does when its power \
                 fails for a moment; look at its cable and its supply",
            ),
            Reason::Device(error) => {
                f.write_str(&cause(error))?;
                let full = io::Error::from(Errno::NOSPC).raw_os_error();
                if error.raw_os_error() == full {
                    f.write_str(": the file system, or pool, that the disk lies on is full, or the disk was removed")?;
                }
                Ok(())
            }
        }
    }
}

/// A command that failed. Displays as one line.
#[derive(Debug)]
pub struct ZonedError {
    /// The path of the disk.
    pub device: String,
    /// The command.
    pub operation: Operation,
    /// The zone, if the command or the reason is about one.
    pub zone: Option<Zone>,
    /// The first block; for a command on a zone, the first block of the zone.
    pub block: Block,
    /// The number of blocks; 0 for commands that transfer none.
    pub blocks: u64,
    /// The reason.
    pub reason: Reason,
}

impl fmt::Display for ZonedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.device)?;
        if let Some(Zone(zone)) = self.zone {
            write!(f, "zone {zone}: ")?;
        }
        f.write_str(self.operation.name())?;
        if self.blocks > 0 {
            write!(f, " of {} at block {}", show_blocks(self.blocks), self.block.0)?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for ZonedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            Reason::Device(error) => Some(error),
            _ => None,
        }
    }
}

impl ZonedError {
    /// The error number of the system, if the device failed.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match &self.reason {
            Reason::Device(error) => error.raw_os_error(),
            _ => None,
        }
    }

    /// Whether the error may be about unreadable blocks rather than the device as a whole.
    #[must_use]
    pub fn may_be_the_medium(&self) -> bool {
        let errno = self.errno().map(Errno::from_raw_os_error);
        matches!(errno, Some(Errno::IO | Errno::NODATA | Errno::BADMSG | Errno::ILSEQ))
    }
}

/// A rule that a command would break.
#[derive(Debug)]
pub struct Refused {
    /// The zone, if the rule is about one.
    pub zone: Option<Zone>,
    /// The rule.
    pub reason: Reason,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_failed_where_and_why() {
        let told = |operation, zone, block, blocks, reason| {
            let (device, block) = ("/dev/sdz".to_owned(), Block(block));
            ZonedError { device, operation, zone, block, blocks, reason }
        };
        let error = told(
            Operation::Write,
            Some(Zone(3)),
            12,
            2,
            Reason::NotAtPointer { pointer: Block(10) },
        );
        assert_eq!(
            error.to_string(),
            "/dev/sdz: zone 3: write of 8 KiB at block 12: a write begins at the write pointer, block 10; write there, \
             or reset the zone"
        );
        let error = told(Operation::Reset, Some(Zone(3)), 0, 0, Reason::ReadOnly);
        assert!(error.to_string().starts_with("/dev/sdz: zone 3: reset: the zone is read-only"));
        let lost = io::Error::from_raw_os_error(5);
        let error = told(Operation::Flush, None, 0, 0, Reason::Device(lost));
        assert_eq!(error.to_string(), "/dev/sdz: flush: Input/output error (EIO)");
        assert_eq!(error.errno(), Some(5));
        assert!(error.may_be_the_medium());
        let full = io::Error::from(Errno::NOSPC);
        let error = told(Operation::Flush, None, 0, 0, Reason::Device(full));
        assert_eq!(
            error.to_string(),
            "/dev/sdz: flush: No space left on device (ENOSPC): the file system, or pool, that the disk lies on is full, or the disk was removed"
        );
        let gone = io::Error::from(Errno::NODEV);
        let error = told(Operation::Read, None, 0, 1, Reason::Device(gone));
        assert!(!error.may_be_the_medium());
        assert!(!told(Operation::Read, None, 0, 1, Reason::Offline).may_be_the_medium());
    }
}
