//! What an engine leaves out because it can find nothing there, it can find nothing in.

use shingle_testbed::times;

use crate::simulated::world::{Theme, World};

#[test]
fn a_look_at_everything_finds_no_more() {
    for theme in [Theme::Crashes, Theme::Faults, Theme::Changes, Theme::Bands] {
        for seed in 0..times(120) {
            let mut world = World::new(seed, theme, None);
            world.runs_twice = true;
            world.live();
        }
    }
}
