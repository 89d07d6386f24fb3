//! The shortest way to a broken promise.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Broken, Fingerprints, Model, told};

/// Tries all ways of one step, then of two, and so on up to `depth_max`; each time a state is gone on from only if it
/// was not reached by a shorter way. Returns the first way to a broken promise, which none is shorter than; or,
/// if there is none, the states seen, and `None` for the way. Stops when more than `states_max` were seen in one round.
///
/// (That somebody waits for ever is not looked for: [`super::explore`] does that.)
pub fn shortest<M: Model + Clone>(
    begin: &M,
    depth_max: u8,
    states_max: u64,
) -> (u64, Option<Broken<M::Step>>) {
    let mut states = 0;
    for depth in 1..=depth_max {
        let mut search = Search {
            known: Fingerprints::default(),
            branches: Fingerprints::default(),
            way: Vec::new(),
            states_max,
            cut_off: false,
        };
        search.known.insert(begin.fingerprint(), depth);
        let found = search.descend(begin, depth);
        states = search.known.len();
        if let Some(what) = found {
            return (states, Some(Broken { what, steps: search.way }));
        }
        if !search.cut_off || states >= states_max {
            break;
        }
    }
    (states, None)
}

struct Search<M: Model> {
    /// With how many steps were left when it was reached.
    known: Fingerprints,
    branches: Fingerprints,
    way: Vec<M::Step>,
    states_max: u64,
    /// There are longer ways.
    cut_off: bool,
}

impl<M: Model> Search<M> {
    fn descend(&mut self, world: &M, left: u8) -> Option<String> {
        let mut steps = Vec::new();
        world.steps(&mut steps);
        if world.branch_key().is_some_and(|key| is_better(&mut self.branches, key, left)) {
            world.branches(&mut steps);
        }
        for step in steps {
            self.way.push(step.clone());
            let next = match catch_unwind(AssertUnwindSafe(|| world.after(&step))) {
                Ok(next) => next,
                Err(panic) => return Some(told(&*panic)),
            };
            if is_better(&mut self.known, next.fingerprint(), left - 1) {
                if left == 1 {
                    self.cut_off = true;
                } else if let Some(what) = self.descend(&next, left - 1) {
                    return Some(what);
                }
                if self.known.len() >= self.states_max {
                    return None;
                }
            }
            self.way.pop();
        }
        None
    }
}

/// Whether more steps are left than when it was met before.
fn is_better(known: &mut Fingerprints, fingerprint: u64, left: u8) -> bool {
    if known.insert(fingerprint, left) {
        return true;
    }
    let better = known.get(fingerprint).is_some_and(|before| before < left);
    if better {
        known.set(fingerprint, left);
    }
    better
}
