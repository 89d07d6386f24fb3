//! `zipf`: some zones are hot, and some blocks in every zone.
//!
//! ```text
//! zone   zipf(theta) over the zones, in a random order of addresses
//! block  zipf(theta) over its 5,000 blocks, scattered within the zone
//! ```
//!
//! Popularity is stationary: a policy that counts accesses looks better here than on a real volume,
//! whose hot zones change. `mixed` is closer to a real one.

use shingle_core::units::{BLOCK_BYTES, Op};

use super::parameters::{Kind, Parameter, Values, range, theta, write};
use super::rng::{Rng, Seed, Share};
use super::skew::Skew;
use super::workload::{Access, Pattern, Workload};
use crate::error::Problem;
use crate::zones::{ZONE_BLOCKS, ZONE_BYTES};

pub(super) const WORKLOAD: Workload = Workload {
    name: "zipf",
    about: "zipf-skewed popularity of zones and of the blocks in them",
    own: &[
        range("4GB"),
        write("0.7"),
        theta("0.9", "skew of the popularity; 0 is none"),
        Parameter {
            name: "size",
            default: "8KiB",
            about: "bytes of every request",
            // A request stays in its zone.
            kind: Kind::Size(1, ZONE_BYTES),
        },
    ],
    make,
};

fn make(values: &Values, seed: Seed) -> Result<Box<dyn Pattern>, Problem> {
    let theta = values.number("theta");
    let zones = values.count("range") / ZONE_BYTES;
    Ok(Box::new(Zipf {
        rng: seed.stream("zipf"),
        zones: ZoneSkew::new(zones, theta, &mut seed.stream("zones")),
        blocks: Skew::new(ZONE_BLOCKS, theta),
        size: values.count("size"),
        write: values.share("write"),
    }))
}

/// Zones of different heat, in a random order of addresses.
pub(super) struct ZoneSkew {
    skew: Skew,
    order: Vec<u64>,
}

impl ZoneSkew {
    pub(super) fn new(zones: u64, theta: f64, rng: &mut Rng) -> ZoneSkew {
        let skew = Skew::new(zones, theta);
        let mut order: Vec<u64> = (0..skew.ranks()).collect();
        rng.shuffle(&mut order);
        ZoneSkew { skew, order }
    }

    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        self.order[self.skew.draw(rng) as usize]
    }
}

/// Returns the block of a zone for a rank: neighbouring ranks are apart, and differently in each
/// zone.
pub(super) fn scattered(rank: u64, zone: u64) -> u64 {
    // It has no common factor with 5,000, so every rank has its own block.
    const STRIDE: u64 = 2_741;
    (rank * STRIDE + zone * 977) % ZONE_BLOCKS
}

struct Zipf {
    rng: Rng,
    zones: ZoneSkew,
    blocks: Skew,
    size: u64,
    write: Share,
}

impl Pattern for Zipf {
    fn next(&mut self) -> Access {
        let op = if self.rng.chance(self.write) { Op::Write } else { Op::Read };
        let zone = self.zones.draw(&mut self.rng);
        let block = scattered(self.blocks.draw(&mut self.rng), zone);
        let within =
            (block * BLOCK_BYTES).min((ZONE_BYTES - self.size) / BLOCK_BYTES * BLOCK_BYTES);
        Access { offset: zone * ZONE_BYTES + within, bytes: self.size, op }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_its_own_block() {
        let mut blocks: Vec<u64> = (0..ZONE_BLOCKS).map(|rank| scattered(rank, 3)).collect();
        blocks.sort_unstable();
        assert!(blocks.iter().copied().eq(0..ZONE_BLOCKS));
    }
}
