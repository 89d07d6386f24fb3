//! The best of many without sorting them: a tournament, played again only along the path of a
//! member that changes. It takes room for members as they come.

const NONE: u32 = u32::MAX;

/// A tournament over members numbered from 0, of whom any may take part.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// Winner below each node: the root at 1, the children of `n` at `2n` and `2n + 1`, the members
    /// themselves in the second half.
    winners: Vec<u32>,
}

impl Default for Tournament {
    fn default() -> Tournament {
        Tournament::new()
    }
}

impl Tournament {
    /// Nobody takes part.
    #[must_use]
    pub fn new() -> Tournament {
        Tournament { winners: vec![NONE; 2] }
    }

    /// The winner of all.
    #[must_use]
    pub fn winner(&self) -> Option<u32> {
        Some(self.winners[1]).filter(|&member| member != NONE)
    }

    /// `member` has changed, and takes part or does not. `beats` says who of two wins.
    pub fn update(&mut self, member: u32, takes_part: bool, beats: impl Fn(u32, u32) -> bool) {
        if member as usize >= self.winners.len() / 2 {
            if !takes_part {
                return;
            }
            self.grow(member as usize + 1);
        }
        let mut node = self.winners.len() / 2 + member as usize;
        if !takes_part && self.winners[node] == NONE {
            return;
        }
        self.winners[node] = if takes_part { member } else { NONE };
        while node > 1 {
            node /= 2;
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            let right_wins = right != NONE && (left == NONE || beats(right, left));
            self.winners[node] = if right_wins { right } else { left };
        }
    }

    /// Makes room for members `0..capacity`: what has been played is a part of the larger tournament
    /// in which nobody else takes part.
    #[cold]
    fn grow(&mut self, capacity: usize) {
        while self.winners.len() / 2 < capacity {
            let members = self.winners.len() / 2;
            let mut larger = vec![NONE; 4 * members];
            larger[1] = self.winners[1];
            // Each round becomes the left half of the round below it.
            let mut round = 1;
            while round <= members {
                larger[2 * round..3 * round].copy_from_slice(&self.winners[round..2 * round]);
                round *= 2;
            }
            self.winners = larger;
        }
    }

    /// Bytes of memory taken.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.winners.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_winner_is_the_least_that_takes_part(
            capacity in 1usize..70,
            steps in prop::collection::vec((any::<u32>(), any::<bool>(), 0u32..20), 1..100),
        ) {
            let mut tournament = Tournament::new();
            let mut keys: Vec<Option<u32>> = vec![None; capacity];
            for (member, takes_part, key) in steps {
                let member = member % capacity as u32;
                keys[member as usize] = takes_part.then_some(key);
                let rank = |member: u32| (keys[member as usize], member);
                tournament.update(member, takes_part, |a, b| rank(a) < rank(b));
                let least = (0..capacity as u32).filter(|&m| rank(m).0.is_some()).min_by_key(|&m| rank(m));
                prop_assert_eq!(tournament.winner(), least);
            }
        }
    }
}
