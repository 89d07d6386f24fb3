//! The progress of a cell, and the choice of the blocks of its next run.

use shingle_core::units::{BLOCK_BYTES, SECTOR_BYTES};

use super::super::buckets::{signed_within, within};
use super::super::description::{Cell, DONE_TENTHS};
use super::super::tables::{TableKind, Tables, by_blocks, op_index};
use super::super::zone_state::{Stamp, ZoneState};
use crate::synth::rng::Rng;
use crate::zones::ZONE_BLOCKS;

pub(super) const BLOCK_SECTORS: u64 = BLOCK_BYTES / SECTOR_BYTES;
const BLOCKS: usize = ZONE_BLOCKS as usize;

/// A cell of the current slice.
pub(super) struct Progress {
    /// Blocks left, by source.
    sources_left: Vec<(Stamp, u64)>,
    blocks_left: u64,
    runs_left: u64,
    /// Blocks of all runs.
    blocks: u64,
    /// The end of the last run.
    cursor: usize,
    /// Whether the runs of this cell ascend.
    ascends: bool,
    pub(super) run: Option<Run>,
}

/// A run in progress, in sectors from the start of the zone.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) at: u64,
    pub(super) end: u64,
    pub(super) blocks: u64,
    /// Length of its last request, or 0.
    pub(super) sectors: u64,
}

impl Run {
    /// Returns the number of blocks that are not done yet.
    pub(super) fn rest(&self) -> u64 {
        (self.end - self.at).div_ceil(BLOCK_SECTORS)
    }
}

impl Progress {
    pub(super) fn new(cell: &Cell, tables: &Tables, rng: &mut Rng) -> Progress {
        let blocks = cell.blocks();
        Progress {
            sources_left: cell.sources.clone(),
            blocks_left: blocks,
            runs_left: cell.runs,
            blocks,
            cursor: cell.span().0,
            ascends: tables.table(TableKind::Rises).draw(op_index(cell.op), rng) == Some(1),
            run: None,
        }
    }

    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Returns when the next request is due, as a fixed-point number of parts of the slice with 32
    /// fraction bits; `None` if there is none.
    ///
    /// It is rounded to an eighth of a part, so that cells do not alternate after each request.
    pub(super) fn due(&self, cell: &Cell) -> Option<u64> {
        let rest = self.run.map_or(0, |run| run.rest());
        if self.blocks_left == 0 && rest == 0 {
            return None;
        }
        let all = u128::from(self.blocks);
        let done = all - u128::from(self.blocks_left) - u128::from(rest);
        let tenths = |step: usize| u128::from(DONE_TENTHS[step]) * all;
        let steps = 1..DONE_TENTHS.len();
        let step = steps.clone().find(|&step| done * 10 < tenths(step)).unwrap_or(steps.end - 1);
        // A time is the middle of its part, except for the first and the last.
        let time = |step: usize| {
            let half = if step == 0 { 0 } else { 1 + u128::from(step == DONE_TENTHS.len() - 1) };
            (2 * u128::from(cell.times[step]) + half) << 31
        };
        let (from, to) = (time(step - 1), time(step));
        let passed =
            (to - from) * (done * 10 - tenths(step - 1)) / (tenths(step) - tenths(step - 1));
        Some(((from + passed) >> 29 << 29) as u64)
    }

    /// Chooses the blocks of the next run and stamps them with `now`; `first_now` is the first
    /// stamp of the slice.
    pub(super) fn begin(
        &mut self,
        cell: &Cell,
        (first_now, now): (Stamp, Stamp),
        zone_state: &mut ZoneState,
        tables: &Tables,
        rng: &mut Rng,
    ) -> Run {
        let wanted = match self.runs_left {
            0 | 1 => self.blocks_left,
            runs => {
                let situation = by_blocks(cell.op, self.blocks_left / runs);
                let length = tables.table(TableKind::Lengths).draw(situation, rng);
                within(length.unwrap_or(1), rng).clamp(1, self.blocks_left)
            }
        };
        self.runs_left = self.runs_left.saturating_sub(1);
        let first = self.start(cell, zone_state, tables, rng);
        let mut end = first;
        // Neighbours are mostly of the same source.
        let mut known = None;
        while end < BLOCKS && ((end - first) as u64) < wanted {
            let stamp = zone_state.at(end);
            let source = match known.filter(|&(of, _)| of == stamp) {
                Some((_, source)) => source,
                None => match self.source(stamp, first_now) {
                    Some(source) => source,
                    // The first block is taken in any case.
                    None if end == first => self.sources_left.len() - 1,
                    None => break,
                },
            };
            known = Some((stamp, source));
            self.sources_left[source].1 -= 1;
            if self.sources_left[source].1 == 0 {
                self.sources_left.remove(source);
                known = None;
            }
            zone_state.touch(end, now);
            end += 1;
        }
        zone_state.set_last_end(end);
        self.cursor = end % BLOCKS;
        let blocks = (end - first) as u64;
        self.blocks_left -= blocks;
        let edges = tables.table(TableKind::Edges).draw(by_blocks(cell.op, blocks), rng);
        // Nothing was counted if no run had this number of blocks: then first and last block are
        // whole.
        let edges = u64::from(edges.unwrap_or(7));
        let at = first as u64 * BLOCK_SECTORS + edges / 8;
        let end = (end as u64 - 1) * BLOCK_SECTORS + edges % 8 + 1;
        Run { at, end: end.max(at + 1), blocks, sectors: 0 }
    }

    /// Returns the index of the source for a block of this stamp.
    ///
    /// Blocks of earlier slices may replace one another, and so may those of this slice. The
    /// earlier draws chose other blocks than the trace had, so an exact match would split runs.
    fn source(&self, stamp: Stamp, first_now: Stamp) -> Option<usize> {
        let class_of = |stamp: Stamp| (stamp != Stamp::FRESH, stamp >= first_now);
        let wanted = class_of(stamp);
        let candidates = self
            .sources_left
            .iter()
            .enumerate()
            .filter(|(_, (source, _))| class_of(*source) == wanted);
        candidates.min_by_key(|(_, (source, _))| source.0.abs_diff(stamp.0)).map(|(at, _)| at)
    }

    /// Returns the start of a run: at a block of a source, drawn by the number of blocks left of
    /// each.
    fn start(&self, cell: &Cell, zone_state: &ZoneState, tables: &Tables, rng: &mut Rng) -> usize {
        let mut drawn = rng.below(self.blocks_left);
        let source = self.sources_left.iter().position(|&(_, blocks)| {
            let here = drawn < blocks;
            drawn = drawn.saturating_sub(blocks);
            here
        });
        let source = source.expect("the drawn block is one of those left");
        let span = cell.span();
        let from = if self.ascends { self.cursor } else { random_block(span, rng) };
        for &(stamp, _) in self.sources_left[source..].iter().chain(&self.sources_left[..source]) {
            let fresh = stamp == Stamp::FRESH;
            let from = if fresh { new_start(cell, zone_state, tables, rng) } else { from };
            // The earlier draws chose other blocks, so there may be none in the cell's part of the
            // zone.
            let anywhere = || zone_state.find(stamp, from, (0, BLOCKS));
            if let Some(found) = zone_state.find(stamp, from, span).or_else(anywhere) {
                return if fresh { found } else { zone_state.run_begin(found) };
            }
        }
        from
    }
}

/// Returns a block from which to look for the start of a run of new blocks.
fn new_start(cell: &Cell, zone_state: &ZoneState, tables: &Tables, rng: &mut Rng) -> usize {
    let (begin, end) = cell.span();
    let Some(last) = zone_state.last_end() else { return begin };
    let gap = tables.table(TableKind::Gaps).draw(op_index(cell.op), rng);
    let drawn = last as i64 + gap.map_or(0, |gap| signed_within(gap, rng));
    let drawn = usize::try_from(drawn).ok().filter(|block| (begin..end).contains(block));
    drawn.unwrap_or_else(|| random_block((begin, end), rng))
}

fn random_block((begin, end): (usize, usize), rng: &mut Rng) -> usize {
    begin + rng.below((end - begin) as u64) as usize
}
