//! Reads do not wait for a zone to be written; the next write can wait.
//!
//! The loss by this is counted: for each slot that a read took in place of a cheaper zone, the
//! difference in worth, per access until a zone leaves. When the loss reaches the time of writing a
//! zone, one read waits. (This is the ski-rental rule: whoever rents until the rent equals the
//! price pays at most twice the optimum.)

/// The loss caused by reads that do not wait.
#[derive(Clone, Debug)]
pub(super) struct ReadsFirst {
    /// A read waits when the loss reaches this, in nanoseconds of disk time.
    most_ns: f32,
    lost_ns: f32,
    /// Loss per access, in nanoseconds.
    gap: f32,
    /// Access up to which the loss is counted.
    counted: u32,
}

impl ReadsFirst {
    /// Creates it; a read waits when the loss reaches `most_ns`.
    pub(super) fn new(most_ns: f32) -> ReadsFirst {
        ReadsFirst { most_ns, lost_ns: 0.0, gap: 0.0, counted: 0 }
    }

    /// Returns whether a read need not wait at access `now`.
    pub(super) fn may(&mut self, now: u32) -> bool {
        self.lost_ns += self.gap * now.wrapping_sub(self.counted) as f32;
        self.counted = now;
        self.lost_ns < self.most_ns
    }

    /// Notes that a read did not wait, though the slot that it took, or did without, is worth
    /// `more` per access.
    pub(super) fn take(&mut self, more: f32) {
        self.gap += more.max(0.0);
    }

    /// Resets the loss, as a zone leaves.
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
