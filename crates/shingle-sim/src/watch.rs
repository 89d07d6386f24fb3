//! Observation of the disk: each command with its cause, and where writes go. Without observers it
//! costs one branch per I/O of the disk.

use std::sync::Arc;

use shingle_core::units::{Nanos, Op, Request};
use shingle_drive::Io;
use shingle_result::{Heat, Parts};
use shingle_trace::zones::ZONE_BLOCKS;

use crate::requests::{RequestList, all};

/// The cause of a command to the disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// A read that fills the cache.
    Miss,
    /// A read of the rest of a partly written block.
    Fill,
    /// A request that bypasses the cache.
    Bypass,
    /// A destage of dirty blocks.
    Destage,
    /// A host-side RMW: the host writes a zone back, and reads what it has not cached of it.
    Rmw,
    /// A reset of a zone, which is then written from its start.
    Reset,
    /// A trim by the host.
    Trim,
    /// A flush by the host.
    Flush,
}

impl Cause {
    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Cause::Miss => "miss",
            Cause::Fill => "fill",
            Cause::Bypass => "bypass",
            Cause::Destage => "destage",
            Cause::Rmw => "rmw",
            Cause::Reset => "reset",
            Cause::Trim => "trim",
            Cause::Flush => "flush",
        }
    }
}

/// A command to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// Time when its turn came.
    pub at: Nanos,
    /// Time of its completion.
    pub done: Nanos,
    /// The I/O. A reset is a trim of the whole zone.
    pub io: Io,
    /// Its cause.
    pub cause: Cause,
}

/// Receives each command, in the order of their turns.
pub type Log = Box<dyn FnMut(&Command) + Send>;

#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) log: Option<Log>,
    pub(crate) heating: Option<Heating>,
}

impl Watch {
    pub(crate) fn command(&mut self, command: &Command) {
        if let Some(heating) = &mut self.heating {
            heating.command(command);
        }
        if let Some(log) = &mut self.log {
            log(command);
        }
    }
}

/// Rows of a heat map: the 5,000-block zones that a trace touches, by address, equally many per
/// row; and the bytes that the host writes to each in each part of the requests.
#[derive(Debug)]
pub struct Rows {
    /// The row of each zone up to the last one touched. An untouched zone belongs to the row before
    /// it, or to the first: only data that the host writes back lies there.
    of_zone: Vec<u16>,
    first_bytes: Vec<u64>,
    written: Vec<Vec<u64>>,
}

impl Rows {
    /// Creates at most `rows` rows for `requests`, in `parts` parts.
    #[must_use]
    pub fn new(requests: &(impl RequestList + ?Sized), rows: u16, parts: u32) -> Rows {
        let mut touched: Vec<bool> = Vec::new();
        for request in all(requests).filter(accesses) {
            let (first, last) = zones(request.first().0, request.blocks());
            if touched.len() <= last {
                touched.resize(last + 1, false);
            }
            touched[first..=last].fill(true);
        }
        let zones = touched.iter().filter(|&&touched| touched).count();
        let rows = zones.min(usize::from(rows.max(1)));
        let (mut first_bytes, mut of_zone) =
            (Vec::with_capacity(rows), Vec::with_capacity(touched.len()));
        let mut nth = 0;
        for (zone, touched) in touched.into_iter().enumerate() {
            if touched {
                if nth * rows / zones == first_bytes.len() {
                    first_bytes.push(zone as u64 * shingle_trace::zones::ZONE_BYTES);
                }
                nth += 1;
            }
            // Less than the number of rows, which is a u16.
            of_zone.push(first_bytes.len().saturating_sub(1) as u16);
        }
        let mut this = Rows { of_zone, first_bytes, written: Vec::new() };
        let (mut part, mut parts) = (vec![0; rows], Parts::new(requests.len(), parts));
        for (number, request) in (1..).zip(all(requests)) {
            if request.op == Op::Write {
                this.count(&mut part, request.first().0, request.blocks());
            }
            if parts.ends(number) {
                this.written.push(std::mem::replace(&mut part, vec![0; rows]));
            }
        }
        this
    }

    /// Adds `blocks` from `first` on to the rows they lie in.
    fn count(&self, rows: &mut [u64], first: u64, blocks: u64) {
        let (mut at, end) = (first, first + blocks);
        while at < end {
            let zone = at / ZONE_BLOCKS;
            let to = end.min((zone + 1) * ZONE_BLOCKS);
            let row = self
                .of_zone
                .get(zone as usize)
                .map_or(rows.len().saturating_sub(1), |&row| row.into());
            if let Some(cell) = rows.get_mut(row) {
                *cell += to - at;
            }
            at = to;
        }
    }
}

fn accesses(request: &Request) -> bool {
    matches!(request.op, Op::Read | Op::Write) && request.bytes > 0
}

fn zones(first: u64, blocks: u64) -> (usize, usize) {
    ((first / ZONE_BLOCKS) as usize, ((first + blocks - 1) / ZONE_BLOCKS) as usize)
}

/// Counts the writes to each row of the disk.
pub(crate) struct Heating {
    rows: Arc<Rows>,
    part: Vec<u64>,
    done: Vec<Vec<u64>>,
}

impl Heating {
    pub(crate) fn new(rows: Arc<Rows>) -> Heating {
        Heating { part: vec![0; rows.first_bytes.len()], rows, done: Vec::new() }
    }

    fn command(&mut self, command: &Command) {
        if command.io.op == Op::Write {
            self.rows.count(&mut self.part, command.io.block.0, command.io.count);
        }
    }

    pub(crate) fn end_part(&mut self) {
        self.done.push(self.part.clone());
        self.part.fill(0);
    }

    pub(crate) fn heat(&self) -> Heat {
        Heat {
            row_first_bytes: self.rows.first_bytes.clone(),
            written_blocks: self.rows.written.clone(),
            drive_written_blocks: self.done.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_core::units::{BLOCK_BYTES, Block};

    fn write(block: u64, blocks: u64) -> Request {
        let (offset, bytes) = (block * BLOCK_BYTES, blocks * BLOCK_BYTES);
        Request { at: Nanos::ZERO, offset, bytes, op: Op::Write }
    }

    #[test]
    fn a_heat_map_counts_blocks_where_they_lie() {
        // Zones 0, 2, 3 and 9 are touched: two rows of two.
        let requests =
            [write(10, 1), write(3 * ZONE_BLOCKS - 2, 4), write(9 * ZONE_BLOCKS, 7), write(11, 1)];
        let rows = Arc::new(Rows::new(&requests[..], 2, 2));
        let zone = 5_000 * 4_096;
        assert_eq!(rows.first_bytes, [0, 3 * zone]);
        assert_eq!(rows.written, [vec![1 + 2, 2], vec![1, 7]]);
        let mut heating = Heating::new(rows);
        let io = |op| Io { op, block: Block(2 * ZONE_BLOCKS + 4_999), count: 3 };
        for op in [Op::Write, Op::Read, Op::Trim] {
            let (at, done) = (Nanos::ZERO, Nanos::ZERO);
            heating.command(&Command { at, done, io: io(op), cause: Cause::Destage });
        }
        heating.end_part();
        // The host writes back a band: zones 1 to 10, of which some are not touched.
        let io = Io { op: Op::Write, block: Block(ZONE_BLOCKS), count: 10 * ZONE_BLOCKS };
        let (at, done) = (Nanos::ZERO, Nanos::ZERO);
        heating.command(&Command { at, done, io, cause: Cause::Rmw });
        heating.end_part();
        let band = vec![2 * ZONE_BLOCKS, 8 * ZONE_BLOCKS];
        assert_eq!(heating.heat().drive_written_blocks, [vec![1, 2], band]);
        // Fewer zones than rows.
        assert_eq!(Rows::new(&requests[..1], 64, 1).written, [vec![1]]);
        assert!(Rows::new(&requests[..0], 64, 1).written.is_empty());
    }
}
