//! Worlds that are too large to be explored: played by chance, again and again. A play that comes where none was
//! before is kept, and later plays begin as it did, or go on as it did.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

use super::{Broken, Fingerprints, History, Model, replay};

/// How to play.
#[derive(Clone, Copy, Debug)]
pub struct Plays {
    /// The first seed, and how many; one seed is one play.
    pub seeds: (u64, u64),
    /// Steps of a play at most.
    pub steps_max: usize,
    /// One in so many steps is a branch.
    pub branch_one_in: u64,
}

/// What was played.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Played {
    /// Plays.
    pub plays: u64,
    /// Their steps.
    pub steps: u64,
    /// Different aspects seen.
    pub aspects: u64,
    /// Plays that saw one first.
    pub kept: u64,
}

/// Plays kept at most: a new one takes the place of any other.
const KEPT_MAX: usize = 4096;

/// Plays from `begin` on. `aspect` says of a world what is worth to be seen once: coarser than its fingerprint, of which
/// nearly each is new.
///
/// # Errors
/// The first promise that was broken, and the way to it, as it was gone.
pub fn guided<M: Model + Clone>(
    begin: &M,
    plays: Plays,
    aspect: impl Fn(&M) -> u64,
) -> Result<Played, Broken<M::Step>> {
    let mut aspects = Fingerprints::default();
    let mut kept: Vec<History<M::Step>> = Vec::new();
    let mut played = Played::default();
    let (first, count) = plays.seeds;
    for seed in first..first + count {
        let mut chance = Chance(Xoshiro256PlusPlus::seed_from_u64(seed));
        let mut way = chance.beginning(&kept);
        let mut world = replay(begin.clone(), &way)?;
        let new_before = aspects.len();
        while way.len() < plays.steps_max {
            let Some(step) = chance.step(&world, plays.branch_one_in) else { break };
            way.push(step);
            let step = way.last().expect("just there");
            let next = std::panic::AssertUnwindSafe(|| world.after(step));
            world = match std::panic::catch_unwind(next) {
                Ok(world) => world,
                Err(panic) => return Err(Broken { what: super::told(&*panic), steps: way }),
            };
            played.steps += 1;
            aspects.insert(aspect(&world), 0);
        }
        played.plays += 1;
        if aspects.len() > new_before {
            played.kept += 1;
            if kept.len() < KEPT_MAX {
                kept.push(way);
            } else {
                let at = chance.below(KEPT_MAX as u64) as usize;
                kept[at] = way;
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

    /// Nothing; or the beginning of a play that was kept, perhaps with a part of another one, or without one of its
    /// own.
    fn beginning<S: Clone>(&mut self, kept: &[History<S>]) -> History<S> {
        if kept.is_empty() || self.below(8) == 0 {
            return Vec::new();
        }
        let mut any = || &kept[self.below(kept.len() as u64) as usize];
        let (one, other) = (any(), any());
        let to = self.below(one.len() as u64 + 1) as usize;
        let mut way = one[..to].to_vec();
        match self.below(3) {
            0 => {
                let from = self.below(other.len() as u64 + 1) as usize;
                let to = from + self.below((other.len() - from) as u64 + 1) as usize;
                way.extend_from_slice(&other[from..to]);
            }
            1 if to > 0 => {
                let from = self.below(to as u64) as usize;
                let count = 1 + self.below(4) as usize;
                way.drain(from..(from + count).min(to));
            }
            _ => {}
        }
        way
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
