//! Reads back, after a flush, what was written before it.
//!
//! A disk whose power fails for a moment loses what it has acknowledged and not flushed. The kernel
//! repeats what was not answered, and the flush succeeds, as nothing is left to flush. The map is on
//! conventional zones, which have no write pointer that would show it. Nor does a write with FUA
//! help: for disks without FUA, as most SATA disks are used, the kernel makes a write and a flush of
//! it. But a page that is there after the flush stays: if the power failed before the flush, the
//! page is gone already; if later, it was durable.

use std::collections::{BTreeMap, BTreeSet};

use shingle_core::units::Block;
use shingle_engine::format::{Page, checksum};
use shingle_engine::{Buffer, IO_PAGES_MAX};
use shingle_zoned::{Operation, Reason, ZonedDisk, ZonedError};

use super::fetch::read_pages;

/// Pages that were written and not read back yet, with their checksums.
#[derive(Default)]
pub(super) struct Unproven(BTreeMap<u64, u32>);

/// (The first bytes are the same in all pages.)
fn sum(page: &Page) -> u32 {
    checksum(page, 0)
}

impl Unproven {
    pub(super) fn wrote(&mut self, at: Block, pages: &[Buffer]) {
        self.0.extend((at.0..).zip(pages.iter().map(|page| sum(&page.0))));
    }

    /// Reads the pages, which were flushed.
    ///
    /// `unread` are the checksums of those that could not be read. It is the same set for both copies of a page, whether one flush
    /// makes them durable or two.
    ///
    /// # Errors
    /// If the disk has lost one, or can read it in neither copy.
    pub(super) fn read_back(
        self,
        disk: &dyn ZonedDisk,
        unread: &mut BTreeSet<u32>,
    ) -> Result<(), ZonedError> {
        let mut pages = self.0.into_iter().peekable();
        while let Some((first, wanted)) = pages.next() {
            let mut sums = vec![wanted];
            while sums.len() < IO_PAGES_MAX
                && let Some((_, wanted)) = pages.next_if(|page| page.0 == first + sums.len() as u64)
            {
                sums.push(wanted);
            }
            let read = read_pages(disk, Block(first), sums.len());
            for ((at, wanted), page) in (first..).zip(sums).zip(read) {
                match page {
                    Ok(page) if sum(&page.0) == wanted => {}
                    Ok(_) => return Err(lost(disk, Block(at))),
                    // The other copy, which is equal, may be readable.
                    Err(error) if error.may_be_the_medium() && unread.insert(wanted) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

fn lost(disk: &dyn ZonedDisk, block: Block) -> ZonedError {
    ZonedError {
        device: disk.name().to_owned(),
        operation: Operation::Flush,
        zone: disk.geometry().place(block).map(|(zone, _)| zone),
        block,
        blocks: 1,
        reason: Reason::LostWrites,
    }
}
