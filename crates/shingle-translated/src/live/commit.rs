//! Publishing and committing: the map of the readers, then the map on the disk, becomes that of the translation.
//!
//! The order of a commit, and why:
//!
//! 1. Flush the data, so that the map names nothing that a power cut could still take, and compare the write pointers, so that it
//!    names nothing that one has taken already.
//! 2. Write both copies of the log, flush, and read them back. From now on the map names the new places.
//! 3. Zones that only the map before named become spare, and the translation may overwrite the places that it gave up.

use std::collections::BTreeSet;
use std::ops::Range;

use shingle_core::units::Block;
use shingle_translation::{Piece, Place};

use super::Shared;
use super::worker::{Stop, Worker};
use crate::bugs::Bug;
use crate::lost::Lost;
use crate::saved::{Record, lost_records, records_of_length, run_records};
use crate::whereabouts::Whereabouts;
use crate::zones::Table;

impl Worker {
    /// Changes the map of the readers: the places of blocks that were touched, zones that have moved, blocks that were lost.
    /// `written` are the blocks of a write or trim of the host that is done: lost blocks among them are lost no more.
    pub(super) fn publish(&mut self, shared: &Shared, written: Option<Range<u64>>) {
        self.unpublished_blocks.clear();
        if self.touched.is_empty()
            && self.table.unpublished.is_empty()
            && self.lost.blocks().is_empty()
        {
            return;
        }
        if self.bugs.has(Bug::ReadersKeepOldMap) && !self.table.unpublished.is_empty() {
            // (A seeded bug: the places are published, but not that zones have moved.)
            self.table.unpublished.clear();
        }
        let mut found: Vec<(Block, Piece)> = Vec::new();
        let mut pieces = Vec::new();
        for range in self.touched.iter() {
            pieces.clear();
            self.executor.locate(Block(range.start), range.end - range.start, &mut pieces);
            let mut block = Block(range.start);
            for &piece in &pieces {
                found.push((block, piece));
                block = block.after(piece.count);
            }
        }
        self.touched.clear();
        let mut map = shared.map_mut();
        for (block, piece) in found {
            let changed = map.whereabouts.set(block, piece);
            let is_dropped = piece.place == Place::Nowhere && self.bugs.has(Bug::NowhereNotLogged);
            if changed && !is_dropped {
                self.unlogged.insert(block.0..block.0 + piece.count);
            }
        }
        for logical in self.table.unpublished.drain(..) {
            map.physical[logical as usize] = self.table.physical[logical as usize];
        }
        let lost = std::mem::take(&mut self.lost);
        if !lost.blocks().is_empty() {
            map.lost.add(&lost);
            self.to_read_again.extend(lost.with_copies());
            self.lost_unlogged = true;
        }
        if let Some(range) = written {
            self.lost_unlogged |= map.lost.remove(range.clone());
            let mut again = std::mem::take(&mut self.lost_now);
            while let Some(lost) = again.first_in(range.clone()) {
                again.remove(lost.clone());
                map.lost.insert(lost);
            }
            if self.reverted.remove(range.clone()) {
                map.doubtful.remove(range);
            }
        }
    }

    /// Makes the map durable, and the data that it names.
    pub(super) fn commit(&mut self, shared: &Shared) -> Result<(), Stop> {
        self.publish(shared, None);
        self.give_up_copies(shared);
        let early = self.bugs.has(Bug::LogBeforeData);
        if !early {
            self.flush(shared)?;
            self.has_appended(shared)?;
        }
        let mut records = Vec::new();
        {
            let map = shared.map();
            if !self.bugs.has(Bug::ZonesNotLogged) {
                records
                    .extend(self.table.unlogged.iter().map(|&logical| self.table.record(logical)));
            }
            for range in self.unlogged.iter() {
                let pieces = map.whereabouts.pieces(range);
                records.extend(pieces.flat_map(|(block, piece)| run_records(block, piece)));
            }
            if self.lost_unlogged && !self.bugs.has(Bug::LossForgotten) {
                records.push(Record::NoneLost);
                records.extend(lost_records(&map.lost));
            }
        }
        let mut log_pages = 0;
        if records.is_empty() {
            // Nothing changed except data in place.
        } else if self.rewriting.as_ref().is_some_and(|next| next.is_nearly_done(&self.saver))
            && self.end_rewriting(shared, &records)?
        {
            // The records are in the log of the new checkpoint.
        } else if self.saver.has_room(records.len() as u64) {
            let before = self.saver.log_used();
            self.saver.commit(&shared.disk, &records)?;
            self.commits += 1;
            log_pages = self.saver.log_used().saturating_sub(before);
            if let Some(rewriting) = &mut self.rewriting {
                rewriting.remember(&self.table.unlogged, &self.unlogged);
            }
        } else {
            self.checkpoint(shared)?;
        }
        if early {
            self.flush(shared)?;
        }
        self.committed(shared);
        if log_pages > 0 { self.rewrite_some(shared, log_pages) } else { Ok(()) }
    }

    /// Writes the whole map. The data that it names has to be durable.
    pub(super) fn checkpoint(&mut self, shared: &Shared) -> Result<(), Stop> {
        self.rewriting = None;
        let map = shared.map();
        let room = self.saver.superblock().areas.records_max();
        let runs = map.whereabouts.runs();
        if records_of(&map.whereabouts, &self.table, &map.lost) > room {
            return Err(Stop::MapFull { runs, room });
        }
        let zones = (0..self.table.physical.len() as u32).map(|logical| self.table.record(logical));
        let runs = map.whereabouts.all().flat_map(|(block, piece)| run_records(block, piece));
        let lost =
            if self.bugs.has(Bug::LossForgotten) { Lost::default() } else { map.lost.clone() };
        // (Lost blocks are on two pages, if there are two: see the head of `saved`.)
        let records = lost_records(&lost).chain(zones).chain(runs).chain(lost_records(&lost));
        self.saver.checkpoint(&shared.disk, records)?;
        drop(map);
        self.commits += 1;
        self.checkpoints += 1;
        self.committed(shared);
        Ok(())
    }

    /// Writes a part of the next checkpoint, if the log is half full. The map is durable, and the commit took `log_pages`.
    fn rewrite_some(&mut self, shared: &Shared, log_pages: u32) -> Result<(), Stop> {
        if self.rewriting.is_none() {
            if !self.saver.is_half_full() {
                return Ok(());
            }
            self.saver.begin_next();
        }
        let mut rewriting = self.rewriting.take().unwrap_or_default();
        let records = self.saver.portions().for_a_page * log_pages as usize;
        // (If it has no room, the whole map is written when the log is full.)
        if rewriting.advance(shared, &self.table, &mut self.saver, records)? {
            self.rewriting = Some(rewriting);
        }
        Ok(())
    }

    /// Writes the records of a commit into the log of the new checkpoint, which is the map from then on. Returns false if they
    /// have no room there.
    fn end_rewriting(&mut self, shared: &Shared, records: &[Record]) -> Result<bool, Stop> {
        let mut all = match self.rewriting.take() {
            Some(rewriting) if !self.bugs.has(Bug::ChangesForgotten) => {
                rewriting.remaining_records(&self.table, &shared.map())
            }
            _ => Vec::new(),
        };
        all.extend_from_slice(records);
        if !self.saver.catch_up(&shared.disk, &all)? {
            return Ok(false);
        }
        self.saver.name_next(&shared.disk)?;
        self.commits += 1;
        self.checkpoints += 1;
        self.background_checkpoints += 1;
        Ok(true)
    }

    fn committed(&mut self, shared: &Shared) {
        self.commit_count += 1;
        let with_copies = match self.bugs.has(Bug::OldCopiesGivenUp) {
            true => BTreeSet::new(),
            false => shared.map().lost.zones(shared.plan.zone_blocks),
        };
        self.table.committed(with_copies);
        self.unlogged.clear();
        self.unflushed.clear();
        self.unflushed_by_host.clear();
        // (More blocks of that write may follow.)
        self.unflushed_by_host.insert(self.writing.clone());
        self.lost_unlogged = false;
    }
}

/// The number of records of a checkpoint, at most.
pub(super) fn records_of(whereabouts: &Whereabouts, table: &Table, lost: &Lost) -> u64 {
    let long = records_of_length(whereabouts.blocks());
    table.physical.len() as u64 + whereabouts.runs() + 2 * lost.runs().count() as u64 + 2 * long
}
