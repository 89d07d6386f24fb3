//! Random exploration of models that are too large to be explored completely. A run that reaches a
//! new aspect is kept, and later runs reuse parts of its history.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

use super::{Broken, Fingerprints, History, Model, replay};

/// The parameters of the runs.
#[derive(Clone, Copy, Debug)]
pub struct GuidedRuns {
    /// The first seed, and the number of seeds; one run for each.
    pub seeds: (u64, u64),
    /// The most steps of a run.
    pub steps_max: usize,
    /// One in this number of steps is a branch.
    pub branch_one_in: u64,
}

/// Statistics of the runs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct GuidedStats {
    /// Number of runs.
    pub plays: u64,
    /// Steps of all runs.
    pub steps: u64,
    /// Different aspects seen.
    pub aspects: u64,
    /// Runs that reached a new aspect.
    pub kept: u64,
}

/// The most histories kept: a further one replaces a random one.
const KEPT_MAX: usize = 4096;

/// Runs random histories from `begin` on. `aspect` reduces a state to what should be covered. It
/// must be coarser than the fingerprint, which is new in nearly every state.
///
/// # Errors
/// The first violation, with its history.
pub fn guided<M: Model + Clone>(
    begin: &M,
    plays: GuidedRuns,
    aspect: impl Fn(&M) -> u64,
) -> Result<GuidedStats, Broken<M::Step>> {
    let mut aspects = Fingerprints::default();
    let mut kept: Vec<History<M::Step>> = Vec::new();
    let mut played = GuidedStats::default();
    let (first, count) = plays.seeds;
    for seed in first..first + count {
        let mut chance = Chance(Xoshiro256PlusPlus::seed_from_u64(seed));
        let mut path = chance.prefix(&kept);
        let mut world = replay(begin.clone(), &path)?;
        let new_before = aspects.len();
        while path.len() < plays.steps_max {
            let Some(step) = chance.step(&world, plays.branch_one_in) else { break };
            path.push(step);
            let step = path.last().expect("just there");
            let next = std::panic::AssertUnwindSafe(|| world.after(step));
            world = match std::panic::catch_unwind(next) {
                Ok(world) => world,
                Err(panic) => {
                    return Err(Broken { what: super::panic_message(&*panic), steps: path });
                }
            };
            played.steps += 1;
            aspects.insert(aspect(&world), 0);
        }
        played.plays += 1;
        if aspects.len() > new_before {
            played.kept += 1;
            if kept.len() < KEPT_MAX {
                kept.push(path);
            } else {
                let at = chance.below(KEPT_MAX as u64) as usize;
                kept[at] = path;
            }
        }
    }
    played.aspects = aspects.len();
    Ok(played)
}

struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Chooses how a run begins: empty, or with a prefix of a kept history, perhaps with a part of
    /// another one appended or a few steps removed.
    fn prefix<S: Clone>(&mut self, kept: &[History<S>]) -> History<S> {
        if kept.is_empty() || self.below(8) == 0 {
            return Vec::new();
        }
        let mut any = || &kept[self.below(kept.len() as u64) as usize];
        let (one, other) = (any(), any());
        let to = self.below(one.len() as u64 + 1) as usize;
        let mut path = one[..to].to_vec();
        match self.below(3) {
            0 => {
                let from = self.below(other.len() as u64 + 1) as usize;
                let to = from + self.below((other.len() - from) as u64 + 1) as usize;
                path.extend_from_slice(&other[from..to]);
            }
            1 if to > 0 => {
                let from = self.below(to as u64) as usize;
                let count = 1 + self.below(4) as usize;
                path.drain(from..(from + count).min(to));
            }
            _ => {}
        }
        path
    }

    fn step<M: Model>(&mut self, world: &M, branch_one_in: u64) -> Option<M::Step> {
        let mut open = Vec::new();
        if self.below(branch_one_in) == 0 {
            world.branches(&mut open);
        }
        if open.is_empty() {
            world.steps(&mut open);
        }
        if open.is_empty() {
            world.branches(&mut open);
        }
        let bound = open.len() as u64;
        (bound > 0).then(|| open.swap_remove(self.below(bound) as usize))
    }
}
