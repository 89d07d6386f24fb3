//! Generates the requests of a volume.
//!
//! ```text
//! first    every block in use once, in long requests, zone by zone, evenly over the trace
//! again    a distance is drawn from the distribution of the volume's reuses (curve.rs). An extent at
//!          that distance is accessed again, with the same start and length:
//!          · the one that followed the last reuse in the previous order, or
//!          · one in the zone of the last access, or in an active zone, if there is any, or
//!          · one in any other zone, which becomes active
//! ```
//!
//! A zone is active until it has had a number of accesses to each block. The length of a visit to a
//! zone follows from the published share of sequential writes. Among extents at about the same
//! distance, short or long ones are preferred so that the published number of blocks is met. Reads
//! have extents of their own, in the same zones and in those that are only read; some of them
//! access written extents. In a zone that is written once (`once`) nothing is written again. Free
//! parameters are in `free.rs`.
//!
//! A shorter sequence is a prefix of a longer one. After the full length there are no first
//! accesses any more, and reuses continue.

use std::sync::Arc;

use shingle_core::units::{BLOCK_BYTES, Op};

use super::candidates::Candidates;
use super::curve::{Balance, Drawn};
use super::plan::{Part, Plan};
use super::recency::{Near, OldPosition, Recency};
use crate::synth::rng::{Rng, Share};
use crate::synth::workload::{Access, Pattern};

/// The most distances that are drawn until an extent is found there.
const DRAWS_MAX: usize = 4;

/// Generates a volume's requests.
pub(crate) struct Generator {
    plan: Arc<Plan>,
    rng: Rng,
    /// The accessed extents, ordered by their last access.
    recency: Recency,
    balance: Balance,
    order: Order,
    write: State,
    read: State,
    /// Sectors by which writes still have to be shorter than whole blocks, in 2^-16.
    short_sectors: u64,
    short_rng: Rng,
}

struct State {
    requests: u64,
    blocks: u64,
    /// Number of first accesses so far.
    first_accesses: u32,
    /// Whether first accesses are within a cluster, which is continued to its end.
    in_cluster: bool,
    active: Vec<Active>,
    /// The zone of the last access.
    zone: Option<u32>,
    drawn: Option<Drawn>,
    run: u64,
    /// Accesses in runs of three or more to a zone.
    in_runs: u64,
}

/// Whether reuses repeat the previous order.
#[derive(Default)]
struct Order {
    /// The position that the extent reused last had before.
    before: Option<OldPosition>,
    reuses: u64,
    /// Number of reuses that repeated the previous order.
    in_order: u64,
}

impl Order {
    /// Returns the extent that followed in the previous order, as often as wanted: more often if
    /// such reuses are behind.
    fn draw_follower(&self, plan: &Plan, recency: &Recency, rng: &mut Rng) -> Option<usize> {
        const WITHIN_REUSES: f64 = 512.0;
        let behind = plan.follow * self.reuses as f64 - self.in_order as f64;
        let repeats = rng.chance(Share::of(plan.follow + behind / WITHIN_REUSES));
        if repeats { self.next(recency) } else { None }
    }

    fn next(&self, recency: &Recency) -> Option<usize> {
        self.before.and_then(|before| recency.successor(before))
    }

    /// Counts a reuse of the extent at a position.
    fn count(&mut self, position: usize, recency: &Recency) {
        self.reuses += 1;
        self.in_order += u64::from(self.next(recency) == Some(position));
        self.before = Some(recency.keep_position(position));
    }
}

/// A zone that currently receives requests.
#[derive(Clone, Copy)]
struct Active {
    zone: u32,
    /// Blocks to access until the zone is no longer active.
    blocks_left: u64,
}

/// What is drawn for a reuse besides its distance and length.
struct Visit {
    /// In the zone of the last access.
    stays: bool,
    /// Not in an active zone, and makes none active.
    cold: bool,
    /// The first of the active zones to look at, and the one that a new one replaces.
    slot: usize,
}

impl Generator {
    pub(crate) fn new(plan: Arc<Plan>) -> Generator {
        let rng = plan.seed.stream("requests");
        let state = |part: &Part| State {
            requests: 0,
            blocks: 0,
            first_accesses: 0,
            in_cluster: false,
            active: Vec::with_capacity(part.active),
            zone: None,
            drawn: None,
            run: 0,
            in_runs: 0,
        };
        let (write, read) = (state(&plan.write), state(&plan.read));
        let recency = Recency::new(plan.lists());
        let balance = Balance::new(&plan.curve, plan.reuses());
        // Lengths in bytes have their own stream, so that the blocks do not depend on whether bytes
        // are requested.
        let short_rng = plan.seed.stream("short");
        let order = Order::default();
        Generator { plan, rng, recency, balance, order, write, read, short_sectors: 0, short_rng }
    }

    /// Returns the next request in blocks: first block, length, and whether it writes.
    #[inline]
    pub(crate) fn next_blocks(&mut self) -> (u64, u64, bool) {
        let write = self.rng.chance(self.plan.writes);
        let (first, blocks) = self.next_of(write);
        (first, blocks, write)
    }

    fn next_of(&mut self, write: bool) -> (u64, u64) {
        let Generator { plan, rng, recency, balance, order, .. } = self;
        let (part, state) =
            if write { (&plan.write, &mut self.write) } else { (&plan.read, &mut self.read) };
        let again = if state.first_is_due(part) {
            None
        } else {
            let to_written = write || rng.chance(plan.overlap);
            let follower = order.draw_follower(plan, recency, rng);
            let candidates = Candidates { plan, part, recency, write, to_written, long: false };
            state.pick_reuse(candidates, follower, balance, rng)
        };
        let number = match again {
            Some(position) => recency.extent(position).expect("it was found there"),
            None => part.first_number + state.first_accesses,
        };
        let extent = plan.extent(number);
        let list = plan.list(number);
        match again {
            Some(position) => {
                balance.count(&plan.curve, recency.depth(position));
                order.count(position, recency);
                recency.move_to_top(position, list);
            }
            None => {
                state.first_accesses += 1;
                state.in_cluster = !extent.last;
                recency.push(number, list);
            }
        }
        state.count(list, u64::from(extent.blocks));
        (u64::from(extent.first), u64::from(extent.blocks))
    }
}

impl State {
    /// Returns whether a first access is due; one must come before any reuse.
    fn first_is_due(&self, part: &Part) -> bool {
        let (first_accesses, starts) = (u64::from(self.first_accesses), part.extents.len() as u64);
        let due = self.in_cluster || first_accesses * part.side.requests <= self.requests * starts;
        due && first_accesses < starts
    }

    /// Returns the position of the extent to reuse: the follower, if it is allowed.
    fn pick_reuse(
        &mut self,
        mut candidates: Candidates,
        follower: Option<usize>,
        balance: &Balance,
        rng: &mut Rng,
    ) -> Option<usize> {
        let Candidates { plan, part, recency, write, to_written, .. } = candidates;
        if let Some(position) = follower.and_then(|position| candidates.fits(position, to_written))
        {
            return Some(position);
        }
        let visit = Visit {
            stays: rng.chance(self.stay_chance(plan)),
            cold: rng.chance(plan.cold),
            slot: rng.below(part.active as u64) as usize,
        };
        // A visit continues at about the same distance.
        let mut drawn = self
            .drawn
            .filter(|_| visit.stays)
            .unwrap_or_else(|| balance.draw(&plan.curve, write, recency.len(), rng));
        candidates.long = rng.chance(self.long_chance(plan, part, drawn));
        // At a large distance there may be no extent of this operation.
        for _ in 0..DRAWS_MAX {
            self.drawn = Some(drawn);
            if let Some(found) = self.pick_near(&candidates, &visit, recency.near(drawn)) {
                return Some(found);
            }
            drawn = plan.curve.draw(write, recency.len(), rng);
        }
        candidates.anywhere(recency.near(drawn))
    }

    /// Returns the position of the extent to reuse at about the distance `near`, if there is one.
    fn pick_near(&mut self, candidates: &Candidates, visit: &Visit, near: Near) -> Option<usize> {
        let &Candidates { write, to_written, .. } = candidates;
        if write != to_written
            && let Some(found) = candidates.at(near, to_written).next()
        {
            return Some(found);
        }
        let in_zone = |zone: u32| candidates.in_zone(zone, near);
        if visit.stays
            && let Some(found) = self.zone.and_then(in_zone)
        {
            return Some(found);
        }
        let goes_to = |zone: u32| visit.stays || self.zone != Some(zone);
        if !visit.cold {
            let (before, from) = self.active.split_at(visit.slot.min(self.active.len()));
            let active = from.iter().chain(before).map(|active| active.zone);
            let found = active.filter(|zone| goes_to(*zone)).find_map(in_zone);
            if found.is_some() {
                return found;
            }
        }
        let others =
            candidates.at(near, write).filter(|position| goes_to(candidates.zone(*position)));
        if let Some(found) = candidates.best(others) {
            if !visit.cold {
                self.activate(visit.slot, candidates, found);
            }
            return Some(found);
        }
        // Reads prefer written extents to another distance; writes never access extents that
        // are only read.
        let written = || if write || to_written { None } else { candidates.at(near, true).next() };
        candidates.best(candidates.at(near, write)).or_else(written)
    }

    /// Makes the zone of an extent an active one.
    fn activate(&mut self, slot: usize, candidates: &Candidates, position: usize) {
        let (zone, blocks) = (candidates.zone(position), candidates.zone_blocks(position));
        let active = Active { zone, blocks_left: ((blocks * candidates.plan.dwell) >> 16).max(1) };
        match self.active.get_mut(slot) {
            Some(old) => *old = active,
            None => self.active.push(active),
        }
    }

    fn count(&mut self, zone: u32, blocks: u64) {
        self.requests += 1;
        self.blocks += blocks;
        self.run = if self.zone == Some(zone) { self.run + 1 } else { 1 };
        self.in_runs += match self.run {
            0..3 => 0,
            3 => 3,
            _ => 1,
        };
        self.zone = Some(zone);
        if let Some(at) = self.active.iter().position(|active| active.zone == zone) {
            let blocks_left = &mut self.active[at].blocks_left;
            *blocks_left = blocks_left.saturating_sub(blocks);
            if *blocks_left == 0 {
                self.active.swap_remove(at);
            }
        }
    }

    /// Returns the chance that a long extent is preferred: higher if blocks are behind, and
    /// depending on the distance.
    fn long_chance(&self, plan: &Plan, part: &Part, drawn: Drawn) -> Share {
        const WITHIN_REQUESTS: f64 = 1_024.0;
        let mean = part.side.blocks as f64 / part.side.requests as f64;
        let behind = self.requests as f64 - self.blocks as f64 / mean;
        let far = f64::from(drawn.nearer_share) / f64::from(1 << 19) - 1.0;
        Share::of(0.5 + plan.long_far * far + behind / WITHIN_REQUESTS)
    }

    /// Returns the chance that the zone of the last access is accessed again: higher if runs are
    /// behind.
    fn stay_chance(&self, plan: &Plan) -> Share {
        const WITHIN_REQUESTS: f64 = 512.0;
        let behind = plan.sequential * self.requests as f64 - self.in_runs as f64;
        Share::of((plan.stay + behind / WITHIN_REQUESTS).clamp(0.0, 0.98))
    }
}

impl Pattern for Generator {
    fn next(&mut self) -> Access {
        let (first, blocks, write) = self.next_blocks();
        let (offset, bytes) = (first * BLOCK_BYTES, blocks * BLOCK_BYTES);
        if !write {
            return Access { offset, bytes, op: Op::Read };
        }
        let short = self.short_bytes();
        // Shortened at its start or its end, within its blocks.
        let begin = if self.short_rng.below(2) == 0 { short } else { 0 };
        Access { offset: offset + begin, bytes: bytes - short, op: Op::Write }
    }
}

impl Generator {
    /// Returns the bytes by which the next write is shorter than whole blocks: less than one block.
    fn short_bytes(&mut self) -> u64 {
        const SECTORS: u64 = BLOCK_BYTES / 512;
        if self.plan.short_sectors == 0 {
            return 0;
        }
        self.short_sectors += self.plan.short_sectors;
        let short_sectors = self.short_sectors >> 16;
        let short = self
            .short_rng
            .below(SECTORS)
            .max((short_sectors / 2).min(SECTORS - 1))
            .min(short_sectors);
        self.short_sectors -= short << 16;
        short * 512
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use shingle_core::units::Block;

    use super::*;
    use crate::analysis::starts::Starts;
    use crate::synth::volume::Free;
    use crate::volumes::named;
    use crate::zones::ZONE_BLOCKS;

    /// Returns the start of a volume: block, length, and whether it writes.
    fn requests(name: &str, count: usize) -> Vec<(u64, u64, bool)> {
        let volume = named(name).expect("it is described");
        let mut generator = Generator::new(Plan::new(volume, &Free::of_volume(volume), 3));
        (0..count).map(|_| generator.next_blocks()).collect()
    }

    /// A reuse repeats start and length; first accesses are longer.
    #[test]
    fn rewrites_repeat_requests_and_first_ones_are_longer() {
        for name in ["wdev_0", "rsrch_0", "src2_0", "stg_0", "hm_0", "web_0"] {
            let mean = |some: &[u64]| some.iter().sum::<u64>() as f64 / some.len() as f64;
            let (mut first, mut again) = (Vec::new(), Vec::new());
            let mut last: HashMap<u64, u64> = HashMap::new();
            let requests = requests(name, 150_000);
            for (start, blocks, _) in requests.into_iter().filter(|(_, _, write)| *write) {
                match last.insert(start, blocks) {
                    None => first.push(blocks),
                    Some(length) => {
                        assert_eq!(length, blocks, "{name}: block {start}");
                        again.push(blocks);
                    }
                }
            }
            assert!(mean(&first) > 1.2 * mean(&again), "{name}: {} {}", mean(&first), mean(&again));
        }
    }

    /// Nothing is written again in the share of zones that are written once; by default there are
    /// none.
    #[test]
    fn some_zones_are_written_once() {
        let volume = named("wdev_0").expect("it is described");
        let zones_of_rewrites = |once| {
            let free = Free { once, ..Free::of_volume(volume) };
            let mut generator = Generator::new(Plan::new(volume, &free, 3));
            let (mut starts, mut zones) = (HashSet::new(), [HashSet::new(), HashSet::new()]);
            for _ in 0..generator.plan.requests() {
                let (start, _, write) = generator.next_blocks();
                if write {
                    let again = !starts.insert(start);
                    zones[usize::from(again)].insert(start / ZONE_BLOCKS);
                }
            }
            zones.map(|zones| zones.len() as f64)
        };
        let [first, again] = zones_of_rewrites(0.0);
        assert!(again > 0.95 * first, "{again} of {first}");
        let [first, again] = zones_of_rewrites(0.8);
        assert!((0.18..0.22).contains(&(again / first)), "{again} of {first}");
    }

    /// Properties that recorded traces share hold at the start of a volume, too, as far as first
    /// accesses there permit.
    #[test]
    fn short_writes_come_again_sooner_and_reuses_in_the_old_order() {
        for name in ["wdev_0", "mds_0", "src2_0", "stg_0", "hm_0", "usr_0"] {
            let mut starts = Starts::default();
            for (start, blocks, write) in requests(name, 150_000) {
                starts.count(Block(start), blocks, write);
            }
            let (ratio, in_order) = (starts.short_to_long(), starts.in_order());
            assert!((1.2..4.5).contains(&ratio), "{name}: {ratio}");
            assert!((0.08..0.27).contains(&in_order), "{name}: {in_order}");
        }
    }
}
