//! How a zone is written: through the disk's buffer, with a last call for the zone that is cleaned
//! next, or past the buffer, whole or from its write pointer on.

use super::DiskTime;
use crate::parts::ZoneIndex;
use crate::plan::{DestageMethod, WriteOrder};
use crate::policy::Victims;
use crate::slots::Slots;
use crate::units::{Slot, Zone};

/// Largest I/O of neighbouring blocks: 512 KiB.
const RUN_BLOCKS_MAX: u32 = 128;
/// With less room than this in the buffer, in runs or in blocks, it is too late for a last call.
const LAST_CALL_MIN: u64 = 8;
/// To the disk's buffer, from where the disk cleans it to its place.
const THROUGH_BUFFER: DestageMethod = DestageMethod::Write(WriteOrder::ByAddress);
/// A zone with a write pointer is rewritten by the host if that takes this many times less than
/// what the disk would take, as the disk may get more of the zone before it cleans. Between 1.3 and
/// 1.6 results on the tuning traces are much the same.
const HOST_REWRITES: f32 = 1.5;

impl DiskTime {
    /// Collects the evictable dirty blocks of `zone`, sorted. Returns the number of runs and blocks
    /// that the disk would get.
    fn note(&mut self, zone: ZoneIndex, slots: &Slots) -> (u32, u32) {
        self.scratch.clear();
        let blocks = self.zones.members(zone, &self.links).filter(|&slot| slots.evictable(slot));
        let piece = blocks.take(self.costs.piece_blocks);
        self.scratch.extend(piece.map(|slot| slots.block(slot).0));
        self.scratch.sort_unstable();
        extent(&self.scratch)
    }

    /// Names the collected blocks of `zone`. Returns how many leave.
    fn flush(&mut self, zone: ZoneIndex, out: &mut Victims) -> u32 {
        let (mut next, mut leave) = (self.zones.coldest(zone), 0);
        while let Some(slot) = next {
            next = self.links.towards_head(slot.0).map(Slot);
            let block = out.slots().block(slot).0;
            if !out.slots().evictable(slot) || self.scratch.binary_search(&block).is_err() {
                continue;
            }
            // The coldest block leaves in any case, to make room.
            let stays = self.stay && leave > 0 && self.worth_of(slot) > self.price;
            if out.is_idle() || stays {
                self.write(slot, out);
            } else {
                self.leave(slot, out);
                leave += 1;
            }
        }
        leave
    }

    /// Writes `zone`, or its coldest piece: through the disk's buffer or, where that takes less,
    /// past it. Returns how many blocks leave.
    pub(super) fn write_zone(&mut self, zone: ZoneIndex, out: &mut Victims) -> u32 {
        let (runs, blocks) = self.note(zone, out.slots());
        let manner = self.manner(zone, runs, out.slots());
        if manner != THROUGH_BUFFER {
            let leave = self.flush(zone, out);
            out.end_group(manner);
            self.sent.clean(zone);
            return leave;
        }
        // Idle time may name one zone at a time only.
        if !out.is_idle() && self.last_call(zone, runs, blocks, out) {
            self.note(zone, out.slots());
        }
        let leave = self.flush(zone, out);
        out.end_group(THROUGH_BUFFER);
        self.sent.send(zone, runs, blocks, self.now);
        self.next = self.behind(zone, out.slots());
        leave
    }

    /// Returns the zone behind `zone`, if the collected blocks reach its end.
    fn behind(&self, zone: ZoneIndex, slots: &Slots) -> Option<ZoneIndex> {
        let next = Zone(slots.zone_of(zone).0 + 1);
        let index = slots.find_zone(next)?;
        (*self.scratch.last()? + 1 == slots.zones().first_block(next).0).then_some(index)
    }

    /// Last call: if the disk has to clean its oldest zone to take `runs` and `blocks` of `zone`,
    /// the dirty blocks of that oldest zone are sent first, as far as there is room. So they are
    /// cleaned with the rest, and need no cleaning of their own. Returns whether the collected
    /// blocks have changed.
    fn last_call(&mut self, zone: ZoneIndex, runs: u32, blocks: u32, out: &mut Victims) -> bool {
        let Some(oldest) = self.sent.oldest().filter(|&oldest| oldest != zone) else {
            return false;
        };
        let (free_runs, free_blocks) = self.sent.free();
        if free_runs.min(free_blocks) < LAST_CALL_MIN {
            return false;
        }
        let (last_runs, last_blocks) = self.note(oldest, out.slots());
        let (all_runs, all_blocks) =
            (u64::from(runs) + u64::from(last_runs), u64::from(blocks) + u64::from(last_blocks));
        if last_blocks == 0 || self.sent.fits(all_runs, all_blocks) {
            return true;
        }
        self.scratch.truncate(usize::try_from(free_blocks).unwrap_or(usize::MAX));
        while u64::from(extent(&self.scratch).0) > free_runs {
            let fewer = self.scratch.len() - self.scratch.len().div_ceil(8);
            self.scratch.truncate(fewer);
        }
        let (runs, blocks) = extent(&self.scratch);
        self.flush(oldest, out);
        out.end_group(THROUGH_BUFFER);
        self.sent.send(oldest, runs, blocks, self.now);
        true
    }

    /// Returns the cheapest manner for the collected blocks of `zone`, which form `runs` runs.
    fn manner(&self, zone: ZoneIndex, runs: u32, slots: &Slots) -> DestageMethod {
        let Some(pass) = self.costs.band_pass_ns else { return THROUGH_BUFFER };
        let has_pointers = !slots.drive().write_pointers.is_empty();
        let stay = match has_pointers {
            true => self.sent.expected_stay(self.now),
            false => self.sent.would_stay(self.now),
        };
        // Number of times that the zone would be sent until the disk cleans it.
        let times = (stay / self.zones.fills_in(zone, self.now)).max(1.0);
        let number = slots.zone_of(zone);
        let part = runs as f32 / slots.zones().blocks(number) as f32;
        let reads = self.costs.reads_of_log(self.zones.reads(zone, self.now) * part, stay);
        match has_pointers {
            true => self.at_pointer(number, pass, times, runs, reads, slots),
            false => self.in_order(number, pass, times, runs, reads),
        }
    }

    /// Returns whether to write the band whole: if that takes less each time than to send it to the
    /// buffer for as long as it stays there, and have the disk clean it once.
    fn in_order(&self, band: Zone, pass: f32, times: f32, runs: u32, reads: f32) -> DestageMethod {
        let sent = self.costs.zone_ns + times * self.costs.block_ns * runs as f32 + reads;
        let whole = self.always_whole || times * 2.0 * pass < sent;
        if whole { DestageMethod::WholeBand(band) } else { THROUGH_BUFFER }
    }

    /// Appends the blocks behind the write pointer of `zone`, unless they are mostly gaps, or else
    /// rewrites the zone, if that takes less each time than to send it. The disk does the same with
    /// it, as often as its buffer is full, and each run of blocks costs one seek to the log and one
    /// back.
    fn at_pointer(
        &self,
        zone: Zone,
        pass: f32,
        times: f32,
        runs: u32,
        reads: f32,
        slots: &Slots,
    ) -> DestageMethod {
        let ends = self.scratch.first().zip(self.scratch.last());
        let (Some((lowest, last)), Some(pointer)) = (ends, slots.write_pointer(zone)) else {
            return THROUGH_BUFFER;
        };
        let zones = slots.zones();
        let first = zones.first_block(zone).0;
        let (lowest, end) = (lowest - first, last + 1 - first);
        let seek = self.costs.read_ns;
        let block = (pass - seek).max(0.0) / zones.blocks(zone) as f32;
        let appends = lowest >= pointer;
        let takes = if appends {
            seek + (end - pointer) as f32 * block
        } else {
            2.0 * seek + (pointer + end.max(pointer)) as f32 * block
        };
        // A block that is later written to a gap is no longer in sequence.
        let mostly_gaps = appends && end - pointer > 2 * self.scratch.len() as u64;
        let cleanings = (times * self.scratch.len() as f32 / self.costs.buffer_blocks).max(1.0);
        let sent = cleanings * takes + times * seek * (1.0 + runs as f32) + reads;
        let least = if appends { 1.0 } else { HOST_REWRITES };
        if !self.always_whole && (mostly_gaps || times * takes * least >= sent) {
            return THROUGH_BUFFER;
        }
        if appends { DestageMethod::Append(zone) } else { DestageMethod::HostRmw(zone) }
    }
}

/// Returns the number of runs of neighbours, each at most one I/O, and of blocks, in sorted
/// `blocks`.
fn extent(blocks: &[u64]) -> (u32, u32) {
    let (mut runs, mut room, mut expected) = (0, 0, u64::MAX);
    for &block in blocks {
        if block != expected || room == 0 {
            (runs, room) = (runs + 1, RUN_BLOCKS_MAX);
        }
        (expected, room) = (block + 1, room - 1);
    }
    (runs, blocks.len() as u32)
}
