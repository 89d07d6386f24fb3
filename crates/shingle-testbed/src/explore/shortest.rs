//! The search for the shortest history to a broken promise.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Broken, Fingerprints, Model, panic_message};

/// Tries all histories of one step, then of two, and so on up to `depth_max`. In each round a state
/// is expanded only if it was not reached by a shorter history. Returns the number of states seen,
/// and a shortest history to a violation if there is one. Stops when one round has seen more than
/// `states_max` states.
///
/// (Endless waits are not detected: [`super::explore`] does that.)
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
            path: Vec::new(),
            states_max,
            cut_off: false,
        };
        search.known.insert(begin.fingerprint(), depth);
        let found = search.descend(begin, depth);
        states = search.known.len();
        if let Some(what) = found {
            return (states, Some(Broken { what, steps: search.path }));
        }
        if !search.cut_off || states >= states_max {
            break;
        }
    }
    (states, None)
}

struct Search<M: Model> {
    /// For each known state: the steps that were left when it was reached.
    known: Fingerprints,
    branches: Fingerprints,
    path: Vec<M::Step>,
    states_max: u64,
    /// There are longer histories.
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
            self.path.push(step.clone());
            let next = match catch_unwind(AssertUnwindSafe(|| world.after(&step))) {
                Ok(next) => next,
                Err(panic) => return Some(panic_message(&*panic)),
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
            self.path.pop();
        }
        None
    }
}

/// Whether more steps are left than at the last visit.
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
