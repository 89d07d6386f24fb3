//! Replay of a recorded store: the calls of the recording are made on an equal cache, in the same
//! order, and each decision is compared with the recorded one.
//!
//! Taken from the recording is what the simulator cannot know: arrivals, completions, the cost of
//! each disk I/O, and when the store was idle or wanted room. Compared is what the cache decides:
//! whether a block is cached, whether and where it enters, which blocks leave, and in which order.

use std::collections::{BTreeMap, VecDeque};

use shingle_core::cache::{CacheCore, Outcome};
use shingle_core::observer::{Attempt, Event};
use shingle_core::plan::Plan;
use shingle_core::policy::Access;
use shingle_core::units::{Block, Op, Request};
use thiserror::Error;

/// Totals of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReplayTotals {
    /// Number of requests.
    pub requests: u64,
    /// Number of block accesses.
    pub accesses: u64,
    /// Number of them that were hits.
    pub hits: u64,
    /// Number of them that entered the cache.
    pub entered: u64,
    /// Clean blocks dropped.
    pub dropped: u64,
    /// Blocks destaged, including those that stayed.
    pub destaged: u64,
    /// Decisions compared: all of the above, bypasses and waits, and whether a slot was freed.
    pub decisions: u64,
}

/// The error that ended a replay.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The cache decided differently.
    #[error("event {event}: recorded was {recorded}, and here it is {here}")]
    Differs {
        /// Number of the event, from 0.
        event: u64,
        /// What was recorded.
        recorded: String,
        /// What the cache decided.
        here: String,
    },
    /// An event that no store can record.
    #[error("event {event}: {what}: the recording makes no sense")]
    Senseless {
        /// Number of the event, from 0.
        event: u64,
        /// Why.
        what: &'static str,
    },
}

/// Replays a recording.
pub struct RecordingReplay<'a> {
    cache: &'a mut dyn CacheCore,
    plan: Plan,
    /// Requests not yet completed.
    open: BTreeMap<u64, Request>,
    /// Decisions that the recording has to contain next.
    due: VecDeque<Event>,
    events: u64,
    followed: ReplayTotals,
}

impl<'a> RecordingReplay<'a> {
    /// Creates it with a cache like the recorded one: empty, of the same size, with the same
    /// parameters.
    #[must_use]
    pub fn new(cache: &'a mut dyn CacheCore) -> RecordingReplay<'a> {
        RecordingReplay {
            cache,
            plan: Plan::listing_dropped(),
            open: BTreeMap::new(),
            due: VecDeque::new(),
            events: 0,
            followed: ReplayTotals::default(),
        }
    }

    /// Replays the next event of the recording.
    ///
    /// # Errors
    /// If the cache decides differently; the replay ends there.
    pub fn event(&mut self, event: &Event) -> Result<(), RecordingError> {
        let outcome = self.take(event);
        self.events += 1;
        outcome
    }

    /// Ends the replay.
    ///
    /// # Errors
    /// If an expected event is missing.
    pub fn end(self) -> Result<ReplayTotals, RecordingError> {
        match self.due.front() {
            None => Ok(self.followed),
            Some(due) => Err(RecordingError::Differs {
                event: self.events,
                recorded: "the end".to_owned(),
                here: format!("{due:?}"),
            }),
        }
    }

    fn take(&mut self, event: &Event) -> Result<(), RecordingError> {
        if let Event::Dropped(_) | Event::Leaves(_) | Event::Stays(_) = event {
            let due = self.due.pop_front();
            self.followed.dropped += u64::from(matches!(event, Event::Dropped(_)));
            self.followed.destaged += u64::from(!matches!(event, Event::Dropped(_)));
            return self.same(event, due);
        }
        if let Some(due) = self.due.pop_front() {
            return self.same(event, Some(due));
        }
        match *event {
            Event::Request(request) => {
                self.open.insert(self.followed.requests, request);
                self.followed.requests += 1;
            }
            Event::Answered { number, .. } => drop(self.open.remove(&number)),
            Event::Time(_) | Event::Io { .. } => {}
            Event::Restored { block, dirty } => {
                let may = self.cache.lookup(block).is_none();
                if !may || self.cache.restore(block, dirty).is_none() {
                    return Err(self.senseless("a block is restored for which there is no slot"));
                }
            }
            Event::Access { asked, number, block, .. } => {
                let here = self.access(asked, number, block)?;
                self.same(event, Some(here))?;
                self.plan();
            }
            Event::Room(want) => {
                self.cache.evict(want, &mut self.plan);
                self.plan();
            }
            Event::Idle(want) => {
                self.cache.idle(want, &mut self.plan);
                self.plan();
            }
            Event::Begun(slot, _) => {
                let may = self.cache.begin_destage(slot);
                self.same(event, Some(Event::Begun(slot, may)))?;
            }
            Event::Destaged(slot, _) => {
                let freed = self.cache.destaged(slot);
                self.same(event, Some(Event::Destaged(slot, freed)))?;
            }
            Event::Kept(slot) => self.cache.destage_failed(slot),
            Event::Trimmed { first, count, .. } => {
                let dropped = self.cache.trim(first, count);
                self.same(event, Some(Event::Trimmed { first, count, dropped }))?;
            }
            Event::Pinned(slot) => self.cache.pin(slot),
            Event::Unpinned(slot) => self.cache.unpin(slot),
            Event::Observed(cost) => self.cache.observe(&cost),
            Event::Dropped(_) | Event::Leaves(_) | Event::Stays(_) => unreachable!("seen above"),
        }
        Ok(())
    }

    /// Accesses a block of a request.
    fn access(
        &mut self,
        asked: Attempt,
        number: u64,
        block: Block,
    ) -> Result<Event, RecordingError> {
        let Some(&request) = self.open.get(&number) else {
            return Err(self.senseless("a block of a request that is not under way"));
        };
        let place = block.0.checked_sub(request.first().0).filter(|&at| at < request.blocks());
        let accesses = matches!(request.op, Op::Read | Op::Write);
        let Some(place) = place.filter(|_| accesses) else {
            return Err(self.senseless("a block that its request does not have"));
        };
        let mut access = Access::whole(number, block, request.op);
        access.request = request;
        access.place = place as u32;
        access.partial = request.partial(block);
        let outcome = match asked {
            Attempt::Access => {
                self.followed.accesses += 1;
                self.cache.access(&mut access, &mut self.plan)
            }
            Attempt::Retry => self.cache.retry(&mut access, &mut self.plan),
        };
        self.followed.hits += u64::from(matches!(outcome, Outcome::Hit(_)));
        self.followed.entered += u64::from(matches!(outcome, Outcome::Miss(_)));
        Ok(Event::Access { asked, number, block, outcome })
    }

    /// Queues the planned evictions and destages as the events expected next.
    fn plan(&mut self) {
        self.due.extend(self.plan.dropped().iter().map(|dropped| Event::Dropped(dropped.block)));
        self.due.extend(self.plan.destages().iter().map(|destage| match destage.leaves {
            true => Event::Leaves(destage.block),
            false => Event::Stays(destage.block),
        }));
        self.plan.clear();
    }

    fn same(&mut self, recorded: &Event, here: Option<Event>) -> Result<(), RecordingError> {
        self.followed.decisions += 1;
        match here {
            Some(here) if here == *recorded => Ok(()),
            here => Err(RecordingError::Differs {
                event: self.events,
                recorded: format!("{recorded:?}"),
                here: here.map_or_else(|| "nothing".to_owned(), |here| format!("{here:?}")),
            }),
        }
    }

    fn senseless(&self, what: &'static str) -> RecordingError {
        RecordingError::Senseless { event: self.events, what }
    }
}
