//! `export --salvage`: writes to the disk what can still be read of a cache that is damaged. The SSD is
//! only read, so that what is missing is missing, and told, each time.

use std::io;
use std::path::Path;
use std::slice;

use shingle_core::units::Block;
use shingle_device::{Device, DeviceError, Medium};
use shingle_engine::buffer::{Buffer, zeroed};
use shingle_engine::format::{Frame, State};
use shingle_engine::recover::{LostPage, Pages, Recovered};
use shingle_engine::{IO_PAGES_MAX, Kind};

use super::check::fits_together;
use super::errors::ServeError;
use super::trust;
use crate::backend::{Disk, StoreError};

/// What was written, and what is missing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Salvaged {
    /// Dirty blocks that the disk has now.
    pub written_blocks: u64,
    /// Dirty blocks that the SSD does not give, or gives damaged, in the order of the disk.
    pub lost: Vec<Block>,
    /// Pages of the frame table that are lost: nothing tells which blocks were in their frames.
    pub lost_pages: Vec<LostPage>,
}

impl Salvaged {
    /// Whether the disk has everything.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.lost.is_empty() && self.lost_pages.is_empty()
    }
}

/// Writes all dirty blocks that are known and whole to the disk, in its order. Before that `warn`
/// receives a warning about the disk. Calls `left` with the number of blocks that are still to be
/// looked at.
///
/// # Errors
/// If the cache is damaged in other ways, the disk is distrusted, or does not take a block.
pub fn salvage(
    ssd: &Path,
    disk: &Path,
    trust_disk: bool,
    warn: &dyn Fn(&str),
    left: &mut dyn FnMut(u64),
) -> Result<Salvaged, ServeError> {
    let (ready, warning, lost_pages) = trust::open_to_salvage(ssd, disk, trust_disk)?;
    warning.iter().for_each(|text| warn(text));
    let (ssd, disk, found) = ready.into_parts();
    let live: Vec<_> = found.live().collect();
    fits_together(&live, found.journal.superblock()).map_err(StoreError::from)?;
    let mut salvaged = Salvaged { lost_pages, ..Salvaged::default() };
    let mut writer = Writer { medium: disk.medium(), disk: &*disk };
    let written = salvaged.write(&found, live, &ssd, &mut writer, left);
    let ended = writer.end();
    let closed = disk.close();
    written?;
    ended?;
    closed?;
    Ok(salvaged)
}

impl Salvaged {
    fn write(
        &mut self,
        found: &Recovered,
        mut live: Vec<(Block, Frame)>,
        mut ssd: &Device,
        to: &mut Writer<'_>,
        left: &mut dyn FnMut(u64),
    ) -> Result<(), DeviceError> {
        let entry = |frame: Frame| found.journal.table.entry(frame);
        live.retain(|&(_, frame)| entry(frame).state == State::Dirty);
        live.sort_unstable();
        let layout = found.journal.layout();
        // Consecutive blocks, from `first` on.
        let mut run: Vec<Buffer> = Vec::new();
        let mut first = Block(0);
        for (at, &(block, frame)) in live.iter().enumerate() {
            let mut buffer = zeroed();
            let read = ssd.read(layout.frame_page(frame), slice::from_mut(&mut buffer.0));
            let whole = read.is_ok() && crc32c::crc32c(&buffer.0) == entry(frame).crc;
            let goes_on = first.after(run.len() as u64) == block && run.len() < IO_PAGES_MAX;
            if !(whole && goes_on) {
                self.written_blocks += to.write(first, &mut run)?;
                first = block;
            }
            match whole {
                true => run.push(buffer),
                false => {
                    self.lost.push(block);
                    first = block.after(1);
                }
            }
            left((live.len() - at - 1) as u64);
        }
        self.written_blocks += to.write(first, &mut run)?;
        to.flush()
    }
}

/// Writes to the disk, whatever it is made of.
struct Writer<'a> {
    medium: Option<Box<dyn Medium>>,
    disk: &'a dyn Disk,
}

impl Writer<'_> {
    /// Writes the blocks from `first` on, and takes them out. Returns how many there were.
    fn write(&mut self, first: Block, run: &mut Vec<Buffer>) -> Result<u64, DeviceError> {
        let count = run.len() as u64;
        if count > 0 {
            match self.disk.device() {
                Some(device) => {
                    let bytes: Vec<u8> = run.iter().flat_map(|buffer| buffer.0).collect();
                    device.write(first.0, &bytes)?;
                }
                None => self.serve("write to", Kind::Write, first, run)?,
            }
        }
        run.clear();
        Ok(count)
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        match self.disk.device() {
            Some(device) => device.flush(),
            None => self.serve("flush", Kind::Flush, Block(0), &mut []),
        }
    }

    fn serve(
        &mut self,
        what: &'static str,
        kind: Kind,
        first: Block,
        run: &mut [Buffer],
    ) -> Result<(), DeviceError> {
        let none = || Err(io::Error::other("nothing does its I/O"));
        let served = self.medium.as_mut().map_or_else(none, |to| to.serve(kind, first.0, run));
        served.map_err(|error| self.failed(what, error))
    }

    fn end(mut self) -> Result<(), DeviceError> {
        let ended = self.medium.as_mut().map_or(Ok(()), |medium| medium.end());
        ended.map_err(|error| self.failed("close", error))
    }

    fn failed(&self, what: &'static str, error: io::Error) -> DeviceError {
        DeviceError::System { what, path: self.disk.path().to_owned(), error }
    }
}
