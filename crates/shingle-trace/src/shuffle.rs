//! Interleaves several sequences at random, so that every interleaving is equally likely. Each
//! sequence keeps its order. The next element comes from a sequence with a chance proportional to
//! what remains of it. A tree of sums finds it in O(log n) steps for n sequences.

use crate::synth::rng::Rng;

/// Draws from sequences until none has anything left.
pub(crate) struct Shuffle {
    /// Remaining elements: of sequence i at `leaves` + i; a node has the sum of its two children.
    sums: Vec<u64>,
    leaves: usize,
    rng: Rng,
}

impl Shuffle {
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

    /// Returns the number of remaining elements of all sequences.
    pub(crate) fn remaining(&self) -> u64 {
        self.sums[1]
    }

    /// Returns the number of the sequence to draw from. Something must remain.
    #[inline]
    pub(crate) fn next(&mut self) -> usize {
        let mut drawn = self.rng.below(self.sums[1]);
        let mut node = 1;
        self.sums[1] -= 1;
        while node < self.leaves {
            let left = self.sums[2 * node];
            // Without a branch: it could not be predicted.
            let right = u64::from(drawn >= left);
            drawn -= left * right;
            node = 2 * node + right as usize;
            self.sums[node] -= 1;
        }
        node - self.leaves
    }
}
