//! The end of serving: records the state of the disk, or deletes the cache; and the same without
//! serving. Uses the devices that were opened at the start, whatever their paths name by now.

use std::path::Path;

use shingle_core::registry::Registry;
use shingle_core::service::Mode;
use shingle_device::{Device, Mark, deleted};
use shingle_engine::{Config, SsdState};
use uuid::Uuid;

use super::create::destroy;
use super::drain::{DrainProgress, drain};
use super::errors::{EndError, ServeError};
use super::format::{read_superblock, write_superblock};
use super::notice::Left;
use super::trust;
use crate::backend::{ShutDown, StartOptions, StoreError, Tell};

/// Records the state of the disk, for a cache that was shut down in order, and closes the disk. If
/// the disk cannot be read, the next start is as after a crash, and `warn` receives the reason.
pub(super) fn stopped(left: ShutDown, uuid: Uuid, warn: &dyn Fn(&str)) -> Result<Left, ServeError> {
    let ShutDown { dirty_blocks, lost_blocks, .. } = left;
    if dirty_blocks > 0 && left.ssd.is_deleted() {
        let what = format!("what was dirty on it is lost (blocks: {dirty_blocks})");
        warn(&deleted(left.ssd.path().display(), &what));
    }
    if left.disk.backing().is_some_and(Device::is_deleted) {
        warn(&deleted(left.disk.path().display(), "all that it held is lost"));
    }
    let exchanging = matches!(left.ssd_state, SsdState::Out | SsdState::Entering);
    let recorded = record(&left, uuid, exchanging, warn);
    let closed = left.disk.close();
    let recorded =
        recorded.and_then(|in_order| match in_order || exchanging || dirty_blocks == 0 {
            true => Ok(in_order),
            false => Err(ServeError::SsdFailed),
        });
    match recorded.and_then(|in_order| closed.map(|()| in_order).map_err(ServeError::from)) {
        Ok(in_order) => Ok(Left { dirty_blocks, lost_blocks, in_order, exchanging }),
        Err(error) if dirty_blocks == 0 => Err(error),
        Err(error) => Err(ServeError::LeftDirty { error: Box::new(error), dirty_blocks }),
    }
}

/// Writes the fingerprint of the disk to the SSD, and the mark of the SSD to the disk. Returns
/// whether the SSD is marked as shut down.
fn record(
    left: &ShutDown,
    uuid: Uuid,
    exchanging: bool,
    warn: &dyn Fn(&str),
) -> Result<bool, ServeError> {
    let ShutDown { ssd, disk, .. } = left;
    let (mut superblock, worse) = read_superblock(ssd)
        .map_err(|error| StoreError::Recover { path: ssd.path().to_owned(), error })?;
    if superblock.uuid != *uuid.as_bytes() {
        return Err(EndError::Another { path: ssd.path().to_owned(), uuid }.into());
    }
    if !left.in_order || !superblock.clean {
        return Ok(false);
    }
    match disk.fingerprint() {
        Ok(fingerprint) => {
            superblock.edition += 1;
            superblock.fingerprint = fingerprint;
            write_superblock(ssd, &superblock, worse)?;
            // The mark distinguishes this SSD from a copy made while it was served. During an
            // exchange the mark may be that of the new SSD.
            let mark = Mark { uuid: superblock.uuid, edition: superblock.edition };
            let left = if exchanging { Ok(true) } else { disk.leave_mark(&mark) };
            if let Err(error) = left {
                warn(&format!("{error}; an older copy of the SSD may not be noticed"));
            }
        }
        // The recorded fingerprint is that of a disk in use, which is unknown content.
        Err(error) => warn(&format!(
            "what the disk is like could not be read ({error}); what is dirty is safe on the SSD"
        )),
    }
    Ok(true)
}

/// Deletes a cache, if the disk has everything, and closes the disk.
pub(super) fn ended(left: ShutDown, uuid: Uuid) -> Result<Left, ServeError> {
    let destroyed = match left.dirty_blocks {
        0 => destroy(&left.ssd, &*left.disk, uuid),
        dirty => Err(EndError::Dirty(dirty)),
    };
    let closed = left.disk.close();
    destroyed?;
    closed?;
    Ok(Left { dirty_blocks: 0, lost_blocks: 0, in_order: true, exchanging: false })
}

/// A cache that is not served, and its disk.
pub struct Offline<'a> {
    /// The SSD.
    pub ssd: &'a Path,
    /// The disk.
    pub disk: &'a Path,
    /// The disk may have been written without its cache: the cache is used nevertheless.
    pub trust_disk: bool,
    /// The known policies.
    pub registry: &'a Registry,
    /// Receives lines about failed I/O.
    pub tell: Option<Tell>,
    /// Receives a warning about the disk, before anything is written to it.
    pub warn: &'a dyn Fn(&str),
}

/// Destages everything, without serving. Calls `left` with the number of blocks left.
///
/// # Errors
/// As [`Serving::start`](super::serve::Serving::start), or if the disk does not take a block.
pub fn export(cache: Offline<'_>, left: &mut dyn FnMut(u64)) -> Result<(), ServeError> {
    empty(cache, false, left)
}

/// As [`export`], and deletes the cache.
///
/// # Errors
/// The same. The cache still exists then.
pub fn detach(cache: Offline<'_>, left: &mut dyn FnMut(u64)) -> Result<(), ServeError> {
    empty(cache, true, left)
}

fn empty(cache: Offline<'_>, end: bool, left: &mut dyn FnMut(u64)) -> Result<(), ServeError> {
    let Offline { ssd, disk, trust_disk, registry, tell, warn } = cache;
    let (mut ready, (_, cache), warning) = trust::open(ssd, disk, trust_disk, registry)?;
    if trust_disk {
        ready.only_drain();
    }
    warning.iter().for_each(|text| warn(text));
    let superblock = ready.superblock().clone();
    let uuid = Uuid::from_bytes(superblock.uuid);
    let config = Config::new(Mode::PassThrough, superblock.layout.slots);
    let store =
        ready.start_with(cache, config, StartOptions { tell, ..StartOptions::default() })?;
    let drained = drain(store.handle(), &mut |told| {
        // Errors of the disk are reported as they occur.
        if let DrainProgress::Dirty(blocks) = told {
            left(blocks);
        }
        Ok(())
    });
    if end && drained.is_ok() {
        return ended(store.shut_down_for_removal()?, uuid).map(drop);
    }
    stopped(store.shut_down()?, uuid, warn)?;
    Ok(drained?)
}
