//! Operations for a flash controller in the same drive, in addition to I/O.
//!
//! Flash before the disk (`flash_inside/`) knows the bands. It can have a band rewritten with its
//! own blocks, write where nothing is stored yet, and drop copies of which it has newer ones.

use super::DriveManaged;
use crate::io::{Io, Served, Stamp};
use crate::parts::runs::Runs;
use crate::sheet::Timing;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op};

/// Most blocks written together.
const EXTENT_MAX: usize = 128;

impl DriveManaged {
    /// Returns a copy that has allocated for all it may hold.
    pub(crate) fn twin(&self) -> DriveManaged {
        let mut copy = self.clone();
        let packets = self.packets.capacity() - copy.packets.len();
        copy.packets.reserve_exact(packets);
        copy
    }

    pub(crate) fn bands(&self) -> &Runs {
        &self.bands
    }

    /// Makes it keep stamps from now on.
    pub(crate) fn keep_stamps(&mut self) {
        self.contents.see(&[0]);
    }

    /// Adds the time of a command and of moving `count` blocks between the host and the drive's
    /// memory.
    pub(crate) fn interface(&self, served: &mut Served, count: u64) {
        if self.timing == Timing::Mechanics {
            self.mech.command(served);
            self.mech.bus(served, count);
        }
    }

    /// Returns whether a FLUSH has something to write.
    pub(crate) fn volatile(&self) -> bool {
        self.gathered > 0 || self.stream.holding()
    }

    /// Drops the buffered copy of a block, of which there is a newer one elsewhere in the drive.
    pub(crate) fn discard(&mut self, block: u64) {
        self.discard_all(block..block + 1);
    }

    /// Reads a band from the first of `blocks` on, merges them, and writes it back (RMW), as cleaning
    /// does but for collecting from the log. The blocks are of one band and sorted. What the log
    /// holds of others stays there. Returns when it is done.
    pub(crate) fn rewrite(&mut self, now: Nanos, blocks: &[(u64, Stamp)]) -> Nanos {
        let (lowest, highest) = (blocks[0].0, blocks[blocks.len() - 1].0);
        assert_eq!(self.band(lowest), self.band(highest), "a rewriting is of one band");
        let mut served = Served { done: now, ..Served::default() };
        let io = Io { op: Op::Write, block: Block(lowest), count: highest - lowest + 1 };
        if self.stream.touches(&io) {
            self.spill(&mut served);
        }
        // A cleaning in progress ends first. Terminates: each step does a phase.
        while self.job.is_some() {
            served.done += self.clean_step(served.done).unwrap_or(Nanos::ZERO);
        }
        served.done += self.rewrite_with(served.done, lowest, blocks.len() as u64);
        for &(block, stamp) in blocks {
            self.discard(block);
            if self.contents.on() {
                self.contents.put_native(block, stamp);
            }
        }
        served.done
    }

    /// Writes sorted blocks together into the log. With the write cache off up to as many as an
    /// extent may have share a packet, and so its time; each run of them is an extent of its own.
    /// Returns the completion.
    pub(crate) fn write_gathered(&mut self, now: Nanos, blocks: &[(u64, Stamp)]) -> Nanos {
        let mut served = Served { done: now, ..Served::default() };
        let most = (self.values.extent_max_bytes / BLOCK_BYTES).min(u64::from(self.limits.slots));
        let most = (most as usize).min(EXTENT_MAX);
        let gathers = !self.values.write_cache && self.timing == Timing::Mechanics;
        let mut stamps = [0; EXTENT_MAX];
        for packet in blocks.chunks(most) {
            let (mut rest, mut opened) = (packet, None);
            while let Some(&(first, _)) = rest.first() {
                let follows = |pair: &&[(u64, Stamp)]| pair[0].0 + 1 == pair[1].0;
                let count = 1 + rest.windows(2).take_while(follows).count();
                let kept = if self.contents.on() { count } else { 0 };
                let stamps = &mut stamps[..kept];
                stamps.iter_mut().zip(rest).for_each(|(stamp, block)| *stamp = block.1);
                let io = Io { op: Op::Write, block: Block(first), count: count as u64 };
                if gathers {
                    self.make_room(&mut served, io.count);
                    // Cleaning may have released the packet with its contents.
                    if opened.is_none() || self.packets.back().copied() != opened {
                        opened = Some(self.ring.end_number());
                        self.open_packet();
                    }
                    self.append(first, io.count, stamps);
                    self.counters.log_bytes_written += io.count * BLOCK_BYTES;
                } else {
                    self.write(&mut served, &io, stamps);
                }
                self.counters.written_blocks += io.count;
                rest = &rest[count..];
            }
            if gathers {
                let before = served.done;
                self.time_packet(&mut served, packet.len() as u64);
                self.counters.log_time += served.done.since(before);
            }
        }
        served.done
    }

    /// Writes blocks straight to their native place, where they overlap no needed data. The blocks
    /// are of one band.
    pub(crate) fn write_native(&mut self, now: Nanos, io: &Io, data: &[Stamp]) -> Served {
        let mut served = Served { done: now, ..Served::default() };
        if self.stream.touches(io) {
            self.spill(&mut served);
        }
        if self.timing == Timing::Mechanics {
            self.mech.command(&mut served);
            self.mech.bus(&mut served, io.count);
            if !self.away {
                let track = self.log_track();
                self.mech.put_head(track);
                self.away = true;
            }
            self.mech.write(&mut served, self.native + io.block.0, io.count);
        } else {
            let cost = self.costs.stream(io.count);
            served.transfer += cost;
            served.done += cost;
        }
        self.counters.native_bytes_written += io.count * BLOCK_BYTES;
        for at in 0..io.count {
            let block = io.block.0 + at;
            self.discard(block);
            if let Some(&stamp) = data.get(at as usize).filter(|_| self.contents.on()) {
                self.contents.put_native(block, stamp);
            }
        }
        served
    }
}
