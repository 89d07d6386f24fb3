//! Reads: each piece from where its newest copy is.

use super::HostAware;
use crate::io::{Io, Served, Stamp};
use crate::sheet::Timing;

impl HostAware {
    /// Reads a run of blocks, each piece from where its newest copy is.
    pub(super) fn read(&mut self, served: &mut Served, io: &Io, data: &mut [Stamp]) {
        self.command(served);
        let (mut done, mut from_medium) = (0, 0);
        while done < io.count {
            let first = io.block.0 + done;
            let (source, count) = self.piece(first, io.count - done);
            match source {
                Source::Slot(slot) => {
                    self.counters.buffer_read_blocks += count;
                    self.time_read(served, u64::from(slot), count);
                }
                Source::Native => {
                    self.counters.native_read_blocks += count;
                    self.time_read(served, self.native + first, count);
                }
                Source::Nowhere => {
                    self.counters.beyond_pointer_blocks += count;
                    if self.timing == Timing::Mechanics {
                        self.mech.bus(served, count);
                    }
                }
            }
            from_medium += if source == Source::Nowhere { 0 } else { count };
            let end = ((done + count) as usize).min(data.len());
            for (block, stamp) in (first..).zip(&mut data[(done as usize).min(end)..end]) {
                *stamp = match source {
                    Source::Slot(slot) => self.contents.slot(slot + (block - first) as u32),
                    Source::Native => self.contents.native(block),
                    Source::Nowhere => 0,
                };
            }
            done += count;
        }
        if self.timing == Timing::Cost {
            served.spend(self.costs.read(from_medium));
        }
    }

    fn time_read(&mut self, served: &mut Served, place: u64, count: u64) {
        if self.timing == Timing::Mechanics {
            self.mech.read(served, place, count);
        }
    }

    /// Returns the source of `first`, and how many of the next `most` blocks follow there in order.
    fn piece(&self, first: u64, most: u64) -> (Source, u64) {
        let source = self.source(first);
        let after = |count: u64| match source {
            Source::Slot(slot) => Source::Slot(slot + count as u32),
            other => other,
        };
        let mut count = 1;
        while count < most && self.source(first + count) == after(count) {
            count += 1;
        }
        (source, count)
    }

    fn source(&self, block: u64) -> Source {
        if let Some(slot) = self.cache.map().find(block) {
            return Source::Slot(slot);
        }
        let (zone, offset) = self.zones.place(block);
        if offset < self.zones.data_end(zone) { Source::Native } else { Source::Nowhere }
    }
}

/// Where a piece of a read comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Slot(u32),
    Native,
    /// Beyond the write pointer: synthesized.
    Nowhere,
}
