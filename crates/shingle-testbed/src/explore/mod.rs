//! Small worlds explored to the end, and larger ones by chance that learns.
//!
//! Whoever keeps a promise "whatever happens" can be held to it by trying all that can happen, if that is little enough.
//! A [`Model`] is a world that stands still: it says which steps may come next (a command, the end of an I/O,
//! a power cut), and what it is after one of them. [`explore`] tries every step of every state it finds:
//!
//! - Two ways that lead to the same state are one from there on. A state is known by its fingerprint, 64 bits of
//!   all that decides what comes later; of *n* states some two share one by chance with a probability of *n*²/2⁶⁵,
//!   and what lies behind the second is not seen. For a hundred million that is one in four thousand.
//! - Some steps look at a part of the state only: a power cut asks what stands on the media, not what is in
//!   memory. They are *branches*, and tried once for each such part ([`Model::branch_key`]).
//! - A broken promise is a panic of the model. What is printed is the way to it.
//! - Steps are *calm* that are nobody's fault and nobody's wish: I/O that goes well, and time. Whoever waits for
//!   something must get it by calm steps alone, in any order: a state is *stuck* if somebody waits and no calm
//!   step leads on, and it runs *in a circle* if calm steps lead back to it. Of all others the longest way of calm
//!   steps is counted.
//!
//! [`shortest`] looks for the shortest way to a broken promise, depth by depth. [`guided`](guided::guided) plays worlds that are
//! too large to be explored: by chance, from what had led to something new.

mod fingerprints;
pub mod guided;
mod history;
mod shortest;

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use fingerprints::{Digest, Fingerprints};
pub use history::{History, pasted, replay, shrink};
pub use shortest::shortest;

pub use crate::quiet::Quiet;

/// A world that stands still.
pub trait Model: Sized {
    /// What may come next.
    type Step: Clone + PartialEq + Debug;

    /// Every step from here, but those of [`Model::branches`].
    fn steps(&self, into: &mut Vec<Self::Step>);

    /// What the outcome of a branch depends on; `None` if there are none.
    fn branch_key(&self) -> Option<u64>;

    /// Steps that look at the branch key only.
    fn branches(&self, into: &mut Vec<Self::Step>);

    /// The world after a step. Panics if that breaks a promise.
    #[must_use]
    fn after(&self, step: &Self::Step) -> Self;

    /// Of all that decides what comes later.
    fn fingerprint(&self) -> u64;

    /// Nobody waits for anything.
    fn is_at_rest(&self) -> bool;

    /// Whether it is nobody's fault and nobody's wish.
    fn is_calm(step: &Self::Step) -> bool;

    /// Whether nothing happens but that time passes: a circle of such steps is none.
    fn is_time(step: &Self::Step) -> bool;

    /// What a step is, here, in words.
    fn says(&self, step: &Self::Step) -> String {
        format!("{step:?}")
    }
}

/// What was explored.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Explored {
    /// Different states.
    pub states: u64,
    /// Steps tried, and how many of them led to a state that was known.
    pub steps: u64,
    /// See `steps`.
    pub merged: u64,
    /// States of which the branches were tried: all others share them.
    pub branch_keys: u64,
    /// The longest way from the beginning that was gone.
    pub depth: u32,
    /// The longest way of calm steps from any state until nothing is left to happen.
    pub calm_depth: u32,
    /// Steps that were not tried, as there were too many states: 0 if all was explored.
    pub untried: u64,
    /// What all fingerprints take of memory.
    pub memory_bytes: u64,
}

/// A promise that was broken.
#[derive(Clone, PartialEq, Debug)]
pub struct Broken<S> {
    /// Which.
    pub what: String,
    /// The way to it.
    pub steps: History<S>,
}

/// A state whose steps are being tried.
struct Visit<M: Model> {
    world: M,
    fingerprint: u64,
    steps: Vec<M::Step>,
    next: usize,
    /// The longest way of calm steps, as far as it is known.
    calm: u32,
    /// Somewhere a calm step leads.
    leads_on: bool,
    at_rest: bool,
    /// Whether the step that led here was calm, and only time.
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
        Visit { world, fingerprint, steps, next: 0, calm: 0, leads_on: false, at_rest, by }
    }
}

/// Tries every step of every state, from `begin` on, until all are known or there are `states_max`.
///
/// # Errors
/// The first promise that was broken, and the way to it: one of many, and not the shortest.
pub fn explore<M: Model>(begin: M, states_max: u64) -> Result<Explored, Broken<M::Step>> {
    let mut explored = Explored::default();
    let (mut known, mut branches) = (Fingerprints::default(), Fingerprints::default());
    let fingerprint = begin.fingerprint();
    known.insert(fingerprint, UNFINISHED);
    let mut way = vec![Visit::new(begin, fingerprint, &mut branches, (false, false))];
    while let Some(visit) = way.last_mut() {
        let Some(step) = visit.steps.get(visit.next).cloned() else {
            if !visit.at_rest && !visit.leads_on {
                return Err(broken(STUCK, &way, None));
            }
            let visit = way.pop().expect("the last");
            let calm = visit.calm;
            known.set(visit.fingerprint, calm.min(LONGEST) as u8);
            explored.calm_depth = explored.calm_depth.max(calm);
            if let Some(before) = way.last_mut()
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
            Err(panic) => return Err(broken(&told(&*panic), &way, Some(step))),
        };
        let fingerprint = world.fingerprint();
        if calm && fingerprint != visit.fingerprint {
            visit.leads_on = true;
        }
        if known.insert(fingerprint, UNFINISHED) {
            let next = Visit::new(world, fingerprint, &mut branches, (calm, time));
            way.push(next);
            explored.depth = explored.depth.max(way.len() as u32 - 1);
            if known.len() >= states_max {
                break;
            }
            continue;
        }
        explored.merged += 1;
        match known.get(fingerprint) {
            Some(UNFINISHED) if calm && fingerprint != visit.fingerprint => {
                // It is on the way here. (Only by faults and wishes, of which there are so many, one comes
                // back to nothing.)
                let from = way.iter().position(|visit| visit.fingerprint == fingerprint);
                let circle = &way[from.expect("it is on the way") + 1..];
                let waits = circle.iter().all(|visit| visit.by.0 && !visit.at_rest);
                if waits && !(time && circle.iter().all(|visit| visit.by.1)) {
                    return Err(broken("in a circle: somebody waits for ever", &way, Some(step)));
                }
            }
            Some(longest) if calm && longest != UNFINISHED => {
                let visit = way.last_mut().expect("there is one");
                visit.calm = visit.calm.max(u32::from(longest) + 1);
            }
            _ => {}
        }
    }
    explored.states = known.len();
    explored.branch_keys = branches.len();
    explored.memory_bytes = known.memory_bytes() + branches.memory_bytes();
    explored.untried = way.iter().map(|visit| (visit.steps.len() - visit.next) as u64).sum();
    Ok(explored)
}

const STUCK: &str = "stuck: somebody waits, and nothing can happen";

/// Of a state whose steps are being tried.
const UNFINISHED: u8 = u8::MAX;
/// Longer ways count as this long.
const LONGEST: u32 = UNFINISHED as u32 - 1;

fn broken<M: Model>(what: &str, way: &[Visit<M>], last: Option<M::Step>) -> Broken<M::Step> {
    // (The next step of each is already counted.)
    let steps = way.iter().take(way.len() - 1).map(|visit| visit.steps[visit.next - 1].clone());
    Broken { what: what.to_owned(), steps: steps.chain(last).collect() }
}

/// What a panic says.
pub(crate) fn told(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}
