//! The executor of translations: where [`Step`]s become I/O.
//!
//! It has the memory in which steps move blocks, makes one I/O of steps that are one, and says on whose account
//! each is done. It does no I/O, has no clock and never waits: whoever drives it carries an [`Action`] out, in its
//! own time and on its own kind of disk, and says when it is done. The simulator does so over a drive model, the
//! tests over a strict disk in memory that loses power (`testing`).
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

mod action;
mod memory;

use shingle_core::units::Block;

pub use self::action::{Action, Cause};
use self::memory::Memory;
use crate::translation::{Piece, Queue, Step, Translation, Work};

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
            memory: Memory::new(),
        }
    }

    /// From the next work on data are moved.
    pub fn keep_data(&mut self) {
        self.memory.keep_data();
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
            Action::Commit => self.memory.commit(),
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
