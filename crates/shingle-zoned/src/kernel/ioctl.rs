//! The ioctls of zoned block devices: reports of zones, and commands on them (`linux/blkzoned.h`).
//! The only file of this crate with unsafe code: the compiler cannot know what the kernel reads and
//! writes for an ioctl number, so each number here is used with the one type that the kernel
//! expects.
//!
//! The crate `zoned` wraps the same calls. It opens the device itself, but the exclusive claim and
//! the lock must be on the same open file as the I/O, and it depends on a second crate of system
//! calls.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use rustix::ioctl::{Getter, Opcode, Setter, Updater, ioctl, opcode};
use zerocopy::IntoBytes;

use super::report::{HEAD_BYTES, Head, ZONE_BYTES};
use crate::disk::ZoneCommand;

/// The highest number of zones in one report.
pub(crate) const ZONES_AT_ONCE: u32 = 1023;
const REPORT_BYTES: usize = HEAD_BYTES + ZONES_AT_ONCE as usize * ZONE_BYTES;

/// `struct blk_zone_report`, with space for zones after it.
#[repr(C, align(8))]
pub(crate) struct Report(pub(crate) [u8; REPORT_BYTES]);

/// `struct blk_zone_range`: the range of a command, in sectors of 512 bytes.
#[repr(C)]
struct Range {
    sector: u64,
    sectors: u64,
}

const GROUP: u8 = 0x12;
const REPORT: Opcode = opcode::read_write::<[u8; HEAD_BYTES]>(GROUP, 130);
const RESET: Opcode = opcode::write::<Range>(GROUP, 131);
const ZONE_SECTORS: Opcode = opcode::read::<u32>(GROUP, 132);
const FINISH: Opcode = opcode::write::<Range>(GROUP, 136);

/// The sectors of a zone; 0 if the device has no zones.
pub(crate) fn zone_sectors(device: &File) -> io::Result<u32> {
    // SAFETY: BLKGETZONESZ writes one `u32`.
    Ok(unsafe { ioctl(device, Getter::<ZONE_SECTORS, u32>::new())? })
}

/// Reports at most `zones` zones, from the one at `sector` on.
pub(crate) fn report(device: &File, sector: u64, zones: u32) -> io::Result<Box<Report>> {
    let mut report = Box::new(Report([0; REPORT_BYTES]));
    let head = Head { sector, zones: zones.min(ZONES_AT_ONCE), flags: 0 };
    report.0[..HEAD_BYTES].copy_from_slice(head.as_bytes());
    // SAFETY: BLKREPORTZONE reads the head, and writes it and at most as many zones behind it as
    // the head says, which there is space for. Any bytes are a valid `Report`.
    unsafe { ioctl(device, Updater::<REPORT, Report>::new(&mut report))? };
    Ok(report)
}

/// Carries out a command on the zone with exactly these sectors.
pub(crate) fn command(
    device: &File,
    command: ZoneCommand,
    sector: u64,
    sectors: u64,
) -> io::Result<()> {
    let range = Range { sector, sectors };
    // SAFETY: both read a `Range` and write nothing. Its fields are sector numbers, not
    // addresses.
    unsafe {
        match command {
            ZoneCommand::Finish => ioctl(device, Setter::<FINISH, Range>::new(range))?,
            ZoneCommand::Reset => ioctl(device, Setter::<RESET, Range>::new(range))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the C preprocessor computes them from linux/blkzoned.h on x86-64 and arm64.
    #[test]
    fn the_numbers_are_the_kernels() {
        assert_eq!(REPORT, 0xc010_1282);
        assert_eq!([RESET, FINISH], [0x4010_1283, 0x4010_1288]);
        assert_eq!(ZONE_SECTORS, 0x8004_1284);
    }
}
