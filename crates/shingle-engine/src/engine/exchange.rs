//! The exchange of the SSD while clients are served: one is taken out, and another one put in. The
//! new one may be the same device, formatted again because it has grown.
//!
//! ```text
//!   in ─► leaving: writes go through, dirty blocks are destaged
//!           └─► emptied: no command begins; the last are finished, nothing is dirty
//!                 └─► invalidated: the SSD records that it is void ─► out: the disk serves alone
//!                                               entering: no command begins ◄─┘
//!                 in: with an empty cache ◄────────────────────────┘
//! ```
//!
//! At any time exactly one SSD may be used for a recovery after a crash. Until the old one is
//! recorded as void it is the old one. From then on the disk has everything, until something is
//! written to the new one. An SSD that has failed by itself is out when the disk has everything
//! that could be read from it. If even the invalidation could not be written, the SSD is
//! [untold](SsdState::Untold): the disk has all that was durable. The owner of the engine makes
//! sure that this SSD is never served again, reports that, and the SSD is out.

use shingle_core::cache::CacheCore;
use shingle_core::units::{Block, Nanos};

use super::open_error::OpenError;
use super::ssd_state::SsdState;
use crate::bugs::{Bug, Seeded};
use crate::recover::Recovered;

/// An SSD with an empty cache for it.
pub struct NewSsd {
    /// What was found on it, after it was [put into use](crate::journal::Journal::mark_in_use).
    pub found: Recovered,
    /// A cache of its size.
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
    /// Checks that `cache` fits the SSD.
    fn check(&self, cache: &dyn CacheCore) -> Result<(), OpenError> {
        let (ssd, slots) = (self.found.journal.layout().slots, cache.slots().capacity());
        if ssd != u64::from(slots) {
            return Err(OpenError::Slots { ssd, cache: slots.into() });
        }
        if cache.wants_future() { Err(OpenError::Future) } else { Ok(()) }
    }
}

/// With at most this many dirty blocks no new command begins until they are on the disk, which
/// takes little time.
const FEW_DIRTY: u64 = 256;
/// How long commands are held at most, if the disk does not take those blocks. As much time passes
/// before they are held again.
const HOLD_MAX: Nanos = Nanos::from_millis(5_000);
/// How often blocks are searched that may still go to the disk: the search takes time.
const LOOK_EVERY: Nanos = Nanos::from_millis(100);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Stage {
    #[default]
    In,
    Leaving,
    Emptied,
    Invalidated,
    Untold,
    Out,
    Entering,
}

#[derive(Clone, Default)]
pub(super) struct Exchange {
    stage: Stage,
    /// Blocks whose data is lost may be given up: the disk then serves what it has of them.
    forgets_lost: bool,
    /// The old SSD will never be served again. The disk is written past it, so it cannot stay in.
    abandoned: bool,
    /// The next step begins at this time at the earliest.
    not_before: Nanos,
    /// Commands are held until then.
    held_until: Nanos,
    new: Option<NewSsd>,
    /// The lost blocks that were given up with the last SSD.
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
            Stage::Leaving | Stage::Emptied | Stage::Invalidated => SsdState::Leaving,
            Stage::Untold => SsdState::Untold,
            Stage::Out => SsdState::Out,
            Stage::Entering => SsdState::Entering,
        }
    }

    pub(super) fn forgotten(&self) -> &[Block] {
        &self.forgotten
    }

    /// Replaces the cache of the SSD that is about to enter. Returns `cache` if there is none.
    pub(super) fn take_cache(
        &mut self,
        cache: Box<dyn CacheCore>,
    ) -> Result<Option<Box<dyn CacheCore>>, OpenError> {
        let Some(new) = &mut self.new else { return Ok(Some(cache)) };
        new.check(&*cache)?;
        new.cache = cache;
        Ok(None)
    }

    /// Sets policy and parameters in the superblock of the SSD that is about to enter, if there is
    /// one.
    pub(super) fn set_settings(&mut self, settings: &str) {
        if let Some(new) = &mut self.new {
            new.found.journal.set_settings(settings.to_owned());
        }
    }

    /// Whether no command may begin.
    pub(super) fn holds_commands(&self) -> bool {
        let bug = self.bugs.has(Bug::PutInUnderWay) && self.stage == Stage::Entering;
        matches!(self.stage, Stage::Emptied | Stage::Invalidated | Stage::Entering) && !bug
    }

    /// The SSD that is about to enter is empty: only its presence is hashed.
    #[cfg(feature = "bugs")]
    pub(super) fn hash_state<H: std::hash::Hasher>(&self, view: &super::state::View, into: &mut H) {
        use std::hash::Hash;

        let Exchange { stage, forgets_lost, abandoned, not_before, held_until, new, .. } = self;
        (stage, forgets_lost, abandoned, new.is_some()).hash(into);
        (view.ahead(*not_before), view.ahead(*held_until)).hash(into);
    }

    /// Begins to take the SSD out. Returns whether it was in.
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

    /// Keeps the SSD in, if nothing on it was given up yet. Returns whether it is in.
    pub(super) fn keep_in(&mut self) -> bool {
        if matches!(self.stage, Stage::Leaving | Stage::Emptied) && !self.abandoned {
            self.stage = Stage::In;
        }
        self.stage == Stage::In
    }

    /// Notes that the SSD will never be served again. Returns whether that was needed.
    pub(super) fn abandon(&mut self) -> bool {
        let untold = self.stage == Stage::Untold;
        if untold {
            (self.stage, self.abandoned) = (Stage::Leaving, true);
        }
        untold
    }

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

    /// Notes that nothing of an SSD that takes no writes can go to the disk any more.
    pub(super) fn set_untold(&mut self) {
        self.stage = Stage::Untold;
    }

    /// Gives up a lost block with the SSD.
    pub(super) fn forget(&mut self, lost: Block) {
        self.forgotten.push(lost);
    }

    /// Steps back: the SSD cannot be out yet.
    pub(super) fn step_back(&mut self) {
        self.stage = Stage::Leaving;
    }

    /// Whether few enough blocks are dirty, apart from lost ones that may be given up.
    fn has_few(&self, facts: &Facts) -> bool {
        facts.dirty <= facts.lost + FEW_DIRTY && (facts.lost == 0 || self.forgets_lost)
    }

    fn is_clean(&self, facts: &Facts) -> bool {
        let lost = if self.forgets_lost { facts.lost } else { 0 };
        facts.dirty == lost && facts.no_destages
    }

    /// Takes the exchange one step further, if possible. Returns what the caller has to do.
    pub(super) fn step(&mut self, facts: &Facts, now: Nanos) -> Step {
        match self.stage {
            Stage::In | Stage::Untold | Stage::Out => Step::Nothing,
            Stage::Invalidated if facts.invalidating => Step::Nothing,
            Stage::Leaving | Stage::Emptied | Stage::Invalidated if facts.failed => {
                self.step_failed(facts, now)
            }
            Stage::Leaving if self.has_few(facts) && now >= self.not_before => {
                (self.stage, self.held_until) = (Stage::Emptied, now + HOLD_MAX);
                Step::Nothing
            }
            Stage::Leaving => Step::Nothing,
            Stage::Emptied => self.step_emptied(facts, now),
            Stage::Invalidated => unreachable!("an SSD that was told is not used any more"),
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

    /// Invalidates the SSD when no command is in flight, all that was dirty is durable on the disk,
    /// and its records are committed.
    fn step_emptied(&mut self, facts: &Facts, now: Nanos) -> Step {
        let clean = self.is_clean(facts) || self.bugs.has(Bug::TakenOutDirty);
        if clean && facts.no_commands && facts.committed {
            self.stage = Stage::Invalidated;
            return Step::Invalidate;
        }
        if now >= self.held_until || !self.has_few(facts) {
            (self.stage, self.not_before) = (Stage::Leaving, now + HOLD_MAX);
        }
        Step::Nothing
    }

    /// The steps of an SSD that is not used any more: it failed, by itself or at its invalidation,
    /// or it is invalidated.
    fn step_failed(&mut self, facts: &Facts, now: Nanos) -> Step {
        self.stage = Stage::Leaving;
        if facts.invalidated {
            if self.is_clean(facts) && facts.no_ssd_io {
                self.stage = Stage::Out;
                return Step::Out;
            }
        } else if facts.refuses_invalidation && facts.no_destages && now >= self.not_before {
            self.not_before = now + LOOK_EVERY;
            if facts.lost == 0 || self.forgets_lost {
                return Step::SearchDirty;
            }
        }
        Step::Nothing
    }
}

/// What the next step depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Dirty blocks, including those whose data is lost.
    pub(super) dirty: u64,
    pub(super) lost: u64,
    /// No block is being destaged.
    pub(super) no_destages: bool,
    pub(super) no_commands: bool,
    /// All records are committed.
    pub(super) committed: bool,
    /// The SSD is not used any more: it has failed, or was taken out.
    pub(super) failed: bool,
    pub(super) invalidating: bool,
    /// It is invalidated, or was abandoned.
    pub(super) invalidated: bool,
    /// It does not take its invalidation.
    pub(super) refuses_invalidation: bool,
    /// None of its I/O is in flight.
    pub(super) no_ssd_io: bool,
}

/// What the caller has to do for the exchange.
#[must_use]
pub(super) enum Step {
    /// Nothing: the exchange waits.
    Nothing,
    /// Record on the SSD that nothing on it is valid.
    Invalidate,
    /// Search for dirty blocks that may still go to the disk. If there are none, call
    /// [`Exchange::set_untold`].
    SearchDirty,
    /// The SSD is out.
    Out,
    /// Use this SSD.
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
        exchange.set_untold();
        assert!(exchange.abandon());
        // It waits for I/O in flight. The operator who asked for it may stop waiting.
        assert!(!exchange.keep_in() && exchange.state() == SsdState::Leaving);
        assert!(!exchange.begin(false), "the next one goes on from there");
    }
}
