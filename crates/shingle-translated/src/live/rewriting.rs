//! The whole map is written anew while works go on: some pages of it with each commit.
//!
//! What is written is the map as it is durable at that commit. What changes later behind the pages that are written is
//! noted, and goes into the log behind the new checkpoint, in portions as well; when little is left, the next commit goes
//! there, too, and from then on the new checkpoint counts. So no work waits for more than a few pages for each of its own.

use std::collections::BTreeSet;

use shingle_core::ranges::Ranges;
use shingle_zoned::ZonedError;

use super::Shared;
use super::reading::Map;
use crate::saved::{RECORDS, Record, Saver, lost_records, run_records};
use crate::zones::Table;

/// Records that are put together at a time.
const AT_A_TIME: usize = 128 * RECORDS as usize;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Rewriting {
    /// Logical zones before this one are written, and blocks before that one.
    zone: u32,
    block: u64,
    /// Records that come next, less than a page of them.
    rest: Vec<Record>,
    begun: bool,
    /// All pages are.
    written: bool,
    /// What has changed behind them.
    zones_behind: BTreeSet<u32>,
    behind: Ranges,
}

impl Rewriting {
    /// Zones and blocks changed, and the map that says so is durable.
    pub(super) fn note(&mut self, zones: &BTreeSet<u32>, blocks: &Ranges) {
        self.zones_behind.extend(zones.range(..self.zone));
        for range in blocks.iter() {
            self.behind.insert(range.start..range.end.min(self.block));
        }
    }

    /// Whether the next commit can end it.
    pub(super) fn is_nearly_done(&self, saver: &Saver) -> bool {
        self.written && self.zones_behind.len() + self.behind.len() <= saver.portions().few
    }

    /// What the log of the new checkpoint lacks, without what the commit under way says.
    pub(super) fn behind(&self, table: &Table, map: &Map) -> Vec<Record> {
        let zones = self.zones_behind.iter().map(|&logical| table.record(logical));
        let mut records: Vec<Record> = zones.collect();
        for range in self.behind.iter() {
            let pieces = map.whereabouts.pieces(range);
            records.extend(pieces.flat_map(|(block, piece)| run_records(block, piece)));
        }
        records.push(Record::NoneLost);
        records.extend(lost_records(&map.lost));
        records
    }

    /// The map is durable: writes some more of it, about so many records. False if there is no room for it.
    pub(super) fn go_on(
        &mut self,
        shared: &Shared,
        table: &Table,
        saver: &mut Saver,
        mut records: usize,
    ) -> Result<bool, ZonedError> {
        while records > 0 && !self.is_nearly_done(saver) {
            let count = records.min(AT_A_TIME);
            records -= count;
            let goes_on = match self.written {
                false => self.write_more(shared, table, saver, count)?,
                true => self.catch_up(shared, table, saver, count)?,
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn write_more(
        &mut self,
        shared: &Shared,
        table: &Table,
        saver: &mut Saver,
        count: usize,
    ) -> Result<bool, ZonedError> {
        let map = shared.map();
        let mut records = std::mem::take(&mut self.rest);
        let count = records.len() + count;
        if !std::mem::replace(&mut self.begun, true) {
            records.extend(lost_records(&map.lost));
        }
        let zones = table.physical.len() as u32;
        while records.len() < count && self.zone < zones {
            records.push(table.record(self.zone));
            self.zone += 1;
        }
        if self.zone == zones {
            for (block, piece) in map.whereabouts.from(self.block) {
                if records.len() >= count {
                    break;
                }
                records.extend(run_records(block, piece));
                self.block = block.0 + piece.count;
            }
        }
        let last = records.len() < count;
        if last {
            self.block = map.whereabouts.blocks();
            self.written = true;
            records.extend(lost_records(&map.lost));
            if records.is_empty() {
                // The last page says that it is.
                let last = map.whereabouts.blocks() - 1;
                let pieces = map.whereabouts.pieces(last..last + 1);
                records.extend(pieces.flat_map(|(block, piece)| run_records(block, piece)));
            }
        } else {
            let whole = records.len() / RECORDS as usize * RECORDS as usize;
            self.rest = records.split_off(whole);
        }
        drop(map);
        saver.go_on_with_next(&shared.disk, &records, last)
    }

    fn catch_up(
        &mut self,
        shared: &Shared,
        table: &Table,
        saver: &mut Saver,
        count: usize,
    ) -> Result<bool, ZonedError> {
        let map = shared.map();
        let mut records = Vec::new();
        while records.len() < count
            && let Some(logical) = self.zones_behind.pop_first()
        {
            records.push(table.record(logical));
        }
        while records.len() < count
            && let Some(range) = self.behind.pop_first()
        {
            for (block, piece) in map.whereabouts.pieces(range) {
                records.extend(run_records(block, piece));
            }
        }
        drop(map);
        for records in records.chunks(saver.portions().of_a_commit) {
            if !saver.catch_up(&shared.disk, records)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
