//! A new checkpoint, written in the background: some pages with each commit.
//!
//! A page has the map as it is durable at that commit. Later changes of what the written pages say are remembered, and then
//! written into the log of the new checkpoint, also in portions. When few are left, the next commit is written there, too, and
//! from then on the new checkpoint is the map. So a work waits for only a few pages for each page of its own.

use std::collections::BTreeSet;

use shingle_core::ranges::Ranges;
use shingle_zoned::ZonedError;

use super::Shared;
use super::reading::Map;
use crate::saved::{RECORDS, Record, Saver, lost_records, run_records};
use crate::zones::Table;

/// Records that are collected at a time.
const AT_A_TIME: usize = 128 * RECORDS as usize;

/// A checkpoint that is being written.
#[derive(Debug, Default)]
pub(super) struct Rewriting {
    /// The first logical zone and the first block that are not written yet.
    zone: u32,
    block: u64,
    /// The next records, less than a page of them.
    rest: Vec<Record>,
    begun: bool,
    /// Whether all pages are written.
    written: bool,
    /// Zones and blocks that have changed since they were written.
    changed_zones: BTreeSet<u32>,
    changed_blocks: Ranges,
}

impl Rewriting {
    /// Remembers zones and blocks that have changed. The map with the changes is durable.
    pub(super) fn remember(&mut self, zones: &BTreeSet<u32>, blocks: &Ranges) {
        self.changed_zones.extend(zones.range(..self.zone));
        for range in blocks.iter() {
            self.changed_blocks.insert(range.start..range.end.min(self.block));
        }
    }

    /// Whether the next commit can complete it.
    pub(super) fn is_nearly_done(&self, saver: &Saver) -> bool {
        self.written && self.changed_zones.len() + self.changed_blocks.len() <= saver.portions().few
    }

    /// The records that the log of the new checkpoint lacks, without those of the commit that is being written.
    pub(super) fn remaining_records(&self, table: &Table, map: &Map) -> Vec<Record> {
        let zones = self.changed_zones.iter().map(|&logical| table.record(logical));
        let mut records: Vec<Record> = zones.collect();
        for range in self.changed_blocks.iter() {
            let pieces = map.whereabouts.pieces(range);
            records.extend(pieces.flat_map(|(block, piece)| run_records(block, piece)));
        }
        records.push(Record::NoneLost);
        records.extend(lost_records(&map.lost));
        records
    }

    /// Writes about so many records more. The map is durable. Returns false if there is no room.
    pub(super) fn advance(
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
                // (There has to be a last page, which marks the end.)
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
            && let Some(logical) = self.changed_zones.pop_first()
        {
            records.push(table.record(logical));
        }
        while records.len() < count
            && let Some(range) = self.changed_blocks.pop_first()
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
