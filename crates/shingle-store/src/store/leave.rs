//! The end of serving: records the state of the disk, or deletes the cache; and the same without
//! serving. Uses the devices that were opened at the start, whatever their paths name by now.

use std::path::Path;

use shingle_core::registry::Registry;
use shingle_core::service::Mode;
use shingle_device::{Mark, deleted};
use shingle_engine::settings::Settings;
use shingle_engine::{Config, SsdState};
use uuid::Uuid;

use super::create::destroy;
use super::drain::{DrainProgress, drain};
use super::errors::{EndError, ServeError};
use super::format::{read_superblock, write_superblock};
use super::notice::Left;
use super::trust;
use crate::backend::{ShutDown, StartOptions, StoreError, Tell};

/// Records the state of the disk, for a cache that was shut down in order. If the disk cannot be
/// read, the next start is as after a crash, and the operator is told the reason.
pub(super) fn stopped(left: ShutDown, uuid: Uuid) -> Result<(Left, Vec<String>), ServeError> {
    let ShutDown { ssd, disk, dirty_blocks, ssd_state, in_order } = left;
    let exchanging = matches!(ssd_state, SsdState::Out | SsdState::Entering);
    let (mut superblock, worse) = read_superblock(&ssd)
        .map_err(|error| StoreError::Recover { path: ssd.path().to_owned(), error })?;
    if superblock.uuid != *uuid.as_bytes() {
        return Err(EndError::Another { path: ssd.path().to_owned(), uuid }.into());
    }
    let mut warnings = Vec::new();
    if dirty_blocks > 0 && ssd.is_deleted() {
        let what = format!("what was dirty on it is lost (blocks: {dirty_blocks})");
        warnings.push(deleted(ssd.path().display(), &what));
    }
    if disk.is_deleted() {
        warnings.push(deleted(disk.path().display(), "all that it held is lost"));
    }
    let in_order = in_order && superblock.clean;
    if in_order {
        match disk.fingerprint() {
            Ok(fingerprint) => {
                superblock.edition += 1;
                superblock.fingerprint = fingerprint;
                write_superblock(&ssd, &superblock, worse)?;
                // The mark distinguishes this SSD from a copy made while it was served. During an
                // exchange the mark may be that of the new SSD.
                let mark = Mark { uuid: superblock.uuid, edition: superblock.edition };
                let left = if exchanging { Ok(true) } else { disk.leave_mark(&mark) };
                if let Err(error) = left {
                    warnings.push(format!("{error}; an older copy of the SSD may not be noticed"));
                }
            }
            // The recorded fingerprint is that of a disk in use, which is unknown content.
            Err(error) => {
                warnings.push(format!(
                    "what the disk is like could not be read ({error}); what is dirty is safe on the SSD"
                ));
            }
        }
    }
    disk.close()?;
    Ok((Left { dirty_blocks, in_order, exchanging }, warnings))
}

/// Deletes a cache, if the disk has everything.
pub(super) fn ended(left: ShutDown, uuid: Uuid) -> Result<Left, ServeError> {
    if left.dirty_blocks > 0 {
        return Err(EndError::Dirty(left.dirty_blocks).into());
    }
    destroy(&left.ssd, &*left.disk, uuid)?;
    left.disk.close()?;
    Ok(Left { dirty_blocks: 0, in_order: true, exchanging: false })
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
    let (mut ready, warning) = trust::open(ssd, disk, trust_disk)?;
    if trust_disk {
        ready.only_drain();
    }
    warning.iter().for_each(|text| warn(text));
    let superblock = ready.superblock().clone();
    let uuid = Uuid::from_bytes(superblock.uuid);
    let settings = Settings::from_text(&superblock.settings)?;
    let slots = superblock.layout.slots;
    let cache = settings.cache(registry, slots as u32, ready.disk().blocks())?;
    let config = Config::new(Mode::PassThrough, slots);
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
    stopped(store.shut_down()?, uuid)?.1.iter().for_each(|text| warn(text));
    Ok(drained?)
}
