//! The engine makes the same I/O, in the same order and with the same bytes, and gives the same
//! answers as before. This checks changes that should not change behaviour. The runs are those of
//! the crash tests, with a few policies.
//!
//! `SHINGLE_GOLDEN=write` writes the current results. `SHINGLE_SEEDS=N` instead prints those of N
//! runs of each theme with all policies, a line for a hundred runs, to be compared by hand.

use std::fmt::Write as _;

use shingle_testbed::number;

use crate::simulated::trail::Trail;
use crate::simulated::world::{Theme, World};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/golden/engine.txt");
const THEMES: [Theme; 3] = [Theme::Crashes, Theme::Faults, Theme::Flips];
const POLICIES: [&str; 4] = ["lru", "arc", "sac", "most"];
/// Number of runs of each theme.
const SEEDS: u64 = 240;
/// Number of runs in a line.
const STEP: u64 = 20;

fn trails(seeds: u64, step: u64, world: impl Fn(u64, Theme) -> World) -> String {
    let mut text = String::new();
    for theme in THEMES {
        for from in (0..seeds).step_by(step as usize) {
            let mut trail = Trail::default();
            let upto = seeds.min(from + step);
            (from..upto).for_each(|seed| trail.then(world(seed, theme).live().trail()));
            let Trail { ios, replies, hash } = trail;
            let _ = writeln!(
                text,
                "{theme:?} {from}..{upto}: {ios} I/Os, {replies} replies, {hash:016x}"
            );
        }
    }
    text
}

#[test]
fn the_engine_asks_and_answers_as_it_did() {
    if let Some(seeds) = number("SHINGLE_SEEDS") {
        return print!("{}", trails(seeds, 100, |seed, theme| World::new(seed, theme, None)));
    }
    let now = trails(SEEDS, STEP, |seed, theme| World::among(seed, theme, &POLICIES));
    if std::env::var("SHINGLE_GOLDEN").is_ok_and(|text| text == "write") {
        return std::fs::write(GOLDEN, now).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(GOLDEN).expect("there is a golden file");
    for (now, golden) in now.lines().zip(golden.lines()) {
        assert_eq!(
            now, golden,
            "the engine behaves in another way (SHINGLE_GOLDEN=write accepts it)"
        );
    }
    assert_eq!(now.lines().count(), golden.lines().count());
}
