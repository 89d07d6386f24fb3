//! The part of a profile's model that is under timing by mechanics: arm, platter and tracks, writes to the
//! log, and the factors with which cleaning takes as long as was measured.

use super::super::mechanics::{Tracks, seek_us, seeks};
use super::super::work::{Shape, work};
use super::super::{BufferFacts, MechanicsFacts, Profile, RmwFacts};
use super::Model;
use crate::sheet::{DriveError, Parameter, Value};
use shingle_core::units::BLOCK_BYTES;

/// Parts of a zone at which the model's `R(x)` is made the measured one, as in SAC's Figure 10.
const COVERAGES: (f64, f64) = (0.1, 0.5);
/// Largest zone, in blocks, for which cleaning is computed.
const ZONE_MAX: u64 = 1 << 16;
/// Factors on times of cleaning that another design of the same kind may have.
const FACTORS: std::ops::RangeInclusive<f64> = 0.2..=5.0;
/// Least time of a block over the bus that can be measured.
const BUS_US_MIN: f64 = 0.5;

/// Parameters of seeks in the sheet, which are replaced by points.
const SEEKS: [&str; 6] = [
    "seek_base_ms",
    "seek_sqrt_ms",
    "seek_linear_ms",
    "seek_short_base_ms",
    "seek_short_sqrt_ms",
    "seek_short_tracks",
];

/// Arm and platter, in the terms of the sheet.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    rotation_us: f64,
    tracks: Tracks,
    /// Tracks and milliseconds.
    seeks: Vec<(u64, f64)>,
    block_us: f64,
}

impl Model {
    /// Arm and platter.
    pub(super) fn mechanics(
        &mut self,
        mechanics: &MechanicsFacts,
        profile: &Profile,
    ) -> Result<(), DriveError> {
        let (reads, disk_blocks) = (&profile.read, profile.bytes / BLOCK_BYTES);
        let block_us = reads.sequential_us_per_block_first;
        let rotation_us = mechanics.rotation_us;
        let switch_us = self.decimal("head_switch_us");
        let tracks = Tracks::new(reads, rotation_us, switch_us, disk_blocks as f64);
        let seeks = seeks(mechanics, &tracks, disk_blocks, block_us);
        if seeks.len() < 2 {
            return Err(
                self.refuse("mechanics.reads has less than two distances; probe the disk again")
            );
        }
        let rate_zones = self.decimal("rate_zones").max(1.0);
        self.put("rpm", Value::Count((60e6 / rotation_us).round() as u64))?;
        self.put("track_od_bytes", Value::Count(tracks.first.round() as u64 * BLOCK_BYTES))?;
        self.put("track_id_bytes", Value::Count(tracks.last.round() as u64 * BLOCK_BYTES))?;
        self.put("zone_tracks", Value::Count((tracks.count / rate_zones).ceil() as u64))?;
        self.put("command_us", Value::Count(mechanics.command_us.round() as u64))?;
        self.put("read_ahead_bytes", Value::Count(mechanics.read_ahead_bytes))?;
        let like = self.sheet.get("seek_base_ms").clone();
        self.sheet.remove(&SEEKS);
        let parameter = |name: &str, value, about: &str, unit: &str| Parameter {
            name: name.into(),
            value,
            unit: unit.into(),
            source: self.name.clone(),
            about: about.into(),
            range: (0.0, 1e9),
        };
        let points = parameter(
            "seek_points",
            Value::Points(seeks.clone()),
            "Seek over a distance in tracks, linear between these points",
            &like.unit,
        );
        let count = Value::Count(tracks.count.round() as u64);
        let cylinders = parameter("cylinders", count, "Tracks of the whole disk", "");
        self.sheet.add(points);
        self.sheet.add(cylinders);
        self.arm = Some(Arm { rotation_us, tracks, seeks, block_us });
        Ok(())
    }

    /// Under mechanics a write to the log takes a fixed time, and its blocks and a header take the bus and
    /// the medium at the start of the disk.
    pub(super) fn log_writes(&mut self, arm: &Arm, buffer: &BufferFacts) -> Result<(), DriveError> {
        let bus_us = buffer.write_us_per_further_block - arm.block_us;
        if bus_us >= BUS_US_MIN {
            self.put(
                "bus_bytes_per_us",
                Value::Count(((BLOCK_BYTES as f64 / bus_us).round() as u64).max(1)),
            )?;
        }
        let bus_us = BLOCK_BYTES as f64 / self.decimal("bus_bytes_per_us").max(1.0);
        let fixed = (buffer.write_us - bus_us - 2.0 * arm.block_us).max(0.0);
        self.put("log_write_fixed_us", Value::Count(fixed.round() as u64))?;
        // Each of several writes in flight takes longer than one at a time.
        let single =
            buffer.measured.iter().find(|row| row.write_bytes == BLOCK_BYTES && row.depth == 1);
        let queued =
            buffer.measured.iter().find(|row| row.write_bytes == BLOCK_BYTES && row.depth > 1);
        if let (Some(single), Some(queued)) = (single, queued)
            && single.iops_before > 0.0
            && queued.iops_before > 0.0
        {
            let more = (1e6 / queued.iops_before - 1e6 / single.iops_before).clamp(0.0, 1e4);
            self.put("queued_command_us", Value::Count(more.round() as u64))?;
        }
        Ok(())
    }

    /// Factors on going over bands and on collecting from the log with which the model takes `R(x)`.
    pub(super) fn as_measured(
        &mut self,
        arm: &Arm,
        rmw: &RmwFacts,
        write_us: f64,
        (band_blocks, reads_max): (f64, f64),
    ) -> Result<(), DriveError> {
        let shape = Shape {
            zone: rmw.zone_blocks.min(ZONE_MAX),
            band: (band_blocks.round() as u64).max(2),
            track: arm.tracks.mean().round() as u64,
            merge: self.decimal("merge_bytes").round() as u64 / BLOCK_BYTES,
            reads_max: reads_max.round() as u64,
        };
        let rotations = self.decimal("collect_rotations");
        let seek_us = seek_us(&arm.seeks, arm.tracks.count / 2.0);
        // Per zone: passes over bands, collecting, and the part of R(x) left for both.
        let of = |part: f64| {
            let blocks = ((shape.zone as f64 * part).round() as u64).max(1);
            let work = work(&shape, blocks);
            let over = 3.0 * work.tracks * arm.rotation_us + 4.0 * work.phases * seek_us;
            let collect = work.reads * rotations * arm.rotation_us;
            let blocks = blocks as f64;
            let known = blocks * (write_us + arm.block_us);
            (over, collect, rmw.base_us + rmw.us_per_block * blocks - known)
        };
        let (few, many) = (of(COVERAGES.0), of(COVERAGES.1));
        let (over, collect) = factors(few, many).unwrap_or_else(|| {
            self.unknown.push(
                "cleaning takes times that the model cannot have; the disk cleans in another way, and \
                 times of cleaning are rough"
                    .into(),
            );
            let factor = one_factor(few, many);
            (factor, factor)
        });
        let scale = Parameter {
            name: "clean_scale".into(),
            value: Value::Decimal(over),
            unit: String::new(),
            source: self.name.clone(),
            about: "Going over a band in cleaning takes so many times what mechanics say".into(),
            range: (0.0, 1000.0),
        };
        self.sheet.add(scale);
        self.put("collect_rotations", Value::Decimal(collect * rotations))
    }
}

/// Factors `a` and `b` with which `a · over + b · collect` is what is left, at both coverages. `None` if
/// they are none that a disk of the same kind can have.
fn factors(few: (f64, f64, f64), many: (f64, f64, f64)) -> Option<(f64, f64)> {
    let determinant = few.0 * many.1 - many.0 * few.1;
    let over = (few.2 * many.1 - many.2 * few.1) / determinant;
    let collect = (few.0 * many.2 - many.0 * few.2) / determinant;
    (FACTORS.contains(&over) && FACTORS.contains(&collect)).then_some((over, collect))
}

/// One factor on all of it.
fn one_factor(few: (f64, f64, f64), many: (f64, f64, f64)) -> f64 {
    let factor = (few.2 + many.2) / (few.0 + few.1 + many.0 + many.1);
    if factor.is_finite() { factor.clamp(0.0, 100.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_coverages_tell_two_factors() {
        // 2 · 100 + 3 · 10 and 2 · 150 + 3 · 90.
        let told = factors((100.0, 10.0, 230.0), (150.0, 90.0, 570.0)).expect("two");
        assert!((told.0 - 2.0).abs() < 1e-9 && (told.1 - 3.0).abs() < 1e-9, "{told:?}");
        // One of them below zero, or no work at all: all of it takes as many times.
        let below = ((100.0, 10.0, 100.0), (150.0, 90.0, 75.0));
        assert_eq!((factors(below.0, below.1), one_factor(below.0, below.1)), (None, 0.5));
        let none = (0.0, 0.0, 5.0);
        assert_eq!((factors(none, none), one_factor(none, none)), (None, 1.0));
    }
}
