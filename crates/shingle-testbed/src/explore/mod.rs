//! Complete exploration of the states of small models.
//!
//! A promise that holds "whatever happens" can be tested by trying everything that can happen, if
//! that is little enough. A [`Model`] is a state machine: it lists the steps that are enabled in a
//! state (a command, the end of an I/O, a power cut), and makes the state after a step. [`explore`]
//! tries every step of every state that it reaches:
//!
//! - Two histories that lead to the same state are merged. A state is identified by its fingerprint, 64 bits of
//!   all that determines its future. Of *n* states some two collide with a probability of *n*²/2⁶⁵,
//!   and the states behind the second are missed. For a hundred million states that is one in four thousand.
//! - Some steps depend on a part of the state only: a power cut depends on the media, not on memory.
//!   They are *branches*, and are tried once for each such part ([`Model::branch_key`]).
//! - A broken promise is a panic of the model. The exploration returns its history.
//! - A step is *calm* if it is no fault and no request: successful I/O, or time. Every wait must end by calm steps
//!   alone, in any order. A state is *stuck* if somebody waits and no calm step changes it. A wait is *in a circle*
//!   if calm steps return to the same state. Otherwise the longest sequence of calm steps is counted.
//!
//! [`shortest`] searches the shortest history to a broken promise, by iterative deepening.

mod fingerprints;
mod history;
mod shortest;

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use fingerprints::{Digest, Fingerprints};
pub use history::{History, pasted, replay, shrink};
pub use shortest::shortest;

pub use crate::quiet::Quiet;

/// A state machine; a value is one state.
pub trait Model: Sized {
    /// The type of a step.
    type Step: Clone + PartialEq + Debug;

    /// Lists the steps that are enabled here, except those of [`Model::branches`].
    fn steps(&self, into: &mut Vec<Self::Step>);

    /// The fingerprint of all that branches depend on; `None` if there are none.
    fn branch_key(&self) -> Option<u64>;

    /// Lists the steps that depend on the branch key only.
    fn branches(&self, into: &mut Vec<Self::Step>);

    /// Makes the state after a step. Panics if that breaks a promise.
    #[must_use]
    fn after(&self, step: &Self::Step) -> Self;

    /// The fingerprint of all that determines the future.
    fn fingerprint(&self) -> u64;

    /// Whether nobody waits for anything.
    fn is_at_rest(&self) -> bool;

    /// Whether a step is no fault and no request.
    fn is_calm(step: &Self::Step) -> bool;

    /// Whether a step only lets time pass. A cycle of such steps alone is allowed.
    fn is_time(step: &Self::Step) -> bool;

    /// Describes a step in this state.
    fn says(&self, step: &Self::Step) -> String {
        format!("{step:?}")
    }
}

/// Statistics of an exploration.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Explored {
    /// Different states.
    pub states: u64,
    /// Steps tried.
    pub steps: u64,
    /// Steps that led to a known state.
    pub merged: u64,
    /// States whose branches were tried: all others share their keys.
    pub branch_keys: u64,
    /// Length of the longest history.
    pub depth: u32,
    /// Length of the longest sequence of calm steps, from any state.
    pub calm_depth: u32,
    /// Steps that were not tried because of `states_max`: 0 if everything was explored.
    pub untried: u64,
    /// Memory of all fingerprints, in bytes.
    pub memory_bytes: u64,
}

/// A violation: a promise that was broken.
#[derive(Clone, PartialEq, Debug)]
pub struct Broken<S> {
    /// Describes the promise.
    pub what: String,
    /// The history that leads to it.
    pub steps: History<S>,
}

/// A state whose steps are being tried.
struct Visit<M: Model> {
    world: M,
    fingerprint: u64,
    steps: Vec<M::Step>,
    next: usize,
    /// Length of the longest known sequence of calm steps.
    calm: u32,
    /// A calm step changes the state.
    progresses: bool,
    at_rest: bool,
    /// Whether the step that led here was calm, and whether it was only time.
    by: (bool, bool),
}

impl<M: Model> Visit<M> {
    fn new(world: M, fingerprint: u64, branches: &mut Fingerprints, by: (bool, bool)) -> Visit<M> {
        let mut steps = Vec::new();
        world.steps(&mut steps);
        if world.branch_key().is_some_and(|key| branches.insert(key, 0)) {
            world.branches(&mut steps);
        }
        let at_rest = world.is_at_rest();
        Visit { world, fingerprint, steps, next: 0, calm: 0, progresses: false, at_rest, by }
    }
}

/// Tries every step of every state, from `begin` on, until all are known or there are `states_max`.
///
/// # Errors
/// The first violation with its history, which is not always the shortest.
pub fn explore<M: Model>(begin: M, states_max: u64) -> Result<Explored, Broken<M::Step>> {
    let mut explored = Explored::default();
    let (mut known, mut branches) = (Fingerprints::default(), Fingerprints::default());
    let fingerprint = begin.fingerprint();
    known.insert(fingerprint, UNFINISHED);
    let mut path = vec![Visit::new(begin, fingerprint, &mut branches, (false, false))];
    while let Some(visit) = path.last_mut() {
        let Some(step) = visit.steps.get(visit.next).cloned() else {
            if !visit.at_rest && !visit.progresses {
                return Err(broken(STUCK, &path, None));
            }
            let visit = path.pop().expect("the last");
            let calm = visit.calm;
            known.set(visit.fingerprint, calm.min(LONGEST) as u8);
            explored.calm_depth = explored.calm_depth.max(calm);
            if let Some(before) = path.last_mut()
                && visit.by.0
            {
                before.calm = before.calm.max(calm + 1);
            }
            continue;
        };
        visit.next += 1;
        explored.steps += 1;
        let (calm, time) = (M::is_calm(&step), M::is_time(&step));
        let world = match catch_unwind(AssertUnwindSafe(|| visit.world.after(&step))) {
            Ok(world) => world,
            Err(panic) => return Err(broken(&panic_message(&*panic), &path, Some(step))),
        };
        let fingerprint = world.fingerprint();
        if calm && fingerprint != visit.fingerprint {
            visit.progresses = true;
        }
        if known.insert(fingerprint, UNFINISHED) {
            let next = Visit::new(world, fingerprint, &mut branches, (calm, time));
            path.push(next);
            explored.depth = explored.depth.max(path.len() as u32 - 1);
            if known.len() >= states_max {
                break;
            }
            continue;
        }
        explored.merged += 1;
        match known.get(fingerprint) {
            Some(UNFINISHED) if calm && fingerprint != visit.fingerprint => {
                // The state is on the current path. (Steps other than calm ones are limited in
                // number, so they cannot lead back to an earlier state.)
                let from = path.iter().position(|visit| visit.fingerprint == fingerprint);
                let circle = &path[from.expect("it is on the way") + 1..];
                let waits = circle.iter().all(|visit| visit.by.0 && !visit.at_rest);
                if waits && !(time && circle.iter().all(|visit| visit.by.1)) {
                    return Err(broken("in a circle: somebody waits for ever", &path, Some(step)));
                }
            }
            Some(longest) if calm && longest != UNFINISHED => {
                let visit = path.last_mut().expect("there is one");
                visit.calm = visit.calm.max(u32::from(longest) + 1);
            }
            _ => {}
        }
    }
    explored.states = known.len();
    explored.branch_keys = branches.len();
    explored.memory_bytes = known.memory_bytes() + branches.memory_bytes();
    explored.untried = path.iter().map(|visit| (visit.steps.len() - visit.next) as u64).sum();
    Ok(explored)
}

const STUCK: &str = "stuck: somebody waits, and nothing can happen";

/// Marks a state whose steps are still being tried.
const UNFINISHED: u8 = u8::MAX;
/// Longer sequences count as this long.
const LONGEST: u32 = UNFINISHED as u32 - 1;

fn broken<M: Model>(what: &str, path: &[Visit<M>], last: Option<M::Step>) -> Broken<M::Step> {
    // (Each visit's `next` is already past the step that was taken.)
    let steps = path.iter().take(path.len() - 1).map(|visit| visit.steps[visit.next - 1].clone());
    Broken { what: what.to_owned(), steps: steps.chain(last).collect() }
}

pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}
