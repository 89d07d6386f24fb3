//! Finds hot zones.

use shingle_core::units::Zone;

/// Recent writes to each zone, and their mean and deviation over zones with blocks in the buffer,
/// the *live* ones.
// (Aligned as `u128` is on x86 and arm64: results have the size of this, and not every processor aligns that so.)
#[derive(Clone, Debug)]
#[repr(align(16))]
pub(super) struct Heat {
    /// Blocks written to each zone, halved now and then.
    written: Vec<u32>,
    /// How many standard deviations above the mean a hot zone is, in thousandths.
    sigmas: u64,
    live: u64,
    /// Sum of the counts of live zones.
    sum: u64,
    squares: u128,
}

impl Heat {
    /// Creates counts without writes and live zones.
    pub(super) fn new(zones: u32, sigmas: u64) -> Heat {
        Heat { written: vec![0; zones as usize], sigmas, live: 0, sum: 0, squares: 0 }
    }

    /// Marks `zone` as live.
    pub(super) fn enter(&mut self, zone: Zone) {
        let written = self.written[zone.index()];
        self.live += 1;
        self.sum += u64::from(written);
        self.squares += square(written);
    }

    /// Marks `zone` as not live.
    pub(super) fn leave(&mut self, zone: Zone) {
        let written = self.written[zone.index()];
        self.live -= 1;
        self.sum -= u64::from(written);
        self.squares -= square(written);
    }

    /// Counts a written block of `zone`, which is live.
    pub(super) fn write(&mut self, zone: Zone) {
        let before = self.written[zone.index()];
        let after = before.saturating_add(1);
        self.written[zone.index()] = after;
        self.sum += u64::from(after - before);
        self.squares += square(after) - square(before);
    }

    pub(super) fn halve(&mut self, live: impl Fn(Zone) -> bool) {
        (self.sum, self.squares) = (0, 0);
        for (zone, written) in self.written.iter_mut().enumerate() {
            *written /= 2;
            if live(Zone(zone as u32)) {
                self.sum += u64::from(*written);
                self.squares += square(*written);
            }
        }
    }

    /// Returns whether `zone` was written more than the mean of the live zones plus that many
    /// standard deviations. Computed in integers: both sides times the number of live zones, then
    /// squared. Not all live zones can be hot, as not all can be above the mean.
    pub(super) fn is_hot(&self, zone: Zone) -> bool {
        let zones = u128::from(self.live);
        let (written, sum) = (u128::from(self.written[zone.index()]), u128::from(self.sum));
        let Some(above) = (zones * written).checked_sub(sum + 1).map(|less| less + 1) else {
            return false;
        };
        let variance = zones * self.squares - sum * sum;
        let sigmas = u128::from(self.sigmas);
        (above * above).saturating_mul(1_000_000) > (sigmas * sigmas).saturating_mul(variance)
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.written.capacity() as u64 * 4
    }

    /// Panics unless the sums are those of the live zones.
    pub(super) fn check(&self, live: impl Fn(Zone) -> bool) {
        let zones = (0..self.written.len() as u32).map(Zone);
        let (mut count, mut sum, mut squares) = (0, 0, 0);
        for zone in zones.filter(|&zone| live(zone)) {
            let written = self.written[zone.index()];
            (count, sum, squares) =
                (count + 1, sum + u64::from(written), squares + square(written));
        }
        assert_eq!((count, sum, squares), (self.live, self.sum, self.squares));
    }
}

fn square(count: u32) -> u128 {
    u128::from(count) * u128::from(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_is_above_the_mean_by_standard_deviations() {
        // Four live zones of 1, 1, 1 and 5: the mean is 2, the deviation √3 = 1.73.
        let heat = |sigmas| {
            let mut heat = Heat::new(5, sigmas);
            for (zone, written) in [(0, 1), (1, 1), (2, 1), (3, 5)] {
                heat.enter(Zone(zone));
                (0..written).for_each(|_| heat.write(Zone(zone)));
            }
            heat.check(|zone| zone.0 < 4);
            heat
        };
        assert!(heat(1000).is_hot(Zone(3)) && !heat(1000).is_hot(Zone(0)));
        assert!(heat(1732).is_hot(Zone(3)) && !heat(1733).is_hot(Zone(3)));
        assert!(heat(0).is_hot(Zone(3)) && !heat(0).is_hot(Zone(2)));
        let mut heat = heat(1000);
        heat.halve(|zone| zone.0 < 4); // 0, 0, 0, 2
        assert!(heat.is_hot(Zone(3)));
        heat.leave(Zone(3));
        heat.check(|zone| zone.0 < 3);
        assert!((0..3).all(|zone| !heat.is_hot(Zone(zone))), "zones alike are not hot");
    }
}
