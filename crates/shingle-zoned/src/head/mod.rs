//! A zoned disk in a file, or on a block device without zones of its own: a head with the states of
//! the zones ([`format`](mod@format)), and the zones behind it. A file is sparse.
//!
//! A kill of the process is like a power cut of the disk. The table in the head has the write
//! pointers of the last flush, and data is stored in place; so after a kill it is a disk that lost
//! what was not flushed, and nothing else. Only a reset is in the table before it is
//! acknowledged: from then on the zone is written again, over data that an old pointer would
//! include. The same holds for a zone that becomes read-only or offline. No zone is open in the
//! table, as none is on a disk without power.
//!
//! If the table cannot be written, or made durable, it is unknown which of two states is in the head:
//! the next flush, or reset, writes it again.

mod create;
pub mod format;
mod table;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use shingle_core::units::{BLOCK_BYTES, Block, Zone};
use shingle_device::{Device, DeviceError, Direct, cause};

pub use self::create::{create, create_failed, create_on, geometry_on};
use self::format::{HEADERS, Header, Page, TablePage, Unusable};
use self::table::{Found, Medium, Table};
use crate::cut::after_power_cut;
use crate::disk::ZoneCommand;
use crate::faults::Draw;
use crate::geometry::GeometryError;
use crate::on_device::{Backing, OnDevice, locked};
use crate::zone::Condition;
use crate::zones::{ZoneState, Zones};

/// Why a zoned disk cannot be opened or created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum OpenError {
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("{}: cannot {what} it: {}", path.display(), cause(error))]
    System { path: PathBuf, what: &'static str, error: io::Error },
    #[error("{}: there is such a file; remove it, or take another name", .0.display())]
    There(PathBuf),
    #[error("{}: {error}", path.display())]
    Geometry { path: PathBuf, error: GeometryError },
    #[error("{}: {why}", path.display())]
    Unusable { path: PathBuf, why: String },
}

impl OpenError {
    pub(crate) fn system(path: &Path, what: &'static str) -> impl Fn(io::Error) -> OpenError {
        let path = path.to_owned();
        move |error| OpenError::System { path: path.clone(), what, error }
    }

    pub(crate) fn unusable(path: &Path, why: impl ToString) -> OpenError {
        OpenError::Unusable { path: path.to_owned(), why: why.to_string() }
    }
}

/// What a zoned disk with a head is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum On {
    /// A file, which has the length of the disk.
    File,
    /// A block device, which may be larger.
    Device,
}

impl On {
    fn of(device: &Device) -> On {
        if device.is_regular() { On::File } else { On::Device }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            On::File => "file",
            On::Device => "device",
        }
    }

    /// What to do when the head is lost.
    fn remedy(self) -> &'static str {
        match self {
            On::File => "put a copy of the file in its place, or remove it and make a new one",
            On::Device => {
                "write a copy back to it, or make a new disk of it by `shingle zoned create`"
            }
        }
    }
}

/// What a disk has beside its data.
#[derive(Debug)]
pub struct Head {
    table: Mutex<Table>,
    first_page: u64,
    zone_blocks: u64,
    on: On,
}

/// A zoned disk in a file, or on a block device without zones, that is locked by this process. See
/// [`crate::create`] and [`crate::create_on`].
pub type HeadDisk = OnDevice<Head>;

/// The head of a zoned disk.
struct Contents {
    header: Header,
    /// Damaged copies of the header, and what is wrong with them.
    lost_headers: Vec<(u64, Unusable)>,
    found: Found,
}

/// Reads the head of a file or device of `bytes` bytes.
fn contents<E>(
    bytes: u64,
    on: On,
    mut read: impl FnMut(u64) -> Result<Page, E>,
) -> Result<Result<Contents, String>, E> {
    if bytes < HEADERS * BLOCK_BYTES {
        return Ok(Err(Unusable::Foreign.to_string()));
    }
    let of = |header, lost_headers| (header, lost_headers);
    let candidates = match (Header::decode(&read(0)?), Header::decode(&read(1)?)) {
        (Ok(one), Ok(other)) if one == other => vec![of(one, vec![])],
        // (One was written over by that of another disk. The table tells which one.)
        (Ok(one), Ok(other)) => vec![
            of(one, vec![(1, Unusable::Another(other.uuid()))]),
            of(other, vec![(0, Unusable::Another(one.uuid()))]),
        ],
        (Ok(header), Err(why)) => vec![of(header, vec![(1, why)])],
        (Err(why), Ok(header)) => vec![of(header, vec![(0, why)])],
        (Err(one), Err(other)) => {
            let is_zoned = is_head(bytes, read)?;
            return Ok(Err(if is_zoned { no_header(on, &one, &other) } else { one.to_string() }));
        }
    };
    let mut first_error = None;
    for (header, lost_headers) in candidates {
        match with_header(&header, bytes, on, &mut read)? {
            Ok(found) => return Ok(Ok(Contents { header, lost_headers, found })),
            Err(why) => first_error = first_error.or(Some(why)),
        }
    }
    Ok(Err(first_error.unwrap_or_default()))
}

/// Reads the table of a file or device of `bytes` bytes that has this header.
fn with_header<E>(
    header: &Header,
    bytes: u64,
    on: On,
    read: impl FnMut(u64) -> Result<Page, E>,
) -> Result<Result<Found, String>, E> {
    let needed = header.layout().pages * BLOCK_BYTES;
    if bytes < needed || (on == On::File && bytes > needed) {
        let then = match (on, bytes < needed) {
            (On::Device, _) => {
                "it has shrunk, or is a part of a copy: use the whole one".to_owned()
            }
            (On::File, true) => "it is a part of a copy: copy all of it".to_owned(),
            (On::File, false) => format!("to cut off what is behind, say `truncate -s {needed}`"),
        };
        return Ok(Err(format!("it has {bytes} bytes, and {needed} when it was made; {then}")));
    }
    Table::read(header, on, read)
}

/// The error of a disk without a valid header.
fn no_header(on: On, one: &Unusable, other: &Unusable) -> String {
    match (one, other) {
        (Unusable::Version(_), _) => one.to_string(),
        (_, Unusable::Version(_)) => other.to_string(),
        _ => format!(
            "it is damaged: both copies of its header are lost, which says how many zones it has, and how large (page 0 of the \
             {}: {}; page 1: {}); {}",
            on.name(),
            one.of_copy(),
            other.of_copy(),
            on.remedy()
        ),
    }
}

/// Whether a file or device of `bytes` bytes begins like a zoned disk, even if it is damaged. After both
/// headers come at least two pages of the table.
fn is_head<E>(bytes: u64, mut read: impl FnMut(u64) -> Result<Page, E>) -> Result<bool, E> {
    for at in 0..(HEADERS + 2).min(bytes / BLOCK_BYTES) {
        let page = read(at)?;
        let is_one = match at < HEADERS {
            true => !matches!(Header::decode(&page), Err(Unusable::Foreign)),
            false => TablePage::is_one(&page),
        };
        if is_one {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a file or device has the head of a zoned disk.
pub(crate) fn is_zoned(device: &Device) -> Result<bool, DeviceError> {
    is_head(device.bytes(), |page| read_page(device, page))
}

fn read_page(device: &Device, page: u64) -> Result<Page, DeviceError> {
    let mut out = [0; BLOCK_BYTES as usize];
    device.read_block(Block(page), &mut out).map(|()| out)
}

/// Opens a zoned disk by its head.
pub(crate) fn open(device: Device) -> Result<HeadDisk, OpenError> {
    let (path, on) = (device.path().to_owned(), On::of(&device));
    let contents = contents(device.bytes(), on, |page| read_page(&device, page))?;
    let contents = contents.map_err(|why| OpenError::unusable(&path, why))?;
    let Contents { header, lost_headers, found: Found { mut table, .. } } = contents;
    let direct = device.again().map_err(OpenError::system(&path, "open"))?;
    // A damaged copy is repaired before it is needed.
    for (copy, _) in &lost_headers {
        device.write(*copy, &header.encode())?;
    }
    // The last writes of a killed process may not be durable, and a copy of a page that is must
    // stay until the other one is, too.
    device.flush()?;
    let healed = table.write(&direct);
    healed.map_err(OpenError::system(&path, "write"))?;
    let zones = Zones::restore(header.geometry, table.zones().to_vec());
    let zones = zones.map_err(|why| OpenError::unusable(&path, why))?;
    let first_page = header.layout().first_page;
    let backing =
        Head { table: Mutex::new(table), first_page, zone_blocks: header.geometry.zone_blocks, on };
    Ok(OnDevice::new(device, direct, first_page, zones, backing))
}

/// The state of a zoned disk by its head.
pub(crate) struct Seen {
    pub(crate) zones: Zones,
    /// The first page of the zones.
    pub(crate) first_page: u64,
    /// Descriptions of pages of the head that are damaged in one copy.
    pub(crate) damaged: Vec<String>,
}

/// Reads the state of a zoned disk of `bytes` bytes by its head, without a lock or a change. While
/// another process uses it, this is the state at its last flush.
pub(crate) fn inspect(path: &Path, file: &File, bytes: u64, on: On) -> Result<Seen, OpenError> {
    let read = |page: u64| {
        let mut out = [0; BLOCK_BYTES as usize];
        file.read_exact_at(&mut out, page * BLOCK_BYTES).map(|()| out)
    };
    let contents = contents(bytes, on, read).map_err(OpenError::system(path, "read"))?;
    let contents = contents.map_err(|why| OpenError::unusable(path, why))?;
    let Contents { header, lost_headers, found } = contents;
    let zones = Zones::restore(header.geometry, found.table.zones().to_vec());
    let zones = zones.map_err(|why| OpenError::unusable(path, why))?;
    let on = on.name();
    let of_header = |(page, why): &(u64, Unusable)| {
        format!(
            "one copy of the {on}'s header is damaged (page {page} of the {on}: {})",
            why.of_copy()
        )
    };
    // (Of the headers nothing is written after the disk was made.)
    let can_tear = u64::from(header.geometry.physical_block_bytes) < BLOCK_BYTES;
    let of_table = |(place, page, why): &(u64, u64, Unusable)| {
        let is = match why {
            Unusable::Damaged if can_tear => "torn, as a power cut leaves it, or damaged",
            _ => "damaged",
        };
        let why = why.of_copy();
        format!(
            "one copy of page {place} of the {on}'s table is {is} (page {page} of the {on}: {why})"
        )
    };
    let damaged =
        lost_headers.iter().map(of_header).chain(found.damaged.iter().map(of_table)).collect();
    Ok(Seen { zones, first_page: header.layout().first_page, damaged })
}

impl Head {
    /// Makes durable what was written, and then the write pointers.
    fn settle_written(&self, medium: &impl Medium, zones: &Mutex<Zones>) -> io::Result<()> {
        let mut table = locked(&self.table);
        // (One that a reset needed. What was lost then does not come back by another flush.)
        if table.flush_failed() {
            return Err(Errno::IO.into());
        }
        let changed: Vec<(Zone, ZoneState)> = {
            let mut zones = locked(zones);
            let changed = zones.take_changed();
            changed.into_iter().map(|zone| (zone, zones.state(zone).settled())).collect()
        };
        let flushed = table.flush(medium);
        if flushed.is_err() {
            locked(zones).not_settled(changed.iter().map(|(zone, _)| *zone));
        }
        let settled = flushed.and_then(|()| table.settle(medium, changed));
        // (This caller is told.)
        table.flush_failed();
        settled
    }

    /// Makes the reset of a zone durable.
    fn settle_reset(&self, medium: &impl Medium, zone: Zone) -> io::Result<()> {
        locked(&self.table).settle(medium, [(zone, ZoneState::EMPTY)])
    }

    /// Returns the space of an empty zone to the file system. Not every file system can take it, and
    /// nothing depends on it. A block device keeps its space: there it could take as long as to write
    /// zeros, or move data within the device.
    fn make_hole(&self, device: &Device, zone: Zone) {
        if self.on == On::Device {
            return;
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let zone_bytes = self.zone_blocks * BLOCK_BYTES;
        let at = self.first_page * BLOCK_BYTES + u64::from(zone.0) * zone_bytes;
        let _ = rustix::fs::fallocate(device.direct(), flags, at, zone_bytes);
    }
}

impl Backing for Head {
    fn command(
        &self,
        device: &Device,
        direct: &Direct,
        command: ZoneCommand,
        zone: Zone,
    ) -> io::Result<()> {
        if command != ZoneCommand::Reset {
            return Ok(());
        }
        self.settle_reset(direct, zone)?;
        // After the record: an older one would refer to the data. No write to the zone is in
        // progress yet.
        self.make_hole(device, zone);
        Ok(())
    }

    fn flush(&self, direct: &Direct, zones: &Mutex<Zones>) -> io::Result<()> {
        self.settle_written(direct, zones)
    }

    fn report_states(&self, _: &Device, _: Zone, _: u32) -> io::Result<Option<Vec<ZoneState>>> {
        Ok(None)
    }

    fn reads_beyond(&self) -> bool {
        false
    }
}

impl HeadDisk {
    /// Makes a zone fail for good: it is read-only or offline from now on, also when the disk is
    /// opened again.
    ///
    /// # Panics
    /// If `condition` is another one, or the zone does not exist.
    pub fn fail(&self, zone: Zone, condition: Condition) -> io::Result<()> {
        assert!(condition.has_failed(), "it is to fail");
        // A write in flight would move the pointer once more.
        let _turn = self.turn(zone);
        let mut table = locked(&self.backing.table);
        self.direct.flush()?;
        let state = locked(&self.zones)
            .state(zone)
            .settled()
            .failed(condition, crate::ZonedDisk::geometry(self));
        table.settle(&self.direct, [(zone, state)])?;
        locked(&self.zones).put(zone, state);
        Ok(())
    }

    /// Simulates a power cut: write pointers are anywhere between the last flush and the last
    /// write, as `seed` draws, and no zone is open. The content of conventional zones does not
    /// change.
    pub fn cut_power(&self, seed: u64) -> io::Result<()> {
        let mut draw = Draw::new(seed);
        let mut table = locked(&self.backing.table);
        let mut zones = locked(&self.zones);
        let geometry = *zones.geometry();
        self.direct.flush()?;
        let all: Vec<_> = (0..geometry.zones).map(Zone).collect();
        let cut: Vec<(Zone, ZoneState)> = all
            .into_iter()
            .map(|zone| {
                let (flushed, last) = (table.zone(zone), zones.state(zone));
                (zone, after_power_cut(flushed, last, &geometry, &mut |below| draw.below(below)))
            })
            .collect();
        table.settle(&self.direct, cut.iter().copied())?;
        cut.into_iter().for_each(|(zone, state)| zones.put(zone, state));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use shingle_engine::Buffer;
    use tempfile::TempDir;

    use super::*;
    use crate::ZonedDisk as _;
    use crate::geometry::Geometry;

    /// A device of which one call fails, after so many others.
    struct Failing<'a>(&'a Direct, Cell<u32>);

    impl Failing<'_> {
        fn call(&self) -> io::Result<()> {
            let before = self.1.replace(self.1.get().wrapping_sub(1));
            if before == 0 { Err(Errno::IO.into()) } else { Ok(()) }
        }
    }

    impl Medium for Failing<'_> {
        fn write(&self, at: u64, page: &Buffer) -> io::Result<()> {
            self.call().and_then(|()| Medium::write(self.0, at, page))
        }

        fn flush(&self) -> io::Result<()> {
            self.call().and_then(|()| Medium::flush(self.0))
        }
    }

    /// A disk with two blocks in zone 3, and where it is.
    fn disk() -> (TempDir, PathBuf, HeadDisk) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("disk");
        create(&path, &Geometry::new(8, 4)).expect("made");
        let disk = opened(&path);
        disk.write(Block(12), &[Buffer::default(), Buffer::default()]).expect("written");
        (folder, path, disk)
    }

    fn opened(path: &Path) -> HeadDisk {
        open(Device::open(path).expect("opened")).expect("a zoned disk")
    }

    fn pointer(disk: &HeadDisk) -> Option<u64> {
        disk.report(Zone(3), 1).expect("a report")[0].write_pointer
    }

    /// The device was away for a moment.
    #[test]
    fn after_a_flush_that_failed_the_next_one_settles_all() {
        for call in 0..4 {
            let (_folder, path, disk) = disk();
            let failing = Failing(&disk.direct, Cell::new(call));
            disk.backing.settle_written(&failing, &disk.zones).expect_err("one call fails");
            disk.flush().expect("the device is back");
            disk.write(Block(14), &[Buffer::default()]).expect("and takes writes");
            drop(disk);
            let disk = opened(&path);
            assert_eq!(pointer(&disk), Some(2), "call {call}");
        }
    }

    #[test]
    fn a_reset_that_failed_can_be_done_again() {
        for call in 0..3 {
            let (_folder, path, disk) = disk();
            disk.flush().expect("flushed");
            let failing = Failing(&disk.direct, Cell::new(call));
            disk.backing.settle_reset(&failing, Zone(3)).expect_err("one call fails");
            disk.reset(Zone(3)).expect("the device is back");
            disk.write(Block(12), &[Buffer::default()]).expect("it is empty");
            // The call that failed may have been a flush, with which writes were lost.
            assert_eq!(disk.flush().is_err(), call == 1, "call {call}");
            disk.flush().expect("that was told");
            drop(disk);
            let disk = opened(&path);
            assert_eq!(pointer(&disk), Some(1), "call {call}");
        }
    }
}
