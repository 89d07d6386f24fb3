//! The executor of translations: where [`Step`]s become I/O.
//!
//! It has the memory in which steps move blocks, makes one I/O of steps that are one, and says on whose account
//! each is done. It does no I/O, has no clock and never waits: whoever drives it carries an [`Action`] out, in its
//! own time and on its own kind of disk, and says when it is done. The simulator does so over a drive model, the
//! tests over a strict disk in memory that loses power ([`crate::testing`]).
//!
//! ```text
//!  begin(work, data) ──► next(queue) ──► Action ──► read, write, append, reset, make durable
//!                            ▲                               │ from or into data()
//!                            └─────────── done() ◄───────────┘
//! ```
//!
//! `D` is what memory holds of a block: its bytes, or a number that says which version it is. Where only time
//! counts nothing is held: an executor moves no data until it is told to ([`Executor::keep_data`]), and
//! [`Executor::data`] is empty.
//!
//! # Over a real disk
//!
//! Nothing here assumes that an action is carried out before its caller goes on to something else:
//!
//! - **Asynchronous.** Between [`Executor::next`] and [`Executor::done`] the executor does not change. The caller
//!   submits the action, returns to its loop, and calls `done` at the completion. There is one action at a time, as
//!   steps are in a total order; with an order by zones there would be several, each with a number for `done`.
//! - **Data.** A store takes for `D` a handle on a page, cheap to clone and with its own memory, so that the pages
//!   of an action can be taken out of [`Executor::data`] and travel with the I/O; those of a read are put there
//!   before `done`. The default of `D` is a block of zeros.
//! - **Size.** An action may be as long as a zone, and may be carried out in pieces: those of an append one
//!   behind the other, those of a read or a write in any order.
//! - **Durable.** At [`Action::Commit`] the caller flushes the disk, saves the map as it is now, and makes that
//!   durable before `done`. No other action needs a flush. A FLUSH of the host is the same, between works.
//! - **Failure.** Without `done` there is no further action, so one that failed may be tried again, an append from
//!   where the write pointer is. If it cannot be carried out the work cannot go on; the durable map still names what
//!   was there at the last `Commit`.

use std::collections::HashMap;
use std::ops::Range;

use shingle_core::units::{Block, Zone};

use crate::step::{Piece, Place, Step};
use crate::translation::{Queue, Translation, Work};

/// One I/O, or a point between I/Os.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Reads from where blocks lie. From [`Place::Nowhere`] it is no I/O: they are zeros.
    Read {
        /// Where the first lies.
        from: Place,
        /// How many.
        count: u64,
    },
    /// Writes into the buffer.
    Write {
        /// Where to, in blocks from the start of the buffer.
        at: u64,
        /// How many.
        count: u64,
        /// Whether they are the host's, just written by it.
        hosts: bool,
    },
    /// Writes at the write pointer of a zone.
    Append {
        /// The zone, counted from the first sequential one.
        zone: Zone,
        /// The first of the host's blocks; the others follow.
        block: Block,
        /// How many.
        count: u64,
        /// Whether they are the host's, just written by it, and nothing was read to be written with them.
        hosts: bool,
    },
    /// Moves the write pointer of a zone back to its start.
    Reset {
        /// The zone, counted from the first sequential one.
        zone: Zone,
    },
    /// See [`Step::Commit`].
    Commit,
}

/// On whose account an action is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The host's data goes to the buffer.
    Log,
    /// The host's data goes straight to a zone.
    Write,
    /// Nobody's: the buffer is cleaned.
    Clean,
}

impl Action {
    /// On whose account it is done.
    #[must_use]
    pub fn cause(self) -> Cause {
        match self {
            Action::Write { hosts: true, .. } => Cause::Log,
            Action::Append { hosts: true, .. } => Cause::Write,
            _ => Cause::Clean,
        }
    }

    /// Blocks that it moves.
    #[must_use]
    pub fn count(self) -> u64 {
        match self {
            Action::Read { count, .. }
            | Action::Write { count, .. }
            | Action::Append { count, .. } => count,
            Action::Reset { .. } | Action::Commit => 0,
        }
    }

    /// Whether others may be one with it.
    fn may_go_on(self) -> bool {
        matches!(self, Action::Read { .. } | Action::Write { .. })
    }

    /// Itself and `next`, if that goes on where it ends.
    fn and(self, next: Action) -> Option<Action> {
        match (self, next) {
            (Action::Read { from, count }, Action::Read { from: then, count: more })
                if from != Place::Nowhere && from.after(count) == then =>
            {
                Some(Action::Read { from, count: count + more })
            }
            (
                Action::Write { at, count, hosts },
                Action::Write { at: then, count: more, hosts: same },
            ) if at + count == then && hosts == same => {
                Some(Action::Write { at, count: count + more, hosts })
            }
            _ => None,
        }
    }
}

/// What is known of the step that comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ahead {
    /// The translation has not been asked.
    Unknown,
    /// It has, to see whether the step is one with the one before.
    Step(Step),
    /// It has, and there is none.
    Nothing,
}

/// Carries out a translation's works. See the module.
pub struct Executor<D> {
    translation: Box<dyn Translation>,
    /// A work has begun whose end was not told.
    works: bool,
    ahead: Ahead,
    /// Handed out and not done.
    under_way: Option<Action>,
    /// The steps that it is.
    steps: Vec<Step>,
    /// What it moves, if data are kept.
    data: Vec<D>,
    memory: Memory<D>,
}

/// Steps of one action are kept up to this many without taking memory.
const STEPS: usize = 1 << 10;

impl<D: Clone + Default> Executor<D> {
    /// No work is under way, and no data are kept.
    #[must_use]
    pub fn new(translation: Box<dyn Translation>) -> Executor<D> {
        Executor {
            translation,
            works: false,
            ahead: Ahead::Nothing,
            under_way: None,
            steps: Vec::with_capacity(STEPS),
            data: Vec::new(),
            memory: Memory { host: 0..0, gathers: false, blocks: None },
        }
    }

    /// From the next work on data are moved.
    pub fn keep_data(&mut self) {
        self.memory.blocks.get_or_insert_default();
    }

    /// The translation.
    #[must_use]
    pub fn translation(&self) -> &dyn Translation {
        self.translation.as_ref()
    }

    /// [`Translation::locate`], and when it may be asked.
    pub fn locate(&mut self, block: Block, count: u64, out: &mut Vec<Piece>) {
        self.translation.locate(block, count, out);
    }

    /// Begins a work. `data` has what the host writes, if it does and data are kept.
    ///
    /// # Panics
    /// If a work is under way.
    pub fn begin(&mut self, work: Work, data: &[D]) {
        assert!(!self.works, "{work:?} begins while a work is under way");
        self.memory.begin(work.writes(), data);
        self.translation.begin(work);
        (self.works, self.ahead) = (true, Ahead::Unknown);
    }

    /// Whether a work has begun whose end [`Executor::next`] has not said.
    #[must_use]
    pub fn works(&self) -> bool {
        self.works
    }

    /// What is to be done next; `None` when the work is done. `queue` is what waits now: to know what
    /// is one I/O, the translation is asked for the step after it already.
    ///
    /// # Panics
    /// If the action before is not done, or writes what was never read: a mistake of the translation.
    pub fn next(&mut self, queue: &dyn Queue) -> Option<Action> {
        assert_eq!(self.under_way, None, "it is not done yet");
        let step = match self.ahead {
            Ahead::Step(step) => Some(step),
            Ahead::Unknown => self.translation.next(queue),
            Ahead::Nothing => None,
        };
        let Some(step) = step else {
            (self.works, self.ahead) = (false, Ahead::Nothing);
            return None;
        };
        let mut action = self.memory.action(step);
        self.steps.clear();
        self.steps.push(step);
        self.ahead = Ahead::Unknown;
        while action.may_go_on() && self.ahead == Ahead::Unknown {
            let next = self.translation.next(queue);
            let both = next.and_then(|step| action.and(self.memory.action(step)));
            match (next, both) {
                (Some(step), Some(both)) => {
                    self.steps.push(step);
                    action = both;
                }
                (Some(step), None) => self.ahead = Ahead::Step(step),
                (None, _) => self.ahead = Ahead::Nothing,
            }
        }
        self.memory.give(&self.steps, &mut self.data);
        self.under_way = Some(action);
        Some(action)
    }

    /// The data of the action under way, a place for each block: what a write or an append takes, and
    /// room for what a read gets. Empty if no data are kept.
    pub fn data(&mut self) -> &mut [D] {
        &mut self.data
    }

    /// The steps that the action under way is, in their order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The action under way is carried out.
    ///
    /// # Panics
    /// If there is none.
    pub fn done(&mut self) {
        match self.under_way.take().expect("an action is under way") {
            Action::Read { .. } => self.memory.take(&self.steps, &mut self.data),
            Action::Commit => self.memory.gathers = false,
            Action::Write { .. } | Action::Append { .. } | Action::Reset { .. } => {}
        }
    }

    /// A copy in the same state.
    ///
    /// # Panics
    /// If an action is not done.
    #[must_use]
    pub fn copy(&self) -> Executor<D> {
        assert_eq!(self.under_way, None, "it is not done yet");
        Executor {
            works: self.works,
            ahead: self.ahead,
            memory: self.memory.clone(),
            ..Executor::new(self.translation.copy())
        }
    }
}

/// The memory that [`crate::step`] tells of.
#[derive(Clone)]
struct Memory<D> {
    /// What the host writes.
    host: Range<u64>,
    /// Something was read since the last commit, which an append then writes back.
    gathers: bool,
    /// What it holds, if data are kept.
    blocks: Option<HashMap<u64, D>>,
}

impl<D: Clone + Default> Memory<D> {
    /// Has what the host writes, and nothing else.
    fn begin(&mut self, host: Range<u64>, data: &[D]) {
        self.gathers = false;
        if let Some(blocks) = &mut self.blocks {
            blocks.clear();
            blocks.extend(host.clone().zip(data.iter().cloned()));
        }
        self.host = host;
    }

    /// What a step is by itself.
    fn action(&self, step: Step) -> Action {
        let blocks = step.blocks();
        let hosts = self.host.start <= blocks.start && blocks.end <= self.host.end;
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

    /// Puts into `data` what steps write, or room for what they read.
    fn give(&self, steps: &[Step], data: &mut Vec<D>) {
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

    /// Has what steps have read, but for what the host is writing.
    fn take(&mut self, steps: &[Step], data: &mut Vec<D>) {
        self.gathers = true;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(host: Range<u64>, data: &[u64]) -> Memory<u64> {
        let mut memory = Memory { host: 0..0, gathers: false, blocks: Some(HashMap::new()) };
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
}
