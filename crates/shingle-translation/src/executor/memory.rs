//! The memory of an executor, in which steps move blocks.
//!
//! It is empty when a work begins, except for the data of a write, and is dropped at its end.

use std::collections::HashMap;
use std::ops::Range;

use super::action::Action;
use crate::translation::Step;

/// Blocks of the host by address: those that it writes, and those that steps have read.
#[derive(Clone)]
pub(super) struct Memory<D> {
    /// The blocks that the host writes.
    host: Range<u64>,
    /// Whether something was read since the last commit, which an append then writes back.
    gathers: bool,
    /// Blocks that the host writes and that steps have read, and not written since: the next write
    /// of such a block moves it.
    moving: Vec<u64>,
    /// Its contents, if data are kept.
    blocks: Option<HashMap<u64, D>>,
}

impl<D: Clone + Default> Memory<D> {
    /// Creates an empty memory that keeps no data.
    pub(super) fn new() -> Memory<D> {
        Memory { host: 0..0, gathers: false, moving: Vec::new(), blocks: None }
    }

    /// Makes it keep data, from the next work on.
    pub(super) fn keep_data(&mut self) {
        self.blocks.get_or_insert_default();
    }

    /// Notes a commit: blocks read before are durable at their new place.
    pub(super) fn commit(&mut self) {
        self.gathers = false;
    }

    /// Begins a work: holds only what the host writes.
    pub(super) fn begin(&mut self, host: Range<u64>, data: &[D]) {
        self.gathers = false;
        self.moving.clear();
        if let Some(blocks) = &mut self.blocks {
            blocks.clear();
            blocks.extend(host.clone().zip(data.iter().cloned()));
        }
        self.host = host;
    }

    pub(super) fn action(&self, step: Step) -> Action {
        let blocks = step.blocks();
        let moves = self.moving.iter().any(|block| blocks.contains(block));
        let hosts = !moves && self.host.start <= blocks.start && blocks.end <= self.host.end;
        match step {
            Step::Read { from, count, .. } | Step::Over { from, count } => {
                Action::Read { from, count }
            }
            Step::Buffer { at, count, .. } => Action::Write { at, count, hosts },
            Step::Append { zone, block, count } => {
                Action::Append { zone, block, count, hosts: hosts && !self.gathers }
            }
            Step::Reset { zone } => Action::Reset { zone },
            Step::Commit => Action::Commit,
        }
    }

    /// Appends to `data` what the steps write, or room for what they read.
    pub(super) fn give(&self, steps: &[Step], data: &mut Vec<D>) {
        data.clear();
        let Some(held) = &self.blocks else { return };
        for step in steps {
            if let Step::Over { count, .. } = step {
                data.resize_with(data.len() + *count as usize, D::default);
            }
            for block in step.blocks() {
                data.push(match step {
                    Step::Read { .. } => D::default(),
                    Step::Buffer { .. } => held.get(&block).cloned().unwrap_or_else(|| {
                        panic!(
                            "block {block} is to go to the buffer and is not in memory: no step \
                             before has read it"
                        )
                    }),
                    _ => held.get(&block).cloned().unwrap_or_default(),
                });
            }
        }
    }

    /// Stores what the steps have read, except for blocks that the host is writing.
    pub(super) fn take(&mut self, steps: &[Step], data: &mut Vec<D>) {
        self.gathers = true;
        for step in steps {
            let blocks = step.blocks();
            self.moving.extend(blocks.start.max(self.host.start)..blocks.end.min(self.host.end));
        }
        let Some(held) = &mut self.blocks else { return };
        let mut data = data.drain(..);
        for step in steps {
            if let Step::Over { count, .. } = step {
                data.by_ref().take(*count as usize).for_each(drop);
            }
            let read = step.blocks().zip(data.by_ref());
            held.extend(read.filter(|(block, _)| !self.host.contains(block)));
        }
    }

    pub(super) fn put(&mut self, steps: &[Step]) {
        self.moving.retain(|block| !steps.iter().any(|step| step.blocks().contains(block)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Cause;
    use crate::translation::Place;
    use shingle_core::units::{Block, Zone};

    fn memory(host: Range<u64>, data: &[u64]) -> Memory<u64> {
        let mut memory = Memory::new();
        memory.keep_data();
        memory.begin(host, data);
        memory
    }

    fn read(from: Place, block: u64, count: u64) -> Step {
        Step::Read { from, block: Block(block), count }
    }

    fn write(at: u64, block: u64, count: u64) -> Step {
        Step::Buffer { block: Block(block), count, at }
    }

    #[test]
    fn only_what_goes_on_is_one() {
        let memory = memory(0..10, &[0; 10]);
        let both =
            |one: Step, next: Step| memory.action(one).and(memory.action(next)).map(Action::count);
        let reads = read(Place::Buffer(4), 70, 2);
        assert_eq!(both(reads, read(Place::Buffer(6), 20, 1)), Some(3));
        assert_eq!(both(reads, read(Place::Buffer(7), 72, 1)), None);
        assert_eq!(both(reads, read(Place::Native(6), 72, 1)), None);
        assert_eq!(both(reads, write(6, 5, 1)), None);
        assert_eq!(both(reads, Step::Commit), None);
        assert_eq!(both(read(Place::Native(6), 5, 1), read(Place::Native(7), 80, 1)), Some(2));
        assert_eq!(both(write(0, 5, 1), write(1, 3, 1)), Some(2));
        assert_eq!(both(write(0, 5, 1), write(1, 30, 1)), None, "not the host's");
        assert_eq!(both(write(0, 9, 1), write(1, 9, 2)), None, "one of them is not the host's");
        assert_eq!(both(write(0, 30, 1), write(1, 50, 1)), Some(2));
        assert_eq!(both(read(Place::Nowhere, 5, 1), read(Place::Nowhere, 6, 1)), None);
        let append = |zone, block| Step::Append { zone: Zone(zone), block: Block(block), count: 2 };
        assert_eq!(both(append(1, 30), append(1, 70)), Some(4));
        assert_eq!(both(append(1, 30), append(2, 32)), None, "another zone");
        assert_eq!(both(append(1, 30), append(1, 4)), None, "the host's");
        assert_eq!(both(append(1, 30), Step::Reset { zone: Zone(1) }), None);
    }

    #[test]
    fn the_hosts_own_data_is_not_replaced() {
        let mut memory = memory(4..6, &[70, 71]);
        let mut data = Vec::new();
        let reads = [read(Place::Native(3), 3, 3)];
        memory.give(&reads, &mut data);
        assert_eq!(data, [0, 0, 0], "room");
        data.copy_from_slice(&[1, 2, 3]);
        memory.take(&reads, &mut data);
        let append = Step::Append { zone: Zone(0), block: Block(2), count: 5 };
        memory.give(&[append], &mut data);
        assert_eq!(data, [0, 1, 70, 71, 0]);
        memory.give(&[write(8, 5, 1), write(9, 3, 1)], &mut data);
        assert_eq!(data, [71, 1]);
    }

    #[test]
    fn what_is_written_back_with_what_was_read_is_not_on_the_hosts_account() {
        let mut memory = memory(4..6, &[70, 71]);
        let append = Step::Append { zone: Zone(0), block: Block(4), count: 2 };
        let cause = |memory: &Memory<u64>, step| memory.action(step).cause();
        assert_eq!(cause(&memory, append), Cause::Write);
        assert_eq!(cause(&memory, write(0, 4, 2)), Cause::Log);
        assert_eq!(cause(&memory, write(0, 4, 3)), Cause::Clean);
        memory.take(&[read(Place::Nowhere, 0, 1)], &mut vec![0]);
        assert_eq!(cause(&memory, append), Cause::Clean);
        assert_eq!(cause(&memory, write(0, 4, 2)), Cause::Log);
    }

    #[test]
    fn what_is_moved_is_not_on_the_hosts_account() {
        let mut memory = memory(4..6, &[70, 71]);
        let cause = |memory: &Memory<u64>, step| memory.action(step).cause();
        let append = Step::Append { zone: Zone(0), block: Block(5), count: 1 };
        memory.take(&[read(Place::Buffer(9), 5, 1)], &mut vec![0]);
        memory.commit();
        assert_eq!(cause(&memory, write(0, 4, 1)), Cause::Log);
        assert_eq!(cause(&memory, write(3, 5, 1)), Cause::Clean);
        assert_eq!(cause(&memory, append), Cause::Clean);
        memory.put(&[write(3, 5, 1)]);
        assert_eq!(cause(&memory, write(7, 5, 1)), Cause::Log, "it has been moved");
        assert_eq!(cause(&memory, append), Cause::Write);
    }
}
