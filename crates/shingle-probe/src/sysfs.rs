//! What sysfs and procfs say about a block device or a file: its serial, its zones, and its users.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use shingle_core::units::{BLOCK_BYTES, SECTOR_BYTES};

use crate::target::Zones;

/// The roots of these file systems. Tests have their own tree.
pub(crate) struct System {
    sys: PathBuf,
    proc: PathBuf,
}

pub(crate) fn system() -> System {
    System { sys: "/sys".into(), proc: "/proc".into() }
}

/// Major and minor number of a device.
type Number = (u32, u32);

fn number(rdev: u64) -> Number {
    (rustix::fs::major(rdev), rustix::fs::minor(rdev))
}

/// Reads a file of one line, without surrounding white space. `None` if it is empty or missing.
fn line(path: &Path) -> Option<String> {
    let text = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    (!text.is_empty()).then(|| text.to_owned())
}

fn value<T: std::str::FromStr>(path: &Path) -> Option<T> {
    line(path)?.parse().ok()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl System {
    pub(crate) fn folder(&self, rdev: u64) -> io::Result<PathBuf> {
        let (major, minor) = number(rdev);
        self.sys.join(format!("dev/block/{major}:{minor}")).canonicalize()
    }

    /// Describes the user of a device or file, if there is one.
    pub(crate) fn user(&self, place: &Metadata) -> io::Result<Option<String>> {
        if place.file_type().is_block_device() {
            return self.user_of_device(&self.folder(place.rdev())?);
        }
        let same = |path: &Path| {
            fs::metadata(path).is_ok_and(|it| (it.dev(), it.ino()) == (place.dev(), place.ino()))
        };
        if self.swaps()?.iter().any(|swap| same(swap)) {
            return Ok(Some("it is swap space".into()));
        }
        let behind = |device: &PathBuf| {
            line(&device.join("loop/backing_file")).is_some_and(|file| same(Path::new(&file)))
        };
        let user = entries(&self.sys.join("block")).into_iter().find(behind);
        Ok(user.map(|device| format!("it is behind /dev/{}", name(&device))))
    }

    fn user_of_device(&self, folder: &Path) -> io::Result<Option<String>> {
        let partitions =
            entries(folder).into_iter().filter(|entry| entry.join("partition").exists());
        let mut numbers = Vec::new();
        for part in std::iter::once(folder.to_owned()).chain(partitions) {
            if let Some(holder) = entries(&part.join("holders")).first() {
                return Ok(Some(format!("{} is a part of {}", name(&part), name(holder))));
            }
            let text = line(&part.join("dev")).unwrap_or_default();
            if let Some((major, minor)) = text.split_once(':')
                && let (Ok(major), Ok(minor)) = (major.parse(), minor.parse())
            {
                numbers.push(((major, minor), name(&part)));
            }
        }
        let known = |wanted: Number| {
            numbers.iter().find(|(number, _)| *number == wanted).map(|(_, name)| name.as_str())
        };
        let at = |path: &str| {
            let metadata = fs::metadata(path).ok()?;
            metadata.file_type().is_block_device().then(|| number(metadata.rdev())).and_then(known)
        };
        for mount in fs::read_to_string(self.proc.join("self/mountinfo"))?.lines() {
            // By number and by name: file systems over several devices have a number of their own.
            let fields: Vec<&str> = mount.split(' ').collect();
            let (Some(text), Some(place)) = (fields.get(2), fields.get(4)) else { continue };
            let by_number = text
                .split_once(':')
                .and_then(|(major, minor)| known((major.parse().ok()?, minor.parse().ok()?)));
            let source = fields.iter().position(|field| *field == "-").map(|at| at + 2);
            let by_name = || source.and_then(|source| at(fields.get(source)?));
            if let Some(part) = by_number.or_else(by_name) {
                return Ok(Some(format!("{part} is mounted at {place}")));
            }
        }
        let swap = self.swaps()?.iter().find_map(|swap| at(swap.to_str()?));
        Ok(swap.map(|part| format!("{part} is swap space")))
    }

    fn swaps(&self) -> io::Result<Vec<PathBuf>> {
        // A system without swap support has no such file.
        let text = match fs::read_to_string(self.proc.join("swaps")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            other => other?,
        };
        let paths = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        Ok(paths.map(PathBuf::from).collect())
    }
}

/// The disk of a partition; the device itself if it is not a partition.
fn disk_of(folder: &Path) -> &Path {
    match folder.parent() {
        Some(parent) if folder.join("partition").exists() => parent,
        _ => folder,
    }
}

/// Identifies a device: by its serial, else its world-wide name, else its kernel name. White space
/// becomes `_`. A partition has the disk's, with `-part` and its number.
pub(crate) fn serial(folder: &Path) -> String {
    let disk = disk_of(folder);
    // The SCSI page begins with a header of four bytes (SPC-4 §7.8.15).
    let page = || {
        let page = fs::read(disk.join("device/vpd_pg80")).ok()?;
        let text = String::from_utf8_lossy(page.get(4..)?).trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let attribute = |file| line(&disk.join(file));
    let serial = attribute("device/serial")
        .or_else(|| attribute("serial"))
        .or_else(page)
        .or_else(|| attribute("device/wwid"))
        .or_else(|| attribute("wwid"))
        .unwrap_or_else(|| name(disk));
    let serial = serial.split_whitespace().collect::<Vec<_>>().join("_");
    match line(&folder.join("partition")) {
        Some(part) => format!("{serial}-part{part}"),
        None => serial,
    }
}

/// The zones that a disk exposes.
pub(crate) fn zones(folder: &Path) -> Option<Zones> {
    let queue = folder.join("queue");
    let required = match line(&queue.join("zoned"))?.as_str() {
        "host-managed" => true,
        "host-aware" => false,
        _ => return None,
    };
    let sectors: u64 = value(&queue.join("chunk_sectors"))?;
    let count = value(&queue.join("nr_zones"))?;
    Some(Zones { required, zone_blocks: sectors * SECTOR_BYTES / BLOCK_BYTES, count })
}

pub(crate) fn is_read_only(folder: &Path) -> bool {
    value(&folder.join("ro")) == Some(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a tree of files, with their folders.
    fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, content).expect("written");
        }
        root
    }

    #[test]
    fn a_serial_is_found_wherever_the_system_keeps_it() {
        let serial_of = |files: &[(&str, &[u8])]| serial(&tree(files).path().join("sda"));
        assert_eq!(serial_of(&[("sda/device/serial", b" S5G  NF0R1\n")]), "S5G_NF0R1");
        assert_eq!(serial_of(&[("sda/serial", b"vd-1\n"), ("sda/wwid", b"naa.5\n")]), "vd-1");
        let page = b"\x00\x80\x00\x0c    Z840ABCD";
        let files: &[(&str, &[u8])] = &[("sda/device/vpd_pg80", page), ("sda/device/wwid", b"x")];
        assert_eq!(serial_of(files), "Z840ABCD");
        assert_eq!(
            serial_of(&[("sda/device/wwid", b"t10.ATA     ST8   Z84\n")]),
            "t10.ATA_ST8_Z84"
        );
        assert_eq!(serial_of(&[("sda/size", b"8")]), "sda");
        let files: &[(&str, &[u8])] = &[("sda/serial", b"A1"), ("sda/sda3/partition", b"3\n")];
        assert_eq!(serial(&tree(files).path().join("sda/sda3")), "A1-part3");
    }

    #[test]
    fn zones_are_told_in_blocks() {
        let zones_of = |zoned: &[u8]| {
            let sectors: (&str, &[u8]) = ("sda/queue/chunk_sectors", b"524288\n");
            let files = [("sda/queue/zoned", zoned), sectors, ("sda/queue/nr_zones", b"29809\n")];
            zones(&tree(&files).path().join("sda"))
        };
        let aware = Zones { required: false, zone_blocks: 65536, count: 29809 };
        assert_eq!(zones_of(b"host-aware\n"), Some(aware));
        assert_eq!(zones_of(b"host-managed\n"), Some(Zones { required: true, ..aware }));
        assert_eq!(zones_of(b"none\n"), None);
    }

    #[test]
    fn a_device_is_in_use_with_its_partitions_and_holders() {
        let mount = b"36 35 98:0 / /mnt rw - ext4 /dev/root rw\n\
                      37 35 8:2 / /home rw,noatime shared:1 - ext4 /dev/sda2 rw\n";
        let devices: [(&str, &[u8]); 7] = [
            ("sys/sda/dev", b"8:0\n"),
            ("sys/sda/sda2/partition", b"2\n"),
            ("sys/sda/sda2/dev", b"8:2\n"),
            ("sys/sdb/dev", b"8:16\n"),
            ("sys/sdb/sdb1/partition", b"1\n"),
            ("sys/sdb/sdb1/dev", b"8:17\n"),
            ("proc/self/mountinfo", mount),
        ];
        let user = |more: &[(&str, &[u8])], name: &str| {
            let root = tree(&[&devices[..], more].concat());
            let system = System { sys: root.path().join("sys"), proc: root.path().join("proc") };
            system.user_of_device(&system.sys.join(name)).expect("told")
        };
        assert_eq!(user(&[], "sda").expect("in use"), "sda2 is mounted at /home");
        assert_eq!(user(&[], "sda/sda2").expect("in use"), "sda2 is mounted at /home");
        assert_eq!(user(&[], "sdb"), None);
        let held: (&str, &[u8]) = ("sys/sdb/sdb1/holders/dm-0/dev", b"253:0\n");
        assert_eq!(user(&[held], "sdb").expect("in use"), "sdb1 is a part of dm-0");
    }

    #[test]
    fn a_file_is_in_use_as_swap_or_behind_a_loop_device() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_str().expect("UTF-8");
        let user = |files: &[(&str, &[u8])]| {
            let root = tree(files);
            let system = System { sys: root.path().join("sys"), proc: root.path().join("proc") };
            system.user(&fs::metadata(path).expect("there")).expect("told")
        };
        assert_eq!(user(&[]), None);
        let swaps = format!("Filename Type Size Used Priority\n{path} file 1 0 -2\n");
        assert_eq!(user(&[("proc/swaps", swaps.as_bytes())]).expect("in use"), "it is swap space");
        let other: (&str, &[u8]) = ("sys/block/loop1/loop/backing_file", b"/dev/null\n");
        assert_eq!(user(&[other]), None);
        let behind = ("sys/block/loop3/loop/backing_file", path.as_bytes());
        assert_eq!(user(&[other, behind]).expect("in use"), "it is behind /dev/loop3");
    }
}
