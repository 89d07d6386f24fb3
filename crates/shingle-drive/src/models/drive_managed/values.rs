//! The sheet of a drive-managed disk, and the limits of its buffer that follow from it.

use crate::parts::cost::CostValues;
use crate::parts::mech::{Mech, MechValues};
use crate::parts::ring::SLOTS_MAX;
use crate::sheet::{Buffer, DriveError, Recipe, Timing};
use serde::Deserialize;
use shingle_core::drive_view::Costs;
use shingle_core::units::{BLOCK_BYTES, Nanos};

/// The part of the sheet beside mechanics and costs.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Values {
    pub(super) tracks_per_band: u64,
    pub(super) tracks_per_band_min: u64,
    pub(super) band_seed: u64,
    pub(super) write_cache: bool,
    packets_max: u64,
    packets_trigger: u64,
    pub(super) extents_per_packet: u64,
    log_bytes: u64,
    pub(super) extent_max_bytes: u64,
    pub(super) log_write_fixed_us: u64,
    pub(super) queued_command_us: u64,
    pub(super) log_write_rotations: f64,
    pub(super) log_write_command_us: u64,
    pub(super) log_packet_tracks: f64,
    log_packets_per_packet_max: f64,
    pub(super) journal_packets: u64,
    pub(super) journal_ms: u64,
    pub(super) bands_per_cleaning: u64,
    pub(super) merge_bytes: u64,
    pub(super) collect_rotations: f64,
    /// Scale of a pass over a band, relative to mechanics, of a disk on which that was measured.
    #[serde(default)]
    pub(super) clean_scale: Option<f64>,
    pub(super) collect_reads_max: u64,
    pub(super) idle_cleaning: bool,
    pub(super) idle_delay_ms: u64,
    pub(super) stream_min_bytes: u64,
}

/// Limits of the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Blocks of log between the oldest extent and the newest.
    pub(super) slots: u32,
    /// Most live map entries; at this number a write waits for cleaning.
    pub(super) entries: u32,
    /// Live map entries from which on the drive cleans in idle time.
    pub(super) trigger: u32,
    /// With the write cache off: most packets in the log, live or not.
    pub(super) packets: usize,
}

impl Values {
    pub(super) fn limits(&self, recipe: &Recipe) -> Result<Limits, DriveError> {
        let per_packet = if self.write_cache { self.extents_per_packet } else { 1 };
        let real = (self.log_bytes / BLOCK_BYTES, self.packets_max * per_packet);
        let (slots, entries) = match recipe.settings.buffer {
            Buffer::Real => real,
            Buffer::Bytes(bytes) => (bytes / BLOCK_BYTES, bytes / BLOCK_BYTES),
            Buffer::Limits { log_bytes, extents } => (log_bytes / BLOCK_BYTES, extents),
        };
        if !(1..=u64::from(SLOTS_MAX)).contains(&slots) || !(1..=1 << 30).contains(&entries) {
            return Err(recipe.refuse("the buffer holds from 1 to 2^27 blocks of 4 KiB (512 GiB)"));
        }
        if self.packets_trigger > self.packets_max {
            return Err(recipe.refuse("packets_trigger is at most packets_max"));
        }
        let trigger = (entries * self.packets_trigger).div_ceil(self.packets_max);
        let narrow = |count: u64| u32::try_from(count).expect("checked above");
        // A packet takes at least a slot, so there are no more packets than slots.
        let packets = scaled(entries, self.log_packets_per_packet_max).min(slots);
        Ok(Limits {
            slots: narrow(slots),
            entries: narrow(entries),
            trigger: narrow(trigger),
            packets: usize::try_from(packets).expect("checked above"),
        })
    }

    /// Returns the time of one pass over a band at the outer edge, including the seek: what a host
    /// that has probed the disk's reads knows.
    pub(super) fn band_pass(
        &self,
        mech: &Mech,
        planned: &Costs,
        costs: &CostValues,
        timing: Timing,
    ) -> Nanos {
        let blocks = self.tracks_per_band * mech.track_blocks(0);
        match timing {
            Timing::Mechanics => planned.read + Nanos(self.tracks_per_band * mech.rotation().0),
            Timing::Cost => planned.read + costs.stream(blocks),
        }
    }

    /// Returns the tracks before the host's first: the log, and a band's worth of scratch.
    pub(super) fn reserved_tracks(&self, mech: &MechValues, limits: &Limits) -> u64 {
        let log = (u64::from(limits.slots) * BLOCK_BYTES).max(self.log_bytes);
        log.div_ceil(mech.track_od_bytes) + self.tracks_per_band
    }
}

/// Returns `count · factor`, rounded; for constants computed once.
pub(super) fn scaled(count: u64, factor: f64) -> u64 {
    (count as f64 * factor).round() as u64
}
