//! Recognizes data on a device that must not be overwritten, by the signatures of file systems and
//! the like at fixed places.

use std::io;

use shingle_engine::format::{PAGE_BYTES, Page};
use shingle_engine::recover::Pages;

use crate::device::Device;

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

/// The number of pages in which signatures are found.
pub const SIGNATURE_PAGES: usize = 17;

/// The kind of data on a device; `None` if no known signature is there, which does not prove that
/// it is empty.
pub fn signature(device: &Device) -> io::Result<Option<&'static str>> {
    let mut pages: Vec<Page> = vec![[0; PAGE_BYTES]; SIGNATURE_PAGES.min(device.blocks() as usize)];
    Pages::read(&mut { device }, 0, &mut pages)?;
    Ok(signature_in(pages.as_flattened()))
}

/// The same for the first [`SIGNATURE_PAGES`] of a device, or as many as it has.
#[must_use]
pub fn signature_in(beginning: &[u8]) -> Option<&'static str> {
    let stands = |&&(_, place, mark): &&(&str, usize, &[u8])| {
        beginning.get(place..).is_some_and(|rest| rest.starts_with(mark))
    };
    MARKS.iter().find(stands).map(|(name, ..)| *name)
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
}
