//! `mixed`: a write-heavy enterprise volume, the workload of a comparison without a trace.
//!
//! ```text
//! range        ··H··C·S·······C···H·C····S··C··H···C·C·····H·S··C·
//! H  hot zones         a quarter of those touched; skewed heat, which moves over time; in each a
//!                      few hundred to a few thousand hot blocks, in clusters: zones differ both
//!                      in how often they are written and in how densely
//! S  sequential zones  streams of 64 KiB overwrite them from end to end
//! C  cold zones        single blocks anywhere, hardly ever the same again
//! ```
//!
//! Writes go to H, S and C, and reads follow them. The hot set is larger than a cache of 5 % of the
//! touched zones. So it matters what a policy evicts: block by block (LRU), or zone by zone where
//! one rewrite of a band saves most. The shape follows published figures of volumes such as MSR
//! Cambridge's: many updates in few zones, small requests, bursts.

use shingle_core::units::Op;

use super::parameters::{Kind, Parameter, Values, range, theta, write};
use super::read_mostly::access;
use super::rng::{Rng, Seed, Share};
use super::skew::Skew;
use super::workload::{Access, Pattern, Workload};
use super::zipf::scattered;
use crate::error::Problem;
use crate::zones::{ZONE_BLOCKS, ZONE_BYTES};

pub(super) const WORKLOAD: Workload = Workload {
    name: "mixed",
    about: "write-heavy: hot zones, sequential runs, cold random writes (the default)",
    own: &[
        Parameter { kind: Kind::Size(FOOTPRINT_ZONES_MIN * ZONE_BYTES, 1 << 46), ..range("40GB") },
        Parameter {
            name: "footprint",
            default: "5GB",
            about: "bytes of the zones that are touched, scattered over the range (at most all of it)",
            kind: Kind::Size(FOOTPRINT_ZONES_MIN * ZONE_BYTES, 1 << 46),
        },
        write("0.7"),
        theta("0.9", "skew of the heat of zones and blocks; 0 is none"),
    ],
    make,
};

/// Fewer zones cannot be split into three kinds.
const FOOTPRINT_ZONES_MIN: u64 = 16;
/// Shares of the touched zones.
const HOT_ZONES: Share = Share::percent(25);
const SEQUENTIAL_ZONES: Share = Share::percent(15);

/// Shares of the requests; the rest are cold.
const WRITES_HOT: Share = Share::percent(72);
const READS_HOT: Share = Share::percent(65);
/// Shares of those that are not hot.
const WRITES_SEQUENTIAL: Share = Share::percent(28);
const READS_SEQUENTIAL: Share = Share::percent(25);

const STREAMS: usize = 4;
const STREAM_BLOCKS: u64 = 16;
const HOT_BLOCKS_MIN: u64 = 300;
const HOT_BLOCKS_MAX: u64 = 3_500;
/// Hot blocks lie in clusters of this many.
const CLUSTER_BLOCKS: u64 = 8;
/// Hot requests after which two zones swap their heat.
const REQUESTS_PER_MOVE: u64 = 4_000;

fn make(values: &Values, seed: Seed) -> Result<Box<dyn Pattern>, Problem> {
    let range = values.count("range");
    let footprint = values.count("footprint").min(range);
    let mut layout = seed.stream("layout");
    let mut zones: Vec<u64> = (0..range / ZONE_BYTES).collect();
    layout.shuffle(&mut zones);
    zones.truncate(usize::try_from(footprint / ZONE_BYTES).unwrap_or(usize::MAX));
    let touched = zones.len() as u64;
    let cold = zones.split_off((HOT_ZONES.part(touched) + SEQUENTIAL_ZONES.part(touched)) as usize);
    let sequential = zones.split_off(HOT_ZONES.part(touched) as usize);
    let hot: Vec<HotZone> = zones.into_iter().map(|zone| HotZone::new(zone, &mut layout)).collect();
    let theta = values.number("theta");
    Ok(Box::new(Mixed {
        rng: seed.stream("mixed"),
        heat: Skew::new(hot.len() as u64, theta),
        blocks: Skew::new(HOT_BLOCKS_MAX, theta),
        hot,
        writers: [Stream::default(); STREAMS],
        reader: Stream::default(),
        sequential,
        cold,
        until_move: REQUESTS_PER_MOVE,
        write: values.share("write"),
    }))
}

/// A zone with its hot blocks.
#[derive(Clone, Copy)]
struct HotZone {
    zone: u64,
    hot_blocks: u64,
}

impl HotZone {
    fn new(zone: u64, rng: &mut Rng) -> HotZone {
        // The product of two draws: most zones are sparse, some are dense.
        let spread = HOT_BLOCKS_MAX - HOT_BLOCKS_MIN;
        let drawn = rng.below(spread + 1);
        let hot_blocks = HOT_BLOCKS_MIN + (drawn + rng.below(drawn + 1)) / 2;
        HotZone { zone, hot_blocks }
    }

    /// Returns the block of a rank. Clusters are scattered over the zone, blocks within a cluster
    /// are not.
    fn block(self, rank: u64) -> u64 {
        let rank = rank % self.hot_blocks;
        let clusters = ZONE_BLOCKS / CLUSTER_BLOCKS;
        // Ranks cycle through the clusters, so that a cluster holds warmer and colder blocks.
        let used = self.hot_blocks.div_ceil(CLUSTER_BLOCKS);
        let (cluster, within) = (rank % used, rank / used);
        scattered(cluster, self.zone) % clusters * CLUSTER_BLOCKS + within
    }
}

/// A sequential run through a zone. It starts at the end of one, so the first step picks a zone.
#[derive(Clone, Copy)]
struct Stream {
    zone: u64,
    block: u64,
}

impl Default for Stream {
    fn default() -> Self {
        Stream { zone: 0, block: ZONE_BLOCKS }
    }
}

impl Stream {
    fn step(&mut self, zones: &[u64], rng: &mut Rng, op: Op) -> Access {
        if self.block >= ZONE_BLOCKS {
            *self = Stream { zone: pick(zones, rng), block: 0 };
        }
        let (block, blocks) = (self.block, STREAM_BLOCKS.min(ZONE_BLOCKS - self.block));
        self.block += blocks;
        access(self.zone, block, blocks, op)
    }
}

fn pick(zones: &[u64], rng: &mut Rng) -> u64 {
    zones[rng.below(zones.len() as u64) as usize]
}

struct Mixed {
    rng: Rng,
    heat: Skew,
    blocks: Skew,
    /// Hottest first.
    hot: Vec<HotZone>,
    writers: [Stream; STREAMS],
    reader: Stream,
    sequential: Vec<u64>,
    cold: Vec<u64>,
    until_move: u64,
    write: Share,
}

impl Mixed {
    fn hot(&mut self, op: Op) -> Access {
        self.until_move -= 1;
        if self.until_move == 0 {
            self.until_move = REQUESTS_PER_MOVE;
            // Two zones swap places: the heat moves gradually.
            let count = self.hot.len() as u64;
            let (a, b) = (self.rng.below(count) as usize, self.rng.below(count) as usize);
            self.hot.swap(a, b);
        }
        let zone = self.hot[self.heat.draw(&mut self.rng) as usize];
        let block = zone.block(self.blocks.draw(&mut self.rng));
        // One to four blocks, short ones more often.
        let blocks = 1 + self.rng.below(4).min(self.rng.below(4));
        access(zone.zone, block, blocks.min(ZONE_BLOCKS - block), op)
    }

    fn cold(&mut self, op: Op) -> Access {
        // Some reads find what streams wrote.
        let sequential = op == Op::Read && self.rng.chance(Share::percent(20));
        let zones = if sequential { &self.sequential } else { &self.cold };
        let zone = pick(zones, &mut self.rng);
        let block = self.rng.below(ZONE_BLOCKS);
        let blocks = 1 + self.rng.below(2);
        access(zone, block, blocks.min(ZONE_BLOCKS - block), op)
    }
}

impl Pattern for Mixed {
    fn next(&mut self) -> Access {
        if self.rng.chance(self.write) {
            if self.rng.chance(WRITES_HOT) {
                return self.hot(Op::Write);
            }
            if self.rng.chance(WRITES_SEQUENTIAL) {
                let stream = self.rng.below(STREAMS as u64) as usize;
                return self.writers[stream].step(&self.sequential, &mut self.rng, Op::Write);
            }
            return self.cold(Op::Write);
        }
        if self.rng.chance(READS_HOT) {
            return self.hot(Op::Read);
        }
        if self.rng.chance(READS_SEQUENTIAL) {
            return self.reader.step(&self.sequential, &mut self.rng, Op::Read);
        }
        self.cold(Op::Read)
    }
}
