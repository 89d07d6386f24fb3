//! The erase block with the least key: a tournament, in which a changed key replays its path. A
//! change takes time logarithmic in the number of blocks; the winner is known at once.

/// Orders erase blocks: temperature, then age.
pub(super) type Key = (u64, u64);

/// The key of a block that is not in the tournament.
const ABSENT: Key = (u64::MAX, u64::MAX);

#[derive(Clone, Debug)]
pub(super) struct Coldest {
    keys: Vec<Key>,
    /// Winner of each match; that of nodes `2n` and `2n + 1` is node `n`, node 1 the last one.
    winners: Vec<u32>,
}

impl Coldest {
    pub(super) fn new(blocks: u32) -> Coldest {
        let leaves = blocks.next_power_of_two().max(2);
        let mut tree =
            Coldest { keys: vec![ABSENT; leaves as usize], winners: vec![0; leaves as usize] };
        (0..leaves).step_by(2).for_each(|block| tree.play(block));
        tree
    }

    /// Adds a block, or changes its key.
    pub(super) fn set(&mut self, block: u32, key: Key) {
        if self.keys[block as usize] != key {
            self.keys[block as usize] = key;
            self.play(block);
        }
    }

    pub(super) fn remove(&mut self, block: u32) {
        self.set(block, ABSENT);
    }

    pub(super) fn key(&self, block: u32) -> Option<Key> {
        Some(self.keys[block as usize]).filter(|&key| key != ABSENT)
    }

    /// Returns the block with the least key; of several the first.
    pub(super) fn first(&self) -> Option<u32> {
        let winner = self.winners[1];
        self.key(winner).map(|_| winner)
    }

    fn play(&mut self, block: u32) {
        let leaves = self.keys.len();
        let mut node = (leaves + block as usize) / 2;
        while node > 0 {
            let player = |side: usize| {
                let at = 2 * node + side;
                if at >= leaves { (at - leaves) as u32 } else { self.winners[at] }
            };
            let (left, right) = (player(0), player(1));
            let wins = self.keys[right as usize] < self.keys[left as usize];
            self.winners[node] = if wins { right } else { left };
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::rng::Rng;

    #[test]
    fn the_winner_is_the_least_of_all() {
        for blocks in [1u32, 2, 5, 16, 33] {
            let (mut tree, mut rng) = (Coldest::new(blocks), Rng::new(4));
            let mut model = vec![None; blocks as usize];
            for _ in 0..2000 {
                let block = rng.below(u64::from(blocks)) as u32;
                let key = (rng.below(3) > 0).then(|| (rng.below(9), rng.below(4)));
                model[block as usize] = key;
                tree.set(block, key.unwrap_or(ABSENT));
                let all = (0..blocks).filter_map(|b| Some((model[b as usize]?, b)));
                assert_eq!(tree.first(), all.min().map(|(_, block)| block));
            }
        }
    }
}
