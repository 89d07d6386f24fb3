//! The SSD is taken out, and another one put in, while clients are served. The other one may be the same, divided
//! anew because it has grown.
//!
//! ```text
//!   in ─► leaving: the disk gets everything, what is dirty goes there
//!           └─► emptied: no command begins; the last are finished, nothing is dirty
//!                 └─► told: the SSD says that nothing on it counts any more ─► out: the disk serves alone
//!                                                      entering: no command begins ◄─┘
//!                 in ◄─ the cache is empty, and is filled anew ◄┘
//! ```
//!
//! At each moment there is one SSD that may be served after a crash, and before the old one says that nothing on it
//! counts that is the old one. From then on the disk has everything, until something is written to the new one.
//! One that has failed by itself is out when the disk has what could be read of it. If it could not even be told that
//! nothing counts, it is [untold](SsdState::Untold): the disk has all that was durable, and whoever owns the engine sees
//! to it that this SSD is not served again, says so, and it is out.

use shingle_core::cache::CacheCore;
use shingle_core::units::{Block, Nanos};

use super::open_error::OpenError;
use super::ssd_state::SsdState;
use crate::bugs::{Bug, Seeded};
use crate::recover::Recovered;

/// An SSD with an empty cache.
pub struct NewSsd {
    /// What stands on it. It was [put into use](crate::journal::Journal::put_into_use).
    pub found: Recovered,
    /// Of its size.
    pub cache: Box<dyn CacheCore>,
    /// Slots kept free.
    pub room_slots: u32,
}

impl Clone for NewSsd {
    fn clone(&self) -> NewSsd {
        let NewSsd { found, cache, room_slots } = self;
        NewSsd { found: found.clone(), cache: cache.copy(), room_slots: *room_slots }
    }
}

impl NewSsd {
    /// Whether `cache` is one for it.
    fn check(&self, cache: &dyn CacheCore) -> Result<(), OpenError> {
        let (ssd, slots) = (self.found.journal.layout().slots, cache.slots().capacity());
        if ssd != u64::from(slots) {
            return Err(OpenError::Slots { ssd, cache: slots.into() });
        }
        if cache.wants_future() { Err(OpenError::Future) } else { Ok(()) }
    }
}

/// With so few dirty blocks no new command begins until they are on the disk: that is soon.
const FEW_DIRTY: u64 = 256;
/// Commands are not held for longer, should the disk not take those; and not again before as much time has passed.
const HOLD_MAX: Nanos = Nanos::from_millis(5_000);
/// Looking for what may still go to the disk takes time.
const LOOK_EVERY: Nanos = Nanos::from_millis(100);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Stage {
    #[default]
    In,
    Leaving,
    Emptied,
    Told,
    Untold,
    Out,
    Entering,
}

/// How far it is.
#[derive(Clone, Default)]
pub(super) struct Exchange {
    stage: Stage,
    /// Blocks whose data is lost may be forgotten: the disk serves what it has of them.
    forgets_lost: bool,
    /// It is not to be served again: the disk is written past it, so it cannot stay in.
    abandoned: bool,
    /// Not before this the next step.
    not_before: Nanos,
    /// Until then commands are held.
    held_until: Nanos,
    new: Option<NewSsd>,
    /// Blocks whose data was lost and that were given up with the last SSD.
    forgotten: Vec<Block>,
    bugs: Seeded,
}

impl Exchange {
    pub(super) fn new(bugs: Seeded) -> Exchange {
        Exchange { bugs, ..Exchange::default() }
    }

    pub(super) fn state(&self) -> SsdState {
        match self.stage {
            Stage::In => SsdState::In,
            Stage::Leaving | Stage::Emptied | Stage::Told => SsdState::Leaving,
            Stage::Untold => SsdState::Untold,
            Stage::Out => SsdState::Out,
            Stage::Entering => SsdState::Entering,
        }
    }

    pub(super) fn forgotten(&self) -> &[Block] {
        &self.forgotten
    }

    /// Another cache for the SSD that is about to enter, if one is; otherwise it comes back.
    pub(super) fn take_cache(
        &mut self,
        cache: Box<dyn CacheCore>,
    ) -> Result<Option<Box<dyn CacheCore>>, OpenError> {
        let Some(new) = &mut self.new else { return Ok(Some(cache)) };
        new.check(&*cache)?;
        new.cache = cache;
        Ok(None)
    }

    /// What another SSD that is about to enter is to say of policy and parameters.
    pub(super) fn set_settings(&mut self, settings: &str) {
        if let Some(new) = &mut self.new {
            new.found.journal.set_settings(settings.to_owned());
        }
    }

    /// No command begins.
    pub(super) fn holds(&self) -> bool {
        let bug = self.bugs.has(Bug::PutInUnderWay) && self.stage == Stage::Entering;
        matches!(self.stage, Stage::Emptied | Stage::Told | Stage::Entering) && !bug
    }

    /// Another SSD that is about to enter is empty: that there is one is all of it.
    #[cfg(feature = "bugs")]
    pub(super) fn hash_state<H: std::hash::Hasher>(&self, view: &super::state::View, into: &mut H) {
        use std::hash::Hash;

        let Exchange { stage, forgets_lost, abandoned, not_before, held_until, new, .. } = self;
        (stage, forgets_lost, abandoned, new.is_some()).hash(into);
        (view.ahead(*not_before), view.ahead(*held_until)).hash(into);
    }

    /// The SSD begins to leave; returns whether it had not.
    pub(super) fn begin(&mut self, forgets_lost: bool) -> bool {
        let begins = self.stage == Stage::In;
        if begins {
            (self.stage, self.forgets_lost) = (Stage::Leaving, forgets_lost);
            self.abandoned = false;
            self.not_before = Nanos::ZERO;
            self.forgotten.clear();
        }
        begins
    }

    /// It stays, if nothing on it was given up yet; returns whether it is in.
    pub(super) fn keep_in(&mut self) -> bool {
        if matches!(self.stage, Stage::Leaving | Stage::Emptied) && !self.abandoned {
            self.stage = Stage::In;
        }
        self.stage == Stage::In
    }

    /// It will not be served again; returns whether that was to be said.
    pub(super) fn abandon(&mut self) -> bool {
        let untold = self.stage == Stage::Untold;
        if untold {
            (self.stage, self.abandoned) = (Stage::Leaving, true);
        }
        untold
    }

    /// Another one enters.
    pub(super) fn put_in(&mut self, new: NewSsd) -> Result<(), OpenError> {
        if self.stage != Stage::Out {
            return Err(OpenError::NotOut);
        }
        new.check(&*new.cache)?;
        let held = new.found.live().count();
        if held > 0 {
            return Err(OpenError::NotEmpty(held));
        }
        (self.stage, self.new) = (Stage::Entering, Some(new));
        Ok(())
    }

    /// Nothing more of an SSD that takes nothing may go to the disk.
    pub(super) fn nothing_left(&mut self) {
        self.stage = Stage::Untold;
    }

    /// This block is given up with it.
    pub(super) fn forget(&mut self, lost: Block) {
        self.forgotten.push(lost);
    }

    /// It cannot be out yet.
    pub(super) fn not_yet(&mut self) {
        self.stage = Stage::Leaving;
    }

    /// Blocks that are dirty and may be, are few enough.
    fn has_few(&self, facts: &Facts) -> bool {
        facts.dirty <= facts.lost + FEW_DIRTY && (facts.lost == 0 || self.forgets_lost)
    }

    fn is_clean(&self, facts: &Facts) -> bool {
        let lost = if self.forgets_lost { facts.lost } else { 0 };
        facts.dirty == lost && facts.no_destages
    }

    /// Goes on, as far as that can be.
    pub(super) fn step(&mut self, facts: &Facts, now: Nanos) -> Step {
        match self.stage {
            Stage::In | Stage::Untold | Stage::Out => Step::Nothing,
            Stage::Told if facts.invalidating => Step::Nothing,
            Stage::Leaving | Stage::Emptied | Stage::Told if facts.failed => {
                self.step_failed(facts, now)
            }
            Stage::Leaving if self.has_few(facts) && now >= self.not_before => {
                (self.stage, self.held_until) = (Stage::Emptied, now + HOLD_MAX);
                Step::Nothing
            }
            Stage::Leaving => Step::Nothing,
            Stage::Emptied => self.step_emptied(facts, now),
            Stage::Told => unreachable!("an SSD that was told is not used any more"),
            Stage::Entering => {
                let quiet = facts.no_commands && facts.no_destages;
                if !quiet && !self.bugs.has(Bug::PutInUnderWay) {
                    return Step::Nothing;
                }
                self.stage = Stage::In;
                self.new.take().map_or(Step::Nothing, |new| Step::Enter(Box::new(new)))
            }
        }
    }

    /// No command is under way, the disk has and keeps all that was dirty, and the SSD says so: it can be told.
    fn step_emptied(&mut self, facts: &Facts, now: Nanos) -> Step {
        let clean = self.is_clean(facts) || self.bugs.has(Bug::TakenOutDirty);
        if clean && facts.no_commands && facts.committed {
            self.stage = Stage::Told;
            return Step::Tell;
        }
        if now >= self.held_until || !self.has_few(facts) {
            (self.stage, self.not_before) = (Stage::Leaving, now + HOLD_MAX);
        }
        Step::Nothing
    }

    /// It has failed, by itself or when it was to be told; or it has been told.
    fn step_failed(&mut self, facts: &Facts, now: Nanos) -> Step {
        self.stage = Stage::Leaving;
        if facts.told {
            if self.is_clean(facts) && facts.no_ssd_io {
                self.stage = Stage::Out;
                return Step::Out;
            }
        } else if facts.takes_nothing_more && facts.no_destages && now >= self.not_before {
            self.not_before = now + LOOK_EVERY;
            if facts.lost == 0 || self.forgets_lost {
                return Step::LookForMore;
            }
        }
        Step::Nothing
    }
}

/// What the next step depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Dirty blocks, and those of them whose data is lost.
    pub(super) dirty: u64,
    pub(super) lost: u64,
    /// Nothing is on its way to the disk.
    pub(super) no_destages: bool,
    /// No command that has begun is unfinished.
    pub(super) no_commands: bool,
    /// The SSD says all that it was given to say.
    pub(super) committed: bool,
    /// It is not used any more: it has failed, or was told.
    pub(super) failed: bool,
    /// It is being told what does not count.
    pub(super) invalidating: bool,
    /// It was told that nothing counts, or abandoned.
    pub(super) told: bool,
    /// It does not take that.
    pub(super) takes_nothing_more: bool,
    /// None of its I/O is under way.
    pub(super) no_ssd_io: bool,
}

/// What is to be done for an exchange.
#[must_use]
pub(super) enum Step {
    /// To wait.
    Nothing,
    /// To tell the SSD that nothing on it counts.
    Tell,
    /// To look whether something dirty may go to the disk yet. If not, [`Exchange::nothing_left`].
    LookForMore,
    /// It is out.
    Out,
    /// To use this one.
    Enter(Box<NewSsd>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_abandoned_does_not_stay_in() {
        let mut exchange = Exchange::new(Seeded::default());
        assert!(exchange.begin(true) && exchange.keep_in(), "nothing was given up");
        assert!(exchange.begin(true));
        exchange.nothing_left();
        assert!(exchange.abandon());
        // It waits for I/O under way. Whoever asked for it may give up waiting.
        assert!(!exchange.keep_in() && exchange.state() == SsdState::Leaving);
        assert!(!exchange.begin(false), "the next one goes on from there");
    }
}
