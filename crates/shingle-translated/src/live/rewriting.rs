//! The whole map is written anew while works go on: some pages of it with each commit.
//!
//! What is written is the map as it is durable at that commit. What changes later behind the pages that are written is
//! noted, and goes into the log behind the new checkpoint, in portions as well; when little is left, the next commit goes
//! there, too, and from then on the new checkpoint counts. So no work waits for more than a few pages for each of its own.

use std::collections::BTreeSet;

use shingle_core::ranges::Ranges;

use super::Shared;
use super::commit::zone_record;
use super::works::{Stop, Works};
use crate::bugs::Bug;
use crate::saved::{RECORDS, Record, Saver, lost_records, run_records};

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
}

impl Works {
    /// What the log of the new checkpoint lacks, without what the commit under way says.
    pub(super) fn behind(&self, shared: &Shared) -> Vec<Record> {
        let Some(rewriting) = &self.rewriting else { return Vec::new() };
        let zones = rewriting.zones_behind.iter().map(|&logical| zone_record(&self.table, logical));
        let mut records: Vec<Record> = zones.collect();
        let map = shared.map();
        for range in rewriting.behind.iter() {
            let pieces = map.whereabouts.pieces(range);
            records.extend(pieces.flat_map(|(block, piece)| run_records(block, piece)));
        }
        records.push(Record::NoneLost);
        records.extend(lost_records(&map.lost));
        records
    }

    /// A commit took so many pages of the log, and the map is durable: writes some of it anew, if it is time.
    pub(super) fn rewrite_some(&mut self, shared: &Shared, log_pages: u32) -> Result<(), Stop> {
        if self.rewriting.is_none() {
            if !self.saver.is_half_full() {
                return Ok(());
            }
            self.saver.begin_next();
            self.rewriting = Some(Rewriting::default());
        }
        let Some(mut rewriting) = self.rewriting.take() else { return Ok(()) };
        let mut left = self.saver.portions().for_a_page * log_pages as usize;
        while left > 0 && !rewriting.is_nearly_done(&self.saver) {
            let count = left.min(AT_A_TIME);
            left -= count;
            let goes_on = match rewriting.written {
                false => self.write_more(shared, &mut rewriting, count)?,
                true => self.catch_up(shared, &mut rewriting, count)?,
            };
            if !goes_on {
                // There is no room for it: the whole map is written when the log is full.
                return Ok(());
            }
        }
        self.rewriting = Some(rewriting);
        Ok(())
    }

    fn write_more(
        &mut self,
        shared: &Shared,
        rewriting: &mut Rewriting,
        count: usize,
    ) -> Result<bool, Stop> {
        let map = shared.map();
        let mut records = std::mem::take(&mut rewriting.rest);
        let count = records.len() + count;
        if !std::mem::replace(&mut rewriting.begun, true) {
            records.extend(lost_records(&map.lost));
        }
        let zones = self.table.physical.len() as u32;
        while records.len() < count && rewriting.zone < zones {
            records.push(zone_record(&self.table, rewriting.zone));
            rewriting.zone += 1;
        }
        if rewriting.zone == zones {
            for (block, piece) in map.whereabouts.from(rewriting.block) {
                if records.len() >= count {
                    break;
                }
                records.extend(run_records(block, piece));
                rewriting.block = block.0 + piece.count;
            }
        }
        let last = records.len() < count;
        if last {
            rewriting.block = map.whereabouts.blocks();
            rewriting.written = true;
            records.extend(lost_records(&map.lost));
            if records.is_empty() {
                // The last page says that it is.
                let last = map.whereabouts.blocks() - 1;
                let pieces = map.whereabouts.pieces(last..last + 1);
                records.extend(pieces.flat_map(|(block, piece)| run_records(block, piece)));
            }
        } else {
            let whole = records.len() / RECORDS as usize * RECORDS as usize;
            rewriting.rest = records.split_off(whole);
        }
        drop(map);
        Ok(self.saver.go_on_with_next(&shared.disk, &records, last)?)
    }

    fn catch_up(
        &mut self,
        shared: &Shared,
        rewriting: &mut Rewriting,
        count: usize,
    ) -> Result<bool, Stop> {
        let map = shared.map();
        let mut records = Vec::new();
        while records.len() < count
            && let Some(logical) = rewriting.zones_behind.pop_first()
        {
            records.push(zone_record(&self.table, logical));
        }
        while records.len() < count
            && let Some(range) = rewriting.behind.pop_first()
        {
            for (block, piece) in map.whereabouts.pieces(range) {
                records.extend(run_records(block, piece));
            }
        }
        drop(map);
        for records in records.chunks(self.saver.portions().of_a_commit) {
            if !self.saver.catch_up(&shared.disk, records)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The commit under way goes into the log of the new checkpoint, which counts from then on. False if it has no room there.
    pub(super) fn end_rewriting(
        &mut self,
        shared: &Shared,
        records: &[Record],
    ) -> Result<bool, Stop> {
        let behind =
            if self.bugs.has(Bug::ChangesForgotten) { Vec::new() } else { self.behind(shared) };
        let all: Vec<Record> = behind.into_iter().chain(records.iter().copied()).collect();
        self.rewriting = None;
        if !self.saver.catch_up(&shared.disk, &all)? {
            return Ok(false);
        }
        self.saver.name_next(&shared.disk)?;
        self.commits += 1;
        self.checkpoints += 1;
        self.beside_works += 1;
        Ok(true)
    }
}
