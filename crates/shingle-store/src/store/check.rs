//! `check`: reads and compares everything on an SSD, and changes nothing.

use shingle_core::units::{BLOCK_BYTES, Block};
use shingle_device::{Device, DeviceError};
use shingle_engine::OpenError;
use shingle_engine::format::superblock::Superblock;
use shingle_engine::format::{Frame, PAGE_BYTES, Page, State};
use shingle_engine::recover::{Pages, RecoverError, Recovered, recover};
use shingle_engine::settings::Settings;
use thiserror::Error;
use uuid::Uuid;

use super::moved::Moved;
use super::trust::{Known, look};
use crate::backend::{Disk, must_be_whole};

/// The findings of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Findings {
    /// The UUID of the cache.
    pub uuid: Uuid,
    /// Its settings.
    pub settings: Option<Settings>,
    /// Whether it was shut down in order.
    pub clean: bool,
    /// Clean blocks in the cache.
    pub clean_blocks: u64,
    /// Dirty blocks in the cache.
    pub dirty_blocks: u64,
    /// Pages of the journal that would be replayed.
    pub replayed_pages: u64,
    /// Damaged pages of metadata with a good second copy: they are repaired when the cache is
    /// served.
    pub mendable_pages: u64,
    /// Pages at the end of the journal with one good copy: a crash came while they were written.
    pub torn_pages: u64,
    /// Records on such pages whose data does not match: it was not flushed before a power cut, or
    /// is damaged. Their blocks return to the previous version.
    pub void_records: u64,
    /// Dirty blocks whose data cannot be read or does not match its checksum.
    pub lost: Vec<Block>,
    /// Clean blocks with such damage: the disk has them.
    pub damaged_clean_blocks: u64,
    /// The size of the disk, if it is not the size the cache was made for: it is smaller, or of a
    /// kind that does not grow.
    pub other_disk_bytes: Option<u64>,
    /// What is known of the disk; `None` if none was given, or one of another size.
    pub disk: Option<Known>,
}

impl Findings {
    /// Whether nothing was found that loses data.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.lost.is_empty() && self.other_disk_bytes.is_none() && self.disk_changed() != Some(true)
    }

    /// Whether the disk is another one than that of the cache, or was changed. `None` if that is
    /// unknown, after a crash.
    #[must_use]
    pub fn disk_changed(&self) -> Option<bool> {
        match self.disk {
            Some(Known::AsItWas) => Some(false),
            Some(Known::Doubtful(_)) => Some(true),
            Some(Known::Nothing { .. } | Known::Unproven) | None => None,
        }
    }
}

/// Why a check cannot be done.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say it
pub enum CheckError {
    #[error(transparent)]
    Recover(#[from] RecoverError<std::io::Error>),
    /// The contents of the frames contradict each other: the cache would not be served.
    #[error(transparent)]
    Contents(#[from] OpenError),
    #[error("{0}")]
    Moved(Moved),
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The number of frames read at a time.
const FRAMES_AT_ONCE: usize = 256;

/// Checks a cache. Calls `done` with the number of blocks checked, and of all.
///
/// # Errors
/// If metadata is damaged beyond repair, or cannot be read.
pub fn check(
    ssd: &Device,
    disk: Option<&dyn Disk>,
    done: &mut dyn FnMut(u64, u64),
) -> Result<Findings, CheckError> {
    must_be_whole(ssd)?;
    let mut pages = ssd;
    let found = match recover(&mut pages) {
        Err(error) => return Err(Moved::on(&mut pages).map_or(error.into(), CheckError::Moved)),
        Ok(found) => found,
    };
    let mut findings = Findings::of_metadata(&found);
    if let Some(disk) = disk {
        findings.look_at_disk(&found, ssd, disk)?;
    }
    let live: Vec<_> = found.live().collect();
    fits_together(&live, found.journal.superblock())?;
    findings.read_frames(&found, ssd, &live, done);
    Ok(findings)
}

impl Findings {
    fn of_metadata(found: &Recovered) -> Findings {
        let superblock = found.journal.superblock();
        Findings {
            uuid: Uuid::from_bytes(superblock.uuid),
            settings: Settings::from_text(&superblock.settings).ok(),
            clean: found.clean,
            clean_blocks: found.live().count() as u64 - found.dirty_blocks(),
            dirty_blocks: found.dirty_blocks(),
            replayed_pages: found.replayed_pages,
            mendable_pages: found.findings.damaged_pages,
            torn_pages: found.findings.torn_pages,
            void_records: found.findings.void_records,
            lost: Vec::new(),
            damaged_clean_blocks: 0,
            other_disk_bytes: None,
            disk: None,
        }
    }

    fn look_at_disk(
        &mut self,
        found: &Recovered,
        ssd: &Device,
        disk: &dyn Disk,
    ) -> Result<(), DeviceError> {
        let disk_bytes = found.journal.superblock().disk_bytes;
        // Only the beginning of a disk that has grown is used, until the cache is told to grow.
        let grown = disk.device().filter(|disk| disk.bytes() > disk_bytes);
        let mut beginning = grown.cloned();
        if let Some(beginning) = &mut beginning {
            beginning.set_used_bytes(disk_bytes);
        }
        let disk = beginning.as_ref().map_or(disk, |beginning| beginning as &dyn Disk);
        match disk.bytes() == disk_bytes {
            true => self.disk = Some(look(found, ssd, disk)?),
            false => self.other_disk_bytes = Some(disk.bytes()),
        }
        Ok(())
    }

    /// Reads the frames of all blocks in the cache, and compares their checksums.
    fn read_frames(
        &mut self,
        found: &Recovered,
        mut ssd: &Device,
        live: &[(Block, Frame)],
        done: &mut dyn FnMut(u64, u64),
    ) {
        let layout = found.journal.superblock().layout;
        let mut buffer: Vec<Page> = vec![[0; PAGE_BYTES]; FRAMES_AT_ONCE];
        let mut looked = 0;
        // In the order of frames, neighbours can be read together.
        let runs = live.chunk_by(|a, b| b.1.0 == a.1.0 + 1);
        for run in runs.flat_map(|run| run.chunks(FRAMES_AT_ONCE)) {
            let pages = &mut buffer[..run.len()];
            let whole = ssd.read(layout.frame_page(run[0].1), pages).is_ok();
            for (&(block, frame), page) in run.iter().zip(pages) {
                let entry = found.journal.table.entry(frame);
                let one = std::slice::from_mut(page);
                let read = whole || ssd.read(layout.frame_page(frame), one).is_ok();
                if read && crc32c::crc32c(&one[0]) == entry.crc {
                    continue;
                }
                match entry.state {
                    State::Dirty => self.lost.push(block),
                    _ => self.damaged_clean_blocks += 1,
                }
            }
            looked += run.len() as u64;
            done(looked, live.len() as u64);
        }
        self.lost.sort_unstable();
    }
}

/// Whether frames can hold these blocks; the same check as when the cache is served.
pub(super) fn fits_together(
    live: &[(Block, Frame)],
    superblock: &Superblock,
) -> Result<(), OpenError> {
    if live.len() as u64 > superblock.layout.slots {
        return Err(OpenError::TooMany(live.len()));
    }
    let mut blocks: Vec<u64> = live.iter().map(|(block, _)| block.0).collect();
    blocks.sort_unstable();
    if let Some(twice) = blocks.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(OpenError::Twice(twice[0]));
    }
    let disk_blocks = superblock.disk_bytes / BLOCK_BYTES;
    match blocks.last() {
        Some(&block) if block >= disk_blocks => Err(OpenError::Beyond { block, disk_blocks }),
        _ => Ok(()),
    }
}
