//! Steps that are decided and not yet executed.

use crate::translation::{Place, Step};
use shingle_core::units::Block;
use std::collections::VecDeque;

/// A run of blocks between memory and the buffer.
#[derive(Clone, Copy, Debug)]
struct Run {
    block: Block,
    count: u64,
    at: u64,
}

impl Run {
    /// Returns whether `block` at place `at` of the buffer continues it.
    fn continues(&self, block: Block, at: u64) -> bool {
        block == self.block.after(self.count) && at == self.at + self.count
    }
}

/// A queue of steps. Neighbours that are written one by one are merged into one step.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    queue: VecDeque<Step>,
    run: Option<Run>,
    /// Whether a freed place of the buffer may still be in the durable map.
    freed: bool,
}

impl Steps {
    pub(super) fn new(capacity: usize) -> Steps {
        Steps { queue: VecDeque::with_capacity(capacity), run: None, freed: false }
    }

    pub(super) fn take(&mut self) -> Option<Step> {
        self.queue.pop_front()
    }

    /// Writes `block` from memory to `at`.
    pub(super) fn write(&mut self, block: Block, at: u64) {
        match &mut self.run {
            Some(run) if run.continues(block, at) => run.count += 1,
            _ => {
                self.finish_run();
                self.run = Some(Run { block, count: 1, at });
            }
        }
    }

    /// Ends the last run: no later block continues it.
    pub(super) fn finish_run(&mut self) {
        if let Some(Run { block, count, at }) = self.run.take() {
            self.queue.push_back(Step::Buffer { block, count, at });
        }
    }

    /// Reads blocks of the buffer into memory; merges with the step before if they continue it.
    pub(super) fn read(&mut self, block: Block, count: u64, at: u64) {
        self.finish_run();
        if let Some(Step::Read { from: Place::Buffer(start), block: first, count: before }) =
            self.queue.back_mut()
            && (Run { block: *first, count: *before, at: *start }).continues(block, at)
        {
            *before += count;
            return;
        }
        self.queue.push_back(Step::Read { from: Place::Buffer(at), block, count });
    }

    /// Records that a place of the buffer is free: before it is written again the map has to be
    /// durable.
    pub(super) fn place_freed(&mut self) {
        self.freed = true;
    }

    /// Must be called before a free place is used: if a commit has to come first, queues it and
    /// returns true; the place may be used after that step.
    pub(super) fn commits_first(&mut self) -> bool {
        let freed = core::mem::replace(&mut self.freed, false);
        if freed {
            self.finish_run();
            self.queue.push_back(Step::Commit);
        }
        freed
    }

    pub(super) fn bytes(&self) -> usize {
        self.queue.capacity() * size_of::<Step>()
    }
}
