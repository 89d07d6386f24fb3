//! Histories of steps: replayed, shrunk, and printed as tests.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Broken, Model, STUCK, panic_message};

/// A sequence of steps.
pub type History<S> = Vec<S>;

/// Replays a history, without the steps that are not enabled at their position. Returns the final
/// state.
///
/// # Errors
/// If a promise is broken: which one, with its history. A stuck final state is a violation, too.
pub fn replay<M: Model>(begin: M, steps: &[M::Step]) -> Result<M, Broken<M::Step>> {
    let mut world = begin;
    let mut taken = Vec::new();
    let mut open = Vec::new();
    for step in steps {
        open.clear();
        world.steps(&mut open);
        world.branches(&mut open);
        if !open.contains(step) {
            continue;
        }
        taken.push(step.clone());
        world = match catch_unwind(AssertUnwindSafe(|| world.after(step))) {
            Ok(world) => world,
            Err(panic) => return Err(Broken { what: panic_message(&*panic), steps: taken }),
        };
    }
    match is_stuck(&world) {
        true => Err(Broken { what: STUCK.to_owned(), steps: taken }),
        false => Ok(world),
    }
}

fn is_stuck<M: Model>(world: &M) -> bool {
    if world.is_at_rest() {
        return false;
    }
    let (mut open, before) = (Vec::new(), world.fingerprint());
    world.steps(&mut open);
    let progresses = |step: &M::Step| {
        // (A step that breaks a promise counts as progress, too.)
        let next = catch_unwind(AssertUnwindSafe(|| world.after(step).fingerprint()));
        next.map_or(true, |after| after != before)
    };
    !open.iter().any(|step| M::is_calm(step) && progresses(step))
}

/// Removes steps from a history that are not needed for the violation: runs of decreasing length,
/// until no single step can be removed.
pub fn shrink<M: Model>(begin: impl Fn() -> M, found: Broken<M::Step>) -> Broken<M::Step> {
    let mut shortest = found;
    let mut length = (shortest.steps.len() / 2).max(1);
    loop {
        let (mut from, mut shorter) = (0, false);
        while from < shortest.steps.len() {
            let to = (from + length).min(shortest.steps.len());
            let some = [&shortest.steps[..from], &shortest.steps[to..]].concat();
            match replay(begin(), &some) {
                Err(broken) if broken.steps.len() < shortest.steps.len() => {
                    (shortest, shorter) = (broken, true);
                }
                _ => from = to,
            }
        }
        if length == 1 && !shorter {
            return shortest;
        }
        length = (length / 2).max(1);
    }
}

/// Formats a history as a test that can be pasted, with a comment for each step. `begin` is the
/// code that makes the initial state, and the `Step`s have to be in scope.
pub fn pasted<M: Model>(begin: M, code: &str, found: &Broken<M::Step>) -> String {
    let mut text = format!(
        "    /// {}\n    #[test]\n    fn found_by_search() {{\n        use Step::*;\n        let steps = [\n",
        found.what.replace('\n', " ")
    );
    let mut world = Some(begin);
    for step in &found.steps {
        let description = world.as_ref().map(|world| world.says(step)).unwrap_or_default();
        text += &format!("            {step:?}, // {description}\n");
        let next = |world: M| catch_unwind(AssertUnwindSafe(|| world.after(step))).ok();
        world = world.take().and_then(next);
    }
    text + &format!(
        "        ];\n        let broken = replay({code}, &steps).err();\n        \
         assert_eq!(broken.map(|broken| broken.what), None);\n    }}\n"
    )
}
