//! Writes: to their zones or to the disk cache, and making room there.

use super::HostAware;
use crate::io::{Io, Served, Stamp};
use crate::sheet::Timing;
use shingle_core::units::{BLOCK_BYTES, Nanos};

impl HostAware {
    /// Writes a run of blocks, cut at the borders of zones.
    pub(super) fn write(&mut self, served: &mut Served, io: &Io, data: &[Stamp]) {
        let mut before = served.done;
        if self.timing == Timing::Mechanics {
            let command = Nanos::from_micros(self.values.write_command_us);
            served.command += command;
            served.done += command;
            self.mech.bus(served, io.count);
        }
        let mut done = 0;
        while done < io.count {
            let (zone, offset) = self.zones.place(io.block.0 + done);
            let count = (io.count - done).min(self.zones.blocks() - offset);
            let stamps = data.get((done as usize)..).unwrap_or(&[]);
            let conventional = self.zones.is_conventional(zone);
            let waited = served.clean;
            let sequential = conventional || offset == self.zones.pointer(zone);
            if sequential {
                self.write_native(served, zone, offset, count, stamps);
            } else {
                self.write_cache(served, zone, offset, count, stamps);
            }
            let took = served.done.since(before).since(served.clean.since(waited));
            let counters = &mut self.counters;
            *(if sequential { &mut counters.write_time } else { &mut counters.log_time }) += took;
            before = served.done;
            done += count;
        }
    }

    /// Writes to a conventional zone, or at the write pointer of another.
    fn write_native(
        &mut self,
        served: &mut Served,
        zone: usize,
        offset: u64,
        count: u64,
        stamps: &[Stamp],
    ) {
        let first = self.zones.first(zone).0 + offset;
        if !self.zones.is_conventional(zone) {
            self.give_up(zone);
            self.release(zone, first, count);
            let closes = self.zones.advance(zone, offset, count);
            self.closed(served, closes);
        }
        match self.timing {
            Timing::Mechanics => self.mech.write(served, self.native + first, count),
            Timing::Cost => served.spend(self.costs.stream(count)),
        }
        self.counters.native_bytes_written += count * BLOCK_BYTES;
        for (block, &stamp) in (first..first + count).zip(stamps) {
            self.contents.put_native(block, stamp);
        }
    }

    /// Accounts for the closing of a zone, if `closes`.
    pub(super) fn closed(&mut self, served: &mut Served, closes: bool) {
        if closes {
            let close = Nanos::from_micros(self.values.close_us);
            served.command += close;
            served.done += close;
            self.counters.zone_closes += 1;
        }
    }

    /// Writes to the disk cache, as much at a time as the open log zone takes.
    fn write_cache(
        &mut self,
        served: &mut Served,
        zone: usize,
        offset: u64,
        count: u64,
        stamps: &[Stamp],
    ) {
        let first = self.zones.first(zone).0 + offset;
        let mut done = 0;
        while done < count {
            self.make_room(served);
            let blocks = match self.cache.room() {
                0 => u64::from(self.layout.log_blocks), // of a free log zone
                room => room,
            };
            let end = count.min(done + blocks);
            let mut start = None;
            for at in done..end {
                let (slot, again) = self.cache.append(first + at, zone, at == done);
                self.counters.buffer_write_hits += u64::from(again);
                start = start.or(Some(slot));
                if let Some(&stamp) = stamps.get(at as usize) {
                    self.contents.put_slot(slot, stamp);
                }
            }
            if !self.turns.contains(zone) {
                self.turns.push_back(zone);
                self.joined[zone] = self.counters.written_blocks;
            }
            match (self.timing, start) {
                (Timing::Mechanics, Some(slot)) => {
                    self.mech.write(served, u64::from(slot), end - done);
                }
                _ => served.spend(self.costs.log(end - done)),
            }
            done = end;
        }
        self.counters.buffer_written_blocks += count;
        self.counters.log_bytes_written += count * BLOCK_BYTES;
    }

    /// Cleans and collects garbage until the disk cache has room for a block.
    #[inline]
    fn make_room(&mut self, served: &mut Served) {
        // Terminates: each cleaning removes a zone's entries from the map.
        while self.layout.extents > 0
            && u64::from(self.cache.map().entries()) >= self.layout.extents
        {
            let took = self.clean_zone(served.done);
            self.wait(served, took.expect("what has entries has a turn"));
        }
        if self.cache.room() > 0 {
            return;
        }
        // Terminates: garbage collection leaves fewer holes, cleaning fewer live blocks; without
        // live blocks all log zones are free.
        while (self.cache.free() as u64) < self.values.free_zones_min {
            let victim = self.cache.victim().expect("log zones are full, open or free");
            if victim.live == 0 {
                self.cache.reset(victim.log);
                continue;
            }
            let took = self.collect_garbage(&victim, served.done);
            let took = took.or_else(|| self.clean_zone(served.done));
            self.wait(served, took.expect("what is live has a turn"));
        }
    }

    /// Adds a wait for cleaning.
    fn wait(&mut self, served: &mut Served, clean: Nanos) {
        self.was_full = true;
        served.clean += clean;
        served.done += clean;
        self.counters.clean_time += clean;
    }

    /// Drops the copies in the disk cache of `count` blocks of a zone, from block `first` on.
    pub(super) fn release(&mut self, zone: usize, first: u64, count: u64) {
        let mut next = self.cache.map().first_of(zone);
        if next.is_none() {
            return;
        }
        if count <= u64::from(self.cache.map().live()) {
            for block in first..first + count {
                if let Some(slot) = self.cache.map().find(block) {
                    self.drop_slot(slot, zone);
                }
            }
        } else {
            while let Some(slot) = next {
                next = self.cache.map().next_of(zone, slot);
                if (first..first + count).contains(&self.cache.map().block(slot)) {
                    self.drop_slot(slot, zone);
                }
            }
        }
        if self.cache.map().first_of(zone).is_none() {
            self.turns.remove(zone);
        }
    }

    fn drop_slot(&mut self, slot: u32, zone: usize) {
        self.cache.remove(slot, zone);
        self.counters.buffer_released_blocks += 1;
    }

    /// Drops the trimmed blocks from the disk cache.
    pub(super) fn trim(&mut self, io: &Io) {
        let end = io.block.0 + io.count;
        let mut block = io.block.0;
        while block < end && self.cache.map().live() > 0 {
            let (zone, offset) = self.zones.place(block);
            let count = (end - block).min(self.zones.blocks() - offset);
            self.release(zone, block, count);
            block += count;
        }
    }
}
