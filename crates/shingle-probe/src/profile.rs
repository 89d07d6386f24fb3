//! Converts findings to a drive profile.

use shingle_core::units::BLOCK_BYTES;
use shingle_drive::profile::{
    BufferFacts, CapacityFacts, FORMAT, IdleFacts, Kind, Profile, Reads, RmwFacts, ZoneFacts,
};

use crate::change::{real, round};
use crate::findings::{Capacity, Findings, limits};

impl Findings {
    /// Makes the profile of the disk, without what was not found.
    #[must_use]
    pub fn profile(&self, zone_blocks: u64) -> Profile {
        let (first, last) = self.reads.in_order();
        let facts = &self.facts;
        let zones = facts.zones.map(|zones| ZoneFacts {
            zone_bytes: zones.zone_blocks * BLOCK_BYTES,
            count: zones.count,
        });
        Profile {
            format: FORMAT.to_owned(),
            name: facts.name.clone(),
            serial: facts.serial.clone(),
            kind: self.kind,
            bytes: facts.blocks * BLOCK_BYTES,
            read: Reads {
                random_us: round(self.reads.random()),
                sequential_us_per_block_first: round(first),
                sequential_us_per_block_last: round(last),
            },
            mechanics: self.distances.as_ref().and_then(|seen| seen.facts(first)),
            zones,
            buffer: self.buffer().filter(|_| self.kind == Kind::DriveManaged),
            rmw: self.rmw(zone_blocks),
            idle: self.idle_facts(),
            bands: self.bands.iter().filter_map(|(_, band)| *band).collect(),
        }
    }

    fn buffer(&self) -> Option<BufferFacts> {
        let limits = limits(&self.capacities);
        // (A buffer that larger writes did not fill is known by the others.)
        let rows = self.capacities.iter().filter(|row| row.writes.depth == 1);
        let rows = rows.filter_map(|row| {
            Some((real(row.writes.blocks), row.fill.with_room_us(row.cliff?.at)))
        });
        let mut rows: Vec<(f64, f64)> = rows.collect();
        rows.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let (&(least, least_us), &(most, most_us)) = (rows.first()?, rows.last()?);
        let more =
            if most > least { ((most_us - least_us) / (most - least)).max(0.0) } else { 0.0 };
        let write_us = least_us - (least - 1.0) * more;
        Some(BufferFacts {
            extents: limits.extents,
            log_bytes: limits.log_bytes,
            write_us: round(write_us),
            write_us_per_further_block: round(more),
            measured: self.capacities.iter().filter_map(Capacity::facts).collect(),
        })
    }

    fn rmw(&self, zone_blocks: u64) -> Option<RmwFacts> {
        let fit = self.cost_line()?;
        let slope = fit.line.slope;
        Some(RmwFacts {
            zone_blocks,
            base_us: round(fit.line.intercept),
            us_per_block: round(slope),
            // Waits that are no cleaning make the line steeper.
            us_per_block_low: round((slope - fit.slope_error - self.other_us()).max(0.0)),
            us_per_block_high: round(slope + fit.slope_error),
            r_squared: (fit.line.r_squared * 1e4).round() / 1e4,
        })
    }

    fn idle_facts(&self) -> Option<IdleFacts> {
        let tried = self.idle.as_ref().filter(|tried| !tried.trials.is_empty())?;
        let (calm, cleaned) = tried.delay_us();
        let ms = |us: u64| real(us) / 1e3;
        Some(match cleaned {
            Some(cleaned) => IdleFacts {
                cleaning: true,
                delay_ms: ms(cleaned),
                delay_ms_error: ms(cleaned - calm),
            },
            None => IdleFacts { cleaning: false, delay_ms: ms(calm), delay_ms_error: 0.0 },
        })
    }
}

impl Capacity {
    /// The row of SAC's Table 3; `None` without a cliff.
    #[must_use]
    pub fn facts(&self) -> Option<CapacityFacts> {
        let cliff = self.cliff?;
        let write_bytes = self.writes.blocks * BLOCK_BYTES;
        let (iops_before, iops_after) = self.fill.rates(cliff.at);
        Some(CapacityFacts {
            write_bytes,
            depth: self.writes.depth,
            bytes: cliff.at * write_bytes,
            bytes_low: cliff.low * write_bytes,
            bytes_high: cliff.high * write_bytes,
            iops_before: round(iops_before),
            iops_after: round(iops_after),
        })
    }
}
