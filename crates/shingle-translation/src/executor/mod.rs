//! The executor of translations: turns [`Step`]s into I/O.
//!
//! It has the memory in which steps move blocks, joins steps to one I/O, and gives the cause of
//! each. It does no I/O, has no clock and never waits: its caller carries an [`Action`] out, in its
//! own time and on its own kind of disk, and reports when it is done. The simulator does so over a
//! drive model, the tests over a strict disk in memory that loses power (`testing`).
//!
//! ```text
//!  begin(work, data) ──► next(queue) ──► Action ──► read, write, append, reset, make durable
//!                            ▲                               │ from or into data()
//!                            └─────────── done() ◄───────────┘
//! ```
//!
//! `D` is what memory holds of a block: its bytes, or a version number. If only time counts,
//! nothing is held: an executor moves no data until [`Executor::keep_data`], and [`Executor::data`]
//! is empty.
//!
//! # Over a real disk
//!
//! Nothing here assumes that an action is carried out before its caller does other work:
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
//! - **Failure.** Without `done` there is no further action, so a failed one may be tried again, an
//!   append from the write pointer on. If it fails for good the work cannot continue; the durable
//!   map still names the places of the last `Commit`.

mod action;
mod memory;

use shingle_core::units::Block;

pub use self::action::{Action, Cause};
use self::memory::Memory;
use crate::translation::{Piece, Queue, Step, Translation, Work};

/// What is known of the next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lookahead {
    /// The translation was not asked for it yet.
    Unknown,
    /// It was asked, to see whether the step can be joined to the one before.
    Step(Step),
    /// It was asked, and there is none.
    Nothing,
}

/// The executor of a translation; see the module.
pub struct Executor<D> {
    translation: Box<dyn Translation>,
    /// Whether a work is in progress.
    works: bool,
    lookahead: Lookahead,
    /// The action that was handed out and is not done.
    in_flight: Option<Action>,
    steps: Vec<Step>,
    data: Vec<D>,
    memory: Memory<D>,
}

/// Most steps of one action that need no allocation.
const STEPS: usize = 1 << 10;

impl<D: Clone + Default> Executor<D> {
    /// Creates it without work in progress, and without keeping data.
    #[must_use]
    pub fn new(translation: Box<dyn Translation>) -> Executor<D> {
        Executor {
            translation,
            works: false,
            lookahead: Lookahead::Nothing,
            in_flight: None,
            steps: Vec::with_capacity(STEPS),
            data: Vec::new(),
            memory: Memory::new(),
        }
    }

    /// Makes it move data, from the next work on.
    pub fn keep_data(&mut self) {
        self.memory.keep_data();
    }

    /// Returns the translation.
    #[must_use]
    pub fn translation(&self) -> &dyn Translation {
        self.translation.as_ref()
    }

    /// [`Translation::locate`], with the same restrictions.
    pub fn locate(&mut self, block: Block, count: u64, out: &mut Vec<Piece>) {
        self.translation.locate(block, count, out);
    }

    /// Begins a work. `data` has what the host writes, if anything, and if data are kept.
    ///
    /// # Panics
    /// If a work is in progress.
    pub fn begin(&mut self, work: Work, data: &[D]) {
        assert!(!self.works, "{work:?} begins while a work is under way");
        self.memory.begin(work.writes(), data);
        self.translation.begin(work);
        (self.works, self.lookahead) = (true, Lookahead::Unknown);
    }

    /// Returns whether a work is in progress: [`Executor::next`] has not returned its end.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.works
    }

    /// Returns the next action; `None` when the work is done. `queue` has the writes that wait now.
    /// To join steps to one I/O, the translation is asked for the step after it, too.
    ///
    /// # Panics
    /// If the action before is not done, or writes a block that was never read: a bug of the
    /// translation.
    pub fn next(&mut self, queue: &dyn Queue) -> Option<Action> {
        assert_eq!(self.in_flight, None, "it is not done yet");
        let step = match self.lookahead {
            Lookahead::Step(step) => Some(step),
            Lookahead::Unknown => self.translation.next(queue),
            Lookahead::Nothing => None,
        };
        let Some(step) = step else {
            (self.works, self.lookahead) = (false, Lookahead::Nothing);
            return None;
        };
        let mut action = self.memory.action(step);
        self.steps.clear();
        self.steps.push(step);
        self.lookahead = Lookahead::Unknown;
        while action.is_joinable() && self.lookahead == Lookahead::Unknown {
            let next = self.translation.next(queue);
            let both = next.and_then(|step| action.and(self.memory.action(step)));
            match (next, both) {
                (Some(step), Some(both)) => {
                    self.steps.push(step);
                    action = both;
                }
                (Some(step), None) => self.lookahead = Lookahead::Step(step),
                (None, _) => self.lookahead = Lookahead::Nothing,
            }
        }
        self.memory.give(&self.steps, &mut self.data);
        self.in_flight = Some(action);
        Some(action)
    }

    /// Returns the data of the current action, one entry per block: what a write or an append
    /// takes, or room for what a read gets. Empty if no data are kept.
    pub fn data(&mut self) -> &mut [D] {
        &mut self.data
    }

    /// Returns the steps of the current action, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Reports that the current action is done.
    ///
    /// # Panics
    /// If there is none.
    pub fn done(&mut self) {
        match self.in_flight.take().expect("an action is under way") {
            Action::Read { .. } => self.memory.take(&self.steps, &mut self.data),
            Action::Commit => self.memory.commit(),
            Action::Write { .. } | Action::Append { .. } => self.memory.put(&self.steps),
            Action::Reset { .. } => {}
        }
    }

    /// Returns a copy in the same state.
    ///
    /// # Panics
    /// If an action is not done.
    #[must_use]
    pub fn copy(&self) -> Executor<D> {
        assert_eq!(self.in_flight, None, "it is not done yet");
        Executor {
            works: self.works,
            lookahead: self.lookahead,
            memory: self.memory.clone(),
            ..Executor::new(self.translation.copy())
        }
    }
}
