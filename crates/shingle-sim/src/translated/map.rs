//! What it takes to save the map of a translation on its disk, as `shingle zoned` does: at a flush
//! of the host, and when the translation has to know that the map is durable.
//!
//! A record for each run of blocks that was appended or trimmed goes to a log of the map, of which
//! there are two copies: one at the start of the conventional zones, one behind the first half of
//! them. Both are written, and the disk is flushed. Left out: that the pages are read back, and that
//! the whole map is written when its log is full.

use shingle_core::units::{Block, Nanos, Op};
use shingle_drive::{Drive, Io, Served};

/// Records in a page of the map's log.
const RECORDS: u64 = 252;

/// The log of the map; see the module.
#[derive(Clone)]
pub(super) struct MapLog {
    /// Blocks of one copy.
    room: u64,
    /// Where the next page goes.
    next: u64,
    /// Records that are not saved yet.
    records: u64,
}

impl MapLog {
    /// Creates it in `blocks` of conventional zones.
    pub(super) fn new(blocks: u64) -> MapLog {
        MapLog { room: blocks / 2, next: 0, records: 0 }
    }

    /// Notes a change of the map.
    pub(super) fn change(&mut self) {
        self.records += 1;
    }

    /// Returns whether changes are not saved yet.
    pub(super) fn has_changed(&self) -> bool {
        self.records > 0
    }

    /// Writes what has changed, and flushes the disk. Returns the number of blocks written, and
    /// when that is done.
    pub(super) fn save(&mut self, now: Nanos, disk: &mut dyn Drive) -> (u64, Served) {
        let pages = self.records.div_ceil(RECORDS).min(self.room);
        self.records = 0;
        let mut served = Served { done: now, ..Served::default() };
        if self.next + pages > self.room {
            self.next = 0;
        }
        for copy in [0, self.room].into_iter().filter(|_| pages > 0) {
            let io = Io { op: Op::Write, block: Block(copy + self.next), count: pages };
            served.then(&disk.serve(served.done, &io, &mut []), false);
        }
        self.next += pages;
        let flush = Io { op: Op::Flush, block: Block(0), count: 0 };
        served.then(&disk.serve(served.done, &flush, &mut []), false);
        (2 * pages, served)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shingle_drive::{Settings, make};

    #[test]
    fn what_changed_is_written_twice_and_begins_anew_where_it_does_not_fit() {
        let mut disk = make("cmr5900", &Settings::default()).expect("a drive");
        let mut map = MapLog::new(10);
        let mut save = |changes: u64| {
            (0..changes).for_each(|_| map.change());
            let written = map.save(Nanos::ZERO, disk.as_mut()).0;
            (written, map.next)
        };
        assert_eq!(save(0), (0, 0));
        assert_eq!(save(1), (2, 1));
        assert_eq!(save(252), (2, 2));
        assert_eq!(save(253), (4, 4));
        // Of five pages in a copy one is left.
        assert_eq!(save(253), (4, 2));
        assert_eq!(disk.counters().written_blocks, 12);
    }
}
