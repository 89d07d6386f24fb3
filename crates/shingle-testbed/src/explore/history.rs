//! Ways through a world: played again, made shorter, printed as a test.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Broken, Model, STUCK, told};

/// Steps, one after the other.
pub type History<S> = Vec<S>;

/// Plays a way. Steps that cannot be done where they come are left out. Returns the world at the end.
///
/// # Errors
/// If a promise is broken: which, and the way to it. One is, too, if somebody waits at the end and no calm step leads on.
pub fn replay<M: Model>(begin: M, steps: &[M::Step]) -> Result<M, Broken<M::Step>> {
    let mut world = begin;
    let mut gone = Vec::new();
    let mut open = Vec::new();
    for step in steps {
        open.clear();
        world.steps(&mut open);
        world.branches(&mut open);
        if !open.contains(step) {
            continue;
        }
        gone.push(step.clone());
        world = match catch_unwind(AssertUnwindSafe(|| world.after(step))) {
            Ok(world) => world,
            Err(panic) => return Err(Broken { what: told(&*panic), steps: gone }),
        };
    }
    match is_stuck(&world) {
        true => Err(Broken { what: STUCK.to_owned(), steps: gone }),
        false => Ok(world),
    }
}

fn is_stuck<M: Model>(world: &M) -> bool {
    if world.is_at_rest() {
        return false;
    }
    let (mut open, before) = (Vec::new(), world.fingerprint());
    world.steps(&mut open);
    let leads_on = |step: &M::Step| {
        // (One that breaks a promise leads on, too.)
        let next = catch_unwind(AssertUnwindSafe(|| world.after(step).fingerprint()));
        next.map_or(true, |after| after != before)
    };
    !open.iter().any(|step| M::is_calm(step) && leads_on(step))
}

/// Leaves out of a way all that it does not take to break a promise: runs of steps, ever shorter ones, until not a
/// single step can be spared.
pub fn shrink<M: Model>(begin: impl Fn() -> M, found: Broken<M::Step>) -> Broken<M::Step> {
    let mut least = found;
    let mut length = (least.steps.len() / 2).max(1);
    loop {
        let (mut from, mut shorter) = (0, false);
        while from < least.steps.len() {
            let to = (from + length).min(least.steps.len());
            let some = [&least.steps[..from], &least.steps[to..]].concat();
            match replay(begin(), &some) {
                Err(broken) if broken.steps.len() < least.steps.len() => {
                    (least, shorter) = (broken, true);
                }
                _ => from = to,
            }
        }
        if length == 1 && !shorter {
            return least;
        }
        length = (length / 2).max(1);
    }
}

/// A way as a test that can be pasted: what happens is told in comments. `begin` is the code that makes the
/// world, and the `Step`s have to be in scope.
pub fn pasted<M: Model>(begin: M, code: &str, found: &Broken<M::Step>) -> String {
    let mut text = format!(
        "    /// {}\n    #[test]\n    fn found_by_search() {{\n        use Step::*;\n        let steps = [\n",
        found.what.replace('\n', " ")
    );
    let mut world = Some(begin);
    for step in &found.steps {
        let told = world.as_ref().map(|world| world.says(step)).unwrap_or_default();
        text += &format!("            {step:?}, // {told}\n");
        let next = |world: M| catch_unwind(AssertUnwindSafe(|| world.after(step))).ok();
        world = world.take().and_then(next);
    }
    text + &format!(
        "        ];\n        let broken = replay({code}, &steps).err();\n        \
         assert_eq!(broken.map(|broken| broken.what), None);\n    }}\n"
    )
}
