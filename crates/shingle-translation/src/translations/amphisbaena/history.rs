//! Ghosts and shadows in order of creation: a ring, so that they need no links. A record that is
//! hit, trimmed or pruned leaves a hole, which is removed when it is the oldest.

use super::record::{Record, TIME_MAX};

/// A ring of records.
#[derive(Clone, Debug)]
pub(super) struct History {
    ring: Vec<Record>,
    /// Index of the next record.
    next: u32,
    /// Number of records and holes before it.
    held: u32,
}

impl History {
    pub(super) fn new(capacity: u32) -> History {
        History { ring: vec![Record::NONE; capacity as usize], next: 0, held: 0 }
    }

    pub(super) fn capacity(&self) -> u32 {
        self.ring.len() as u32
    }

    pub(super) fn get(&self, at: u32) -> Record {
        self.ring[at as usize]
    }

    /// Turns the record at `at` into a hole.
    pub(super) fn remove(&mut self, at: u32) {
        self.ring[at as usize] = Record::NONE;
    }

    pub(super) fn is_full(&self) -> bool {
        self.held == self.capacity()
    }

    /// Returns the oldest place in use.
    fn oldest(&self) -> Option<u32> {
        let capacity = self.capacity();
        (self.held > 0).then(|| (self.next + capacity - self.held) % capacity)
    }

    /// Removes the oldest holes, and returns the place of the oldest record.
    pub(super) fn oldest_record(&mut self) -> Option<u32> {
        while let Some(at) = self.oldest() {
            if self.get(at) != Record::NONE {
                return Some(at);
            }
            self.held -= 1;
        }
        None
    }

    /// Adds a record, for which there must be room. Returns its place.
    pub(super) fn push(&mut self, record: Record) -> u32 {
        assert!(!self.is_full(), "a history without room");
        let at = self.next;
        self.ring[at as usize] = record;
        self.next = if at + 1 == self.capacity() { 0 } else { at + 1 };
        self.held += 1;
        at
    }

    /// Enlarges the ring. Records move to other places, in the same order.
    pub(super) fn grow(&mut self, capacity: u32) {
        let oldest = self.oldest().unwrap_or(0) as usize;
        self.ring.rotate_left(oldest);
        self.next = self.held;
        self.ring.resize(capacity as usize, Record::NONE);
    }

    /// Returns records with their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, Record)> + '_ {
        (0u32..).zip(self.ring.iter().copied()).filter(|(_, record)| *record != Record::NONE)
    }

    /// Changes the time of each record.
    pub(super) fn retime(&mut self, mut to: impl FnMut(u32) -> u32) {
        for record in self.ring.iter_mut().filter(|record| **record != Record::NONE) {
            let time = to(record.time());
            debug_assert!(time <= TIME_MAX);
            *record = record.with(record.role(), time);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.ring.capacity() * size_of::<Record>()
    }
}
