//! The shipped engine in worlds so small that everything that can happen is tried: every order of
//! completions, every moment of a power cut or a kill, every subset of unflushed data that
//! survives, the start after it, and the next crash during that start. [`shingle_testbed::explore`]
//! describes the method, `scope.rs` what a world can contain, and `scopes.rs` has the worlds.
//!
//! Each run of the tests explores every world completely, with few commands. The command for a full
//! exploration
//!
//! ```text
//! SHINGLE_STATES=100000000 cargo test -p shingle-engine --release --test all exhaustive -- --nocapture
//! ```
//!
//! explores each world with all its commands, up to this total number of states (nine bytes each; a
//! world that needs fewer than its share leaves the rest to the others), and prints how many steps
//! were not tried. `SHINGLE_SCOPE=NAME` explores only one.
//!
//! Differences from a real device: an I/O is done completely or not at all, only the head of a torn
//! page arrives on the SSD, the metadata writes of one commit complete together (`together.rs`
//! checks that this misses nothing), a failed flush of the disk loses all or nothing, and policies
//! have no memory.

#![allow(clippy::disallowed_types)] // how long it takes is told, and decides nothing

mod bugs;
mod cell;
mod changes;
mod crash;
mod found;
mod medium;
mod model;
mod scope;
mod scopes;
mod together;
mod world;

use std::time::Instant;

use shingle_testbed::explore::{Broken, Explored, Quiet, explore, pasted, shrink};
use shingle_testbed::number;

use scope::Scope;
use scopes::SCOPES;
use world::{Step, World};

/// Number of commands with which each run of the tests explores a world.
const COMMANDS: u8 = 1;

fn explored(scope: Scope, states_max: u64) -> Explored {
    let begun = Instant::now();
    let quiet = Quiet::begin();
    let explored = explore(World::new(scope), states_max);
    drop(quiet);
    let explored = explored.unwrap_or_else(|broken| tell(scope, broken));
    let Explored { states, steps, depth, calm_depth, untried, memory_bytes, .. } = explored;
    let per_second = states * 1_000 / (begun.elapsed().as_millis() as u64).max(1);
    println!(
        "{:12} {states:10} states, {steps:10} steps, {} commands, {} crashes, {} faults, {depth:3} \
         steps deep, at rest after {calm_depth:3} at most, {untried} not tried, {per_second} a second, {} bytes each",
        scope.name,
        scope.commands,
        scope.crashes,
        scope.faults.0,
        memory_bytes / states
    );
    explored
}

/// Panics with the steps to a broken promise as a test.
fn tell(scope: Scope, broken: Broken<Step>) -> ! {
    let quiet = Quiet::begin();
    let least = shrink(|| World::new(scope), broken);
    let text = pasted(World::new(scope), &format!("World::new(named({:?}))", scope.name), &least);
    drop(quiet);
    panic!("{}: {}\n{text}", scope.name, least.what)
}

#[test]
fn all_that_can_happen_in_small_worlds() {
    let only = std::env::var("SHINGLE_SCOPE").ok();
    let asked = |scope: &&Scope| only.as_ref().is_none_or(|only| only == scope.name);
    let scopes: Vec<Scope> = SCOPES.iter().filter(asked).copied().collect();
    let mut left = number("SHINGLE_STATES");
    let (begun, mut states, mut whole) = (Instant::now(), 0, 0);
    for (at, &scope) in scopes.iter().enumerate() {
        let all = match left {
            Some(left) => explored(scope, left / (scopes.len() - at) as u64),
            None => {
                let commands = number("SHINGLE_COMMANDS").map_or(COMMANDS, |number| number as u8);
                let crashes = number("SHINGLE_CRASHES").map_or(1, |number| number as u8);
                let (commands, crashes) =
                    (scope.commands.min(commands), scope.crashes.min(crashes));
                let all = explored(Scope { commands, crashes, ..scope }, 200_000);
                assert_eq!(all.untried, 0, "{} was explored to the end", scope.name);
                all
            }
        };
        left = left.map(|left| left.saturating_sub(all.states));
        (states, whole) = (states + all.states, whole + u64::from(all.untried == 0));
    }
    let seconds = begun.elapsed().as_secs();
    println!("{states} states in {seconds} s, {whole} of {} worlds to the end", scopes.len());
}
