//! Recognizes data on a device that must not be overwritten, by the signatures of file systems and
//! the like at fixed places, and erases those at its end.

use std::io;

use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::Pages;

use crate::device::{Device, DeviceError};

/// The result of [`signature`] for a file or device that has the head of a zoned disk.
pub const ZONED: &str = "a zoned disk";

/// Signatures: the format, the place in bytes, and the bytes. The places are from the documentation
/// of the formats, and from `blkid`.
const MARKS: &[(&str, usize, &[u8])] = &[
    (ZONED, 0, b"SHZONED\0"),
    ("an ext2, ext3 or ext4 file system", 0x438, &[0x53, 0xef]),
    ("an XFS file system", 0, b"XFSB"),
    ("a btrfs file system", 0x1_0040, b"_BHRfS_M"),
    ("an f2fs file system", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
    ("an NTFS file system", 3, b"NTFS    "),
    ("an exFAT file system", 3, b"EXFAT   "),
    ("a FAT file system", 54, b"FAT1"),
    ("a FAT file system", 82, b"FAT32"),
    ("an ISO 9660 file system", 0x8001, b"CD001"),
    ("a disk of dm-zoned", 0, b"DBZD"),
    ("swap space", 4086, b"SWAPSPACE2"),
    ("an encrypted volume (LUKS)", 0, b"LUKS\xba\xbe"),
    ("a physical volume of LVM", 0x218, b"LVM2 001"),
    ("a part of a RAID (md)", 0x1000, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("a part of a RAID (md)", 0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("a bcache", 0x1018, &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca]),
    ("a partition table (GPT)", 0x200, b"EFI PART"),
    ("a partition table (GPT)", 0x1000, b"EFI PART"),
    ("a partition table or a boot sector", 0x1fe, &[0x55, 0xaa]),
];

/// What a part of a RAID (md) is known by: at the beginning, above, or at the end.
const MD: (&str, &[u8]) = ("a part of a RAID (md)", &[0xfc, 0x4e, 0x2b, 0xa9]);

/// The pages at the end of a device of `bytes` bytes that have [`MD`]: by formats 1.0 and 0.90
/// (`mdadm/super1.c`, `md_p.h`).
fn md_pages(bytes: u64) -> impl Iterator<Item = u64> {
    const SPAN: u64 = 64 << 10;
    let page = PAGE_BYTES as u64;
    let places = [(bytes / page).checked_sub(2), (bytes / SPAN * SPAN).checked_sub(SPAN)];
    let [last, old] = places;
    last.into_iter().chain(old.map(|place| place / page))
}

/// The number of pages at the beginning in which signatures are found.
pub const SIGNATURE_PAGES: usize = 17;

/// The kind of data on a device; `None` if no known signature is there, which does not prove that
/// it is empty.
pub fn signature(device: &Device) -> io::Result<Option<&'static str>> {
    let mut pages: Vec<Page> = vec![[0; PAGE_BYTES]; SIGNATURE_PAGES.min(device.blocks() as usize)];
    Pages::read(&mut { device }, 0, &mut pages)?;
    let found = signature_in(pages.as_flattened());
    for page in md_pages(device.bytes()).filter(|_| found.is_none()) {
        Pages::read(&mut { device }, page, &mut pages[..1])?;
        if pages[0].starts_with(MD.1) {
            return Ok(Some(MD.0));
        }
    }
    Ok(found)
}

/// The same for the first [`SIGNATURE_PAGES`] of a device, or as many as it has.
#[must_use]
pub fn signature_in(beginning: &[u8]) -> Option<&'static str> {
    let stands = |&&(_, place, mark): &&(&str, usize, &[u8])| {
        beginning.get(place..).is_some_and(|rest| rest.starts_with(mark))
    };
    MARKS.iter().find(stands).map(|(name, ..)| *name)
}

/// The pages at the end of a device that [`erase_end`] erases.
const END_PAGES: u64 = 256;

/// Erases the last MiB of a device, pages before `first` excepted. A RAID, a partition table or the like that was there
/// may be known by its end alone, whatever is at the beginning now: the next boot would start the RAID, which
/// writes to the device.
///
/// # Errors
/// If the device cannot be written.
pub fn erase_end(device: &Device, first: u64) -> Result<(), DeviceError> {
    let blocks = device.blocks();
    let first = blocks.saturating_sub(END_PAGES).max(first);
    let zeros = vec![0; (blocks.saturating_sub(first) * PAGE_BYTES as u64) as usize];
    if zeros.is_empty() { Ok(()) } else { device.write(first, &zeros) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_is_known_and_nothing_else() {
        assert_eq!(signature_in(&[]), None);
        assert_eq!(signature_in(&[0; SIGNATURE_PAGES * PAGE_BYTES]), None);
        for (name, place, mark) in MARKS {
            let mut beginning = vec![0; SIGNATURE_PAGES * PAGE_BYTES];
            beginning[*place..][..mark.len()].copy_from_slice(mark);
            assert_eq!(signature_in(&beginning), Some(*name), "at {place}");
            assert_eq!(signature_in(&beginning[..place + mark.len() - 1]), None, "{name} cut off");
        }
    }

    /// The beginning of such a part may hold anything.
    #[test]
    fn a_part_of_a_raid_is_known_by_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("part");
        // As `mdadm` places them: 8 KiB from the end at most and 12 at least, and in the last whole 64 KiB.
        for (bytes, place) in
            [(1 << 20, 0xfe000), (1 << 20, 0xf0000), (0x10_4e00, 0x10_2000), (0x10_4e00, 0xf0000)]
        {
            let mut content = vec![0; bytes];
            std::fs::write(&path, &content).expect("written");
            let found = || signature(&Device::open(&path).expect("opened")).expect("read");
            assert_eq!(found(), None);
            content[place..][..4].copy_from_slice(&[0xfc, 0x4e, 0x2b, 0xa9]);
            std::fs::write(&path, &content).expect("written");
            assert_eq!(found(), Some("a part of a RAID (md)"), "at {place:#x} of {bytes:#x}");
        }
        let device = Device::open(&path).expect("opened");
        let first = device.blocks() - 255;
        erase_end(&device, first).expect("written");
        assert_eq!(signature(&device).expect("read"), None, "erased");
        device.write(first - 1, &[7; PAGE_BYTES]).expect("written");
        for first in [first, device.blocks(), device.blocks() + 1] {
            erase_end(&device, first).expect("written");
            let mut page = [[0; PAGE_BYTES]];
            Pages::read(&mut { &device }, device.blocks() - 256, &mut page).expect("read");
            assert_eq!(page[0], [7; PAGE_BYTES], "in front of {first}");
        }
        drop(device);
        for bytes in [0, 4096, 8192] {
            std::fs::write(&path, vec![0; bytes]).expect("written");
            let device = Device::open(&path).expect("opened");
            assert_eq!(signature(&device).expect("read"), None, "{bytes}");
        }
    }
}
