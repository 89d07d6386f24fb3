//! What went wrong: on which device, with what command, in which zone, at which block, and why.

use std::fmt;
use std::io;

use rustix::io::Errno;
use shingle_core::size::show_blocks;
use shingle_core::units::{Block, Zone};
use shingle_device::cause;

/// What is asked of a disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Operation {
    /// What zones are like.
    Report,
    /// Read blocks.
    Read,
    /// Write blocks.
    Write,
    /// Write blocks at the write pointer, wherever it is.
    Append,
    /// Open a zone.
    Open,
    /// Close a zone.
    Close,
    /// Finish a zone.
    Finish,
    /// Reset a zone.
    Reset,
    /// Make durable what was written.
    Flush,
}

impl Operation {
    /// In a few words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Operation::Report => "report",
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Append => "append",
            Operation::Open => "open",
            Operation::Close => "close",
            Operation::Finish => "finish",
            Operation::Reset => "reset",
            Operation::Flush => "flush",
        }
    }
}

/// Why a disk did not do what it was asked to. All but the last are rules of zones (ZBC), and then nothing has changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reason {
    /// A write begins at the write pointer (ZBC: unaligned write command).
    NotAtPointer {
        /// Where that is.
        pointer: Block,
    },
    /// The write pointer stands inside a block of 4 KiB, where a power cut has torn a write.
    Torn {
        /// The block.
        pointer: Block,
    },
    /// A write ends where the zone, or its capacity, does; or, begun in a conventional zone, where the last of
    /// these does (ZBC: write boundary violation).
    Boundary {
        /// Where that is.
        end: Block,
    },
    /// A full zone takes no write (ZBC: invalid field in CDB).
    Full,
    /// As many zones are open by command as can be (ZBC: insufficient zone resources).
    TooManyOpen {
        /// How many.
        max: u32,
    },
    /// As many zones are open or closed as can be.
    TooManyActive {
        /// How many.
        max: u32,
    },
    /// A conventional zone has no write pointer to append at or to move (ZBC: invalid field in CDB).
    Conventional,
    /// A read ends at the write pointer, where the disk reads no zeros beyond (ZBC: attempt to read invalid data).
    ReadBeyond {
        /// Where that is.
        pointer: Block,
    },
    /// The zone can only be read.
    ReadOnly,
    /// The zone is lost.
    Offline,
    /// The disk ends before.
    OutOfRange {
        /// Blocks of the disk.
        blocks: u64,
    },
    /// The device failed. A write that did may have moved the write pointer: a report tells.
    Device(io::Error),
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
            Reason::Device(error) => {
                f.write_str(&cause(error))?;
                let full = io::Error::from(Errno::NOSPC).raw_os_error();
                if error.raw_os_error() == full {
                    f.write_str(": the file system, or pool, that the disk lies on is full")?;
                }
                Ok(())
            }
        }
    }
}

/// A command that a disk did not carry out. Displays as one line.
#[derive(Debug)]
pub struct ZonedError {
    /// The disk, as it was named.
    pub device: String,
    /// What was asked of it.
    pub operation: Operation,
    /// The zone, where the command or the reason concerns one.
    pub zone: Option<Zone>,
    /// The first block; of what names a zone only, the first of that.
    pub block: Block,
    /// How many; 0 for what moves none.
    pub blocks: u64,
    /// Why not.
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
    /// What the system says, where the device failed.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match &self.reason {
            Reason::Device(error) => error.raw_os_error(),
            _ => None,
        }
    }

    /// Whether the device may have said so of blocks whose data it cannot make out, and not of itself.
    #[must_use]
    pub fn may_be_the_medium(&self) -> bool {
        let errno = self.errno().map(Errno::from_raw_os_error);
        matches!(errno, Some(Errno::IO | Errno::NODATA | Errno::BADMSG | Errno::ILSEQ))
    }
}

/// A rule that a command would break.
#[derive(Debug)]
pub struct Refused {
    /// In which zone, if in one.
    pub zone: Option<Zone>,
    /// Which.
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
            "/dev/sdz: flush: No space left on device (ENOSPC): the file system, or pool, that the disk lies on is full"
        );
        let gone = io::Error::from(Errno::NODEV);
        let error = told(Operation::Read, None, 0, 1, Reason::Device(gone));
        assert!(!error.may_be_the_medium());
        assert!(!told(Operation::Read, None, 0, 1, Reason::Offline).may_be_the_medium());
    }
}
