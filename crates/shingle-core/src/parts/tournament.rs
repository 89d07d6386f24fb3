//! The best of many members without sorting: a tournament tree, in which only the path of a changed
//! member is played again. It grows as members are added.

const NONE: u32 = u32::MAX;

/// A tournament over members numbered from 0, any of which may take part.
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
    /// Creates a tournament without members.
    #[must_use]
    pub fn new() -> Tournament {
        Tournament { winners: vec![NONE; 2] }
    }

    /// Returns the winner.
    #[must_use]
    pub fn winner(&self) -> Option<u32> {
        Some(self.winners[1]).filter(|&member| member != NONE)
    }

    /// Updates `member`, which has changed and takes part or not. `beats(a, b)` says whether `a`
    /// wins against `b`.
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

    /// Grows to members `0..capacity`: the matches played are a part of the larger tournament, in
    /// which no other member takes part.
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

    /// Returns the bytes of memory used.
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
