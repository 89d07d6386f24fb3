//! What only an ioctl does: reports of zones, and commands on them (`linux/blkzoned.h`). The one file of this crate with unsafe code,
//! as the compiler cannot know what the kernel reads and writes behind a number: each number here goes with the one
//! type that the kernel takes for it.
//!
//! There is a crate that wraps the same calls, `zoned`. It opens the device by itself, where the claim on it and its lock
//! have to be on the very file that carries the I/O, and it brings a second crate of system calls along.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use rustix::ioctl::{Opcode, Setter, Updater, ioctl, opcode};
use zerocopy::IntoBytes;

use super::report::{HEAD_BYTES, Head, ZONE_BYTES};
use crate::disk::ZoneCommand;

/// Zones of one report.
pub(crate) const ZONES_AT_ONCE: u32 = 1023;
const REPORT_BYTES: usize = HEAD_BYTES + ZONES_AT_ONCE as usize * ZONE_BYTES;

/// `struct blk_zone_report`, with room for zones behind it.
#[repr(C, align(8))]
pub(crate) struct Report(pub(crate) [u8; REPORT_BYTES]);

/// `struct blk_zone_range`: what a command is on, in sectors of 512 bytes.
#[repr(C)]
struct Range {
    sector: u64,
    sectors: u64,
}

const GROUP: u8 = 0x12;
const REPORT: Opcode = opcode::read_write::<[u8; HEAD_BYTES]>(GROUP, 130);
const RESET: Opcode = opcode::write::<Range>(GROUP, 131);
const OPEN: Opcode = opcode::write::<Range>(GROUP, 134);
const CLOSE: Opcode = opcode::write::<Range>(GROUP, 135);
const FINISH: Opcode = opcode::write::<Range>(GROUP, 136);

/// Reports zones from the one of `sector` on, `zones` of them at most.
pub(crate) fn report(device: &File, sector: u64, zones: u32) -> io::Result<Box<Report>> {
    let mut report = Box::new(Report([0; REPORT_BYTES]));
    let head = Head { sector, zones: zones.min(ZONES_AT_ONCE), flags: 0 };
    report.0[..HEAD_BYTES].copy_from_slice(head.as_bytes());
    // SAFETY: BLKREPORTZONE reads the head, and writes it and at most as many zones behind it as the head says, which
    // there is room for. Any bytes are a `Report`.
    unsafe { ioctl(device, Updater::<REPORT, Report>::new(&mut report))? };
    Ok(report)
}

/// Carries out a command on the zone that is just these sectors.
pub(crate) fn command(
    device: &File,
    command: ZoneCommand,
    sector: u64,
    sectors: u64,
) -> io::Result<()> {
    let range = Range { sector, sectors };
    // SAFETY: all four read a `Range` and write nothing. They take the device's numbers, no addresses.
    unsafe {
        match command {
            ZoneCommand::Open => ioctl(device, Setter::<OPEN, Range>::new(range))?,
            ZoneCommand::Close => ioctl(device, Setter::<CLOSE, Range>::new(range))?,
            ZoneCommand::Finish => ioctl(device, Setter::<FINISH, Range>::new(range))?,
            ZoneCommand::Reset => ioctl(device, Setter::<RESET, Range>::new(range))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the C preprocessor makes them of linux/blkzoned.h on x86-64 and arm64.
    #[test]
    fn the_numbers_are_the_kernels() {
        assert_eq!(REPORT, 0xc010_1282);
        assert_eq!(
            [RESET, OPEN, CLOSE, FINISH],
            [0x4010_1283, 0x4010_1286, 0x4010_1287, 0x4010_1288]
        );
    }
}
