//! `read-mostly`: a file or web server. Skewed reads, scans of whole zones, few small updates.
//!
//! It shows the effect of a write cache on reads. Destages are rare, so it says little about
//! shingling.

use shingle_core::units::{BLOCK_BYTES, Op};

use super::parameters::{Values, range, theta, write};
use super::rng::{Rng, Seed, Share};
use super::skew::Skew;
use super::workload::{Access, Pattern, Workload};
use super::zipf::{ZoneSkew, scattered};
use crate::error::Problem;
use crate::zones::{ZONE_BLOCKS, ZONE_BYTES};

pub(super) const WORKLOAD: Workload = Workload {
    name: "read-mostly",
    about: "skewed reads, scans of whole zones, few small updates",
    own: &[range("8GB"), write("0.1"), theta("0.9", "skew of the popularity; 0 is none")],
    make,
};

/// Share of scans among the reads.
const SCANS: Share = Share::percent(15);
const SCAN_BLOCKS: u64 = 16;

fn make(values: &Values, seed: Seed) -> Result<Box<dyn Pattern>, Problem> {
    let theta = values.number("theta");
    let zones = values.count("range") / ZONE_BYTES;
    Ok(Box::new(ReadMostly {
        rng: seed.stream("read-mostly"),
        zones: ZoneSkew::new(zones, theta, &mut seed.stream("zones")),
        blocks: Skew::new(ZONE_BLOCKS, theta),
        scan: (0, ZONE_BLOCKS),
        write: values.share("write"),
    }))
}

struct ReadMostly {
    rng: Rng,
    zones: ZoneSkew,
    blocks: Skew,
    /// The zone that is being scanned, and the next block in it.
    scan: (u64, u64),
    write: Share,
}

impl ReadMostly {
    fn scanned(&mut self) -> Access {
        if self.scan.1 >= ZONE_BLOCKS {
            self.scan = (self.zones.draw(&mut self.rng), 0);
        }
        let (zone, block) = self.scan;
        let blocks = SCAN_BLOCKS.min(ZONE_BLOCKS - block);
        self.scan.1 += blocks;
        access(zone, block, blocks, Op::Read)
    }
}

impl Pattern for ReadMostly {
    fn next(&mut self) -> Access {
        let write = self.rng.chance(self.write);
        if !write && self.rng.chance(SCANS) {
            return self.scanned();
        }
        let zone = self.zones.draw(&mut self.rng);
        let block = scattered(self.blocks.draw(&mut self.rng), zone);
        let (op, blocks_max) = if write { (Op::Write, 2) } else { (Op::Read, 8) };
        let blocks = 1 + self.rng.below(blocks_max);
        access(zone, block, blocks.min(ZONE_BLOCKS - block), op)
    }
}

pub(super) fn access(zone: u64, block: u64, blocks: u64, op: Op) -> Access {
    Access { offset: zone * ZONE_BYTES + block * BLOCK_BYTES, bytes: blocks * BLOCK_BYTES, op }
}
