//! The log: written blocks go there in extents, gathered in packets.

use super::DriveManaged;
use crate::io::{Served, Stamp};
use crate::sheet::Timing;
use shingle_core::units::BLOCK_BYTES;

impl DriveManaged {
    /// Writes blocks into the log, in as few extents as possible. `stamps` are theirs, or empty.
    pub(super) fn log(&mut self, served: &mut Served, first: u64, count: u64, stamps: &[Stamp]) {
        let most = (self.values.extent_max_bytes / BLOCK_BYTES).min(u64::from(self.limits.slots));
        let mut done = 0;
        while done < count {
            let blocks = most.min(count - done);
            self.make_room(served, blocks);
            self.open_packet();
            self.append(first + done, blocks, stamps.get((done as usize)..).unwrap_or(&[]));
            self.time_extent(served, blocks);
            done += blocks;
        }
    }

    /// Cleans until an extent of `blocks` fits. Terminates: each cleaning moves the tail of the
    /// log.
    #[inline]
    pub(super) fn make_room(&mut self, served: &mut Served, blocks: u64) {
        while self.ring.entries() >= self.limits.entries
            || u64::from(self.ring.used()) + blocks > u64::from(self.limits.slots)
            || (!self.values.write_cache && self.packets.len() >= self.limits.packets)
        {
            self.was_full = true;
            let clean = self.clean_now(served.done);
            served.clean += clean;
            served.done += clean;
            self.counters.clean_time += clean;
        }
    }

    /// Begins a packet for the next append, with the write cache off.
    #[inline]
    pub(super) fn open_packet(&mut self) {
        if !self.values.write_cache {
            self.packets.push_back(self.ring.end_number());
        }
    }

    /// Fills slots with one extent.
    #[inline]
    pub(super) fn append(&mut self, first: u64, blocks: u64, stamps: &[Stamp]) {
        let mut at = self.bands.place(first);
        let mut band = at.unit as usize;
        for block in first..first + blocks {
            if at.offset == self.bands.run(at.run).unit_blocks {
                at = self.bands.place(block);
                band = at.unit as usize;
            }
            at.offset += 1;
            let written = self.counters.written_blocks;
            let (slot, again) = self.ring.append(block, band, block == first, written);
            self.counters.buffer_write_hits += u64::from(again);
            if let Some(&stamp) = stamps.get((block - first) as usize) {
                self.contents.put_slot(slot, stamp);
            }
        }
        self.counters.buffer_written_blocks += blocks;
        self.release_packets();
    }

    /// Removes packets that the tail of the log has passed.
    pub(super) fn release_packets(&mut self) {
        // Terminates: each turn removes a packet.
        while let Some(_oldest) = self.packets.front() {
            let end = self.packets.get(1).copied().unwrap_or(self.ring.end_number());
            if self.ring.tail_number() < end {
                return;
            }
            self.packets.pop_front();
        }
    }

    /// Adds the time of an extent of `blocks`, and accounts for its space in the log.
    #[inline]
    fn time_extent(&mut self, served: &mut Served, blocks: u64) {
        let before = served.done;
        self.counters.log_bytes_written += blocks * BLOCK_BYTES;
        if self.timing == Timing::Cost {
            served.transfer += self.costs.log(blocks);
            served.done += self.costs.log(blocks);
        } else if self.values.write_cache {
            served.command += self.times.log_fixed;
            served.done += self.times.log_fixed;
            self.mech.bus(served, blocks);
            let media = self.times.log_media[blocks as usize];
            served.transfer += media;
            served.done += media;
            if self.gathered == 0 {
                self.counters.log_bytes_written += BLOCK_BYTES;
            }
            self.gathered += 1;
            if self.gathered >= self.values.extents_per_packet {
                self.close_packet(served);
            }
        } else {
            self.time_packet(served, blocks);
        }
        self.counters.log_time += served.done.since(before);
    }

    /// Writes the gathered extents to the log, once for many extents (write cache on).
    pub(super) fn close_packet(&mut self, served: &mut Served) {
        self.gathered = 0;
        self.go_to_log(served);
    }

    /// Writes the packet to the medium before the write is acknowledged (write cache off).
    pub(super) fn time_packet(&mut self, served: &mut Served, blocks: u64) {
        self.go_to_log(served);
        served.rotation += self.times.packet_rotation;
        served.command += self.times.packet.since(self.times.packet_rotation);
        served.done += self.times.packet;
        let padding = self.times.packet_bytes.saturating_sub(blocks * BLOCK_BYTES);
        self.counters.log_bytes_written += padding;
        self.journal += 1;
        if self.journal >= self.values.journal_packets {
            self.journal = 0;
            served.transfer += self.times.journal;
            served.done += self.times.journal;
        }
    }

    /// Moves the head back to the log.
    #[inline]
    fn go_to_log(&mut self, served: &mut Served) {
        if !self.away {
            return;
        }
        self.mech.stop_ahead(served.done);
        let seek = self.mech.seek(self.log_track().abs_diff(self.mech.head()));
        served.seek += seek;
        served.done += seek;
        self.away = false;
    }

    /// Returns the track at which the log is being written.
    pub(super) fn log_track(&self) -> u64 {
        self.mech.track(u64::from(self.ring.end_slot()))
    }
}
