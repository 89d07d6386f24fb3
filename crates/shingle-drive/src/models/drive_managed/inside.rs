//! What a controller in the same drive may ask of the disk beside I/O.
//!
//! Flash before the disk (`flash_inside/`) knows the bands and can have one rewritten with what it
//! holds of it, write where nothing lies yet, and drop copies that it has newer ones of.

use super::DriveManaged;
use crate::io::{Io, Served, Stamp};
use crate::parts::runs::Runs;
use crate::sheet::Timing;
use shingle_core::units::{BLOCK_BYTES, Block, Nanos, Op};

/// Blocks that are written together at most.
const EXTENT_MAX: usize = 128;

impl DriveManaged {
    /// A copy with room for all it may hold, so that it does not allocate later.
    pub(crate) fn twin(&self) -> DriveManaged {
        let mut copy = self.clone();
        let packets = self.packets.capacity() - copy.packets.len();
        copy.packets.reserve_exact(packets);
        copy
    }

    /// Where bands lie.
    pub(crate) fn bands(&self) -> &Runs {
        &self.bands
    }

    /// From now on stamps are kept.
    pub(crate) fn keep_stamps(&mut self) {
        self.contents.see(&[0]);
    }

    /// Adds taking a command and moving `count` blocks between the host and the drive's memory.
    pub(crate) fn interface(&self, served: &mut Served, count: u64) {
        if self.timing == Timing::Mechanics {
            self.mech.command(served);
            self.mech.bus(served, count);
        }
    }

    /// Whether a FLUSH has something to do.
    pub(crate) fn volatile(&self) -> bool {
        self.gathered > 0 || self.stream.holding()
    }

    /// Drops the buffered copy of a block: there is a newer one elsewhere in the drive.
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
        // A cleaning under way ends first. Ends: each step goes through a phase.
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

    /// Writes sorted blocks that are at hand together into the log. With the write cache off as many as
    /// an extent may have share a packet, and so its time; each run of them is an extent of its own.
    /// Returns when it is done.
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
                    // Cleaning may have released the packet with what it held so far.
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

    /// Writes blocks straight to their native place, where they overlap nothing that is needed. The
    /// blocks are of one band.
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
