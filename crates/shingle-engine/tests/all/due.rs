//! Steps that the engine skips because they are not due would do nothing.

use shingle_testbed::times;

use crate::simulated::world::{Theme, World};

#[test]
fn a_look_at_everything_finds_no_more() {
    for theme in [Theme::Crashes, Theme::Faults, Theme::Changes, Theme::Bands] {
        for seed in 0..times(120) {
            let mut world = World::new(seed, theme, None);
            world.checks_for_missed_steps = true;
            world.live();
        }
    }
}
