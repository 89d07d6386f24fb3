//! Which of several sequences comes next, so that any way to interleave them is as likely as any other:
//! each keeps its order, and the next comes from one of them with a chance of what remains of it.
//!
//! A tree of sums over the sequences finds it in log₂ of their number.

use crate::synth::rng::Rng;

/// Draws from sequences until none has anything left.
pub(crate) struct Shuffle {
    /// What remains: of sequence i at `leaves` + i, and at each node of the two below it.
    sums: Vec<u64>,
    leaves: usize,
    rng: Rng,
}

impl Shuffle {
    /// Of sequences of these lengths.
    pub(crate) fn new(lengths: impl ExactSizeIterator<Item = u64>, rng: Rng) -> Shuffle {
        let leaves = lengths.len().next_power_of_two();
        let mut sums = vec![0; 2 * leaves];
        for (sum, length) in sums[leaves..].iter_mut().zip(lengths) {
            *sum = length;
        }
        for node in (1..leaves).rev() {
            sums[node] = sums[2 * node] + sums[2 * node + 1];
        }
        Shuffle { sums, leaves, rng }
    }

    /// What remains of all.
    pub(crate) fn remaining(&self) -> u64 {
        self.sums[1]
    }

    /// The number of the sequence whose turn it is. Something must remain.
    #[inline]
    pub(crate) fn next(&mut self) -> usize {
        let mut drawn = self.rng.below(self.sums[1]);
        let mut node = 1;
        self.sums[1] -= 1;
        while node < self.leaves {
            let left = self.sums[2 * node];
            // Without a branch: nobody could predict it.
            let right = u64::from(drawn >= left);
            drawn -= left * right;
            node = 2 * node + right as usize;
            self.sums[node] -= 1;
        }
        node - self.leaves
    }
}
