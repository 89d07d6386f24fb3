//! The back-off of a disk that does not take destages: a disk that is full, or read-only, is not
//! tried thousands of times a second.

use shingle_core::units::Nanos;

/// The first pause; each failure in a row doubles it.
const FIRST: Nanos = Nanos::from_millis(10);
/// The longest pause of the disk.
const OF_DISK_MAX: Nanos = Nanos::from_millis(1_000);
/// The longest pause of one block, while others succeed.
const OF_BLOCK_MAX: Nanos = Nanos::from_millis(5_000);
/// While the disk fails, this many more blocks than needed are candidates: the oldest ones may lie
/// on a bad place of the disk, and others not.
pub(super) const CHOICE_BLOCKS: u32 = 512;

/// The pause of a block after `failures` failures in a row, counted from 1.
pub(super) fn pause_of_block(failures: u32) -> Nanos {
    pause(failures, OF_BLOCK_MAX)
}

fn pause(failures: u32, longest: Nanos) -> Nanos {
    let doubled = FIRST.0.saturating_mul(1 << failures.saturating_sub(1).min(30));
    Nanos(doubled.min(longest.0))
}

/// Whether the disk may be tried. After a failure it gets one run of blocks when the pause is over.
/// The result of that run decides.
#[derive(Clone, Default)]
pub(super) struct BackOff {
    /// Failed tries since the last success.
    failures: u32,
    until: Nanos,
    /// The trial run is in flight.
    trying: bool,
    /// The number of trial runs so far.
    tries: u64,
}

impl BackOff {
    /// Whether the disk may get another run.
    pub(super) fn allows(&self, now: Nanos) -> bool {
        self.failures == 0 || !self.trying && now >= self.until
    }

    /// Whether the last try failed.
    pub(super) fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// How long the disk gets no run; `None` if it is not failing.
    pub(super) fn pause(&self, now: Nanos) -> Option<Nanos> {
        self.is_failing().then(|| self.until.since(now))
    }

    /// Notes that a run is submitted.
    pub(super) fn begin(&mut self) {
        self.trying = self.failures > 0;
        self.tries += u64::from(self.trying);
    }

    /// Picks the trial run among `runs` runs. It may be any of them, as the disk may be bad in
    /// places only.
    pub(super) fn pick_trial(&self, now: Nanos, runs: usize) -> Option<usize> {
        if !self.is_failing() || runs == 0 || !self.allows(now) {
            return None;
        }
        // Any odd number far from a simple ratio of 2^64 spreads the tries.
        let spread = self.tries.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Some(((u128::from(spread) * runs as u128) >> 64) as usize)
    }

    /// Notes that the write or the flush of a block failed.
    pub(super) fn failed(&mut self, now: Nanos) {
        // Blocks that were in flight together fail together, and count once.
        if self.failures == 0 || self.trying || now >= self.until {
            self.failures = self.failures.saturating_add(1);
            self.until = now + pause(self.failures, OF_DISK_MAX);
        }
        self.trying = false;
    }

    /// Notes that a block is durable on the disk.
    pub(super) fn succeeded(&mut self) {
        *self = BackOff { tries: self.tries, ..BackOff::default() };
    }
}

#[cfg(feature = "bugs")]
impl BackOff {
    pub(super) fn hash_state<H: std::hash::Hasher>(
        &self,
        view: &super::super::state::View,
        into: &mut H,
    ) {
        use std::hash::Hash;

        let BackOff { failures, until, trying, tries } = self;
        (failures, view.ahead(*until), trying, tries).hash(into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_what_fails_together_counts_once() {
        let mut disk = BackOff::default();
        let mut now = Nanos::ZERO;
        let mut pauses_millis = Vec::new();
        for _ in 0..12 {
            assert!(disk.allows(now));
            disk.begin();
            (0..128).for_each(|_| disk.failed(now));
            let begun = now;
            while !disk.allows(now) {
                now += Nanos::from_millis(1);
            }
            pauses_millis.push(now.since(begun).0 / 1_000_000);
        }
        assert_eq!(pauses_millis[..7], [10, 20, 40, 80, 160, 320, 640]);
        assert_eq!(pauses_millis[7..], [1000; 5]);
        assert_eq!(pause_of_block(9), Nanos::from_millis(2_560));
        assert_eq!(pause_of_block(u32::MAX), Nanos::from_millis(5_000));
        disk.begin();
        assert!(!disk.allows(now), "one run at a time");
        disk.succeeded();
        assert!(disk.allows(now));
    }
}
