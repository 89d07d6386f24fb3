//! The statistics that all cells share, counted over the whole trace.

use shingle_core::units::Op;

use super::buckets::{Table, class};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TableKind {
    /// Blocks of a run, by the mean blocks of a run of its cell.
    Lengths,
    /// Sectors skipped in a run's first block, and last sector used in its last; by its blocks.
    Edges,
    /// Sectors of a request, by blocks of its run.
    Sizes,
    /// 1 if a request is as long as the one before in its run; by blocks of the run.
    Same,
    /// Blocks from the end of the last run in the zone to a run that begins with a new block.
    Gaps,
    /// 1 if a run begins above the one before in its cell.
    Rises,
    /// Nanoseconds since the previous request, by the wait before that and the load of the slice
    /// ([`pause`]).
    Waits,
}

/// Number of classes of blocks in a zone; larger numbers count as the largest.
pub(super) const BLOCK_CLASSES: usize = 48;

/// Number of classes of numbers below 2⁶².
const CLASSES_62: u32 = 8 + 4 * 59;

/// Lengths below 1 MiB are counted exactly, in sectors.
pub(super) const EXACT_SECTORS: u32 = 2048;

impl TableKind {
    /// All tables: name in a description, number of situations, and the exclusive limit of the
    /// values.
    pub(super) const ALL: [(TableKind, &str, usize, u32); 7] = [
        (TableKind::Lengths, "lengths", 2 * BLOCK_CLASSES, BLOCK_CLASSES as u32),
        (TableKind::Edges, "edges", 2 * BLOCK_CLASSES, 64),
        (TableKind::Sizes, "sizes", 2 * BLOCK_CLASSES, EXACT_SECTORS + CLASSES_62),
        (TableKind::Same, "same", 2 * BLOCK_CLASSES, 2),
        (TableKind::Gaps, "gaps", 2, 2 * BLOCK_CLASSES as u32),
        (TableKind::Rises, "rises", 2, 2),
        (TableKind::Waits, "waits", 3 * LOADS, CLASSES_62),
    ];
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tables(Vec<Table>);

impl Tables {
    pub(super) fn new() -> Tables {
        Tables(TableKind::ALL.iter().map(|&(_, _, situations, _)| Table::new(situations)).collect())
    }

    pub(super) fn table(&self, of: TableKind) -> &Table {
        &self.0[of as usize]
    }

    pub(super) fn count(&mut self, of: TableKind, situation: usize, value: u32) {
        self.add(of, situation, value, 1);
    }

    pub(super) fn add(&mut self, of: TableKind, situation: usize, value: u32, count: u64) {
        self.0[of as usize].add(situation, value, count);
    }
}

/// Returns the situation of the tables by operation and blocks.
pub(super) fn by_blocks(op: Op, blocks: u64) -> usize {
    op_index(op) * BLOCK_CLASSES + (class(blocks) as usize).min(BLOCK_CLASSES - 1)
}

/// Number of load classes: by the mean wait of a slice, each four times as long.
const LOADS: usize = 20;

/// Returns the situation of [`TableKind::Waits`]: immediate, soon or later, in a slice of this mean wait.
pub(super) fn wait_situation(wait_ns: u64, mean_ns: u64) -> usize {
    let pause = match wait_ns {
        0..100_000 => 0,
        100_000..10_000_000 => 1,
        _ => 2,
    };
    3 * ((mean_ns.max(1).ilog2() / 2) as usize).min(LOADS - 1) + pause
}

/// Maps a signed number to a class: the sign is the lowest bit.
pub(super) fn signed_class(number: i64) -> u32 {
    2 * class(number.unsigned_abs()) + u32::from(number < 0)
}

/// Returns 0 for reads, 1 for writes.
pub(super) fn op_index(op: Op) -> usize {
    usize::from(op == Op::Write)
}
