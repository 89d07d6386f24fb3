//! What is counted of a trace: moves and their particulars by phase, zones once.

use super::buckets::{Table, class};
use super::history::{CLASSES_MAX, Which};
use shingle_core::units::Op;

use super::moves::{MOVES, Situation, Size, side};

/// One of the tables of a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Of {
    /// The next move, by situation.
    Moves,
    /// Which stream is resumed or which jump is preceded, by move.
    Ranks,
    /// Untouched blocks of a run that begins in touched ones, by what it begins with.
    Grows,
    /// Sectors of a run, 0 for one request, by what it begins with and whether it grows.
    Runs,
    /// 1 if a run is as long as the one before that began there, by what it begins with.
    Again,
    /// The class of the zone, or [`SAME`] for that of the last jump; by move.
    Classes,
    /// Blocks behind a place, by operation.
    Inside,
    /// 1 if a request is as long as the last one from there was, by move.
    Same,
    /// Length in sectors, by operation and whether a stream goes on.
    Sizes,
    /// The sector of its block that a request begins in, where nothing says so; by operation.
    Sectors,
    /// Nanoseconds since the request before, by how long it was before that one.
    Waits,
}

impl Of {
    /// All, with their names in a description, in how many situations they count, and the first number
    /// that is no value of theirs.
    pub(super) const ALL: [(Of, &str, usize, u32); 11] = [
        (Of::Moves, "moves", Situation::COUNT, MOVES as u32),
        (Of::Ranks, "ranks", MOVES, 256),
        (Of::Grows, "grows", BEGINNINGS, CLASSES_32),
        (Of::Runs, "runs", 2 * BEGINNINGS, EXACT_SECTORS + CLASSES_62),
        (Of::Again, "again", BEGINNINGS, 2),
        (Of::Classes, "classes", MOVES, SAME + 1),
        (Of::Inside, "inside", 2, CLASSES_32),
        (Of::Same, "same", MOVES + NEXT, 2),
        (Of::Sizes, "sizes", 4 + NEXT, EXACT_SECTORS + CLASSES_32),
        (Of::Sectors, "sectors", 2, 8),
        (Of::Waits, "waits", 3, CLASSES_62),
    ];
}

/// Situations of a run's beginning.
const BEGINNINGS: usize = 2 * 4 * 4 * 2;

/// Situations of a stream's next request.
const NEXT: usize = 2 * 4 * 4 * 2;

/// Classes of numbers below 2³² and 2⁶².
const CLASSES_32: u32 = 8 + 4 * 29;
const CLASSES_62: u32 = 8 + 4 * 59;

/// In place of a class: the zone of the last jump.
pub(super) const SAME: u32 = CLASSES_MAX as u32;

/// Zones at these distances differ in where in them requests go.
const FAR: usize = 3;

/// The situation of [`Whole::Places`].
pub(super) fn far(done: usize, class: usize, which: Which) -> usize {
    let far = match which {
        Which::Same => 0,
        Which::Of { rank: 0..4, .. } => 1,
        Which::Of { .. } => 2,
    };
    by_class(done, class) * FAR + far
}

/// The situation of a table by move and class of zone.
pub(super) fn by_class(done: usize, class: usize) -> usize {
    done * CLASSES_MAX + class
}

/// The situation of [`Of::Runs`]: the first request's operation, length, and whether it is new.
pub(super) fn beginning(op: Op, bytes: u64, size: Size, touched: bool) -> usize {
    ((side(op) * 4 + length(bytes)) * 4 + size as usize) * 2 + usize::from(touched)
}

/// Requests of these lengths belong to different streams.
pub(super) fn length(bytes: u64) -> usize {
    match bytes {
        0..=4_096 => 0,
        4_097..=16_384 => 1,
        16_385..=49_152 => 2,
        _ => 3,
    }
}

/// Lengths up to 1 MiB are told apart sector by sector.
pub(super) const EXACT_SECTORS: u32 = 2048;

/// The situation of [`Of::Waits`]: at once, soon, later.
pub(super) fn pause(wait_ns: u64) -> usize {
    match wait_ns {
        0..100_000 => 0,
        100_000..10_000_000 => 1,
        _ => 2,
    }
}

/// A number with a sign as one without: 0, -1, 1, -2, …
pub(super) fn signed_class(number: i64) -> u32 {
    2 * class(number.unsigned_abs()) + u32::from(number < 0)
}

/// A stretch of the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Phase {
    pub(super) requests: u64,
    tables: Vec<Table>,
}

impl Phase {
    pub(super) fn new() -> Phase {
        let tables = Of::ALL.iter().map(|&(_, _, situations, _)| Table::new(situations)).collect();
        Phase { requests: 0, tables }
    }

    pub(super) fn table(&self, of: Of) -> &Table {
        &self.tables[of as usize]
    }

    pub(super) fn count(&mut self, of: Of, situation: usize, value: u32) {
        self.add(of, situation, value, 1);
    }

    pub(super) fn add(&mut self, of: Of, situation: usize, value: u32, count: u64) {
        self.tables[of as usize].add(situation, value, count);
    }

    /// Adds the stretch that follows this one.
    pub(super) fn append(&mut self, next: &Phase) {
        self.requests += next.requests;
        for (table, other) in self.tables.iter_mut().zip(&next.tables) {
            for (situation, counts) in other.situations() {
                for (value, count) in counts.pairs() {
                    table.add(situation, value, count);
                }
            }
        }
    }
}

/// Which zones there are and in which order they are touched first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Zones that are touched.
    pub(super) zones: u64,
    tables: Vec<Table>,
}

/// One of the tables of a [`Layout`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whole {
    /// Classes of zones by that of the zone before, the first situation is that of a row's first
    /// zone. [`SAME`]: the row ends.
    Rows,
    /// Zones between two rows.
    Between,
    /// From zone to zone in the order of first touches, counted in touched zones of a class.
    Steps,
    /// The sixteenth of a zone that its first request begins in, by class.
    Sixteenths,
    /// The distance of the zone among those of its class, by move and class.
    Zones,
    /// The distance in the zone, by move, class and how far the zone was.
    Places,
    /// Blocks from the zone's last place, in either direction, by move and class.
    Gaps,
}

impl Whole {
    pub(super) const ALL: [(Whole, &str, usize, u32); 7] = [
        (Whole::Rows, "rows", CLASSES_MAX + 1, SAME + 1),
        (Whole::Between, "between", 1, CLASSES_32),
        (Whole::Steps, "steps", CLASSES_MAX, 2 * CLASSES_32),
        (Whole::Sixteenths, "sixteenths", CLASSES_MAX, 16),
        (Whole::Zones, "zones", MOVES * CLASSES_MAX, CLASSES_32),
        (Whole::Places, "places", MOVES * CLASSES_MAX * FAR, CLASSES_32),
        (Whole::Gaps, "gaps", MOVES * CLASSES_MAX, 2 * CLASSES_32),
    ];
}

impl Layout {
    pub(super) fn new() -> Layout {
        let tables =
            Whole::ALL.iter().map(|&(_, _, situations, _)| Table::new(situations)).collect();
        Layout { zones: 0, tables }
    }

    pub(super) fn table(&self, of: Whole) -> &Table {
        &self.tables[of as usize]
    }

    pub(super) fn count(&mut self, of: Whole, situation: usize, value: u32) {
        self.add(of, situation, value, 1);
    }

    pub(super) fn add(&mut self, of: Whole, situation: usize, value: u32, count: u64) {
        self.tables[of as usize].add(situation, value, count);
    }
}
