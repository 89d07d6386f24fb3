//! Metadata writes of one commit complete together. The possible outcomes of crashes are the same
//! as if they completed one by one.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use shingle_testbed::explore::{Model, explore};

use super::scope::Scope;
use super::scopes::named;
use super::world::{Step, World};

/// A world, with the fingerprints of all outcomes of crashes so far.
struct Watched {
    world: World,
    left: Rc<RefCell<BTreeSet<u64>>>,
}

impl Model for Watched {
    type Step = Step;

    fn steps(&self, into: &mut Vec<Step>) {
        self.world.steps(into);
    }

    fn branch_key(&self) -> Option<u64> {
        self.world.branch_key()
    }

    fn branches(&self, into: &mut Vec<Step>) {
        self.world.branches(into);
    }

    fn after(&self, step: &Step) -> Watched {
        let next = Watched { world: self.world.after(step), left: self.left.clone() };
        if matches!(step, Step::Cut(_) | Step::Kill(_)) {
            self.left.borrow_mut().insert(next.fingerprint());
        }
        next
    }

    fn fingerprint(&self) -> u64 {
        self.world.fingerprint()
    }

    fn is_at_rest(&self) -> bool {
        self.world.is_at_rest()
    }

    fn is_calm(step: &Step) -> bool {
        World::is_calm(step)
    }

    fn is_time(step: &Step) -> bool {
        World::is_time(step)
    }
}

fn left_by_crashes(scope: Scope) -> BTreeSet<u64> {
    let left = Rc::default();
    let begin = Watched { world: World::new(scope), left: Rc::clone(&left) };
    let explored = explore(begin, u64::MAX).unwrap_or_else(|broken| panic!("{}", broken.what));
    println!("{}, one by one: {}: {} states", scope.name, scope.one_by_one, explored.states);
    left.take()
}

#[test]
fn what_ends_together_could_end_one_by_one() {
    for name in ["fua", "journal"] {
        let scope = Scope { commands: 1, crashes: 1, ..named(name) };
        let together = left_by_crashes(scope);
        let one_by_one = left_by_crashes(Scope { one_by_one: true, ..scope });
        assert!(together.len() > 20 && together == one_by_one, "{name}");
    }
}
