//! Bands written in order from first to last block: held in memory, then written straight to their
//! place.
//!
//! A run of writes in order that reaches the first block of a band is held in memory from there on.
//! If it fills the band, the band is written in one go and its older copies in the log are dropped
//! (SAC §5.1 empties the buffer this way). If it breaks off, or a FLUSH comes, what is held goes to
//! the log. Only with the write cache on: without it a write must be on the medium when it is done.

use super::DriveManaged;
use super::values::Values;
use crate::io::{Io, Served, Stamp};
use crate::parts::runs::Runs;
use crate::sheet::Timing;
use shingle_core::units::{BLOCK_BYTES, Nanos};

/// State of an in-order run of writes.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    on: bool,
    min_blocks: u64,
    /// End of the last write, and the number of blocks before it that came in order.
    next: u64,
    run: u64,
    /// The held blocks, from the first block of a band; empty if both are equal.
    first: u64,
    end: u64,
    /// The end of that band.
    band_end: u64,
    /// Time charged for what is held.
    accepted: Nanos,
}

impl Stream {
    pub(super) fn new(values: &Values) -> Stream {
        Stream {
            on: values.write_cache,
            min_blocks: values.stream_min_bytes / BLOCK_BYTES,
            next: u64::MAX,
            run: 0,
            first: 0,
            end: 0,
            band_end: 0,
            accepted: Nanos::ZERO,
        }
    }

    /// Returns how many blocks from `block` on are held; `None` if it is not.
    #[inline]
    pub(super) fn holds(&self, block: u64) -> Option<u64> {
        (self.first <= block && block < self.end).then(|| self.end - block)
    }

    /// Returns whether any block is held.
    pub(super) fn holding(&self) -> bool {
        self.first < self.end
    }

    pub(super) fn held_blocks(&self) -> u64 {
        self.end - self.first
    }

    /// Returns whether an I/O touches held blocks.
    pub(super) fn touches(&self, io: &Io) -> bool {
        self.first < self.end && self.first < io.block.0 + io.count && io.block.0 < self.end
    }

    pub(super) fn check(&self, bands: &Runs) {
        if self.first < self.end {
            let (first, blocks) = bands.unit(bands.place(self.first).unit);
            assert_eq!((first, first + blocks), (self.first, self.band_end));
            assert!(self.end < self.band_end, "a full band does not stay in memory");
        }
    }
}

impl DriveManaged {
    /// Writes a run of blocks: into memory while bands fill in order, otherwise into the log.
    pub(super) fn write(&mut self, served: &mut Served, io: &Io, data: &[Stamp]) {
        if !self.stream.on {
            return self.log(served, io.block.0, io.count, data);
        }
        if io.block.0 != self.stream.next {
            self.spill(served);
            self.stream.run = 0;
        }
        let end = io.block.0 + io.count;
        let mut block = io.block.0;
        while block < end {
            let stamps = data.get(((block - io.block.0) as usize)..).unwrap_or(&[]);
            let place = self.bands.place(block);
            let holding = self.stream.first < self.stream.end;
            let band_end = block - place.offset + self.bands.run(place.run).unit_blocks;
            let band_end = band_end.min(self.bands.end());
            let in_order = self.stream.run + (band_end - block) >= self.stream.min_blocks;
            let count = if holding || (place.offset == 0 && self.may_hold()) {
                self.hold(served, block, end.min(band_end) - block, band_end, stamps)
            } else {
                let stop = if in_order { end.min(band_end) } else { end };
                self.log(served, block, stop - block, stamps);
                stop - block
            };
            self.stream.run += count;
            block += count;
        }
        self.stream.next = end;
    }

    /// Returns whether a run at the first block of a band is held from here on.
    fn may_hold(&self) -> bool {
        self.stream.run == 0 || self.stream.run >= self.stream.min_blocks
    }

    /// Takes blocks into memory, and writes the band if that fills it. Returns how many blocks were
    /// taken.
    fn hold(
        &mut self,
        served: &mut Served,
        block: u64,
        count: u64,
        band_end: u64,
        stamps: &[Stamp],
    ) -> u64 {
        if self.stream.first >= self.stream.end {
            self.stream.first = block;
            self.stream.accepted = Nanos::ZERO;
        }
        self.stream.end = block + count;
        self.stream.band_end = band_end;
        for (block, &stamp) in (block..block + count).zip(stamps) {
            self.contents.put_held(block, stamp);
        }
        let before = served.done;
        if self.timing == Timing::Mechanics {
            self.mech.command(served);
            self.mech.bus(served, count);
        }
        self.stream.accepted += served.done.since(before);
        if self.stream.end == band_end {
            self.write_band(served);
        }
        self.counters.write_time += served.done.since(before);
        count
    }

    /// Writes the full band to its place while the host's next writes are acknowledged: the time of
    /// acknowledging the band is subtracted.
    fn write_band(&mut self, served: &mut Served) {
        let (first, end) = (self.stream.first, self.stream.band_end);
        if self.timing == Timing::Mechanics {
            let accepted = self.stream.accepted;
            if !self.away {
                let track = self.log_track();
                self.mech.put_head(track);
                self.away = true;
            }
            let mut write = Served { done: served.done, ..Served::default() };
            self.mech.write(&mut write, self.native + first, end - first);
            let passed = write.transfer.min(accepted);
            served.seek += write.seek;
            served.rotation += write.rotation;
            served.transfer += write.transfer.since(passed);
            served.done = Nanos(write.done.0 - passed.0);
        } else {
            let cost = self.costs.stream(end - first);
            served.transfer += cost;
            served.done += cost;
        }
        self.counters.native_bytes_written += (end - first) * BLOCK_BYTES;
        self.counters.in_order_bands += 1;
        let released = self.ring.discard_of(self.band(first), &(first..end));
        self.counters.buffer_released_blocks += released;
        self.release_packets();
        for block in first..end {
            if !self.contents.on() {
                break;
            }
            let stamp = self.contents.held(block);
            self.contents.put_native(block, stamp);
        }
        self.stream.first = end;
        self.stream.end = end;
    }

    /// Moves the held blocks into the log. In total this takes no longer than if they had gone
    /// there at once: the time of acknowledging them is subtracted.
    pub(super) fn spill(&mut self, served: &mut Served) {
        let (first, end) = (self.stream.first, self.stream.end);
        if first >= end {
            return;
        }
        self.stream.first = end;
        let mut spilled = Served { done: served.done, ..Served::default() };
        let mut stamps = Vec::new();
        if self.contents.on() {
            stamps = (first..end).map(|block| self.contents.held(block)).collect();
        }
        self.log(&mut spilled, first, end - first, &stamps);
        let mut credit = self.stream.accepted;
        for span in [&mut spilled.transfer, &mut spilled.command, &mut spilled.seek] {
            let part = credit.min(*span);
            *span = span.since(part);
            credit = credit.since(part);
            spilled.done = Nanos(spilled.done.0 - part.0);
            self.counters.log_time = self.counters.log_time.since(part);
        }
        served.then(&spilled, false);
    }
}
