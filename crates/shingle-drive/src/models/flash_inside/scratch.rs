//! A vector that keeps its capacity when cloned, so that a cloned drive does not allocate later.

use std::ops::{Deref, DerefMut};

#[derive(Debug)]
pub(super) struct Scratch<T>(Vec<T>);

impl<T> Scratch<T> {
    /// Empty, with room for `count`.
    pub(super) fn new(count: usize) -> Scratch<T> {
        Scratch(Vec::with_capacity(count))
    }
}

impl<T: Clone> Clone for Scratch<T> {
    fn clone(&self) -> Scratch<T> {
        let mut copy = Vec::with_capacity(self.0.capacity());
        copy.extend_from_slice(&self.0);
        Scratch(copy)
    }
}

impl<T> Deref for Scratch<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}
