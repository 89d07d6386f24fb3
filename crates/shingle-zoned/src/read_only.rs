//! A zoned disk that is only read: nothing on it changes, not even a damaged copy.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::io::Errno;
use shingle_core::units::{BLOCK_BYTES, Block, Zone};
use shingle_engine::Buffer;

use crate::disk::{Call, ZoneCommand, ZonedDisk};
use crate::error::{Operation, ZonedError};
use crate::geometry::Geometry;
use crate::head::On;
use crate::zone::ZoneReport;
use crate::zones::Zones;

/// A zoned disk in its current state. All changes are refused (EROFS).
#[derive(Debug)]
pub struct ReadOnlyDisk {
    pub(crate) name: String,
    pub(crate) file: File,
    /// What it is on, and the page with the first block, if it has a head.
    pub(crate) head: Option<(On, u64)>,
    pub(crate) zones: Zones,
    pub(crate) damaged: Vec<String>,
}

impl ReadOnlyDisk {
    /// Whether it is a file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        matches!(self.head, Some((On::File, _)))
    }

    /// Whether it has its zones by a head, as a file has, and not from the kernel.
    #[must_use]
    pub fn has_head(&self) -> bool {
        self.head.is_some()
    }

    /// Descriptions of pages of the head that are damaged in one copy. Opening the disk
    /// repairs them from the other one.
    #[must_use]
    pub fn damaged(&self) -> &[String] {
        &self.damaged
    }

    fn refused<T>(&self, call: Call) -> Result<T, ZonedError> {
        Err(call.failed(&self.name, self.geometry(), Errno::ROFS.into()))
    }

    fn read_one(&self, page: u64, buffer: &mut Buffer) -> io::Result<()> {
        let first_page = self.head.map_or(0, |(_, first_page)| first_page);
        self.file.read_exact_at(&mut buffer.0, (first_page + page) * BLOCK_BYTES)
    }
}

impl ZonedDisk for ReadOnlyDisk {
    fn name(&self) -> &str {
        &self.name
    }

    fn geometry(&self) -> &Geometry {
        self.zones.geometry()
    }

    fn report(&self, first: Zone, count: u32) -> Result<Vec<ZoneReport>, ZonedError> {
        let geometry = self.geometry();
        let call = Call::of(Operation::Report, Some(first), geometry);
        self.zones.may_name(first).map_err(|refused| call.refused(&self.name, refused))?;
        let end = first.0 + count.min(geometry.zones - first.0);
        Ok((first.0..end).map(|zone| self.zones.report(Zone(zone))).collect())
    }

    fn read(&self, block: Block, buffers: &mut [Buffer]) -> Result<(), ZonedError> {
        let (call, count) = (Call::at(Operation::Read, block, buffers.len()), buffers.len() as u64);
        let may = self.zones.may_read(block, count);
        may.map_err(|refused| call.refused(&self.name, refused))?;
        let mut rest = buffers.iter_mut();
        for (zone, offset, count) in self.zones.pieces(block, count) {
            let first = self.geometry().first(zone).0;
            let end = self.zones.written_end(zone);
            for (at, buffer) in (offset..offset + count).zip(&mut rest) {
                // Something other than zeros may be there.
                if self.has_head() && at >= end {
                    buffer.0.fill(0);
                    continue;
                }
                let read = self.read_one(first + at, buffer);
                read.map_err(|error| {
                    let call = Call::at(Operation::Read, Block(first + at), 1);
                    call.failed(&self.name, self.geometry(), error)
                })?;
            }
        }
        Ok(())
    }

    fn write(&self, block: Block, buffers: &[Buffer]) -> Result<(), ZonedError> {
        self.refused(Call::at(Operation::Write, block, buffers.len()))
    }

    fn command(&self, command: ZoneCommand, zone: Zone) -> Result<(), ZonedError> {
        self.refused(Call::of(command.into(), Some(zone), self.geometry()))
    }

    fn flush(&self) -> Result<(), ZonedError> {
        self.refused(Call::of(Operation::Flush, None, self.geometry()))
    }
}
