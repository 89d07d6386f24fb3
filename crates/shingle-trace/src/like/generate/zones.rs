//! Where zones lie, and which one is touched first next.

use super::super::buckets::{signed_within, within};
use super::super::statistics::{Layout, SAME, Whole};
use super::Like;
use crate::source::DISK_BYTES_MAX;
use crate::synth::rng::Rng;
use crate::zones::ZONE_BYTES;

impl Like {
    /// An untouched zone of the class.
    pub(super) fn new_zone(&mut self, class: usize) -> Option<u64> {
        let step = self.description.layout.table(Whole::Steps).draw(class, &mut self.rng);
        let step = step.map_or(0, |class| signed_within(class, &mut self.rng));
        let members = &self.members[class];
        if members.is_empty() {
            return None;
        }
        let from = members.partition_point(|&zone| zone < self.fresh) as i64;
        let wanted = (from + step).rem_euclid(members.len() as i64) as usize;
        let untouched = &self.untouched[class];
        let above = untouched.range(members[wanted]..).next();
        above.or_else(|| untouched.range(..members[wanted]).next_back()).copied()
    }
}

/// Zones by address, with their classes: rows and what lies between, drawn until there are enough.
pub(super) fn lay_out(layout: &Layout, rng: &mut Rng) -> Vec<(u64, u8)> {
    let mut zones = Vec::new();
    let (mut at, mut situation) = (0, 0);
    while (zones.len() as u64) < layout.zones && at < DISK_BYTES_MAX / ZONE_BYTES {
        match layout.table(Whole::Rows).draw(situation, rng) {
            Some(class) if class != SAME => {
                zones.push((at, class as u8));
                at += 1;
                situation = class as usize + 1;
            }
            _ => {
                situation = 0;
                let between = layout.table(Whole::Between).draw(0, rng);
                at += between.map_or(1, |class| within(class, rng)).max(1);
            }
        }
    }
    zones
}
