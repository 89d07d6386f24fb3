//! Queues that contain a zone at most once: first in, first out, with removal anywhere.

/// The end of a queue, as a neighbour.
const END: usize = 0;

const NEXT: usize = 0;
const PREV: usize = 1;

/// The queue; see the module. A circle through `END` and the queued zones; only [`Queue::new`]
/// allocates.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// Neighbours of `END`, then of each zone: 0 for none, otherwise the index in this vector plus
    /// one.
    links: Vec<[u32; 2]>,
    len: usize,
}

impl Queue {
    /// Creates an empty queue for zones below `zones`.
    pub(crate) fn new(zones: usize) -> Queue {
        assert!(u32::try_from(zones + 2).is_ok(), "zones have numbers of 32 bits");
        let mut links = vec![[0; 2]; zones + 1];
        links[END] = [1; 2];
        Queue { links, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn contains(&self, zone: usize) -> bool {
        self.links[zone + 1][NEXT] != 0
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<usize> {
        (self.links[END][NEXT] as usize - 1).checked_sub(1)
    }

    /// Appends a zone that is not in the queue.
    pub(crate) fn push_back(&mut self, zone: usize) {
        self.insert(zone, self.links[END][PREV] as usize - 1, END);
    }

    /// Prepends a zone that is not in the queue.
    pub(crate) fn push_front(&mut self, zone: usize) {
        self.insert(zone, END, self.links[END][NEXT] as usize - 1);
    }

    /// Removes and returns the first zone.
    pub(crate) fn pop_front(&mut self) -> Option<usize> {
        let first = self.first();
        first.inspect(|&zone| self.remove(zone))
    }

    /// Removes a zone, if it is in the queue.
    pub(crate) fn remove(&mut self, zone: usize) {
        if !self.contains(zone) {
            return;
        }
        let [next, prev] = std::mem::take(&mut self.links[zone + 1]);
        self.links[next as usize - 1][PREV] = prev;
        self.links[prev as usize - 1][NEXT] = next;
        self.len -= 1;
    }

    // Zone numbers fit into 32 bits: asserted when the queue was made.
    fn insert(&mut self, zone: usize, prev: usize, next: usize) {
        debug_assert!(!self.contains(zone), "a zone stands in a queue once");
        self.links[zone + 1] = [next as u32 + 1, prev as u32 + 1];
        self.links[next][PREV] = zone as u32 + 2;
        self.links[prev][NEXT] = zone as u32 + 2;
        self.len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_first_in_first_out_but_for_what_leaves_or_comes_out_of_turn() {
        let mut queue = Queue::new(5);
        for zone in [3, 0, 4, 1] {
            queue.push_back(zone);
        }
        queue.remove(0);
        queue.remove(0);
        queue.push_front(2);
        assert!(queue.contains(4) && !queue.contains(0));
        assert_eq!((queue.len(), queue.first()), (4, Some(2)));
        let order: Vec<usize> = std::iter::from_fn(|| queue.pop_front()).collect();
        assert_eq!((order, queue.len()), (vec![2, 3, 4, 1], 0));
        queue.push_back(0);
        assert_eq!(queue.pop_front(), Some(0));
    }
}
