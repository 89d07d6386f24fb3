//! The plan of a volume, shared by its copies: the places of its blocks and the rates of events.

use core::ops::Range;
use std::sync::Arc;

use super::counts::{Counts, Side};
use super::curve::Curve;
use super::extents::{Extent, cut};
use super::free::Free;
use super::layout::{Layout, places};
use super::power::Lengths;
use crate::synth::rng::{Rng, Seed, Share};
use crate::volumes::Volume;

/// A volume ready to be generated. It follows from seed, figures and parameters, and does not
/// change.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) seed: Seed,
    pub(super) write: Part,
    pub(super) read: Part,
    pub(super) writes: Share,
    pub(super) cold: Share,
    /// Fraction of reuses that repeat the previous order.
    pub(super) follow: f64,
    /// Preference for long requests among the farthest reuses, compared with the middle; the
    /// nearest have the opposite.
    pub(super) long_far: f64,
    /// Accesses to each block of a zone while it is active, in 2^-16.
    pub(super) dwell: u64,
    pub(super) overlap: Share,
    /// For each written zone, whether nothing in it is written again.
    once: Vec<bool>,
    /// Fraction of accesses in runs of three or more to a zone.
    pub(super) sequential: f64,
    /// Chance that a visit to a zone continues with another request, if nothing else makes runs.
    pub(super) stay: f64,
    pub(super) curve: Curve,
    /// Mean number of sectors by which a write is shorter than its blocks, in 2^-16.
    pub(super) short_sectors: u64,
    span_zones: u64,
}

#[derive(Debug)]
pub(super) struct Part {
    pub(super) side: Side,
    pub(super) layout: Layout,
    /// First accesses, in their order.
    pub(super) extents: Vec<Extent>,
    /// The number of its first extent, among those of both operations.
    pub(super) first_number: u32,
    pub(super) first_list: u32,
    /// Number of zones active at a time.
    pub(super) active: usize,
}

impl Part {
    /// Returns the part, and its zones in the order of their first accesses.
    fn new(side: Side, places: &[u64], free: &Free, seed: Seed, op: &str) -> (Part, Vec<u32>) {
        let mut rng = seed.stream(op);
        let layout = Layout::new(places, side, free.cluster, free.zone_skew, &mut rng);
        let zones_in_order = access_order(&layout, free.neighbours as usize, &mut rng);
        let lengths = Lengths::new();
        let extents = cut(&layout, &zones_in_order, &side, &lengths, &mut rng);
        let active = free.active.round().clamp(1.0, layout.zones.len() as f64) as usize;
        (Part { side, layout, extents, first_number: 0, first_list: 0, active }, zones_in_order)
    }

    pub(super) fn lists(&self) -> Range<u32> {
        self.first_list..self.first_list + self.layout.zones.len() as u32
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
        let (write, zones_in_order) = Part::new(counts.write, written, free, seed, "write layout");
        let (read, _) = Part::new(counts.read, &places, free, seed, "read layout");
        let read = Part {
            first_number: write.extents.len() as u32,
            first_list: write.layout.zones.len() as u32,
            ..read
        };
        let requests = counts.requests() as f64;
        let reads_reused = (counts.read.requests.saturating_sub(counts.read.starts)) as f64;
        let reuses = (requests - (counts.read.starts + counts.write.starts) as f64).max(1.0);
        Arc::new(Plan {
            seed,
            writes: Share::of(counts.write.requests as f64 / requests),
            cold: Share::of(free.cold),
            follow: free.follow,
            long_far: free.long_far,
            dwell: (free.dwell * 65_536.0) as u64,
            overlap: Share::of(free.overlap),
            once: written_once(&zones_in_order, free.once),
            sequential: counts.sequential,
            stay: stay_chance(counts.sequential),
            curve: Curve::new(&counts.reuse, reads_reused / reuses),
            short_sectors: (counts.short_bytes << 16) / 512,
            span_zones: counts.span_zones,
            write,
            read,
        })
    }

    pub(super) fn extent(&self, number: u32) -> &Extent {
        let (part, at) = if self.is_written(number) {
            (&self.write, number)
        } else {
            (&self.read, number - self.read.first_number)
        };
        &part.extents[at as usize]
    }

    /// Returns whether writes access the extent.
    pub(super) fn is_written(&self, number: u32) -> bool {
        number < self.read.first_number
    }

    /// Returns whether nothing in the zone of a list is written again.
    pub(super) fn is_written_once(&self, list: u32) -> bool {
        self.once.get(list as usize).is_some_and(|once| *once)
    }

    /// Returns the list of an extent: there is one for each written zone and one for each read
    /// zone.
    pub(super) fn list(&self, number: u32) -> u32 {
        let zone = self.extent(number).zone;
        if self.is_written(number) { zone } else { self.read.first_list + zone }
    }

    pub(super) fn lists(&self) -> usize {
        self.write.layout.zones.len() + self.read.layout.zones.len()
    }

    /// Returns the number of reuses at full length.
    pub(super) fn reuses(&self) -> u64 {
        let firsts = self.write.extents.len() + self.read.extents.len();
        self.requests().saturating_sub(firsts as u64)
    }

    /// Returns the number of requests at full length.
    pub(crate) fn requests(&self) -> u64 {
        self.write.side.requests + self.read.side.requests
    }

    /// Returns the number of block accesses at full length.
    pub(crate) fn blocks(&self) -> u64 {
        self.write.side.blocks + self.read.side.blocks
    }

    /// Returns the number of zones from the first to the last: the size of the volume on a disk.
    pub(crate) fn span_zones(&self) -> u64 {
        self.span_zones
    }
}

/// Returns the zones in random order, but in groups of neighbours by address.
fn access_order(layout: &Layout, neighbours: usize, rng: &mut Rng) -> Vec<u32> {
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

/// Returns for each zone whether it is written once. These zones are spread evenly over the order
/// of first accesses, and the first zone is not one of them.
fn written_once(zones_in_order: &[u32], share: f64) -> Vec<bool> {
    let mut once = vec![false; zones_in_order.len()];
    let before = |turn: usize| (turn as f64 * share) as u64;
    for (turn, &zone) in zones_in_order.iter().enumerate() {
        once[zone as usize] = before(turn + 1) > before(turn);
    }
    once
}

/// Returns the chance that a visit continues, such that runs of three or more have the wanted
/// share: with visits of geometric length and chance c, they hold c²(3 − 2c) of the requests.
fn stay_chance(sequential: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let c: f64 = f64::midpoint(low, high);
        if c * c * (3.0 - 2.0 * c) < sequential { low = c } else { high = c }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volumes::named;

    #[test]
    fn neighbours_come_one_after_the_other_and_their_groups_in_any_order() {
        let volume = named("src2_2").expect("it is described");
        let free = Free { neighbours: 8.0, ..Free::of_volume(volume) };
        let Part { layout, extents, .. } = &Plan::new(volume, &free, 1).write;
        let zone = |extent: &Extent| layout.zones[extent.zone as usize].zone;
        let mut places: Vec<u32> = extents.iter().map(zone).collect();
        places.dedup();
        let mut sorted = places.clone();
        sorted.sort_unstable();
        // All groups but the last, which may be shorter and anywhere.
        let groups = sorted.chunks_exact(8);
        let whole = groups.clone().filter(|group| places.windows(8).any(|some| some == *group));
        assert_eq!(whole.count(), groups.count());
        assert!(places != sorted);
    }
}
