//! Heaps in a pool: the least member of each heap is at hand, and any member can be removed.
//!
//! Pairing heaps (Fredman, Sedgewick, Sleator and Tarjan, 1986): insertion takes constant time,
//! removal amortised logarithmic time. Like the lists of [`List`] they share a pool of links, in
//! which each member belongs to at most one heap. Only [`Pool::new`] allocates. Members are slots.

use prefetch_index::prefetch_index;

/// No member.
const NONE: u32 = u32::MAX;

/// A member's key and its place in its heap.
#[derive(Clone, Copy, Debug)]
struct Node {
    key: u32,
    /// First child.
    child: u32,
    /// Next sibling.
    next: u32,
    /// Previous sibling, or the parent for a first child.
    prev: u32,
}

/// Nodes for members `0..capacity` of any number of heaps.
#[derive(Clone, Debug)]
pub struct Pool {
    nodes: Vec<Node>,
}

/// A heap within a [`Pool`]. Members of equal keys have no defined order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heap {
    root: u32,
}

impl Default for Heap {
    fn default() -> Heap {
        Heap { root: NONE }
    }
}

impl Pool {
    /// Creates a pool of members that are in no heap.
    #[must_use]
    pub fn new(capacity: usize) -> Pool {
        Pool { nodes: vec![Node { key: 0, child: NONE, next: NONE, prev: NONE }; capacity] }
    }

    /// Prefetches the node of `member`.
    #[inline]
    pub fn prefetch(&self, member: u32) {
        prefetch_index(&self.nodes, member as usize);
    }

    /// Returns the key of a member, or its last key if it is in no heap.
    #[must_use]
    #[inline]
    pub fn key(&self, member: u32) -> u32 {
        self.node(member).key
    }

    /// Returns the bytes of memory used.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }

    #[inline]
    fn node(&self, member: u32) -> &Node {
        &self.nodes[member as usize]
    }

    #[inline]
    fn node_mut(&mut self, member: u32) -> &mut Node {
        &mut self.nodes[member as usize]
    }

    /// Merges the heaps with these roots and returns the new root.
    fn meld(&mut self, a: u32, b: u32) -> u32 {
        if a == NONE || b == NONE {
            return if a == NONE { b } else { a };
        }
        let (least, other) = if self.key(b) < self.key(a) { (b, a) } else { (a, b) };
        let child = self.node(least).child;
        let below = self.node_mut(other);
        (below.next, below.prev) = (child, least);
        if child != NONE {
            self.node_mut(child).prev = other;
        }
        self.node_mut(least).child = other;
        least
    }

    /// Detaches a member that is not a root, with its subtree.
    fn cut(&mut self, member: u32) {
        let Node { next, prev, .. } = *self.node(member);
        if self.node(prev).child == member {
            self.node_mut(prev).child = next;
        } else {
            self.node_mut(prev).next = next;
        }
        if next != NONE {
            self.node_mut(next).prev = prev;
        }
        let node = self.node_mut(member);
        (node.next, node.prev) = (NONE, NONE);
    }

    /// Merges the children of a member and returns the new root: first neighbours in pairs, from
    /// left to right, then the pairs, from right to left.
    fn below(&mut self, member: u32) -> u32 {
        let mut next = core::mem::replace(&mut self.node_mut(member).child, NONE);
        let mut pairs = NONE; // the last pair first, chained by `next`
        while next != NONE {
            let first = next;
            let second = self.node(first).next;
            next = if second == NONE { NONE } else { self.node(second).next };
            for one in [first, second].into_iter().filter(|&one| one != NONE) {
                let node = self.node_mut(one);
                (node.next, node.prev) = (NONE, NONE);
            }
            let pair = self.meld(first, second);
            self.node_mut(pair).next = pairs;
            pairs = pair;
        }
        let mut root = NONE;
        while pairs != NONE {
            let pair = pairs;
            pairs = core::mem::replace(&mut self.node_mut(pair).next, NONE);
            root = self.meld(root, pair);
        }
        root
    }
}

impl Heap {
    /// Returns the member of the least key.
    #[must_use]
    #[inline]
    pub fn least(&self) -> Option<u32> {
        (self.root != NONE).then_some(self.root)
    }

    /// Adds a member of no heap.
    pub fn insert(&mut self, pool: &mut Pool, member: u32, key: u32) {
        *pool.node_mut(member) = Node { key, child: NONE, next: NONE, prev: NONE };
        self.root = pool.meld(self.root, member);
    }

    /// Removes a member of this heap.
    pub fn remove(&mut self, pool: &mut Pool, member: u32) {
        if member == self.root {
            self.root = pool.below(member);
        } else {
            pool.cut(member);
            let below = pool.below(member);
            self.root = pool.meld(self.root, below);
        }
    }

    /// Changes the key of a member of this heap.
    pub fn rekey(&mut self, pool: &mut Pool, member: u32, key: u32) {
        if key <= pool.key(member) && member != self.root {
            pool.cut(member);
            pool.node_mut(member).key = key;
            self.root = pool.meld(self.root, member);
        } else {
            self.remove(pool, member);
            self.insert(pool, member, key);
        }
    }

    /// Returns the members, parents before their children.
    pub fn members<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = u32> + 'a {
        core::iter::successors(self.least(), |&member| pool.after(member))
    }

    /// Panics unless this is a heap. Slow.
    pub fn check(&self, pool: &Pool) {
        for member in self.members(pool) {
            let Node { key, child, next, prev } = *pool.node(member);
            assert!(member != self.root || (next, prev) == (NONE, NONE), "a root is alone");
            assert!(child == NONE || pool.node(child).prev == member, "a child knows its parent");
            assert!(next == NONE || pool.node(next).prev == member, "siblings know each other");
            let mut at = child;
            while at != NONE {
                assert!(pool.key(at) >= key, "a child comes before its parent");
                at = pool.node(at).next;
            }
        }
    }
}

impl Pool {
    /// Returns the member that follows in a walk over a heap, parents before their children.
    fn after(&self, member: u32) -> Option<u32> {
        let node = self.node(member);
        if node.child != NONE {
            return Some(node.child);
        }
        let mut at = member;
        // Terminates: each turn goes to a sibling on the left or up to the parent.
        loop {
            let Node { next, prev, .. } = *self.node(at);
            if next != NONE {
                return Some(next);
            }
            if prev == NONE {
                return None;
            }
            // Back to the first of the siblings, and to their parent.
            let mut first = at;
            while self.node(self.node(first).prev).child != first {
                first = self.node(first).prev;
            }
            at = self.node(first).prev;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_least_of_each_heap_is_at_hand(
            ops in prop::collection::vec((0u32..30, 0u32..3, 0u32..40), 1..300),
        ) {
            let mut pool = Pool::new(30);
            let mut heaps = [Heap::default(); 3];
            let mut model: Vec<Option<(usize, u32)>> = vec![None; 30]; // heap and key
            for (member, heap, key) in ops {
                let at = &mut model[member as usize];
                match *at {
                    None => {
                        heaps[heap as usize].insert(&mut pool, member, key);
                        *at = Some((heap as usize, key));
                    }
                    Some((heap, _)) if key < 20 => {
                        heaps[heap].remove(&mut pool, member);
                        *at = None;
                    }
                    Some((heap, _)) => {
                        heaps[heap].rekey(&mut pool, member, key);
                        *at = Some((heap, key));
                    }
                }
                for (number, heap) in heaps.iter().enumerate() {
                    heap.check(&pool);
                    let mut members: Vec<u32> = heap.members(&pool).collect();
                    members.sort_unstable();
                    let in_it = |&member: &u32| {
                        model[member as usize].is_some_and(|(heap, _)| heap == number)
                    };
                    let expected: Vec<u32> = (0..30).filter(in_it).collect();
                    prop_assert_eq!(&members, &expected);
                    let keys = expected.iter().map(|&member| model[member as usize].unwrap().1);
                    prop_assert_eq!(heap.least().map(|least| pool.key(least)), keys.min());
                }
            }
        }
    }
}
