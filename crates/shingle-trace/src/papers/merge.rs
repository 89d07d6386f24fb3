//! Shuffles several traces into one: each keeps its order, and every interleaving is equally
//! likely.

use super::blocks::Blocks;
use crate::shuffle::Shuffle;
use crate::synth::rng::Rng;

/// Accesses fetched from a trace at a time: few enough that those of all traces stay in a near CPU
/// cache.
const FETCH_ACCESSES: usize = 64;

/// Several traces, shifted and shuffled together.
pub struct Merge {
    inputs: Vec<Input>,
    order: Shuffle,
}

struct Input {
    blocks: Box<dyn Blocks>,
    /// Value added to each packed access.
    shift: u64,
    fetched: Vec<u64>,
    at: usize,
}

impl Merge {
    /// Shuffles `inputs`, each with the number of blocks by which it is shifted up.
    pub(super) fn new(inputs: impl IntoIterator<Item = (Box<dyn Blocks>, u64)>, rng: Rng) -> Merge {
        let inputs: Vec<Input> = inputs
            .into_iter()
            .map(|(blocks, shift)| {
                let fetched = Vec::with_capacity(FETCH_ACCESSES);
                Input { blocks, shift: shift << 1, fetched, at: 0 }
            })
            .collect();
        let order = Shuffle::new(inputs.iter().map(|input| input.blocks.remaining()), rng);
        Merge { inputs, order }
    }
}

impl Input {
    fn next(&mut self) -> u64 {
        if self.at == self.fetched.len() {
            self.fetched.clear();
            self.blocks.take(FETCH_ACCESSES, &mut self.fetched);
            self.at = 0;
        }
        self.at += 1;
        self.fetched[self.at - 1] + self.shift
    }
}

impl Blocks for Merge {
    fn remaining(&self) -> u64 {
        self.order.remaining()
    }

    fn take(&mut self, count: usize, out: &mut Vec<u64>) {
        for _ in 0..self.remaining().min(count as u64) {
            let access = self.inputs[self.order.next()].next();
            out.push(access);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::blocks::{Volume, packed};
    use super::*;
    use crate::synth::rng::Seed;

    fn merged(traces: &[Vec<u64>], seed: u64) -> Vec<u64> {
        let input = |(number, trace): (usize, &Vec<u64>)| {
            (Volume::recorded(trace.clone()).replay(), 1_000 * number as u64)
        };
        let rng = Seed { seed, workload: "test" }.stream("merge");
        let mut merge = Merge::new(traces.iter().enumerate().map(input), rng);
        let mut out = Vec::new();
        while merge.remaining() > 0 {
            merge.take(7, &mut out);
        }
        out
    }

    proptest! {
        /// At the end, every access of every trace has come once, shifted and in its own order.
        #[test]
        fn nothing_is_lost_or_reordered(
            traces in prop::collection::vec(
                prop::collection::vec((0..1_000_u64, any::<bool>()), 0..200), 1..6),
            seed in any::<u64>(),
        ) {
            let traces: Vec<Vec<u64>> = traces
                .iter()
                .map(|trace| trace.iter().map(|&(block, write)| packed(block, write)).collect())
                .collect();
            let mut parts = vec![Vec::new(); traces.len()];
            for access in merged(&traces, seed) {
                let number = (access >> 1) / 1_000;
                parts[number as usize].push(access - packed(number * 1_000, false));
            }
            prop_assert_eq!(parts, traces);
        }
    }

    /// Two traces of two accesses have six interleavings, all equally likely.
    #[test]
    fn every_order_is_as_likely() {
        let traces = [vec![0, 0], vec![0, 0]];
        let mut orders = BTreeMap::new();
        for seed in 0..6_000 {
            *orders.entry(merged(&traces, seed)).or_insert(0_u32) += 1;
        }
        assert_eq!(orders.len(), 6);
        assert!(orders.values().all(|count| (880..1_120).contains(count)), "{orders:?}");
    }
}
