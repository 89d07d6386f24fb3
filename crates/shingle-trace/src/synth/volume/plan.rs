//! All that the copies of a volume share: where its blocks lie and how often what happens.

use std::sync::Arc;

use super::counts::{Counts, Side};
use super::free::Free;
use super::layout::{Layout, places};
use super::power::{Lengths, Power};
use crate::synth::rng::{Rng, Seed, Share};
use crate::volumes::Volume;

/// A volume ready to be generated. Seed, figures and parameters make it; nothing changes it.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) seed: Seed,
    pub(super) write: Part,
    pub(super) read: Part,
    pub(super) writes: Share,
    pub(super) cold: Share,
    /// Hot requests that pass over their zone.
    pub(super) pass: Share,
    /// Accesses to each block of a zone while it is active, in 2^-16.
    pub(super) dwell: u64,
    pub(super) overlap: Share,
    /// How often a visit to a zone goes on for another request.
    pub(super) stay: Share,
    pub(super) block_heat: Power,
    pub(super) lengths: Lengths,
    /// Sectors that a write falls short of whole blocks on average, in 2^-16.
    pub(super) short_sectors: u64,
    span_zones: u64,
}

/// One operation's part of a plan.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) side: Side,
    pub(super) layout: Layout,
    /// Zones of the layout, in the order in which their blocks are first accessed.
    pub(super) by_turn: Vec<u32>,
    /// Zones active at a time.
    pub(super) active: usize,
}

impl Part {
    fn new(side: Side, places: &[u64], free: &Free, seed: Seed, op: &str) -> Part {
        let mut rng = seed.stream(op);
        let layout = Layout::new(places, side, free.cluster, free.zone_skew, &mut rng);
        let by_turn = turns(&layout, free.neighbours as usize, &mut rng);
        let active = free.active.round().clamp(1.0, layout.zones.len() as f64) as usize;
        Part { side, layout, by_turn, active }
    }

    /// How likely two visits are to the same zone: hot ones go to any of the active, cold ones by
    /// blocks in use.
    fn same_zone(&self, free: &Free) -> f64 {
        let all = self.layout.blocks() as f64;
        let parts = self.layout.zones.iter().map(|zone| f64::from(zone.blocks) / all);
        let cold: f64 = parts.map(|part| part * part).sum();
        (1.0 - free.cold).powi(2) / self.active as f64 + free.cold.powi(2) * cold
    }
}

impl Plan {
    pub(crate) fn new(volume: &'static Volume, free: &Free, seed: u64) -> Arc<Plan> {
        let seed = Seed { seed, workload: volume.workload };
        let counts = Counts::of(volume, free);
        let zones = counts.read.zones;
        let places =
            places(zones, counts.span_zones, counts.large_zones, &mut seed.stream("places"));
        let written = &places[..counts.write.zones as usize];
        let write = Part::new(counts.write, written, free, seed, "write layout");
        let read = Part::new(counts.read, &places, free, seed, "read layout");
        let requests = counts.write.requests + counts.read.requests;
        Arc::new(Plan {
            seed,
            writes: Share::of(counts.write.requests as f64 / requests as f64),
            cold: Share::of(free.cold),
            pass: Share::of(free.pass),
            dwell: (free.dwell * 65_536.0) as u64,
            overlap: Share::of(free.overlap),
            stay: Share::of(stay(&counts, write.same_zone(free))),
            block_heat: Power::new(free.block_skew),
            lengths: Lengths::new(),
            short_sectors: (counts.short_bytes << 16) / 512,
            span_zones: counts.span_zones,
            write,
            read,
        })
    }

    /// Requests at full length.
    pub(crate) fn requests(&self) -> u64 {
        self.write.side.requests + self.read.side.requests
    }

    /// Block accesses at full length.
    pub(crate) fn blocks(&self) -> u64 {
        self.write.side.blocks + self.read.side.blocks
    }

    /// Zones from the first to the last: what the volume takes on a disk.
    pub(crate) fn span_zones(&self) -> u64 {
        self.span_zones
    }
}

/// The zones in random order, but so many neighbours at a time by address.
fn turns(layout: &Layout, neighbours: usize, rng: &mut Rng) -> Vec<u32> {
    let mut zones: Vec<u32> = (0..layout.zones.len() as u32).collect();
    if neighbours <= 1 {
        rng.shuffle(&mut zones);
        return zones;
    }
    zones.sort_unstable_by_key(|&zone| layout.zones[zone as usize].zone);
    let mut groups: Vec<&[u32]> = zones.chunks(neighbours).collect();
    rng.shuffle(&mut groups);
    groups.concat()
}

/// How often a visit goes on, so that runs of three or more make up the share that is wanted.
///
/// With visits of geometric length, goes-on being c, runs of three or more hold c²(3 − 2c) of the
/// requests. First accesses come zone by zone and are in long runs anyway; and a visit that by
/// chance is to the zone of the one before makes one run of two.
fn stay(counts: &Counts, same_zone: f64) -> f64 {
    let first = counts.write.distinct as f64 / counts.write.blocks as f64;
    let wanted = ((counts.sequential - first) / (1.0 - first)).max(0.0);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let c: f64 = (low + high) / 2.0;
        if c * c * (3.0 - 2.0 * c) < wanted { low = c } else { high = c }
    }
    ((low - same_zone) / (1.0 - same_zone)).clamp(0.0, 0.999)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volumes::named;

    #[test]
    fn neighbours_come_one_after_the_other_and_their_groups_in_any_order() {
        let volume = named("src2_2").expect("it is described");
        let free = Free { neighbours: 8.0, ..Free::of_volume(volume) };
        let Part { layout, by_turn, .. } = &Plan::new(volume, &free, 1).write;
        let places: Vec<u32> = by_turn.iter().map(|&at| layout.zones[at as usize].zone).collect();
        let mut sorted = places.clone();
        sorted.sort_unstable();
        // All groups but the last, which may be short and anywhere.
        let groups = sorted.chunks_exact(8);
        let whole = groups.clone().filter(|group| places.windows(8).any(|some| some == *group));
        assert_eq!(whole.count(), groups.count());
        assert!(places != sorted);
    }
}
