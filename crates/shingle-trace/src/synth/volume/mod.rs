//! `msr-NAME`: a volume of the papers, shaped by what they publish about it.
//!
//! ```text
//! first    each block in use once, zone by zone, clusters out of order, evenly over the trace
//! hot      a few zones are active at a time, each until it has had so many accesses to each block;
//!          full zones become active more often. In an active zone some requests pass over all its
//!          blocks, the others go to its hot clusters
//! cold     any cluster in use, as likely as any other
//! ```
//!
//! Hot and cold requests come in short visits to a zone, as long as the published share of
//! sequential writes asks for. Reads have blocks of their own, in the same zones and in those that
//! are only read; some of them go where writes go. Lengths are drawn around a mean that follows
//! what was made so far, so block counts come out; the published means are all that is known of
//! lengths. What no paper fixes is in `free.rs`.
//!
//! The sequence does not depend on how much of it is asked for: less is its beginning. After the
//! full length it goes on in the same way.

mod counts;
mod free;
mod layout;
mod plan;
mod power;

use std::sync::{Arc, LazyLock};

use shingle_core::units::{BLOCK_BYTES, Op};

use super::parameters::{Kind, Parameter, Values};
use super::rng::{Rng, Seed};
use super::{Access, Pattern, Workload};
use crate::error::Problem;
use crate::volumes::{VOLUMES, Volume, named};
pub(crate) use free::{Free, parameters};
use layout::Zone;
use plan::Part;
pub(crate) use plan::Plan;

/// A prime above the clusters of a zone: multiples of it reach every cluster, and out of order.
const STRIDE: u64 = 7_919;
const WEEK_SECONDS: f64 = 604_800.0;

/// The workloads of all volumes.
pub(super) fn workloads() -> impl Iterator<Item = Workload> {
    // Made once, so their texts may stay for good.
    static OWN: LazyLock<Vec<(&str, Vec<Parameter>)>> = LazyLock::new(|| {
        let about = |volume: &Volume| {
            format!("MSR Cambridge {} as published: {}", volume.name, volume.about).leak() as &str
        };
        VOLUMES.iter().map(|volume| (about(volume), own(volume))).collect()
    });
    let pairs = VOLUMES.iter().zip(OWN.iter());
    pairs.map(|(volume, (about, own))| Workload { name: volume.workload, about, own, make })
}

fn own(volume: &'static Volume) -> Vec<Parameter> {
    let requests = Plan::new(volume, &Free::of_volume(volume), 0).requests();
    let iops = format!("{:.3}", requests as f64 / WEEK_SECONDS).leak();
    let length = Parameter {
        name: "requests",
        default: requests.to_string().leak(),
        about: "how many requests; the default is the whole trace",
        kind: Kind::Count(1, 10_000_000_000),
    };
    let rate = Parameter {
        name: "iops",
        default: iops,
        about: "requests a second, on average, idle time included; the default makes a week of all",
        kind: Kind::Number(0.001, 1e7),
    };
    parameters(&[volume]).into_iter().chain([length, rate]).collect()
}

fn make(values: &Values, seed: Seed) -> Result<Box<dyn Pattern>, Problem> {
    let volume = named(seed.workload).expect("the workload is a volume's");
    Ok(Box::new(Generator::new(Plan::new(volume, &Free::of(values), seed.seed))))
}

/// Makes a volume's requests.
pub(crate) struct Generator {
    plan: Arc<Plan>,
    rng: Rng,
    write: State,
    read: State,
    /// Sectors that writes should have fallen short of whole blocks and did not, in 2^-16.
    owed: u64,
    short: Rng,
}

/// Where one operation is.
struct State {
    active: Vec<Active>,
    /// How often a zone has become active: each time other clusters are the hot ones.
    turns: Vec<u32>,
    visit: Visit,
    first: First,
    /// Blocks made, and what should have been by their mean, in 2^-16.
    made: u64,
    due: u64,
}

/// A zone while hot requests go there.
#[derive(Clone, Copy)]
struct Active {
    zone: u32,
    /// Blocks until another takes its place.
    left: u64,
    /// Where the pass over its blocks is: cluster, and block within it.
    pass: (u32, u64),
}

/// Some requests to one zone.
#[derive(Clone, Copy, Default)]
struct Visit {
    zone: u32,
    /// Its place among the active ones, of a hot visit.
    place: usize,
    hot: bool,
    /// Of a read: to the blocks that writes use.
    to_written: bool,
}

/// The run through all blocks in use.
#[derive(Clone, Copy, Default)]
struct First {
    turn: usize,
    cluster: u32,
    /// Within the cluster.
    block: u64,
    running: bool,
    /// Blocks accessed so far.
    blocks: u64,
}

impl Generator {
    pub(crate) fn new(plan: Arc<Plan>) -> Generator {
        let mut rng = plan.seed.stream("requests");
        let state = |part: &Part| State {
            active: Vec::with_capacity(part.active),
            turns: vec![0; part.layout.zones.len()],
            visit: Visit::default(),
            first: First::default(),
            made: 0,
            due: 0,
        };
        let (mut write, mut read) = (state(&plan.write), state(&plan.read));
        write.start(&plan, &plan.write, &mut rng);
        read.start(&plan, &plan.read, &mut rng);
        // Lengths in bytes draw apart, so that the blocks are the same whether anyone asks for bytes.
        let short = plan.seed.stream("short");
        Generator { plan, rng, write, read, owed: 0, short }
    }

    /// The next request in blocks: first, length, and whether it writes.
    #[inline]
    pub(crate) fn next_blocks(&mut self) -> (u64, u64, bool) {
        let Generator { plan, rng, write, read, .. } = self;
        if rng.chance(plan.writes) {
            let (first, blocks) = write.next(plan, &plan.write, None, rng);
            (first, blocks, true)
        } else {
            let (first, blocks) = read.next(plan, &plan.read, Some((&plan.write, write)), rng);
            (first, blocks, false)
        }
    }
}

impl State {
    fn start(&mut self, plan: &Plan, part: &Part, rng: &mut Rng) {
        for _ in 0..part.active {
            let mut active = self.activate(plan, part, rng);
            active.left = 1 + rng.below(active.left); // they end at different times
            self.active.push(active);
        }
        self.visit = self.visit(plan, part, rng);
    }

    /// The next request of this operation. `written` is where writes go, for reads.
    fn next(
        &mut self,
        plan: &Plan,
        part: &Part,
        written: Option<(&Part, &State)>,
        rng: &mut Rng,
    ) -> (u64, u64) {
        let wanted = self.length(plan, part, rng);
        let (first, blocks) = if self.first.is_due(part, self.made) {
            self.first.next(part, wanted)
        } else {
            if !rng.chance(plan.stay) {
                let to_written = written.is_some() && rng.chance(plan.overlap);
                self.visit = match written.filter(|_| to_written) {
                    Some((part, state)) => Visit { to_written, ..state.visit(plan, part, rng) },
                    None => self.visit(plan, part, rng),
                };
            }
            match written.filter(|_| self.visit.to_written) {
                Some((part, state)) => place(plan, part, &state.turns, self.visit, wanted, rng),
                None => {
                    let (first, blocks) = match self.passing(rng.chance(plan.pass)) {
                        Some(active) => active.go_on(part, wanted),
                        None => place(plan, part, &self.turns, self.visit, wanted, rng),
                    };
                    self.count(plan, part, blocks, rng);
                    (first, blocks)
                }
            }
        };
        self.made += blocks;
        (first, blocks)
    }

    /// A zone to go to next: an active one, or any by its blocks in use.
    fn visit(&self, plan: &Plan, part: &Part, rng: &mut Rng) -> Visit {
        if rng.chance(plan.cold) {
            let zone = rng.below(part.layout.zones.len() as u64) as u32;
            return Visit { zone, ..Visit::default() };
        }
        let place = rng.below(self.active.len() as u64) as usize;
        Visit { zone: self.active[place].zone, place, hot: true, to_written: false }
    }

    /// The active zone that is visited, if its pass goes on.
    fn passing(&mut self, goes_on: bool) -> Option<&mut Active> {
        let Visit { zone, place, hot, .. } = self.visit;
        let active = self.active.get_mut(place).filter(|active| active.zone == zone);
        active.filter(|_| hot && goes_on)
    }

    /// Counts blocks of the zone that is visited; when it has had its share, another becomes active.
    fn count(&mut self, plan: &Plan, part: &Part, blocks: u64, rng: &mut Rng) {
        let Visit { zone, place, hot, .. } = self.visit;
        if !hot || self.active[place].zone != zone {
            return;
        }
        let left = &mut self.active[place].left;
        *left = left.saturating_sub(blocks);
        if *left == 0 {
            self.active[place] = self.activate(plan, part, rng);
        }
    }

    /// A zone that becomes active: by its blocks in use, and hardly ever one that is active already.
    fn activate(&mut self, plan: &Plan, part: &Part, rng: &mut Rng) -> Active {
        const TRIES: usize = 8;
        let mut zone = 0;
        for _ in 0..TRIES {
            let block = rng.below(part.layout.blocks());
            zone = part.layout.ends.partition_point(|end| *end <= block) as u32;
            if self.active.iter().all(|active| active.zone != zone) {
                break;
            }
        }
        let turns = &mut self.turns[zone as usize];
        *turns = turns.wrapping_add(1);
        let blocks = u64::from(part.layout.zones[zone as usize].blocks);
        Active { zone, left: ((blocks * plan.dwell) >> 16).max(1), pass: (0, 0) }
    }

    /// A length around the published mean, longer after short ones: clusters cut some off.
    fn length(&mut self, plan: &Plan, part: &Part, rng: &mut Rng) -> u64 {
        const CATCH_UP_REQUESTS: i64 = 64;
        let mean = (part.side.blocks << 16) / part.side.requests;
        self.due += mean;
        let behind = self.due as i64 - (self.made << 16) as i64;
        let wanted = mean as i64 + behind / CATCH_UP_REQUESTS;
        plan.lengths.draw(wanted.clamp(1 << 16, 4 * mean as i64) as u64, rng)
    }
}

impl Active {
    /// The next blocks of the pass: cluster by cluster, and again from the first.
    fn go_on(&mut self, part: &Part, wanted: u64) -> (u64, u64) {
        let zone = part.layout.zones[self.zone as usize];
        let (first, length) = in_turn(zone, self.pass.0);
        let blocks = wanted.min(length - self.pass.1);
        let at = first + self.pass.1;
        self.pass.1 += blocks;
        if self.pass.1 == length {
            self.pass = ((self.pass.0 + 1) % zone.clusters, 0);
        }
        (at, blocks)
    }
}

/// The clusters of a zone one after another, out of the order of their addresses: without a cache
/// hardly a write of ROCO's volumes continues its zone (ROCO Fig. 9, HA), even of src2_2, whose zones
/// are written in one go (§4.2).
fn in_turn(zone: Zone, turn: u32) -> (u64, u64) {
    zone.cluster((u64::from(turn) * STRIDE % u64::from(zone.clusters)) as u32)
}

impl First {
    /// Whether the run through all blocks is behind what was made altogether.
    fn is_due(&self, part: &Part, made: u64) -> bool {
        let zone = part.layout.zones[part.by_turn[self.turn] as usize];
        // A zone is begun when half of it is due, so on average the run is where it should be.
        let ahead = if self.running { 0 } else { u64::from(zone.blocks) / 2 };
        self.running || (self.blocks + ahead) * part.side.blocks <= made * part.layout.blocks()
    }

    fn next(&mut self, part: &Part, wanted: u64) -> (u64, u64) {
        let zone = part.layout.zones[part.by_turn[self.turn] as usize];
        let (first, length) = in_turn(zone, self.cluster);
        let blocks = wanted.min(length - self.block);
        let at = first + self.block;
        self.block += blocks;
        self.blocks += blocks;
        self.running = true;
        if self.block == length {
            (self.block, self.cluster) = (0, self.cluster + 1);
        }
        if self.cluster == zone.clusters {
            (self.cluster, self.running) = (0, false);
            self.turn = (self.turn + 1) % part.by_turn.len();
        }
        (at, blocks)
    }
}

/// Blocks of a cluster of the zone that is visited.
fn place(
    plan: &Plan,
    part: &Part,
    turns: &[u32],
    visit: Visit,
    wanted: u64,
    rng: &mut Rng,
) -> (u64, u64) {
    let zone = part.layout.zones[visit.zone as usize];
    let clusters = u64::from(zone.clusters);
    let cluster = if visit.hot {
        let rank = plan.block_heat.draw(clusters, rng);
        (rank * STRIDE + u64::from(zone.zone) + u64::from(turns[visit.zone as usize]) * 977)
            % clusters
    } else {
        rng.below(clusters)
    };
    let (first, length) = zone.cluster(cluster as u32);
    let blocks = wanted.min(length);
    (first + rng.below(length - blocks + 1), blocks)
}

impl Pattern for Generator {
    fn next(&mut self) -> Access {
        let (first, blocks, write) = self.next_blocks();
        let (offset, bytes) = (first * BLOCK_BYTES, blocks * BLOCK_BYTES);
        if !write {
            return Access { offset, bytes, op: Op::Read };
        }
        let short = self.short_bytes();
        // At its beginning or its end; the blocks stay the same.
        let begin = if self.short.below(2) == 0 { short } else { 0 };
        Access { offset: offset + begin, bytes: bytes - short, op: Op::Write }
    }
}

impl Generator {
    /// Bytes by which the next write falls short of whole blocks: less than one block.
    fn short_bytes(&mut self) -> u64 {
        const SECTORS: u64 = BLOCK_BYTES / 512;
        if self.plan.short_sectors == 0 {
            return 0;
        }
        self.owed += self.plan.short_sectors;
        let owed = self.owed >> 16;
        let short = self.short.below(SECTORS).max((owed / 2).min(SECTORS - 1)).min(owed);
        self.owed -= short << 16;
        short * 512
    }
}
