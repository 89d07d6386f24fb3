//! The places of the blocks in use: zones within the volume, clusters within a zone.
//!
//! ```text
//! volume   ··Z·ZZZ··Z··|Z··ZZ·······|··   zones come in groups; each large zone (|) has one
//! zone     ···CCCC·······CCCC··CCCC····   as many clusters as its share of the blocks makes
//! ```
//!
//! The place of a cluster follows from its number, so a layout only needs a list of zones.

use super::counts::Side;
use super::power::share_of_first;
use crate::synth::rng::{Rng, Share};
use crate::zones::{LARGE_ZONE_BYTES, ZONE_BLOCKS, ZONE_BYTES};

/// Number of neighbouring zones that are in use together.
const GROUP_ZONES: u64 = 4;

/// A zone with its blocks in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Zone {
    pub(super) zone: u32,
    /// Number of blocks in use.
    pub(super) blocks: u32,
    /// Number of runs of these blocks.
    pub(super) clusters: u32,
}

impl Zone {
    /// Returns the first block, within the volume, and the length of a cluster.
    pub(super) fn cluster(self, number: u32) -> (u64, u64) {
        // Blocks and gaps are distributed evenly; within its gap a cluster is anywhere.
        let gaps = ZONE_BLOCKS as u32 - self.blocks;
        let (used, used_next) =
            (self.sum_before(self.blocks, number), self.sum_before(self.blocks, number + 1));
        let (gap, gap_next) = (self.sum_before(gaps, number), self.sum_before(gaps, number + 1));
        let hash =
            (u64::from(self.zone) << 32 | u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let shift = ((hash >> 32) * u64::from(gap_next - gap + 1)) >> 32;
        let first = u64::from(self.zone) * ZONE_BLOCKS + u64::from(used + gap) + shift;
        (first, u64::from(used_next - used))
    }

    fn sum_before(self, whole: u32, number: u32) -> u32 {
        whole * number / self.clusters
    }
}

#[derive(Debug)]
pub(super) struct Layout {
    pub(super) zones: Vec<Zone>,
    /// Cumulated number of blocks in use, up to and including each zone.
    pub(super) ends: Vec<u64>,
}

impl Layout {
    /// Distributes a side's blocks over `places`, of which there are `side.zones`.
    pub(super) fn new(
        places: &[u64],
        side: Side,
        cluster: f64,
        skew: f64,
        rng: &mut Rng,
    ) -> Layout {
        let mut blocks = distribute(side.distinct, places.len() as u64, skew);
        rng.shuffle(&mut blocks);
        let cluster_blocks = (cluster * side.distinct as f64 / side.starts as f64).max(1.0);
        let zones: Vec<Zone> = places
            .iter()
            .zip(blocks)
            .map(|(&zone, blocks)| Zone {
                zone: zone as u32,
                blocks: blocks as u32,
                clusters: ((blocks as f64 / cluster_blocks).round() as u32).max(1),
            })
            .collect();
        let mut end = 0;
        let ends = zones
            .iter()
            .map(|zone| {
                end += u64::from(zone.blocks);
                end
            })
            .collect();
        Layout { zones, ends }
    }

    /// Returns the number of blocks in use.
    pub(super) fn blocks(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }
}

/// Distributes `blocks` to zones, most to the first; each gets at least one and at most its size.
fn distribute(blocks: u64, zones: u64, skew: f64) -> Vec<u64> {
    let mut dealt = Vec::with_capacity(zones as usize);
    let mut left = blocks;
    for zone in 0..zones {
        let after = zones - zone - 1;
        // This zone's share of what is left for it and the zones after it; a full zone passes on
        // its excess.
        let before = share_of_first(zone as f64 / zones as f64, skew);
        let part =
            (share_of_first((zone + 1) as f64 / zones as f64, skew) - before) / (1.0 - before);
        let wanted = Share::of(part).part(left).min(ZONE_BLOCKS);
        // The zones after it need one block each, and cannot take more than their size.
        let least = left.saturating_sub(after * ZONE_BLOCKS).max(1);
        let blocks = wanted.max(least).min(left.saturating_sub(after).max(1));
        dealt.push(blocks);
        left -= blocks.min(left);
    }
    dealt
}

/// Picks zones below `span`: groups anywhere, and one zone in each of the large zones.
pub(super) fn places(zones: u64, span: u64, large_zones: u64, rng: &mut Rng) -> Vec<u64> {
    let mut is_used = vec![false; span as usize];
    let mut places = Vec::with_capacity(zones as usize);
    for large in 0..large_zones.min(zones) {
        // The second zone that begins in the large one lies completely within it, as do the next
        // ten.
        let first = (large * LARGE_ZONE_BYTES).div_ceil(ZONE_BYTES);
        let zone = (first + rng.below(11)).min(span - 1);
        if !is_used[zone as usize] {
            is_used[zone as usize] = true;
            places.push(zone);
        }
    }
    let mut groups: Vec<u64> = (0..span.div_ceil(GROUP_ZONES)).collect();
    rng.shuffle(&mut groups);
    for zone in groups.iter().flat_map(|group| group * GROUP_ZONES..(group + 1) * GROUP_ZONES) {
        if places.len() as u64 == zones {
            break;
        }
        if zone < span && !is_used[zone as usize] {
            is_used[zone as usize] = true;
            places.push(zone);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::synth::rng::Seed;

    proptest! {
        /// Clusters lie in their zone, in order and apart, and hold all its blocks.
        #[test]
        fn clusters_share_a_zone(blocks in 1..=5_000_u32, clusters in 1..=5_000_u32, zone in 0..9_000_u32) {
            let zone = Zone { zone, blocks, clusters: clusters.min(blocks) };
            let (mut end, mut sum) = (u64::from(zone.zone) * ZONE_BLOCKS, 0);
            for number in 0..zone.clusters {
                let (first, length) = zone.cluster(number);
                prop_assert!(length > 0 && first >= end);
                end = first + length;
                sum += length;
            }
            prop_assert!(end <= (u64::from(zone.zone) + 1) * ZONE_BLOCKS);
            prop_assert_eq!(sum, u64::from(blocks));
        }

        /// Every block is distributed, and no zone is empty or overfull.
        #[test]
        fn blocks_are_dealt(zones in 1..400_u64, fill in 0.0..1.0_f64, skew in 1.0..64.0_f64) {
            let blocks = zones + (fill * (zones * (ZONE_BLOCKS - 1)) as f64) as u64;
            let dealt = distribute(blocks, zones, skew);
            prop_assert_eq!(dealt.iter().sum::<u64>(), blocks);
            prop_assert!(dealt.iter().all(|blocks| (1..=ZONE_BLOCKS).contains(blocks)));
        }

        /// The zones are distinct and within the span, and at least one is in each large zone.
        #[test]
        fn places_are_different(large in 1..60_u64, more in 0.0..1.0_f64) {
            let span = large * LARGE_ZONE_BYTES / ZONE_BYTES;
            let zones = large + (more * (span - large) as f64) as u64;
            let mut rng = Seed { seed: 1, workload: "test" }.stream("places");
            let mut places = places(zones, span, large, &mut rng);
            places.sort_unstable();
            places.dedup();
            prop_assert_eq!(places.len() as u64, zones);
            prop_assert!(places.last().is_some_and(|last| *last < span));
            let mut hit: Vec<u64> = places.iter().map(|zone| zone * ZONE_BYTES / LARGE_ZONE_BYTES).collect();
            hit.dedup();
            prop_assert_eq!(hit.len() as u64, large);
        }
    }
}
