//! How a zone is written: through the disk's buffer, with a last call for the zone that is cleaned next, or whole past
//! the buffer.

use super::DiskTime;
use crate::parts::ZoneIndex;
use crate::plan::{Manner, WriteOrder};
use crate::policy::Victims;
use crate::slots::Slots;
use crate::units::Slot;

/// Largest I/O in which neighbours are written: 512 KiB.
const RUN_BLOCKS_MAX: u32 = 128;
/// With less room in the buffer, in runs and in blocks, it is too late for a last call.
const LAST_CALL_MIN: u64 = 8;

impl DiskTime {
    /// Notes the dirty blocks of `zone` that may be written, sorted. Returns how many runs and blocks the disk would get.
    fn note(&mut self, zone: ZoneIndex, slots: &Slots) -> (u32, u32) {
        self.scratch.clear();
        let blocks = self.zones.members(zone, &self.links).filter(|&slot| slots.evictable(slot));
        self.scratch.extend(blocks.map(|slot| slots.block(slot).0));
        self.scratch.sort_unstable();
        extent(&self.scratch)
    }

    /// Names the noted blocks of `zone`. Returns how many leave.
    fn flush(&mut self, zone: ZoneIndex, out: &mut Victims) -> u32 {
        let (mut next, mut leave) = (self.zones.coldest(zone), 0);
        while let Some(slot) = next {
            next = self.links.towards_head(slot.0).map(Slot);
            let block = out.slots().block(slot).0;
            if !out.slots().evictable(slot) || self.scratch.binary_search(&block).is_err() {
                continue;
            }
            // The coldest makes room, whatever it is worth.
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

    /// Writes all of `zone`: through the disk's buffer or, where that takes less, whole past it. Returns how many leave.
    pub(super) fn write_zone(&mut self, zone: ZoneIndex, out: &mut Victims) -> u32 {
        let (runs, blocks) = self.note(zone, out.slots());
        if self.goes_whole(zone, runs) {
            let leave = self.flush(zone, out);
            out.end_group(Manner::WholeBand(out.slots().zone_of(zone)));
            self.sent.clean(zone);
            return leave;
        }
        // (Idle time names zone by zone.)
        if !out.is_idle() && self.last_call(zone, runs, blocks, out) {
            self.note(zone, out.slots());
        }
        let leave = self.flush(zone, out);
        out.end_group(Manner::Write(WriteOrder::ByAddress));
        self.sent.send(zone, runs, blocks, self.now);
        leave
    }

    /// Before so much is sent of `zone`: of the zone that the disk would have to clean for it goes what is dirty, as far
    /// as there is room. So it is cleaned with the rest, and not once more for that. Returns whether another zone may be noted now.
    fn last_call(&mut self, zone: ZoneIndex, runs: u32, blocks: u32, out: &mut Victims) -> bool {
        let Some(oldest) = self.sent.oldest().filter(|&oldest| oldest != zone) else {
            return false;
        };
        let (free_runs, free_blocks) = self.sent.free();
        if free_runs.min(free_blocks) < LAST_CALL_MIN {
            return false;
        }
        let (last_runs, last_blocks) = self.note(oldest, out.slots());
        // Runs that are written again in the buffer count twice here. Where zones are the bands that is taken for
        // scarcity too often.
        let few_runs =
            self.costs.band_pass_ns.is_none() && free_runs < u64::from(runs) + u64::from(last_runs);
        if last_blocks == 0
            || !few_runs && free_blocks >= u64::from(blocks) + u64::from(last_blocks)
        {
            return true;
        }
        self.scratch.truncate(usize::try_from(free_blocks).unwrap_or(usize::MAX));
        while u64::from(extent(&self.scratch).0) > free_runs {
            let fewer = self.scratch.len() - self.scratch.len().div_ceil(8);
            self.scratch.truncate(fewer);
        }
        let (runs, blocks) = extent(&self.scratch);
        self.flush(oldest, out);
        out.end_group(Manner::Write(WriteOrder::ByAddress));
        self.sent.send(oldest, runs, blocks, self.now);
        true
    }

    /// Whether it takes less to write the band that is `zone` whole, each time, than to send it to the buffer for as
    /// long as that holds it, and have the disk clean it once.
    fn goes_whole(&self, zone: ZoneIndex, runs: u32) -> bool {
        let Some(pass) = self.costs.band_pass_ns else { return false };
        let times = (self.sent.stay(self.now) / self.zones.fills_in(zone, self.now)).max(1.0);
        let sent = self.costs.zone_ns + times * self.costs.block_ns * runs as f32;
        self.always_whole || times * 2.0 * pass < sent
    }
}

/// Runs of neighbours, as far as one I/O goes, and blocks, in sorted `blocks`.
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
