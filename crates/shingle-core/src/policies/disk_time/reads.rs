//! Reads do not wait for zones that are written: the next write can.
//!
//! What that loses is counted: of each slot that a read took in place of a cheaper zone, by how much it was worth more, for
//! each access until a zone leaves. Once it comes to the time that writing a zone takes, one read may as well wait. (Whoever
//! rents until the rent comes to the price pays at most twice what would have been best.)

/// What reads lose by not waiting.
#[derive(Clone, Debug)]
pub(super) struct ReadsFirst {
    /// A read waits when so much is lost, in nanoseconds of disk time.
    most_ns: f32,
    lost_ns: f32,
    /// What is lost with each access.
    gap: f32,
    /// Up to this access it is counted.
    counted: u32,
}

impl ReadsFirst {
    /// A read waits when `most_ns` are lost.
    pub(super) fn new(most_ns: f32) -> ReadsFirst {
        ReadsFirst { most_ns, lost_ns: 0.0, gap: 0.0, counted: 0 }
    }

    /// Whether a read need not wait at the access `now`.
    pub(super) fn may(&mut self, now: u32) -> bool {
        self.lost_ns += self.gap * now.wrapping_sub(self.counted) as f32;
        self.counted = now;
        self.lost_ns < self.most_ns
    }

    /// One does not, though the slot that it takes or does without is worth so much more for each access.
    pub(super) fn take(&mut self, more: f32) {
        self.gap += more.max(0.0);
    }

    /// A zone leaves.
    pub(super) fn zone_leaves(&mut self) {
        (self.lost_ns, self.gap) = (0.0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_waits_once_so_much_is_lost() {
        let mut first = ReadsFirst::new(100.0);
        assert!(first.may(0));
        first.take(3.0);
        assert!(first.may(10), "30 are lost");
        first.take(7.0);
        assert!(first.may(16), "90 are lost");
        assert!(!first.may(17), "100 are lost");
        first.zone_leaves();
        assert!(first.may(1_000), "nothing is lost since");
        first.take(-5.0);
        assert!(first.may(2_000), "nothing is won by it, either");
        assert!(!ReadsFirst::new(0.0).may(0), "all wait");
    }
}
