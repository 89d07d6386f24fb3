//! Checks whether a disk is the one that the cache knows, and unchanged. If not, cached data may be
//! stale, and dirty data may belong elsewhere.
//!
//! After an orderly shutdown the fingerprint shows it. After a crash nothing is recorded of the
//! disk, but a block that is cached as clean has the same bytes on the disk: some are compared. A
//! disk that is a file also records which cache it was used with last
//! ([`Mark`](shingle_device::Mark)), and a zoned disk has a name. None of this proves that all is
//! well.

use std::collections::BTreeSet;
use std::path::Path;

use shingle_core::registry::Registry;
use shingle_core::units::Block;
use shingle_device::{Device, DeviceError, SAMPLED_FIRST_BLOCKS};
use shingle_engine::format::{Frame, PAGE_BYTES, State};
use shingle_engine::recover::{LostPage, Recovered};
use uuid::Uuid;

pub use super::doubt::{Distrusted, Doubt};
use super::errors::ServeError;
use super::unserved::{self, UnservedError};
use crate::backend::{Disk, Made, Ready, has_name, is_known};

/// What is known of a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Known {
    /// By its fingerprint it is unchanged since the cache was shut down.
    AsItWas,
    /// No check has failed.
    Nothing {
        /// The number of blocks compared.
        compared: usize,
    },
    /// There is nothing to check: no orderly shutdown, no mark or name, and no clean block to
    /// compare.
    Unproven,
    /// A check has failed.
    Doubtful(Doubt),
}

/// Opens a cache and its disk. A distrusted disk is an error, unless the operator trusts it.
/// Returns the settings and an empty cache, too, and a warning if the disk could not be checked and the
/// cache has dirty blocks.
pub(super) fn open(
    ssd: &Path,
    disk: &Path,
    trust_disk: bool,
    registry: &Registry,
) -> Result<(Ready, Made, Option<String>), ServeError> {
    let opened = Ready::open_with_cache(ssd, disk, registry);
    let (ready, made) = opened.map_err(|error| not_there(ssd, disk, error.into()))?;
    let (ready, warning) = judge(ready, trust_disk)?;
    Ok((ready, made?, warning))
}

/// As [`open`], also if pages of the frame table are lost, which are returned.
pub(super) fn open_to_salvage(
    ssd: &Path,
    disk: &Path,
    trust_disk: bool,
) -> Result<(Ready, Option<String>, Vec<LostPage>), ServeError> {
    let opened = Ready::open_to_salvage(ssd, disk);
    let (ready, lost) = opened.map_err(|error| not_there(ssd, disk, error.into()))?;
    let (ready, warning) = judge(ready, trust_disk)?;
    Ok((ready, warning, lost))
}

fn judge(mut ready: Ready, trust_disk: bool) -> Result<(Ready, Option<String>), ServeError> {
    if trust_disk {
        ready.trust_disk();
        return Ok((ready, None));
    }
    let dirty_blocks = ready.found().dirty_blocks();
    let disk = ready.disk().path();
    match look(ready.found(), ready.ssd(), ready.disk())? {
        Known::Doubtful(doubt) => {
            let uuid = Uuid::from_bytes(ready.superblock().uuid);
            Err(Distrusted { disk: disk.to_owned(), uuid, doubt, dirty_blocks }.into())
        }
        Known::Unproven if dirty_blocks > 0 => {
            let warning = unproven(disk, ready.found().clean, dirty_blocks);
            Ok((ready, Some(warning)))
        }
        _ => Ok((ready, None)),
    }
}

/// The error for an SSD without a cache; if it has one, `error`.
fn not_there(ssd: &Path, disk: &Path, error: ServeError) -> ServeError {
    match unserved::superblock(ssd) {
        Err(moved @ UnservedError::Moved { .. }) => moved.into(),
        Ok(None) if matches!(unserved::superblock(disk), Ok(Some(_))) => {
            ServeError::Swapped { ssd: ssd.to_owned(), disk: disk.to_owned() }
        }
        _ => error,
    }
}

fn unproven(disk: &Path, clean: bool, dirty_blocks: u64) -> String {
    let known = match clean {
        true => "of which nothing is known since it was last served: it",
        false => "which was not shut down and",
    };
    format!(
        "{}: nothing tells whether this is the disk of the cache, {known} holds no clean block to compare; dirty blocks \
         that will be written to it: {dirty_blocks}",
        disk.display()
    )
}

/// Checks the disk of a cache.
pub fn look(found: &Recovered, ssd: &Device, disk: &dyn Disk) -> Result<Known, DeviceError> {
    let superblock = found.journal.superblock();
    let mark = disk.mark()?;
    match mark {
        // A cache that was emptied for this disk was not deleted completely: an empty cache cannot
        // be stale.
        Some(mark) if mark.is_without_cache(disk.name()) && was_emptied(found) => {}
        Some(mark) if mark.is_without_cache(disk.name()) => {
            return Ok(Known::Doubtful(Doubt::Alone));
        }
        Some(mark) if mark.uuid != superblock.uuid => {
            return Ok(Known::Doubtful(Doubt::Another(Uuid::from_bytes(mark.uuid))));
        }
        Some(mark) if mark.edition > superblock.edition => {
            let doubt = Doubt::Later { disk: mark.edition, cache: superblock.edition };
            return Ok(Known::Doubtful(doubt));
        }
        Some(mark) if mark.edition < superblock.session && has_marked(found) => {
            let doubt = Doubt::Earlier { disk: mark.edition, cache: superblock.session };
            return Ok(Known::Doubtful(doubt));
        }
        _ => {}
    }
    if disk.name().is_some_and(|name| !has_name(&superblock.fingerprint, &name)) {
        return Ok(Known::Doubtful(Doubt::NotIt));
    }
    if !disk.is_readable() {
        return Ok(Known::Nothing { compared: 0 });
    }
    if found.clean && is_known(&superblock.fingerprint) {
        match disk.fingerprint() {
            Ok(now) if now == superblock.fingerprint => return Ok(Known::AsItWas),
            Ok(_) => return Ok(Known::Doubtful(Doubt::Changed)),
            // One bad block of the disk must not end the service of all others: the clean blocks
            // are compared, as after a crash.
            Err(error) => {
                return match compare(found, ssd, disk) {
                    Known::Nothing { compared: 0 } => Err(error),
                    known => Ok(known),
                };
            }
        }
    }
    Ok(match compare(found, ssd, disk) {
        Known::Nothing { compared: 0 } if mark.is_none() && disk.name().is_none() => {
            Known::Unproven
        }
        known => known,
    })
}

/// Whether everything on the SSD was given up, and nothing was cached since.
fn was_emptied(found: &Recovered) -> bool {
    found.journal.superblock().dirty_from > 0 && found.live().next().is_none()
}

/// Whether the last session has marked the disk, which it does before its first page of the
/// journal: it ended in order, or such a page was found.
fn has_marked(found: &Recovered) -> bool {
    found.clean || found.journal.last_page() >= found.journal.superblock().session_from
}

/// Compares some of the clean blocks with the disk. Blocks that cannot be read from the disk, or
/// are damaged on the SSD, are skipped.
fn compare(found: &Recovered, ssd: &Device, disk: &dyn Disk) -> Known {
    let layout = found.journal.layout();
    let mut compared = 0;
    let mut blocks = Vec::new();
    for (block, frame) in sample(found) {
        let crc = found.journal.table.entry(frame).crc;
        let has = |device: &dyn Disk, block: Block| {
            let mut pages = [[0; PAGE_BYTES]];
            let read = device.read_blocks(block, &mut pages);
            read.ok().map(|()| crc32c::crc32c(&pages[0]) == crc)
        };
        match has(disk, block) {
            Some(true) => compared += 1,
            Some(false) if has(ssd, Block(layout.frame_page(frame))) == Some(true) => {
                compared += 1;
                blocks.push(block);
            }
            _ => {}
        }
    }
    match blocks.is_empty() {
        true => Known::Nothing { compared },
        false => Known::Doubtful(Doubt::Differs { blocks, compared }),
    }
}

/// The number of most recently used blocks to compare: these are likely to be written by others,
/// too.
const LATEST: usize = 96;
/// The number of other blocks, spread over the SSD.
const SPREAD: usize = 96;

/// The clean blocks to compare, in the order of the disk.
fn sample(found: &Recovered) -> BTreeSet<(Block, Frame)> {
    let entry = |frame: Frame| found.journal.table.entry(frame);
    let clean = || found.live().filter(|&(_, frame)| entry(frame).state == State::Clean);
    let mut by_hint = vec![0_usize; usize::from(u16::MAX) + 1];
    clean().for_each(|(_, frame)| by_hint[usize::from(entry(frame).hint)] += 1);
    let count: usize = by_hint.iter().sum();
    // The lowest hint among the most recently used blocks, and how many blocks with it are among
    // them.
    let (mut lowest, mut of_lowest) = (by_hint.len(), 0);
    let mut missing = LATEST.min(count);
    while missing > 0 {
        lowest -= 1;
        of_lowest = by_hint[lowest].min(missing);
        missing -= of_lowest;
    }
    let step = count.div_ceil(SPREAD).max(1);
    let chosen = clean().enumerate().filter(|&(at, (block, frame))| {
        let hint = usize::from(entry(frame).hint);
        let mut late = hint > lowest;
        if hint == lowest && of_lowest > 0 {
            of_lowest -= 1;
            late = true;
        }
        late || block.0 < SAMPLED_FIRST_BLOCKS || at.is_multiple_of(step)
    });
    chosen.map(|(_, one)| one).collect()
}
